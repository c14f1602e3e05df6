package schema

import (
	"bytes"
	"encoding/json"
)

// Encode returns v as JSON. Unlike json.Marshal it does not escape <, > and &, because a response
// is not part of a web page.
func Encode(v any) ([]byte, error) {
	var text bytes.Buffer
	e := json.NewEncoder(&text)
	e.SetEscapeHTML(false)
	if err := e.Encode(v); err != nil {
		return nil, err
	}
	return bytes.TrimSuffix(text.Bytes(), []byte("\n")), nil
}
