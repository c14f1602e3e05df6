package mcp_test

import (
	"log/slog"
	"net/http/httptest"
	"os/exec"
	"strings"
	"testing"
	"time"

	"growthworkspace/functions"
	"growthworkspace/functions/mcp"
	"growthworkspace/shared/api"
	"growthworkspace/shared/gateway"
	"growthworkspace/shared/table"
)

// Ensure the function rejects wrong methods, foreign origins and missing keys without a table call.
func TestFunctionRejects(t *testing.T) {
	t.Parallel()
	client := table.New(table.Options{Name: "nowhere", Region: "eu-central-1", Now: time.Now, NewID: func(prefix string) string { return prefix + "_1" }})
	h := gateway.Local(mcp.Handler(client, api.NewConfig(client, slog.New(slog.DiscardHandler))), client.NewID)
	for _, c := range []struct {
		method, path, origin string
		status               int
		header, value        string
	}{
		{"GET", "/mcp", "", 405, "Allow", "POST"},
		{"DELETE", "/mcp", "", 405, "Allow", "POST"},
		{"POST", "/mcp", "https://evil.test", 403, "Content-Type", "application/json"},
		{"POST", "/mcp", "", 401, "WWW-Authenticate", "Bearer"},
		{"POST", "/mcp", "http://api.test", 401, "WWW-Authenticate", "Bearer"},
		{"POST", "/mcp/x", "", 404, "Service-Request-Id", "I7MlhRE35squQwY="},
	} {
		r := httptest.NewRequestWithContext(t.Context(), c.method, "http://api.test"+c.path, strings.NewReader(`{"jsonrpc":"2.0","id":1,"method":"ping"}`))
		r.Header.Set("Content-Type", "application/json")
		if c.origin != "" {
			r.Header.Set("Origin", c.origin)
		}
		w := httptest.NewRecorder()
		h.ServeHTTP(w, r)
		if w.Code != c.status || w.Header().Get(c.header) != c.value || !strings.HasPrefix(w.Body.String(), `{"errors":[{"code":"`) {
			t.Errorf("%s %s from %q: %d %v %s", c.method, c.path, c.origin, w.Code, w.Header(), w.Body)
		}
	}
}

// Ensure the Lambda functions of the areas do not link the MCP SDK, so that it increases only the
// size of this package's function.
func TestAreasDoNotLinkTheSDK(t *testing.T) {
	t.Parallel()
	arguments := []string{"list", "-deps", "-f", "{{.ImportPath}}"}
	for _, area := range functions.All() {
		arguments = append(arguments, "growthworkspace/functions/"+area.Name+"/lambda")
	}
	out, err := exec.CommandContext(t.Context(), "go", arguments...).Output()
	if err != nil {
		t.Fatal(err)
	}
	if text := string(out); strings.Contains(text, "modelcontextprotocol") || strings.Contains(text, "jsonschema-go") {
		t.Error("the function of an area links the MCP SDK or jsonschema-go")
	}
}
