package mcpserver

import (
	"strings"
	"testing"

	"growthworkspace/shared/api"
)

// Ensure the result for a record that is nested too deeply for clients has no structured content.
// Its text is the record or, if that would be too long, says what to do instead. Only an older
// version of the service stored such records.
func TestDeepRecords(t *testing.T) {
	deep := func(levels, size int) []byte {
		return []byte(strings.Repeat("[", levels) + `"` + strings.Repeat("x", size) + `"` + strings.Repeat("]", levels))
	}
	for _, c := range []struct {
		levels, size int
		structured   bool
		text         string
	}{
		{500, 10, true, "[[["}, {501, 10, false, "[[["}, {9_999, 10, false, "[[["},
		{500, textBytesMax, true, "read structuredContent"}, {9_999, textBytesMax, false, "nested more than 500 levels deep, which is too much for a tool; read it over HTTP"},
	} {
		body := deep(c.levels, c.size)
		out := newToolResult(api.Response{Body: body})
		if text := string(mustEncode(out.Content[0])); (out.StructuredContent != nil) != c.structured || out.IsError || !strings.Contains(text, c.text) {
			t.Errorf("%d levels, %d bytes: structured %t, %.200s", c.levels, len(body), out.StructuredContent != nil, text)
		}
	}
}
