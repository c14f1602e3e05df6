package mcpserver_test

import (
	"encoding/json"
	"slices"
	"strings"
	"testing"

	"growthworkspace/shared/fault"
)

const (
	parseError         = -32700
	invalidRequest     = -32600
	methodNotFound     = -32601
	invalidParams      = -32602
	headerMismatch     = -32020
	unsupportedVersion = -32022
)

// statelessMeta is the _meta of a request in revision 2026-07-28.
const statelessMeta = `"_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientCapabilities":{}}`

// Ensure an invalid body or message gets a JSON-RPC error with the right code, status and id, and
// counts as one read.
func TestBadFrames(t *testing.T) {
	t.Parallel()
	deep := strings.Repeat("[", 5000) + strings.Repeat("]", 5000)
	for _, c := range []struct {
		name, frame string
		header      []string
		status      int
		code        int64
		id          string
	}{
		{"nothing", "", nil, 400, parseError, ""},
		{"half a frame", `{"jsonrpc":"2.0","id":1,`, nil, 400, parseError, ""},
		{"two frames", ping + ping, nil, 400, parseError, ""},
		{"not UTF-8", "{\"jsonrpc\":\"2.0\",\"id\":\"\xff\",\"method\":\"ping\"}", nil, 400, parseError, ""},
		{"a number", `1`, nil, 400, invalidRequest, ""},
		{"a string", `"ping"`, nil, 400, invalidRequest, ""},
		{"null", `null`, nil, 400, invalidRequest, ""},
		{"an empty object", `{}`, nil, 400, invalidRequest, ""},
		{"no version of JSON-RPC", `{"id":1,"method":"ping"}`, nil, 400, invalidRequest, ""},
		{"JSON-RPC 1.0", `{"jsonrpc":"1.0","id":1,"method":"ping"}`, nil, 400, invalidRequest, ""},
		{"the letter case", `{"JSONRPC":"2.0","ID":1,"METHOD":"ping"}`, nil, 400, invalidRequest, ""},
		{"no method", `{"jsonrpc":"2.0","id":1}`, nil, 400, invalidRequest, "1"},
		{"a method of null", `{"jsonrpc":"2.0","id":1,"method":null}`, nil, 400, invalidRequest, "1"},
		{"an empty method", `{"jsonrpc":"2.0","id":1,"method":""}`, nil, 400, invalidRequest, "1"},
		{"a method that is a number", `{"jsonrpc":"2.0","id":1,"method":5}`, nil, 400, invalidRequest, "1"},
		{"an id of null", `{"jsonrpc":"2.0","id":null,"method":"ping"}`, nil, 400, invalidRequest, ""},
		{"an id with a fraction", `{"jsonrpc":"2.0","id":1.5,"method":"ping"}`, nil, 400, invalidRequest, ""},
		{"an id with an exponent", `{"jsonrpc":"2.0","id":1e30,"method":"ping"}`, nil, 400, invalidRequest, ""},
		{"an id that is an object", `{"jsonrpc":"2.0","id":{},"method":"ping"}`, nil, 400, invalidRequest, ""},
		{"a request without an id", `{"jsonrpc":"2.0","method":"tools/call","params":{"name":"service_create_item","arguments":{"text":""}}}`, nil, 400, invalidRequest, ""},
		{"a notification with an id", `{"jsonrpc":"2.0","id":1,"method":"notifications/initialized"}`, nil, 400, invalidRequest, "1"},
		{"an unknown method", rpcRequest("nope", ""), nil, 200, methodNotFound, "1"},
		{"a method that is not served", rpcRequest("resources/list", ""), nil, 200, methodNotFound, "1"},
		{"a method that keeps the connection", rpcRequest("subscriptions/listen", `{}`), nil, 200, methodNotFound, "1"},
		{"a method that keeps the connection, in the new revision", rpcRequest("subscriptions/listen", `{`+statelessMeta+`}`), []string{"Mcp-Protocol-Version", "2026-07-28", "Mcp-Method", "subscriptions/listen"}, 404, methodNotFound, "1"},
		{"params that are an array", rpcRequest("tools/list", `[]`), nil, 200, invalidParams, "1"},
		{"params that are text", rpcRequest("tools/call", `"x"`), nil, 200, invalidParams, "1"},
		{"no params", rpcRequest("tools/call", ""), nil, 400, invalidRequest, "1"},
		{"an unknown tool", toolCallRequest("nope", `{}`), nil, 200, invalidParams, "1"},
		{"a tool without its prefix", rpcRequest("tools/call", `{"name":"get_item"}`), nil, 200, invalidParams, "1"},
		{"a tool that is a number", rpcRequest("tools/call", `{"name":5}`), nil, 200, invalidParams, "1"},
		{"no tool", rpcRequest("tools/call", `{}`), nil, 200, invalidParams, "1"},
		{"an invalid cursor", rpcRequest("tools/list", `{"cursor":"x"}`), nil, 200, invalidParams, "1"},
		{"deep params", rpcRequest("tools/list", `{"a":`+deep+`}`), nil, 200, invalidParams, "1"},
		{"a long id", `{"jsonrpc":"2.0","id":"` + strings.Repeat("i", 999) + `","method":"ping"}`, nil, 400, invalidRequest, ""},
		{"a long number", `{"jsonrpc":"2.0","id":` + strings.Repeat("1", 1001) + `,"method":"ping"}`, nil, 400, invalidRequest, ""},
		{"an old revision", ping, []string{"Mcp-Protocol-Version", "2024-01-01"}, 400, unsupportedVersion, "1"},
		{"a future revision", ping, []string{"Mcp-Protocol-Version", "2099-01-01"}, 400, unsupportedVersion, "1"},
		{"a revision that is not a date", ping, []string{"Mcp-Protocol-Version", "latest"}, 400, unsupportedVersion, "1"},
		{"an empty batch", `[]`, nil, 400, invalidRequest, ""},
		{"a large batch", `[` + strings.Repeat(ping+",", 20) + ping + `]`, nil, 400, invalidRequest, ""},
		{"a batch in a revision without batches", `[` + ping + `]`, []string{"Mcp-Protocol-Version", "2025-06-18"}, 400, invalidRequest, ""},
		{"a request of the new revision without its header", rpcRequest("tools/list", `{`+statelessMeta+`}`), nil, 400, headerMismatch, "1"},
		{"a request of the new revision without Mcp-Method", rpcRequest("tools/list", `{`+statelessMeta+`}`), []string{"Mcp-Protocol-Version", "2026-07-28"}, 400, headerMismatch, "1"},
		{"another method in Mcp-Method", rpcRequest("tools/list", `{`+statelessMeta+`}`), []string{"Mcp-Protocol-Version", "2026-07-28", "Mcp-Method", "ping"}, 400, headerMismatch, "1"},
		{"a new revision in the header only", rpcRequest("tools/list", `{}`), []string{"Mcp-Protocol-Version", "2026-07-28", "Mcp-Method", "tools/list"}, 400, invalidParams, "1"},
		{"a method of old revisions", rpcRequest("ping", `{`+statelessMeta+`}`), []string{"Mcp-Protocol-Version", "2026-07-28", "Mcp-Method", "ping"}, 404, methodNotFound, "1"},
	} {
		s := start(t)
		a := s.post(c.frame, c.header...)
		r := a.decode(t)
		type refusal struct {
			Status int
			Code   int64
			ID     string
		}
		got := refusal{Status: a.status, ID: string(r.ID)}
		if r.Error != nil {
			got.Code = r.Error.Code
		}
		if want := (refusal{c.status, c.code, c.id}); got != want {
			t.Errorf("%s: %+v, want %+v: %s", c.name, got, want, a.body)
		}
		a.checkResponseHeader(t, c.name)
		if got := s.keys.takeCalls(); got != "admit read " {
			t.Errorf("%s: calls %q, want one read", c.name, got)
		}
	}
}

// Ensure an id is returned as it was sent, even if it is a whole number that neither a float64 nor
// an int64 can represent.
func TestIDs(t *testing.T) {
	t.Parallel()
	s := start(t)
	for _, id := range []string{`0`, `-7`, `9007199254740991`, `9007199254740993`, `-9007199254740993`, `9223372036854775807`, `12345678901234567890123`, `"9007199254740993"`, `"a \u0022 b"`, `""`, `"-"`, `"\u002d"`, `"é"`, `"` + strings.Repeat("i", 998) + `"`} {
		for _, method := range []string{`"ping"`, `"nope"`, `"tools/call","params":{"name":"service_get_item","arguments":{"itemId":"itm_1"}}`, `"tools/call","params":{"name":"service_nope"}`, `5`} {
			text := `{"jsonrpc":"2.0","id":` + id + `,"method":` + method + `}`
			want, got := []any{}, []any{}
			for _, body := range []string{text, `[` + text + `]`} {
				var sent, received any
				a := s.post(body)
				decodeExactly(t, `{"id":`+id+`}`, &sent)
				decodeExactly(t, strings.TrimSuffix(strings.TrimPrefix(a.body, "["), "]"), &received)
				want, got = append(want, sent.(map[string]any)["id"]), append(got, received.(map[string]any)["id"])
			}
			if !slices.Equal(want, got) {
				t.Errorf("%s: %v, want %v", text, got, want)
			}
		}
	}
	for _, id := range []string{`"\ud800"`, `"\ufffd"`, `"<\u0061>"`} { // decoding the first id would change its lone surrogate
		if a := s.post(`{"jsonrpc":"2.0","id":` + id + `,"method":"ping"}`); a.body != `{"jsonrpc":"2.0","id":`+id+`,"result":{}}` {
			t.Errorf("id %s: status %d, want an empty result with the same id: %s", id, a.status, a.body)
		}
	}
	s.keys.err = fault.New(fault.RateLimited, "too many")
	batch := `[` + ping + `,{"jsonrpc":"2.0","id":9007199254740993,"method":"ping"}]`
	s.keys.errAfter = 1
	if a := s.post(batch); !strings.Contains(a.body, `"id":9007199254740993,`) {
		t.Errorf("a refusal in a batch: %d %s", a.status, a.body)
	}
}

// decodeExactly decodes JSON without changing its numbers.
func decodeExactly(t *testing.T, text string, target *any) {
	t.Helper()
	d := json.NewDecoder(strings.NewReader(text))
	d.UseNumber()
	if err := d.Decode(target); err != nil {
		t.Fatalf("no JSON: %s: %v", text, err)
	}
}

// Ensure a tools/call in the new revision calls no operation if its headers are missing or wrong.
func TestRejectedCallsCallNoOperation(t *testing.T) {
	t.Parallel()
	s := start(t)
	text := rpcRequest("tools/call", `{"name":"service_create_item","arguments":{"text":""},`+statelessMeta+`}`)
	for _, header := range [][]string{
		{"Mcp-Protocol-Version", "2026-07-28", "Mcp-Method", "tools/call"},
		{"Mcp-Protocol-Version", "2026-07-28", "Mcp-Method", "tools/call", "Mcp-Name", "service_get_item"},
		{"Mcp-Protocol-Version", "2025-11-25"},
	} {
		a := s.post(text, header...)
		if r := a.decode(t); a.status != 400 || r.Error == nil || r.Error.Code != headerMismatch {
			t.Errorf("%v: status %d, want 400 and the code %d: %s", header, a.status, headerMismatch, a.body)
		}
		if got := s.keys.takeCalls(); got != "admit read " {
			t.Errorf("%v: calls %q", header, got)
		}
	}
	a := s.post(text, "Mcp-Protocol-Version", "2026-07-28", "Mcp-Method", "tools/call", "Mcp-Name", "service_create_item")
	if r := a.decode(t); a.status != 200 || r.Result.IsError || r.Error != nil {
		t.Errorf("status %d, want 200 and a result: %s", a.status, a.body)
	}
}

// Ensure a notification or a response gets an empty 202 and counts as one read.
func TestNotifications(t *testing.T) {
	t.Parallel()
	for _, text := range []string{
		`{"jsonrpc":"2.0","method":"notifications/initialized"}`,
		`{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":1}}`,
		`{"jsonrpc":"2.0","method":"notifications/nobody/knows"}`,
		`{"jsonrpc":"2.0","id":7,"result":{}}`,
		`{"jsonrpc":"2.0","id":7,"error":{"code":1,"message":"no"}}`,
		`[{"jsonrpc":"2.0","method":"notifications/initialized"}]`,
	} {
		s := start(t)
		a := s.post(text)
		if a.status != 202 || a.body != "" {
			t.Errorf("%s: status %d, want 202 without a body: %q", text, a.status, a.body)
		}
		if a.header.Get("RateLimit-Remaining") != "599" || a.header.Get("Content-Type") != "" {
			t.Errorf("%s: headers %v, want 599 remaining and no Content-Type", text, a.header)
		}
		if got := s.keys.takeCalls(); got != "admit read " {
			t.Errorf("%s: calls %q", text, got)
		}
	}
}

// Ensure each request in a batch gets a response. The key must be admitted once for each message.
// For a tool that writes, it must be admitted for a write.
func TestBatch(t *testing.T) {
	t.Parallel()
	s := start(t)
	text := `[` + strings.Join([]string{
		ping, `{"jsonrpc":"2.0","method":"notifications/initialized"}`, toolCallRequest("create_item", `{"text":"a"}`), toolCallRequest("get_item", `{"itemId":"itm_gone"}`),
		rpcRequest("initialize", `{}`), rpcRequest("nope", ""), `5`, `{"jsonrpc":"2.0","id":"b","method":"ping"}`,
	}, ",") + `]`
	for _, header := range [][]string{nil, {"Mcp-Protocol-Version", "2025-03-26"}, {"Mcp-Protocol-Version", "2024-11-05"}} {
		a := s.post(text, header...)
		var out []response
		if err := json.Unmarshal([]byte(a.body), &out); err != nil || a.status != 200 || len(out) != 7 {
			t.Fatalf("status %d with %d responses, want 200 with 7: %s: %v", a.status, len(out), a.body, err)
		}
		for i, code := range []int64{0, 0, 0, invalidRequest, methodNotFound, invalidRequest, 0} {
			if (out[i].Error == nil) != (code == 0) || code != 0 && out[i].Error.Code != code {
				t.Errorf("message %d: %s", i, a.body)
			}
		}
		if out[1].Result.IsError || !out[2].Result.IsError || string(out[6].ID) != `"b"` {
			t.Errorf("errors %t and %t and the id %s, want false, true and \"b\": %s", out[1].Result.IsError, out[2].Result.IsError, out[6].ID, a.body)
		}
		if got := s.keys.takeCalls(); strings.Count(got, "admit") != 8 || !strings.Contains(got, "admit write plan:write") {
			t.Errorf("calls %q", got)
		}
	}
}

// Ensure a message with a repeated member is rejected and calls no tool, because a filter in front
// of the server may have read a different occurrence of that member. A repeated argument must cause
// a tool error.
func TestRepeatedNames(t *testing.T) {
	t.Parallel()
	s := start(t)
	const create = `"params":{"name":"service_create_item","arguments":{"text":""}}`
	for _, c := range []struct{ text, id, message string }{
		{`{"jsonrpc":"2.0","id":1,"method":"tools/call","method":"ping",` + create + `}`, "1", `the member \"method\" is repeated`},
		{`{"jsonrpc":"2.0","id":1,"method":"tools/call","id":2,` + create + `}`, "", `the member \"id\" is repeated`},
		{`{"jsonrpc":"2.0","id":1,"method":"tools/call","params":null,` + create + `}`, "1", `the member \"params\" is repeated`},
		{`{"jsonrpc":"2.0","id":1,"jsonrpc":"2.0","method":"tools/call",` + create + `}`, "1", `the member \"jsonrpc\" is repeated`},
		{`{"jsonrpc":"2.0","id":1,"m\u0065thod":"ping","method":"tools/call",` + create + `}`, "1", `the member \"method\" is repeated`},
		{rpcRequest("tools/call", `{"name":"service_get_item","name":"service_create_item","arguments":{"text":""}}`), "1", `params: the member \"name\" is repeated`},
		{rpcRequest("tools/call", `{"name":"service_create_item","arguments":{"text":""},"arguments":{}}`), "1", `params: the member \"arguments\" is repeated`},
	} {
		for _, text := range []string{c.text, `[` + c.text + `]`} {
			a := s.post(text)
			object := strings.TrimSuffix(strings.TrimPrefix(a.body, "["), "]")
			if r := (httpResponse{body: object}).decode(t); r.Error == nil || string(r.ID) != c.id || !strings.Contains(object, `"message":"`+c.message+`"`) {
				t.Errorf("%s: status %d, want an error with the id %s and %s: %s", text, a.status, c.id, c.message, a.body)
			}
			if got := s.keys.takeCalls(); got != "admit read " {
				t.Errorf("%s: calls %q", text, got)
			}
		}
	}
	a := s.post(toolCallRequest("create_item", `{"text":"a","text":"b"}`))
	if r := a.decode(t).Result; !r.IsError || !strings.Contains(r.Content[0].Text, "is repeated") {
		t.Errorf("status %d, want an error that names what is repeated: %s", a.status, a.body)
	}
}

// Ensure arguments that are nested too deeply cause a tool error, however deep they are. Over HTTP,
// such a body must also cause an error.
func TestDeepArguments(t *testing.T) {
	t.Parallel()
	s := start(t)
	for _, levels := range []int{500, 501, 900, 1001, 9000} {
		a := s.post(toolCallRequest("create_item", `{"text":`+strings.Repeat("[", levels-1)+strings.Repeat("]", levels-1)+`}`))
		want := "arguments: is nested more than 500 levels deep"
		if levels == 500 {
			want = "text: must be a string"
		}
		if r := a.decode(t).Result; a.status != 200 || !r.IsError || !slices.Equal(messages(r.Content[0].Text), []string{want}) {
			t.Errorf("%d levels: %d %.300s", levels, a.status, a.body)
		}
	}
}

// Ensure the response to a batch with the largest results fits in a Lambda response. It may have up
// to 4.6 MB, which is 6 MB in base64.
func TestLargeBatch(t *testing.T) {
	t.Parallel()
	s := start(t)
	for _, request := range []string{toolCallRequest("get_item", `{"itemId":"itm_quotes"}`), toolCallRequest("list_items", `{"state":"large"}`), rpcRequest("tools/list", "")} {
		a := s.post(`[` + strings.Join(slices.Repeat([]string{request}, 20), ",") + `]`)
		var out []response
		if err := json.Unmarshal([]byte(a.body), &out); err != nil {
			t.Fatal(err)
		}
		if a.status != 200 || len(out) != 20 || len(a.body) > 4_600_000 {
			t.Errorf("%s: status %d with %d responses in %d bytes, want 200 with 20 in at most 4,600,000", request, a.status, len(out), len(a.body))
		}
		for _, r := range out {
			if r.Error != nil || r.Result.IsError {
				t.Errorf("%s: a result is an error: %.300s", request, a.body)
			}
		}
	}
}

// Ensure invalid params are rejected with a message that neither quotes them nor mentions a Go
// type.
func TestParamsThatDoNotDecode(t *testing.T) {
	t.Parallel()
	s := start(t)
	for _, text := range []string{
		rpcRequest("initialize", `[]`), rpcRequest("initialize", `{"protocolVersion":5}`), rpcRequest("initialize", `null`), rpcRequest("ping", `[]`),
		rpcRequest("tools/list", `{"cursor":5}`), rpcRequest("tools/call", `5`), rpcRequest("tools/call", `{"name":"AKIAPLANTED","_meta":5}`),
	} {
		got := s.post(text).body
		if !strings.Contains(got, `"code":-32602`) && !strings.Contains(got, `"code":-32600`) || strings.Contains(got, "mcp.") || strings.Contains(got, "AKIAPLANTED") {
			t.Errorf("%s: %s, want the code -32602 or -32600, no name of a package and no value", text, got)
		}
	}
}
