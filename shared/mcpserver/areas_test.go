package mcpserver_test

import (
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"

	"github.com/modelcontextprotocol/go-sdk/mcp"
)

func (s *service) postWithQuery(query, body string) httpResponse {
	r := s.request(body)
	r.URL.RawQuery = query
	return s.do(r)
}

// Ensure a request with areas can list and call only the tools in those areas. If it calls any
// other tool, it must get the error for an unknown tool.
func TestAreas(t *testing.T) {
	t.Parallel()
	for query, want := range map[string]string{
		"areas=items":           "service_list_items service_get_item service_create_item service_delete_item",
		"areas=company":         "service_get_self",
		"areas=company,items":   "service_list_items service_get_item service_create_item service_delete_item service_get_self",
		"areas=company%2Citems": "service_list_items service_get_item service_create_item service_delete_item service_get_self",
		"a=b&areas=company":     "service_get_self",
		"a=b":                   "service_list_items service_get_item service_create_item service_delete_item service_get_self",
	} {
		s := start(t)
		var names []string
		for _, tool := range s.postWithQuery(query, rpcRequest("tools/list", "")).decode(t).Result.Tools {
			names = append(names, tool.Name)
		}
		if got := strings.Join(names, " "); got != want {
			t.Errorf("%s: %s, want %s", query, got, want)
		}
		for tool, arguments := range map[string]string{"get_item": `{"itemId":"itm_1"}`, "get_self": `{}`} {
			s.keys.takeCalls()
			got := s.postWithQuery(query, toolCallRequest(tool, arguments))
			calls := s.keys.takeCalls()
			if slices.Contains(names, "service_"+tool) {
				if r := got.decode(t); r.Error != nil || r.Result.IsError {
					t.Errorf("%s: the call of %s fails: %s", query, tool, got.body)
				}
				continue
			}
			unknown := s.postWithQuery(query, toolCallRequest("xxx_"+tool[4:], arguments))
			if strings.ReplaceAll(unknown.body, "xxx_", "get_") != got.body || unknown.status != got.status || !strings.Contains(got.body, "unknown tool") {
				t.Errorf("%s: %s: %d %s, an unknown name: %d %s", query, tool, got.status, got.body, unknown.status, unknown.body)
			}
			if others := s.keys.takeCalls(); calls != others {
				t.Errorf("%s: %s: calls %q, of an unknown name %q", query, tool, calls, others)
			}
		}
	}
}

// Ensure empty, unknown or repeated areas cause an HTTP error with the envelope, whatever the
// message is. If the key is invalid, the error must be a 401 instead.
func TestErrAreas(t *testing.T) {
	t.Parallel()
	const known = "query.areas: must be one or more of items, company, separated by commas"
	for query, want := range map[string]string{
		"areas": known, "areas=": known, "areas=nope": known, "areas=items,": known, "areas=,items": known, "areas=items,,company": known,
		"areas=Items": known, "areas=items%20": known, "areas=items%00": known, "areas=items;company": "query: is malformed", "areas=%zz": "query: is malformed",
		"areas=items,items":           "query.areas: must not name items twice",
		"areas=items&areas=items":     "query.areas: is repeated; separate areas by commas",
		"areas=items&areas=company":   "query.areas: is repeated; separate areas by commas",
		"areas=company&a=b&areas=now": "query.areas: is repeated; separate areas by commas",
	} {
		for _, body := range []string{
			ping, rpcRequest("tools/list", ""), toolCallRequest("get_item", `{"itemId":"itm_1"}`), rpcRequest("nope", ""), `{`, "[" + ping + "]",
			`{"jsonrpc":"2.0","method":"notifications/initialized"}`,
		} {
			s := start(t)
			got := s.postWithQuery(query, body)
			if m := messages(got.body); got.status != http.StatusBadRequest || code(got.body) != "bad_request" || !slices.Equal(m, []string{want}) {
				t.Errorf("%s, %s: %d %s, want %s", query, body, got.status, got.body, want)
			}
			if calls := s.keys.takeCalls(); calls != "admit read " {
				t.Errorf("%s, %s: the key: %q", query, body, calls)
			}
			r := s.request(body)
			r.URL.RawQuery = query
			r.Header.Set("Authorization", r.Header.Get("Authorization")+"x")
			if got := s.do(r); got.status != http.StatusUnauthorized || code(got.body) != "unauthorised" {
				t.Errorf("%s, %s with a bad key: %d %s", query, body, got.status, got.body)
			}
		}
	}
}

// Ensure the SDK's client works with areas in the endpoint URL.
func TestClientWithAreas(t *testing.T) {
	t.Parallel()
	s := start(t)
	server := httptest.NewServer(s.http)
	defer server.Close()
	connect := func(query string) (*mcp.ClientSession, error) {
		client := mcp.NewClient(&mcp.Implementation{Name: "test", Version: "1"}, nil)
		return client.Connect(t.Context(), &mcp.StreamableClientTransport{
			Endpoint: server.URL + "/mcp?" + query, HTTPClient: &http.Client{Transport: bearerTransport(s.key)},
		}, nil)
	}
	session, err := connect("areas=company")
	if err != nil {
		t.Fatal(err)
	}
	defer session.Close()
	list, err := session.ListTools(t.Context(), nil)
	if err != nil {
		t.Fatal(err)
	}
	if len(list.Tools) != 1 {
		t.Fatalf("%d tools, want 1: %+v", len(list.Tools), list)
	}
	if tool := list.Tools[0]; tool.Name != "service_get_self" || !tool.Annotations.ReadOnlyHint {
		t.Errorf("tool %s, read-only %t; want service_get_self, read-only", tool.Name, tool.Annotations.ReadOnlyHint)
	}
	if got, err := session.CallTool(t.Context(), &mcp.CallToolParams{Name: "service_get_self"}); err != nil || got.IsError {
		t.Errorf("the call fails: %+v, %v", got, err)
	}
	if _, err := session.CallTool(t.Context(), &mcp.CallToolParams{Name: "service_list_items"}); err == nil || !strings.Contains(err.Error(), "unknown tool") {
		t.Errorf("a tool of another area: %v", err)
	}
	if _, err := connect("areas=nope"); err == nil || !strings.Contains(err.Error(), "Bad Request") {
		t.Errorf("an unknown area: %v", err)
	}
}
