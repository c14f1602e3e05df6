package mcpserver_test

import (
	"strings"
	"testing"
)

// Ensure a tool's result says in the newest revision that it is complete, as every other result there does, whether it
// is an error or not, and says nothing of it in older ones.
func TestResultType(t *testing.T) {
	s := start(t)
	for _, arguments := range []string{`{"itemId":"itm_1"}`, `{"nope":1}`} {
		text := frame("tools/call", `{"name":"service_get_item","arguments":`+arguments+`,`+newMeta+`}`)
		now := s.post(text, "Mcp-Protocol-Version", "2026-07-28", "Mcp-Method", "tools/call", "Mcp-Name", "service_get_item")
		if !strings.Contains(string(now.body), `"result":{"resultType":"complete",`) {
			t.Errorf("%s", now.body)
		}
		if old := s.post(call("service_get_item", arguments)); strings.Contains(string(old.body), "resultType") {
			t.Errorf("%s", old.body)
		}
	}
}

// Ensure params that do not decode are invalid params, in words that quote nothing and name no type of ours.
func TestParamsThatDoNotDecode(t *testing.T) {
	s := start(t)
	for _, text := range []string{
		frame("initialize", `[]`), frame("initialize", `{"protocolVersion":5}`), frame("initialize", `null`), frame("ping", `[]`),
		frame("tools/list", `{"cursor":5}`), frame("tools/call", `5`), frame("tools/call", `{"name":"AKIAPLANTED","_meta":5}`),
	} {
		got := string(s.post(text).body)
		if !strings.Contains(got, `"code":-32602`) && !strings.Contains(got, `"code":-32600`) || strings.Contains(got, "mcp.") || strings.Contains(got, "AKIAPLANTED") {
			t.Errorf("%s: %s", text, got)
		}
	}
}
