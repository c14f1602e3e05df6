package mcpserver

import (
	"reflect"
	"strings"
	"testing"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"growthworkspace/shared/api"
)

// Ensure the result for a record that is nested too deeply for clients has no structured content.
// Only an older version of the service accepted such records.
func TestDeepRecords(t *testing.T) {
	type record struct {
		Findings string `json:"findings"`
	}
	op := api.Operation{Output: reflect.TypeFor[record]()}
	for levels, structured := range map[int]bool{499: true, 500: false, 9_999: false} {
		body := `{"findings":` + strings.Repeat("[", levels) + `"x"` + strings.Repeat("]", levels) + `}`
		out := (&Server{}).newToolResult(api.Response{Body: []byte(body)}, &view{op: &op})
		text := out.Content[0].(*mcp.TextContent).Text
		if (out.StructuredContent != nil) != structured || out.IsError || text != body {
			t.Errorf("%d levels: structured %t, %.200s", levels, out.StructuredContent != nil, text)
		}
	}
}
