package transfer

import (
	"bytes"
	"encoding/json"
	"fmt"
)

// CheckSize is the part of a check that bounds a record, so that it fits into a table item with its keys: it says whether
// the record's JSON has more than bytesMax bytes.
func CheckSize(record any, bytesMax int) []string {
	var text bytes.Buffer
	e := json.NewEncoder(&text)
	e.SetEscapeHTML(false) // as it is stored
	if err := e.Encode(record); err != nil {
		return []string{"record: " + err.Error()}
	}
	if text.Len() > bytesMax {
		return []string{fmt.Sprintf("record: must have at most %d bytes, has %d", bytesMax, text.Len())}
	}
	return nil
}
