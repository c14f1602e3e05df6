package functions_test

import (
	"encoding/json"
	"fmt"
	"net/http"
	"regexp"
	"slices"
	"strings"
	"testing"

	"growthworkspace/functions/prompts"
	"growthworkspace/shared/api"
	"growthworkspace/shared/auth"
	"growthworkspace/shared/mcpserver"
	"growthworkspace/shared/testkit/apitest"
)

// Ensure every prompt names only tools that exist and do not decide anything, and ends by saying
// what is left to a person.
func TestPromptsNameTools(t *testing.T) {
	t.Parallel()
	mayName := map[string]bool{} // keyed by tool name: whether a prompt may name the tool
	for _, op := range toolOperations() {
		// A prompt may name a tool with a DraftScope, because it can save drafts and suggestions on
		// which people decide.
		mayName[mcpserver.ToolName(op)] = op.Effect == api.Read || op.DraftScope != ""
	}
	seen := map[string]bool{}
	for _, p := range prompts.All() {
		if seen[p.Name] || !regexp.MustCompile(`^[a-z]+(-[a-z]+)+$`).MatchString(p.Name) || p.Title == "" || !strings.Contains(p.Description, "Use it ") {
			t.Errorf("%s: want a unique name, a title, and a description that says when to use it: %q, %q", p.Name, p.Title, p.Description)
		}
		seen[p.Name] = true
		if !strings.HasPrefix(p.Stop, "Stop there.") || !strings.Contains(strings.ToLower(p.Stop), "a person") {
			t.Errorf("%s ends with %q, want what a person decides", p.Name, p.Stop)
		}
		toolCount := 0
		for _, s := range append(slices.Clone(p.Steps), mcpserver.PromptStep{Text: p.Stop}) {
			for _, tool := range s.Tools() {
				toolCount++
				if may, exists := mayName[tool]; !exists || !may {
					t.Errorf("%s names %s: exists %t, may be named %t", p.Name, tool, exists, may)
				}
			}
		}
		if toolCount < 3 {
			t.Errorf("%s names %d tools, want at least 3", p.Name, toolCount)
		}
		text := fmt.Sprint(p.Steps, p.Stop)
		for _, a := range p.Arguments {
			if !strings.Contains(text, "{"+a.Name+"}") || a.Description == "" || a.Default == "" {
				t.Errorf("%s: the argument %s is not used, or has no description or default", p.Name, a.Name)
			}
		}
	}
	if len(seen) < 6 {
		t.Errorf("%d prompts, want at least 6", len(seen))
	}
}

type listedPrompt struct {
	Name, Title, Description string
	Arguments                []struct {
		Name     string
		Required bool
	}
}

// promptFrame is the response to prompts/list and prompts/get.
type promptFrame struct {
	Error *struct {
		Code    int
		Message string
	}
	Result struct {
		ResultType string
		CacheScope string
		Prompts    []listedPrompt
		Messages   []struct {
			Role    string
			Content struct{ Type, Text string }
		}
	}
}

// sendPrompt sends a message with the given protocol revision. If the argument `areas` is not
// empty, it becomes part of the URL.
func sendPrompt(t *testing.T, s *apitest.Service, key, revision, areas, method string, params map[string]any) (promptFrame, apitest.Response) {
	t.Helper()
	if params == nil {
		params = map[string]any{}
	}
	header := []string{"Mcp-Protocol-Version", revision}
	if revision == "2026-07-28" {
		header = append(header, "Mcp-Method", method)
		if name, ok := params["name"].(string); ok {
			header = append(header, "Mcp-Name", name)
		}
		params["_meta"] = map[string]any{
			"io.modelcontextprotocol/protocolVersion":    revision,
			"io.modelcontextprotocol/clientInfo":         map[string]any{"name": "test", "version": "1"},
			"io.modelcontextprotocol/clientCapabilities": map[string]any{},
		}
	}
	text := marshal(t, map[string]any{"jsonrpc": "2.0", "id": 1, "method": method, "params": params})
	url := "http://api.test/mcp"
	if areas != "" {
		url += "?areas=" + areas
	}
	r := s.Send(t, key, "POST", url, string(text), header...)
	var frame promptFrame
	r.Decode(t, &frame)
	return frame, r
}

// exampleArguments returns values for a prompt's required arguments.
func exampleArguments(p mcpserver.Prompt) map[string]any {
	out := map[string]any{}
	for _, a := range p.Arguments {
		if a.Required {
			out[a.Name] = "itm_example"
		}
	}
	return out
}

// Ensure a key sees a prompt if and only if it sees the tools of all required steps of that prompt.
// The text of a prompt must name only tools that the key sees. This must hold for both kinds of
// protocol revisions, and with areas in the URL.
func TestPromptsOfEveryKey(t *testing.T) {
	t.Parallel()
	s := start(t, nil)
	keys := map[string][]auth.Scope{
		"all": auth.Scopes(), "drafting": auth.DraftingAgentScopes(), "reviews": {auth.FeedbackDraft}, "metrics": {auth.MetricsRead}, "site": {auth.OptimiseRead},
		"posts": {auth.BroadcastWrite, auth.PlanRead}, "company": {auth.CompanyRead},
		"reader": {auth.FeedbackRead, auth.BroadcastRead, auth.PlanRead, auth.MetricsRead, auth.OptimiseRead, auth.ContextRead},
	}
	want := map[string]string{ // written by hand
		"all":      "draft-launch-post prepare-next-weeks-posts review-audit triage-reviews weekly-growth-report what-happened",
		"drafting": "draft-launch-post prepare-next-weeks-posts review-audit triage-reviews weekly-growth-report what-happened", "reviews": "triage-reviews what-happened",
		"metrics": "weekly-growth-report what-happened", "site": "review-audit what-happened", "posts": "draft-launch-post prepare-next-weeks-posts what-happened", "company": "what-happened",
		"reader": "review-audit weekly-growth-report what-happened", "all feedback,context": "triage-reviews", "all company,keys": "",
	}
	for name, scopes := range keys {
		key := s.IssueKey(t, scopes...)
		for _, areas := range []string{"", "feedback,context", "company,keys"} {
			label := strings.TrimSpace(name + " " + areas)
			if areas != "" && name != "all" {
				continue
			}
			for _, revision := range []string{"2025-11-25", "2026-07-28"} {
				list, r := sendPrompt(t, s, key, revision, areas, "prompts/list", nil)
				var got []string
				for _, p := range list.Result.Prompts {
					got = append(got, p.Name)
				}
				if strings.Join(got, " ") != want[label] {
					t.Errorf("%s, %s: prompts %v, want %s: %s", label, revision, got, want[label], r.Body)
				}
				if revision == "2026-07-28" && list.Result.CacheScope != "private" {
					t.Errorf("%s: cacheScope %q, want private, because the list depends on the key", label, list.Result.CacheScope)
				}
				var tools struct {
					Result struct{ Tools []struct{ Name string } }
				}
				_, r = sendPrompt(t, s, key, revision, areas, "tools/list", nil)
				r.Decode(t, &tools)
				for _, p := range prompts.All() {
					prompt, r := sendPrompt(t, s, key, revision, areas, "prompts/get", map[string]any{"name": p.Name, "arguments": exampleArguments(p)})
					if !slices.Contains(got, p.Name) {
						if prompt.Error == nil || prompt.Error.Code != -32602 || prompt.Error.Message != fmt.Sprintf("unknown prompt %q", p.Name) {
							t.Errorf("%s, %s: %s, want the error for an unknown prompt: %s", label, revision, p.Name, r.Body)
						}
						continue
					}
					if r.Status != http.StatusOK || len(prompt.Result.Messages) != 1 || prompt.Result.Messages[0].Role != "user" || prompt.Result.Messages[0].Content.Type != "text" {
						t.Fatalf("%s, %s: %s: status %d, want one message: %s", label, revision, p.Name, r.Status, r.Body)
					}
					text := prompt.Result.Messages[0].Content.Text
					for _, tool := range (mcpserver.PromptStep{Text: text}).Tools() {
						if !strings.Contains(fmt.Sprint(tools.Result.Tools), "{"+tool+"}") {
							t.Errorf("%s, %s: %s proposes %s, which the key does not see", label, revision, p.Name, tool)
						}
					}
					if strings.ContainsAny(text, "{}") || !strings.HasPrefix(text, "1. ") || !strings.Contains(text, p.Stop) {
						t.Errorf("%s, %s: %s has no numbered steps, an open argument or no stop: %s", label, revision, p.Name, text)
					}
				}
			}
		}
	}
}

// Ensure a prompt's arguments are filled in, and that errors about invalid arguments name them.
func TestPromptArguments(t *testing.T) {
	t.Parallel()
	s := start(t, nil)
	key := s.IssueKey(t)
	for _, c := range []struct {
		name, arguments, want string
		isError               bool
	}{
		{"triage-reviews", `{}`, "Number of replies: 5.", false},
		{"triage-reviews", `{"count":"12","source":"reddit"}`, "Number of replies: 12.", false},
		{"triage-reviews", `{"count":"12","source":"reddit"}`, "Source: reddit.", false},
		{"triage-reviews", `{"count":" "}`, "Number of replies: 5.", false},
		{"triage-reviews", `{"count":"{source}"}`, "Number of replies: {source}.", false},
		{"draft-launch-post", `{"item":"Dark mode"}`, "Find the roadmap item: Dark mode.", false},
		{"draft-launch-post", `{}`, "arguments.item: is required: the id or the title of the roadmap item", true},
		{"draft-launch-post", `{"item":""}`, "arguments.item: is required", true},
		{"draft-launch-post", `{"item":"a","platform":"x"}`, `arguments: \"platform\" is unknown; the arguments of draft-launch-post are item, platforms`, true},
		{"triage-reviews", `{"count":5}`, "params: must be valid for prompts/get", true},
		{"triage-reviews", `{"count":"` + strings.Repeat("x", 2001) + `"}`, "arguments.count: must have at most 2000 characters", true},
		{"no-such-prompt", `{}`, `unknown prompt \"no-such-prompt\"`, true},
	} {
		var arguments json.RawMessage = []byte(c.arguments)
		frame, r := sendPrompt(t, s, key, "2025-11-25", "", "prompts/get", map[string]any{"name": c.name, "arguments": arguments})
		if (frame.Error != nil) != c.isError || frame.Error != nil && frame.Error.Code != -32602 || !strings.Contains(r.Body, c.want) {
			t.Errorf("%s %.60s: want %q, an error: %t: %s", c.name, c.arguments, c.want, c.isError, r.Body)
		}
	}
}

// Ensure the server's instructions name every area and say what happens to a draft. The
// instructions and the prompts must be short enough to leave room in a model's context.
func TestInstructions(t *testing.T) {
	t.Parallel()
	const instructionsBytesMax, promptsBytesMax, promptBytesMax = 1100, 4000, 4000
	s := start(t, nil)
	key := s.IssueKey(t)
	var frame struct {
		Result struct {
			Instructions string
			Capabilities map[string]json.RawMessage
		}
	}
	r := sendMessage(t, s, key, "initialize", map[string]any{"protocolVersion": "2025-11-25", "capabilities": map[string]any{}, "clientInfo": map[string]any{"name": "a", "version": "1"}})
	r.Decode(t, &frame)
	words := []string{"a reply goes from draft to needs_review, then a person approves it"}
	for _, op := range toolOperations() {
		words = append(words, op.Area)
	}
	for _, word := range words {
		if !strings.Contains(frame.Result.Instructions, word) {
			t.Errorf("the instructions do not name %q: %s", word, frame.Result.Instructions)
		}
	}
	if n := len(frame.Result.Instructions); n > instructionsBytesMax {
		t.Errorf("the instructions have %d bytes, want at most %d", n, instructionsBytesMax)
	}
	if string(frame.Result.Capabilities["prompts"]) != "{}" {
		t.Errorf("capabilities %s, want prompts without notifications", frame.Result.Capabilities)
	}
	if _, r := sendPrompt(t, s, key, "2025-11-25", "", "prompts/list", nil); len(r.Body) > promptsBytesMax {
		t.Errorf("prompts/list has %d bytes, want at most %d", len(r.Body), promptsBytesMax)
	}
	for _, p := range prompts.All() {
		if _, r := sendPrompt(t, s, key, "2025-11-25", "", "prompts/get", map[string]any{"name": p.Name, "arguments": exampleArguments(p)}); len(r.Body) > promptBytesMax {
			t.Errorf("%s has %d bytes, want at most %d", p.Name, len(r.Body), promptBytesMax)
		}
	}
}
