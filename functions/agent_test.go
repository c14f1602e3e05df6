package functions_test

import (
	"context"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/modelcontextprotocol/go-sdk/mcp"
)

type bearer string

func (b bearer) RoundTrip(r *http.Request) (*http.Response, error) {
	r = r.Clone(r.Context())
	r.Header.Set("Authorization", "Bearer "+string(b))
	return http.DefaultTransport.RoundTrip(r)
}

func connect(ctx context.Context, url, key string) (*mcp.ClientSession, error) {
	client := mcp.NewClient(&mcp.Implementation{Name: "test", Version: "1"}, nil)
	return client.Connect(ctx, &mcp.StreamableClientTransport{Endpoint: url + "/mcp", HTTPClient: &http.Client{Transport: bearer(key)}}, nil)
}

// Ensure an agent can work with the SDK's own client: find the board, create an item, preview the publication, publish
// what it previewed, and page through a list.
func TestAgent(t *testing.T) {
	t.Parallel()
	s := start(t, nil)
	server := httptest.NewServer(s.Handler)
	defer server.Close()
	session, err := connect(t.Context(), server.URL, s.Key(t))
	if err != nil {
		t.Fatal(err)
	}
	defer session.Close()
	use := func(tool string, arguments map[string]any) *mcp.CallToolResult {
		t.Helper()
		got, err := session.CallTool(t.Context(), &mcp.CallToolParams{Name: "service_" + tool, Arguments: arguments})
		if err != nil || got.IsError {
			t.Fatalf("%s: %+v, %v", tool, got, err)
		}
		return got
	}
	value := func(r *mcp.CallToolResult) map[string]any { return r.StructuredContent.(map[string]any) }
	board := value(use("list_plan_boards", nil))["items"].([]any)[0].(map[string]any)["id"]
	item := value(use("create_plan_item", map[string]any{"boardId": board, "title": "By an agent", "status": "published"}))
	preview := use("preview_plan_publish", map[string]any{"boardId": board})
	if added := value(preview)["added"].([]any); len(added) == 0 {
		t.Errorf("the preview adds nothing: %v", value(preview))
	}
	tag := preview.Meta["etag"]
	if line := preview.Content[1].(*mcp.TextContent).Text; line != "ETag: "+tag.(string) {
		t.Errorf("the model reads %q", line)
	}
	use("update_plan_item", map[string]any{"itemId": item["id"], "title": "By an agent, again"})
	stale, err := session.CallTool(t.Context(), &mcp.CallToolParams{Name: "service_publish_plan_board", Arguments: map[string]any{"boardId": board, "ifMatch": tag}})
	if err != nil || !stale.IsError || !strings.Contains(stale.Content[0].(*mcp.TextContent).Text, "precondition_failed") {
		t.Errorf("a change that was not previewed was published: %+v, %v", stale, err)
	}
	again := use("preview_plan_publish", map[string]any{"boardId": board})
	use("publish_plan_board", map[string]any{"boardId": board, "ifMatch": again.Meta["etag"]})

	seen, cursor := map[any]bool{}, ""
	for range 10 {
		arguments := map[string]any{"boardId": board, "limit": 1}
		if cursor != "" {
			arguments["cursor"] = cursor
		}
		page := use("list_plan_items", arguments)
		for _, one := range value(page)["items"].([]any) {
			seen[one.(map[string]any)["id"]] = true
		}
		if cursor, _ = page.Meta["nextCursor"].(string); cursor == "" {
			break
		}
	}
	if len(seen) != 3 || !seen[item["id"]] {
		t.Errorf("the pages contain %v", seen)
	}
}

// Ensure the tools are served at POST /mcp and at no other path or method.
func TestToolsPath(t *testing.T) {
	t.Parallel()
	s := start(t, nil)
	key := s.Key(t)
	for _, c := range []struct {
		method, path string
		status       int
	}{{"GET", "/mcp", 405}, {"DELETE", "/mcp", 405}, {"POST", "/mcp/", 404}, {"POST", "/v1/mcp", 404}, {"POST", "/MCP", 404}} {
		r := s.Send(t, key, c.method, "http://api.test"+c.path, "")
		if r.Status != c.status || c.status == 405 && r.Header.Get("Allow") != "POST" {
			t.Errorf("%s %s: %d %v", c.method, c.path, r.Status, r.Header)
		}
	}
	if r := message(t, s, key, "ping", nil, "Origin", "https://evil.test"); r.Status != 403 {
		t.Errorf("a foreign origin: %d", r.Status)
	}
	if r := s.Send(t, key, "POST", "http://api.test/mcp", strings.Repeat(" ", 3<<20)); r.Status != 413 {
		t.Errorf("three megabytes: %d", r.Status)
	}
}
