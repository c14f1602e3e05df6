package main

import (
	"bytes"
	"encoding/json"
	"fmt"
	"net/http"
	"reflect"
	"strings"
	"time"

	"growthworkspace/functions"
	"growthworkspace/shared/fault"
	"growthworkspace/shared/schema"
)

func openapiDocument(k *kit, r *ruleReport) {
	got, err := k.once(ask{method: http.MethodGet, path: "/openapi.json", header: map[string]string{"Authorization": ""}})
	if err != nil {
		r.fail("%s: no answer: %v", got.what, err)
		return
	}
	var document struct {
		OpenAPI string                    `json:"openapi"`
		Paths   map[string]map[string]any `json:"paths"`
	}
	if !k.ok(got, &document) {
		return
	}
	if !strings.HasPrefix(document.OpenAPI, "3.") {
		r.fail("%s: openapi is %q", got.what, document.OpenAPI)
	}
	for _, op := range functions.Operations(nil) {
		if optional(op) {
			continue
		}
		r.look()
		if document.Paths[op.Path][strings.ToLower(op.Method)] == nil {
			r.fail("%s: %s %s is not in it", got.what, op.Method, op.Path)
		}
	}
}

// rpc sends a message to the tools' endpoint and returns its result. The answer may be JSON or one event of a stream.
func (k *kit) rpc(method string, params any, session http.Header) (result map[string]any, header http.Header, err error) {
	body, err := schema.Encode(map[string]any{"jsonrpc": "2.0", "id": 1, "method": method, "params": params})
	if err != nil {
		return nil, nil, err
	}
	headers := map[string]string{"Accept": "application/json, text/event-stream"}
	for name := range session {
		headers[name] = session.Get(name)
	}
	// Its answers are no single operation's: what is said of those does not hold for them all.
	got, err := k.patiently(ask{method: http.MethodPost, path: "/mcp", body: string(body), header: headers}, func(reply) {})
	if err != nil {
		return nil, nil, err
	}
	text := got.body
	if strings.HasPrefix(got.header.Get("Content-Type"), "text/event-stream") {
		for line := range bytes.Lines(got.body) {
			if data, ok := bytes.CutPrefix(line, []byte("data:")); ok {
				text = data
			}
		}
	}
	var message struct {
		Result map[string]any `json:"result"`
		Error  any            `json:"error"`
	}
	if err := json.Unmarshal(text, &message); got.status != http.StatusOK || err != nil || message.Result == nil {
		return nil, nil, fmt.Errorf("POST /mcp %s: %d, error %v", method, got.status, message.Error)
	}
	return message.Result, got.header, nil
}

// mcpRevision is one that servers of many ages speak.
const mcpRevision = "2025-06-18"

// open begins a conversation with the tools' endpoint and returns what its messages must carry.
func (k *kit) open() (http.Header, error) {
	result, header, err := k.rpc("initialize", map[string]any{
		"protocolVersion": mcpRevision, "capabilities": map[string]any{}, "clientInfo": map[string]any{"name": "workspace check", "version": "1"},
	}, nil)
	if err != nil {
		return nil, err
	}
	session := http.Header{}
	session.Set("Mcp-Protocol-Version", fmt.Sprint(result["protocolVersion"]))
	if id := header.Get("Mcp-Session-Id"); id != "" {
		session.Set("Mcp-Session-Id", id)
	}
	return session, nil
}

func mcpTools(k *kit, r *ruleReport) {
	session, err := k.open()
	if err != nil {
		r.fail("%v", err)
		return
	}
	result, _, err := k.rpc("tools/list", map[string]any{}, session)
	if err != nil {
		r.fail("%v", err)
		return
	}
	tools, _ := result["tools"].([]any) // of anything else no tool is found
	names := map[string]bool{}
	for _, tool := range tools {
		if t, ok := tool.(map[string]any); ok {
			names[fmt.Sprint(t["name"])] = true
		}
	}
	k.each(func(p primed) {
		if optional(p.Operation) || p.answer.status != http.StatusOK {
			return
		}
		r.look()
		if !names["service_"+p.ID] {
			r.fail("tools/list has no service_%s", p.ID)
		}
	})
}

func mcpKey(k *kit, r *ruleReport) {
	for _, authorization := range []string{"", "Bearer sk_live_" + nobody} {
		got, err := k.once(ask{
			method: http.MethodPost, path: "/mcp", body: `{"jsonrpc":"2.0","id":1,"method":"tools/list","params":{}}`,
			header: map[string]string{"Authorization": authorization, "Accept": "application/json, text/event-stream", "Mcp-Protocol-Version": mcpRevision},
		})
		if err != nil {
			r.fail("%s: no answer: %v", got.what, err)
			return
		}
		k.is(got, fault.Unauthorised, "")
	}
}

// toolWait is in which a quota lets a few calls in again.
const toolWait = 2 * time.Second

func mcpCall(k *kit, r *ruleReport) {
	session, err := k.open()
	if err != nil {
		r.fail("%v", err)
		return
	}
	// A tool whose quota is used up says so in its result.
	var result map[string]any
	for range quotaTriesMax {
		result, _, err = k.rpc("tools/call", map[string]any{"name": "service_get_company", "arguments": map[string]any{}}, session)
		if err != nil {
			r.fail("%v", err)
			return
		}
		text, _ := schema.Encode(result["content"]) // of decoded JSON
		if result["isError"] != true || !strings.Contains(string(text), string(fault.RateLimited)) || k.sleep(k.ctx, toolWait) != nil {
			break
		}
	}
	var want map[string]any
	if k.ok(k.get(k.companyPath("")), &want) && !reflect.DeepEqual(result["structuredContent"], any(want)) {
		r.fail("service_get_company: structuredContent is not what GET /v1/companies/{companyId} answers")
	}
}
