package client

import "encoding/json"

// Dims maps the names of a point's dimensions to their values. A push accepts only such maps, but
// an import may have stored any JSON. A value that is not a string is then represented by its JSON,
// and dims that are not an object become one value with an empty name.
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
