package main

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"

	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// bridge is an `mcp` command that runs in this process.
type bridge struct {
	in       *io.PipeWriter
	out      *io.PipeReader
	exitCode chan int
	logs     *lockedBuffer
}

func startBridge(t *testing.T, args ...string) *bridge {
	t.Helper()
	ctx, cancel := context.WithCancel(t.Context())
	t.Cleanup(cancel)
	fromClient, in := io.Pipe()
	out, toClient := io.Pipe()
	b := &bridge{in, out, make(chan int, 1), &lockedBuffer{}}
	go func() {
		b.exitCode <- run(ctx, "workspace", append([]string{"mcp"}, args...), fromClient, toClient, b.logs)
		_ = toClient.Close()
	}()
	return b
}

// connect connects the SDK's client to a bridge.
func (b *bridge) connect(t *testing.T, revision string) (*mcp.ClientSession, error) {
	t.Helper()
	client := mcp.NewClient(&mcp.Implementation{Name: "test", Version: "1"}, nil)
	return client.Connect(t.Context(), &mcp.IOTransport{Reader: b.out, Writer: b.in}, &mcp.ClientSessionOptions{ProtocolVersion: revision})
}

// textOf returns the text blocks of a result, joined.
func textOf(r *mcp.CallToolResult) (out string) {
	for _, c := range r.Content {
		if text, ok := c.(*mcp.TextContent); ok {
			out += text.Text
		}
	}
	return out
}

// Ensure the bridge works between a client and a server that all subtests share.
func TestBridge(t *testing.T) {
	isolateUserFolders(t)
	s, data := useServer(t)
	t.Run("client", func(t *testing.T) { testBridge(t, s) })
	t.Run("messages", func(t *testing.T) { testBridgeMessages(t, s) })
	t.Run("errors", func(t *testing.T) { testBridgeErrors(t, s, data) })
}

// Ensure a client can use the tools and prompts of the chosen areas through the bridge, with older
// and newer revisions of the protocol. The bridge must exit when the client closes its end.
func testBridge(t *testing.T, s *server) {
	t.Setenv(urlVariable, s.BaseURL)
	t.Setenv(keyVariable, s.Key)
	for _, revision := range []string{"2024-11-05", "2026-07-28"} {
		b := startBridge(t, "--areas", "feedback,context")
		session, err := b.connect(t, revision)
		if err != nil {
			t.Fatalf("%s: %v: %s", revision, err, b.logs)
		}
		if got := session.InitializeResult(); got.ProtocolVersion != revision || !strings.Contains(got.Instructions, "needs_review") {
			t.Errorf("%s: revision %s, instructions %q", revision, got.ProtocolVersion, got.Instructions)
		}
		tools, err := session.ListTools(t.Context(), nil)
		if err != nil {
			t.Fatalf("%s: %v", revision, err)
		}
		for _, tool := range tools.Tools {
			if !strings.Contains(tool.Name, "feedback") && !strings.Contains(tool.Name, "context") {
				t.Errorf("%s: the areas offer %s", revision, tool.Name)
			}
		}
		list, err := session.CallTool(t.Context(), &mcp.CallToolParams{Name: "service_list_feedback", Arguments: map[string]any{"limit": 1}})
		if err != nil || list.IsError || !strings.Contains(textOf(list), `"fbk_`) || list.Meta["nextCursor"] == nil {
			t.Errorf("%s: list_feedback: %+v, %v", revision, list, err)
		}
		none, err := session.CallTool(t.Context(), &mcp.CallToolParams{Name: "service_get_feedback", Arguments: map[string]any{"feedbackId": "fbk_none"}})
		if err != nil || !none.IsError || !strings.Contains(textOf(none), "service_list_feedback lists the ids") {
			t.Errorf("%s: the error of a tool: %+v, %v", revision, none, err)
		}
		if _, err := session.CallTool(t.Context(), &mcp.CallToolParams{Name: "service_list_plan_boards"}); err == nil || !strings.Contains(err.Error(), "unknown tool") {
			t.Errorf("%s: a tool of another area: %v", revision, err)
		}
		got, err := session.GetPrompt(t.Context(), &mcp.GetPromptParams{Name: "triage-reviews", Arguments: map[string]string{"count": "3"}})
		if err != nil || !strings.Contains(got.Messages[0].Content.(*mcp.TextContent).Text, "Number of replies: 3.") {
			t.Errorf("%s: a prompt: %+v, %v", revision, got, err)
		}
		if err := session.Close(); err != nil {
			t.Errorf("%s: close: %v", revision, err)
		}
		if code := <-b.exitCode; code != 0 || b.logs.String() != "" {
			t.Errorf("%s: exit code %d, stderr %q, want 0 and nothing", revision, code, b.logs)
		}
	}
}

// exchange writes lines to a bridge and closes its input. It returns the lines that the bridge
// wrote.
func (b *bridge) exchange(t *testing.T, in ...string) (out []string) {
	t.Helper()
	go func() {
		_, _ = io.WriteString(b.in, strings.Join(in, "\n")) // the last line has no newline
		_ = b.in.Close()
	}()
	for scanner := bufio.NewScanner(b.out); scanner.Scan(); {
		out = append(out, scanner.Text())
	}
	if code := <-b.exitCode; code != 0 {
		t.Errorf("exit code %d: %s", code, b.logs)
	}
	return out
}

// Ensure the bridge forwards messages that it does not understand, and leaves ids unchanged. It
// must write nothing for messages that expect no response. It must respond to all other messages
// even after the client has closed the input.
func testBridgeMessages(t *testing.T, s *server) {
	t.Setenv(urlVariable, s.BaseURL)
	t.Setenv(keyVariable, s.Key)
	for _, c := range []struct {
		in   []string
		want []string // parts of the only line of output; nil if there is no output
	}{
		{[]string{`{"jsonrpc":"2.0","method":"notifications/initialized"}`}, nil},
		{[]string{"", "  ", "\r"}, nil},
		{[]string{`{"jsonrpc":"2.0","id":12345678901234567890,"method":"ping"}`}, []string{`"id":12345678901234567890,"result":{}`}},
		{[]string{`{"jsonrpc":"2.0","id":"\ud800","method":"ping"}` + "\r"}, []string{`"id":"\ud800","result":{}`}},
		{[]string{`{"jsonrpc":"2.0","id":1,"method":"ping"`}, []string{`"code":-32700`}},
		{[]string{`nonsense`}, []string{`"code":-32700`}},
		{[]string{`[{"jsonrpc":"2.0","id":1,"method":"ping"},{"jsonrpc":"2.0","id":2,"method":"ping"}]`}, []string{`[{"jsonrpc":"2.0","id":1,`, `"id":2,`}},
		{[]string{`{"jsonrpc":"2.0","id":1,"method":"resources/list"}`}, []string{`"code":-32601`}},
		{[]string{`{"jsonrpc":"2.0","id":1,"method":"tools/list","params":{"_meta":{"io.modelcontextprotocol/protocolVersion":"2099-01-01"}}}`}, []string{`"code":-32022`, `"supported"`}},
	} {
		b := startBridge(t)
		out := b.exchange(t, c.in...)
		if c.want == nil && len(out) > 0 || c.want != nil && len(out) != 1 {
			t.Errorf("%q: %q, want a line with %q", c.in, out, c.want)
			continue
		}
		for _, part := range c.want {
			if !strings.Contains(out[0], part) {
				t.Errorf("%q: %s, want %s", c.in, out[0], part)
			}
		}
	}
	var in []string
	for n := range 60 {
		in = append(in, fmt.Sprintf(`{"jsonrpc":"2.0","id":%d,"method":"ping"}`, n))
	}
	out := startBridge(t).exchange(t, in...)
	slices.Sort(out)
	if len(slices.Compact(out)) != len(in) {
		t.Errorf("%d different responses to %d messages", len(slices.Compact(out)), len(in))
	}
}

// Ensure a wrong key or address causes a clear error, both in the response to the client and on
// standard error. The bridge must keep running, so that a new login works immediately.
func testBridgeErrors(t *testing.T, s *server, data string) {
	const call = `{"jsonrpc":"2.0","id":7,"method":"tools/call","params":{"name":"service_get_current_key"}}`
	message := func(line string) string {
		var out struct {
			ID    int
			Error struct {
				Code    int
				Message string
			}
		}
		if err := json.Unmarshal([]byte(line), &out); err != nil || out.ID != 7 || out.Error.Code != -32603 {
			t.Errorf("%s, want an error for the message 7: %v", line, err)
		}
		return out.Error.Message
	}
	b := startBridge(t, "--base-url", "http://127.0.0.1:1", "--data", t.TempDir())
	out := b.exchange(t, call)
	if len(out) != 1 || !strings.Contains(message(out[0]), "no key for http://127.0.0.1:1: set WORKSPACE_KEY, or run `workspace login") || !strings.Contains(b.logs.String(), "no key for") {
		t.Errorf("without a key: %q, stderr %s", out, b.logs)
	}
	b = startBridge(t, "--agent", "cursor")
	if out := b.exchange(t, call); len(out) != 1 || !strings.Contains(message(out[0]), "no key is stored for the agent cursor: run `workspace mcp install cursor`") {
		t.Errorf("without an agent's key: %q", out)
	}
	t.Setenv(keyVariable, s.Key)
	b = startBridge(t, "--base-url", "http://127.0.0.1:1")
	if out := b.exchange(t, call, `{"jsonrpc":"2.0","method":"notifications/initialized"}`); len(out) != 1 || !strings.Contains(message(out[0]), "does not respond: connection refused; start the service there with `workspace serve --addr 127.0.0.1:1`") {
		t.Errorf("nothing listens: %q", out)
	}
	page := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { _, _ = io.WriteString(w, "<html>") }))
	defer page.Close()
	b = startBridge(t, "--base-url", page.URL)
	if out := b.exchange(t, "["+call+"]"); len(out) != 1 || !strings.Contains(out[0], "refused (200)") || !strings.HasPrefix(out[0], "[") {
		t.Errorf("another server: %q", out)
	}
	t.Setenv(keyVariable, "")

	issue := func() (id, secret string) {
		key := runJSON(t, data, "", "key", "issue", "--company", s.CompanyID, "--scopes", "feedback:read")
		return key["id"].(string), key["key"].(string)
	}
	id, secret := issue()
	login := func(secret string) {
		if r := runCommand(t, secret, "login", "--base-url", s.BaseURL); r.code != 0 {
			t.Fatalf("login: %+v", r)
		}
	}
	login(secret)
	b = startBridge(t)
	responses := bufio.NewScanner(b.out)
	send := func() string {
		if _, err := io.WriteString(b.in, call+"\n"); err != nil || !responses.Scan() {
			t.Fatalf("no response: %v, %v, %s", err, responses.Err(), b.logs)
		}
		return responses.Text()
	}
	if got := send(); !strings.Contains(got, id) {
		t.Errorf("with a login: %s", got)
	}
	if r := runCommand(t, "", "key", "revoke", id, "--company", s.CompanyID, "--data", data); r.code != 0 {
		t.Fatalf("revoke: %+v", r)
	}
	want := s.BaseURL + " refuses the key of `workspace login`: it is unknown, revoked or expired. Ask a person to run `workspace login --base-url " + s.BaseURL + "` (request "
	if got := message(send()); !strings.HasPrefix(got, want) || !strings.Contains(b.logs.String(), want) {
		t.Errorf("with a revoked key: %q, stderr %s, want %s", got, b.logs, want)
	}
	id, secret = issue()
	login(secret)
	if got := send(); !strings.Contains(got, id) {
		t.Errorf("with a new login: %s", got)
	}
	if err := b.in.Close(); err != nil {
		t.Fatal(err)
	}
	if code := <-b.exitCode; code != 0 || strings.Contains(b.logs.String(), secret) {
		t.Errorf("exit code %d, stderr %s, want 0 and no key", code, b.logs)
	}
	for args, want := range map[string]string{
		"mcp --areas nope":              "--areas: must be one or more of company, keys, plan",
		"mcp --agent ../x":              "--agent: must be a name",
		"mcp now":                       `unknown command "now"`,
		"mcp install":                   "name the CLIENT",
		"mcp install emacs":             `no client "emacs"; name one of claude-code, claude-desktop, cursor, vscode, codex`,
		"mcp install cursor --areas x":  "--areas: must be one or more of",
		"mcp install cursor --scopes x": `--scopes: there is no scope "x"`,
		"mcp install cursor --scopes feedback:read --own-key=false": "--scopes: is for a key of the agent's own",
	} {
		requireContains(t, runRefused(t, 2, "", strings.Fields(args)...), want)
	}
}
