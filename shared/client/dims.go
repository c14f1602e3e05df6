package client

import "encoding/json"

// Dims are the dimension values of a point, by name. A push accepts nothing else. An import may
// have stored other JSON; a value that is not a text is then given as JSON, and dims that are not
// an object become one value with an empty name.
type Dims map[string]string

// UnmarshalJSON implements json.Unmarshaler.
func (d *Dims) UnmarshalJSON(text []byte) error {
	*d = Dims{}
	var values map[string]json.RawMessage
	if json.Unmarshal(text, &values) != nil {
		values = map[string]json.RawMessage{"": text}
	}
	for name, value := range values {
		var s string
		if json.Unmarshal(value, &s) != nil || string(value) == "null" {
			s = string(value)
		}
		(*d)[name] = s
	}
	return nil
}
