package client

import "encoding/json"

// Clearable is a property of an update. The zero value is not sent and keeps the stored value.
type Clearable[T any] struct {
	sent  bool
	value *T // nil: null
}

// Value returns a property that stores a value. An empty text or list is a value, too.
func Value[T any](value T) Clearable[T] { return Clearable[T]{sent: true, value: &value} }

// Null returns a property that clears the stored value.
func Null[T any]() Clearable[T] { return Clearable[T]{sent: true} }

// IsZero reports whether the property is not sent.
func (c Clearable[T]) IsZero() bool { return !c.sent }

// MarshalJSON implements json.Marshaler.
func (c Clearable[T]) MarshalJSON() ([]byte, error) { return json.Marshal(c.value) }

// UnmarshalJSON implements json.Unmarshaler.
func (c *Clearable[T]) UnmarshalJSON(text []byte) error {
	c.sent = true
	return json.Unmarshal(text, &c.value)
}
