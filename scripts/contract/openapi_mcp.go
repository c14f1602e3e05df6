package contract

import (
	"bytes"
	"encoding/json"
	"fmt"
	"maps"
	"net/http"
	"net/url"
	"reflect"
	"strings"
	"time"

	"growthworkspace/functions"
	"growthworkspace/shared/fault"
	"growthworkspace/shared/mcpserver"
	"growthworkspace/shared/testkit/oracle"
)

func checkOpenAPIDocument(k *runner) {
	got, err := k.sendOnce(request{method: http.MethodGet, path: "/openapi.json", header: map[string]string{"Authorization": ""}})
	if err != nil {
		k.fail("%s: no response: %v", got.request, err)
		return
	}
	var document struct {
		OpenAPI string                    `json:"openapi"`
		Paths   map[string]map[string]any `json:"paths"`
	}
	if !k.checkSuccess(got, &document) {
		return
	}
	if !strings.HasPrefix(document.OpenAPI, "3.") {
		k.fail("%s: openapi is %q", got.request, document.OpenAPI)
	}
	for _, op := range functions.Operations(nil) {
		if isOptional(op) {
			continue
		}
		k.countCheck()
		if document.Paths[op.Path][strings.ToLower(op.Method)] == nil {
			k.fail("%s: %s %s is not in it", got.request, op.Method, op.Path)
		}
	}
}

// checkOpenAPIServer requires that the server in the OpenAPI document is the base URL. Like a
// client, it resolves the server's URL relative to the URL of the document.
func checkOpenAPIServer(k *runner) {
	const path = "/openapi.json"
	got, err := k.sendOnce(request{method: http.MethodGet, path: path, header: map[string]string{"Authorization": ""}})
	if err != nil {
		k.fail("%s: no response: %v", got.request, err)
		return
	}
	document := struct{ Servers []struct{ URL string } }{}
	if !k.checkSuccess(got, &document) {
		return
	}
	for _, server := range document.Servers {
		k.countCheck()
		serverURL, err := url.Parse(k.BaseURL + path)
		if err == nil {
			serverURL, err = serverURL.Parse(server.URL)
		}
		if err != nil || strings.TrimSuffix(serverURL.String(), "/") != k.BaseURL {
			k.fail("%s: the server %q is %v, want %s (%v)", got.request, server.URL, serverURL, k.BaseURL, err)
		}
	}
}

// mcpRevision is a revision of the MCP protocol that most servers support.
const mcpRevision = "2025-06-18"

// toolsPath is the path of the MCP endpoint. Query parameters can limit its tools to those of some
// areas.
const toolsPath = "/mcp"

// sendMCP sends a message to the MCP endpoint at path and returns the message's result. The
// response may be JSON or an event in a stream.
func (k *runner) sendMCP(path, method string, params any, headers map[string]string) (result map[string]any, header http.Header, err error) {
	body, err := json.Marshal(map[string]any{"jsonrpc": "2.0", "id": 1, "method": method, "params": params})
	if err != nil {
		return nil, nil, err
	}
	q := request{method: http.MethodPost, path: path, body: string(body), header: map[string]string{"Accept": "application/json, text/event-stream"}}
	maps.Copy(q.header, headers)
	// Do not call checkResponse, because responses of /mcp follow the rules of MCP and not those of
	// the API.
	got, err := k.sendWithRetry(q, func(response) {})
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
		return nil, nil, fmt.Errorf("POST %s %s: %d, error %v", path, method, got.status, message.Error)
	}
	return message.Result, got.header, nil
}

// callMCP initialises a session of the MCP endpoint at path, sends one message in it and returns
// the message's result.
func (k *runner) callMCP(path, method string, params any) (map[string]any, error) {
	initResult, header, err := k.sendMCP(path, "initialize", map[string]any{
		"protocolVersion": mcpRevision, "capabilities": map[string]any{}, "clientInfo": map[string]any{"name": "contract", "version": "1"},
	}, nil)
	if err != nil {
		return nil, err
	}
	headers := map[string]string{"Mcp-Protocol-Version": fmt.Sprint(initResult["protocolVersion"])}
	if id := header.Get("Mcp-Session-Id"); id != "" {
		headers["Mcp-Session-Id"] = id
	}
	result, _, err := k.sendMCP(path, method, params, headers)
	return result, err
}

// toolWaitMax is how long callTool may wait before a retry. In this time, a used-up quota refills
// enough for a few calls.
const toolWaitMax = 2 * time.Second

// callTool calls an MCP tool and returns its result. It retries the call if the result says that it
// was rate limited.
func (k *runner) callTool(name string, arguments map[string]any) (result map[string]any, err error) {
	for range quotaTriesMax {
		result, err = k.callMCP(toolsPath, "tools/call", map[string]any{"name": name, "arguments": arguments})
		if err != nil || result["isError"] != true || !strings.Contains(fmt.Sprint(result["content"]), string(fault.RateLimited)) || k.Wait(k.ctx, toolWaitMax) != nil {
			break
		}
	}
	return result, err
}

// toolNames returns the names of the tools of the MCP endpoint at path.
func (k *runner) toolNames(path string) (map[string]bool, error) {
	result, err := k.callMCP(path, "tools/list", map[string]any{})
	tools, _ := result["tools"].([]any) // nil if the result contains no list of tools
	names := map[string]bool{}
	for _, tool := range tools {
		if t, ok := tool.(map[string]any); ok {
			names[fmt.Sprint(t["name"])] = true
		}
	}
	return names, err
}

func checkMCPTools(k *runner) {
	names, err := k.toolNames(toolsPath)
	if err != nil {
		k.fail("%v", err)
		return
	}
	k.eachRead(func(p discoveredRead) {
		if p.NotTool || isOptional(p.Operation) || p.status != http.StatusOK {
			return
		}
		k.countCheck()
		if !names["service_"+p.ID] {
			k.fail("tools/list has no service_%s", p.ID)
		}
	})
}

func checkMCPHints(k *runner) {
	result, err := k.callMCP(toolsPath, "tools/list", map[string]any{})
	if err != nil {
		k.fail("%v", err)
		return
	}
	known := map[string]oracle.Hints{}
	for _, op := range functions.Operations(nil) {
		known[mcpserver.ToolName(op)] = oracle.Operation{ID: op.ID, Method: op.Method, Scope: string(op.Scope)}.Hints()
	}
	tools, _ := result["tools"].([]any) // nil if the result contains no list of tools
	for _, tool := range tools {
		t, _ := tool.(map[string]any)
		name := fmt.Sprint(t["name"])
		want, ok := known[name]
		if !ok {
			continue // the tool of an operation that this program does not know
		}
		k.countCheck()
		annotations, _ := t["annotations"].(map[string]any)
		isReadOnly := annotations["readOnlyHint"] == true
		got := oracle.Hints{
			ReadOnly: isReadOnly, Destructive: !isReadOnly && annotations["destructiveHint"] != false, Idempotent: !isReadOnly && annotations["idempotentHint"] == true,
		}
		if got != want {
			k.fail("%s: the hints are %+v, want %+v", name, got, want)
		}
	}
}

// checkMCPAreas checks that the MCP endpoint can be limited to two areas. It compares the remaining
// tools with all tools, and calls a tool of a third area.
func checkMCPAreas(k *runner) {
	const areaToolsPath = toolsPath + "?areas=company,plan"
	all, err := k.toolNames(toolsPath)
	if err != nil {
		k.fail("%v", err)
		return
	}
	names, err := k.toolNames(areaToolsPath)
	if err != nil {
		k.fail("%v", err)
		return
	}
	for _, op := range functions.Operations(nil) {
		name, area := mcpserver.ToolName(op), op.Area
		if want := all[name] && (area == "company" || area == "plan"); names[name] != want {
			k.fail("tools/list at %s: %s is listed: %t, want %t", areaToolsPath, name, names[name], want)
		}
		k.countCheck()
	}
	if result, err := k.callMCP(areaToolsPath, "tools/call", map[string]any{"name": "service_list_optimise_sites", "arguments": map[string]any{}}); err == nil {
		k.fail("%s: service_list_optimise_sites, which is of another area, returns %v", areaToolsPath, result)
	}
	for _, query := range []string{"areas=", "areas=nope", "areas=plan,", "areas=plan,plan", "areas=plan&areas=company"} {
		for authorization, want := range map[string]fault.Code{"": fault.Unauthorised, "Bearer " + k.Key: fault.BadRequest} {
			got, err := k.sendWithRetry(request{
				method: http.MethodPost, path: toolsPath + "?" + query, body: `{"jsonrpc":"2.0","id":1,"method":"tools/list","params":{}}`,
				header: map[string]string{"Authorization": authorization, "Accept": "application/json, text/event-stream", "Mcp-Protocol-Version": mcpRevision},
			}, func(response) {})
			if err != nil {
				k.fail("%s: no response: %v", got.request, err)
				return
			}
			k.checkError(got, want, "")
		}
	}
}

func checkMCPErrors(k *runner) {
	for _, c := range []struct {
		tool      string
		arguments map[string]any
		want      []string
	}{
		{"service_list_plan_boards", map[string]any{"limit": 0}, []string{`"limit: `}},
		{"service_list_plan_boards", map[string]any{"limti": 1}, []string{`"limti: `, "did you mean limit?"}},
		{"service_get_plan_board", map[string]any{"boardId": "brd_" + strings.Repeat("0", 26)}, []string{"service_list_plan_boards"}},
	} {
		result, err := k.callTool(c.tool, c.arguments)
		if err != nil {
			k.fail("%v", err)
			return
		}
		content, _ := result["content"].([]any)
		text, _ := json.Marshal(content)
		if strings.Contains(string(text), string(fault.Unauthorised)) {
			k.skip("the key lacks plan:read")
			return
		}
		for _, want := range c.want {
			k.countCheck()
			if result["isError"] != true || !strings.Contains(strings.ReplaceAll(string(text), `\"`, `"`), want) {
				k.fail("%s with %v: it does not say %s, but %s", c.tool, c.arguments, want, text)
			}
		}
	}
}

func checkMCPKey(k *runner) {
	for _, authorization := range []string{"", "Bearer sk_live_" + unknownKeySuffix} {
		got, err := k.sendOnce(request{
			method: http.MethodPost, path: "/mcp", body: `{"jsonrpc":"2.0","id":1,"method":"tools/list","params":{}}`,
			header: map[string]string{"Authorization": authorization, "Accept": "application/json, text/event-stream", "Mcp-Protocol-Version": mcpRevision},
		})
		if err != nil {
			k.fail("%s: no response: %v", got.request, err)
			return
		}
		k.checkError(got, fault.Unauthorised, "")
	}
}

func checkMCPCall(k *runner) {
	result, err := k.callTool("service_get_company", map[string]any{})
	if err != nil {
		k.fail("%v", err)
		return
	}
	if want, ok := k.checkRecord(k.get(k.companyPath(""))); ok && !reflect.DeepEqual(result["structuredContent"], any(want)) {
		k.fail("service_get_company: structuredContent is not what GET /v1/companies/{companyId} returns")
	}
}
