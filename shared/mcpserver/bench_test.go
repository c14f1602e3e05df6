package mcpserver_test

import (
	"context"
	"log/slog"
	"net/http/httptest"
	"testing"
	"time"

	"growthworkspace/shared/api"
	"growthworkspace/shared/auth"
	"growthworkspace/shared/mcpserver"
)

// allowAllKeys implements api.Keys by accepting every key, at no cost.
type allowAllKeys struct{}

func (allowAllKeys) Admit(context.Context, auth.Token, []auth.Scope, auth.Class) (auth.Admission, error) {
	return auth.Admission{Quota: fullQuota, Scopes: auth.Scopes()}, nil
}

func (allowAllKeys) Verify(context.Context, auth.Token, []auth.Scope, auth.Class) (auth.QuotaState, error) {
	return fullQuota, nil
}

func newID(prefix string) string { return prefix + "_1" }

// BenchmarkHTTP is the baseline for BenchmarkTool: the same call without MCP. Neither benchmark
// uses a table.
func BenchmarkHTTP(b *testing.B) {
	s := start(b)
	token, err := auth.Parse(s.key)
	if err != nil {
		b.Fatal(err)
	}
	h := api.New(operations(), api.Config{Keys: allowAllKeys{}, Now: time.Now, NewID: newID, Log: slog.New(slog.DiscardHandler)})
	b.ReportAllocs()
	for b.Loop() {
		r := httptest.NewRequestWithContext(b.Context(), "GET", "http://api.test/v1/companies/"+token.CompanyID+"/items/itm_1", nil)
		r.Header.Set("Authorization", "Bearer "+s.key)
		w := httptest.NewRecorder()
		if h.ServeHTTP(w, r); w.Code != 200 {
			b.Fatalf("status %d, want 200: %s", w.Code, w.Body)
		}
	}
}

// BenchmarkTool measures a tool call.
func BenchmarkTool(b *testing.B) {
	benchmarkRequest(b, toolCallRequest("get_item", `{"itemId":"itm_1"}`))
}

// BenchmarkList measures listing the tools.
func BenchmarkList(b *testing.B) {
	benchmarkRequest(b, rpcRequest("tools/list", ""))
}

func benchmarkRequest(b *testing.B, text string) {
	s := start(b)
	s.http = mcpserver.New(operations(), api.Config{Keys: allowAllKeys{}, Now: time.Now, NewID: newID, Log: slog.New(slog.DiscardHandler)})
	b.ReportAllocs()
	for b.Loop() {
		if a := s.post(text); a.status != 200 {
			b.Fatalf("status %d, want 200: %s", a.status, a.body)
		}
	}
}

// BenchmarkNew measures how much the server adds to the startup time of a Lambda function.
func BenchmarkNew(b *testing.B) {
	operations := operations()
	for b.Loop() {
		mcpserver.New(operations, api.Config{Keys: allowAllKeys{}, Now: time.Now, NewID: newID, Log: slog.New(slog.DiscardHandler)})
	}
}
