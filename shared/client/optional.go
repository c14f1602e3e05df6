package client

import (
	"encoding/json"
	"fmt"
	"strconv"
	"time"
)

// Optional is a field that may have no value. It is in one of three states:
//
//	client.Optional[string]{}   left out: an input does not send it, and an update keeps the stored value
//	client.Null[string]()       null: an update clears the stored value
//	client.Value("text")        a value, which may be an empty string or an empty list
//
// Printing it with %v, %s or any verb for the type of its value shows the value, "null" or, if the
// field is left out, "absent". Two fields of the same comparable type can be compared with ==.
type Optional[T any] struct {
	state state
	value T
}

type state uint8

const (
	absent state = iota
	null
	present
)

// Value returns a field with a value. The argument determines the field's type, so a constant may
// need an explicit type: Value[float64](1200) or Value(1200.0).
func Value[T any](value T) Optional[T] { return Optional[T]{present, value} }

// Null returns a field that is null.
func Null[T any]() Optional[T] { return Optional[T]{state: null} }

// Get returns the value. If the field is null or left out, ok is false and value is the zero value.
func (o Optional[T]) Get() (value T, ok bool) { return o.value, o.state == present }

// Or returns the value, or the argument if the field is null or left out.
func (o Optional[T]) Or(other T) T {
	if o.state == present {
		return o.value
	}
	return other
}

// IsNull reports whether the field is null.
func (o Optional[T]) IsNull() bool { return o.state == null }

// IsZero reports whether the field is left out.
func (o Optional[T]) IsZero() bool { return o.state == absent }

// String returns the value as a string, "null", or "absent" if the field is left out. A time is
// formatted according to RFC 3339.
func (o Optional[T]) String() string { return fmt.Sprint(o) }

// Format implements fmt.Formatter, so that a printed record shows values.
func (o Optional[T]) Format(f fmt.State, verb rune) {
	if o.state == present {
		_, _ = fmt.Fprintf(f, fmt.FormatString(f, verb), o.formatValue(f, verb)) // a Formatter cannot return an error
		return
	}
	text := "null"
	if o.state == absent {
		text = "absent"
	}
	format := "%"
	if f.Flag('-') {
		format += "-"
	}
	if width, ok := f.Width(); ok {
		format += strconv.Itoa(width)
	}
	_, _ = fmt.Fprintf(f, format+"s", text)
}

// formatValue returns the value in the form in which it is printed: JSON as a string instead of a
// list of bytes, and a time as the API formats it.
func (o Optional[T]) formatValue(f fmt.State, verb rune) any {
	switch value := any(o.value).(type) {
	case json.RawMessage:
		return string(value)
	case time.Time:
		if verb == 'v' && !f.Flag('#') || verb == 's' || verb == 'q' {
			return value.Format(time.RFC3339Nano)
		}
	}
	return o.value
}

// MarshalJSON implements json.Marshaler. A field that is left out is encoded as null, unless its
// tag has omitzero.
func (o Optional[T]) MarshalJSON() ([]byte, error) {
	if o.state != present {
		return []byte("null"), nil
	}
	return json.Marshal(o.value)
}

// UnmarshalJSON implements json.Unmarshaler.
func (o *Optional[T]) UnmarshalJSON(text []byte) error {
	if string(text) == "null" {
		*o = Null[T]()
		return nil
	}
	var value T
	if err := json.Unmarshal(text, &value); err != nil {
		return err
	}
	*o = Value(value)
	return nil
}

// Day returns the UTC date of a time, such as 2026-08-11. Fields that hold a day, such as a list's
// from and to or the ts of a pushed point, are strings.
func Day(t time.Time) string { return t.UTC().Format(time.DateOnly) }

// parameter returns the field as the value of a query parameter. ok is false if the parameter must
// not be sent.
func (o Optional[T]) parameter() (text string, ok bool) {
	return fmt.Sprint(o.formatValue(nil, 's')), o.state == present
}
