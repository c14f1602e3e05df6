package modeltext_test

import (
	"bytes"
	"encoding/json"
	"testing"

	"growthworkspace/shared/modeltext"
)

// FuzzText checks that the output for any JSON object or any part of it is valid JSON and fits. The
// function At must accept every pointer in the output.
func FuzzText(f *testing.F) {
	for _, pointer := range []string{"", "/", "/a", "/a/0", "/a/0-1", "/~1~0", "/a/99999999999-1", "//", "/a/-"} {
		f.Add([]byte(`{"a":["x\\\"",{"b":[null,1e5,-0.5]},"é\u2028"],"/~":{},"companyId":"c"}`), pointer)
		f.Add([]byte(`{"id":"`+string(bytes.Repeat([]byte(`\\`), 200))+`","":[[[[]]]],"a":{"0-1":7,"b":"`+string(bytes.Repeat([]byte("漢"), 200))+`"}}`), pointer)
	}
	f.Fuzz(func(t *testing.T, text []byte, pointer string) {
		var compact bytes.Buffer
		if json.Compact(&compact, text) != nil || compact.Len() == 0 || compact.Bytes()[0] != '{' {
			return
		}
		const bytesMax = 300
		record := compact.Bytes()
		list := append(append([]byte(`{"items":[`), record...), "]}"...)
		for _, got := range []modeltext.Text{
			modeltext.View{BytesMax: bytesMax}.Record(record), modeltext.View{Fields: []string{"a"}, BytesMax: bytesMax}.Record(record),
			modeltext.View{BytesMax: bytesMax}.List(list).Text,
		} {
			checkText(t, record, got, bytesMax)
		}
		if got, _, err := modeltext.At(record, pointer, bytesMax); err == nil {
			checkText(t, record, got, bytesMax)
		} else if len(err.Error()) > 3000 {
			t.Errorf("an error of %d bytes", len(err.Error()))
		}
	})
}

func checkText(t *testing.T, record []byte, got modeltext.Text, bytesMax int) {
	t.Helper()
	if !json.Valid(got.JSON) || len(got.JSON) > max(bytesMax, 2000) { // the outline of the whole value can exceed a small limit
		t.Errorf("%d bytes: %s", len(got.JSON), got.JSON)
	}
	for _, o := range got.Outlined {
		if _, _, err := modeltext.At(record, o.Next, bytesMax); err != nil && o.Next != "" {
			t.Errorf("%q leads nowhere: %v", o.Next, err)
		}
	}
}
