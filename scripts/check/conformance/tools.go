package conformance

import (
	"fmt"
	"net/http"
	"reflect"
	"slices"
	"strings"
	"time"

	"growthworkspace/shared/api"
	"growthworkspace/shared/fault"
)

// toolsPath is the path of the MCP endpoint.
const toolsPath = "/mcp"

// callMCP sends a message to the MCP endpoint and returns its result. The revision of the protocol
// needs no session.
func (run *runner) callMCP(method string, params any) (result map[string]any, err error) {
	body := encode(map[string]any{"jsonrpc": "2.0", "id": 1, "method": method, "params": params})
	got := run.do(http.MethodPost, toolsPath, body, "Accept", "application/json, text/event-stream", "Mcp-Protocol-Version", "2025-06-18")
	if result, _ = got.object()["result"].(map[string]any); result == nil {
		return nil, fmt.Errorf("POST %s %s: %d %s", toolsPath, method, got.Status, got.Body)
	}
	return result, nil
}

// toolWait is how long callTool waits before a retry. In this time, a used-up quota refills enough
// for a few calls.
const (
	toolWait     = 2 * time.Second
	toolTriesMax = 40
)

// callTool calls an MCP tool and returns its result and the text of its content. It retries the
// call if the result says that the quota is used up.
func (run *runner) callTool(name string, arguments map[string]any) (result map[string]any, content string, err error) {
	for range toolTriesMax {
		result, err = run.callMCP("tools/call", map[string]any{"name": name, "arguments": arguments})
		content = strings.ReplaceAll(encode(result["content"]), `\"`, `"`)
		if err != nil || result["isError"] != true || !strings.Contains(content, string(fault.RateLimited)) || run.wait(toolWait) != nil {
			break
		}
	}
	return result, content, err
}

func (run *runner) wait(d time.Duration) error {
	if run.Wait != nil {
		return run.Wait(run.ctx, d)
	}
	select {
	case <-run.ctx.Done():
		return run.ctx.Err()
	case <-time.After(d):
		return nil
	}
}

func toolName(op operation) string { return "service_" + op.ID }

// headerArguments are the arguments of tools that become headers of the operation.
var headerArguments = map[string]string{"Idempotency-Key": "idempotencyKey", "If-Match": "ifMatch"}

// toolOnlyArguments are arguments that only tools have. They choose a part of the result.
var toolOnlyArguments = []string{"fields", "at"}

// checkTools compares the tools with the operations that the key may use: their names, arguments
// and hints.
func checkTools(k *runner) {
	result, err := k.callMCP("tools/list", map[string]any{})
	listed, _ := result["tools"].([]any)
	k.require(err == nil, "tools/list: %v", err)
	tools := map[string]map[string]any{}
	for _, one := range listed {
		if tool, ok := one.(map[string]any); ok {
			tools[text(tool["name"])] = tool
		}
	}
	for _, op := range k.document.operations {
		tool, listed := tools[toolName(op)]
		delete(tools, toolName(op))
		if k.lacks(op) {
			continue // a list may leave it out
		}
		k.require(listed == op.isTool(), "tools/list: %s is listed: %t, want %t", toolName(op), listed, op.isTool())
		if !listed {
			continue
		}
		schema, _ := tool["inputSchema"].(map[string]any)
		properties, _ := schema["properties"].(map[string]any)
		want := op.arguments()
		got := slices.DeleteFunc(sortedKeys(properties), func(name string) bool { return slices.Contains(toolOnlyArguments, name) })
		k.require(slices.Equal(got, want), "%s has the arguments %v, and the operation %v", toolName(op), got, want)
		k.requireHints(op, tool)
	}
	k.require(len(tools) == 0, "tools/list: %v are no operations of /openapi.json", sortedKeys(tools))
}

// arguments returns the sorted names of the arguments that the operation's tool must have.
func (op operation) arguments() (names []string) {
	for _, p := range op.Parameters {
		if p.In == "header" {
			p.Name = headerArguments[p.Name]
		}
		if p.Name != "" {
			names = append(names, p.Name)
		}
	}
	if op.body != nil {
		names = append(names, sortedKeys(op.body.Properties)...)
	}
	slices.Sort(names)
	return slices.Compact(names)
}

// requireHints fails the rule unless the tool's hints follow from the method and the scope: an
// operation that needs a scope for reading is read-only, a create adds another record each time,
// and any other operation replaces stored values, so repeating it has no further effect.
func (run *runner) requireHints(op operation, tool map[string]any) {
	hints, _ := tool["annotations"].(map[string]any)
	isReadOnly := op.isRead() || strings.HasSuffix(string(op.Scope), ":read")
	isCreate := strings.HasPrefix(op.ID, "create_")
	run.require((hints["readOnlyHint"] == true) == isReadOnly, "%s: readOnlyHint is %v", toolName(op), hints["readOnlyHint"])
	if !isReadOnly {
		run.require((hints["destructiveHint"] != false) == !isCreate, "%s: destructiveHint is %v", toolName(op), hints["destructiveHint"])
		run.require((hints["idempotentHint"] == true) == !isCreate, "%s: idempotentHint is %v", toolName(op), hints["idempotentHint"])
	}
}

// checkToolResults calls the tools that read one record, with the ids of known records, unknown ids
// and an unknown argument, and compares the results with those of the operations. It skips API keys,
// because each request changes the record of its key.
func checkToolResults(k *runner) {
	k.eachRead(func(p read) {
		if p.isList() || p.isFeed() || !p.isTool() || p.area() == "keys" {
			return
		}
		arguments, unknown := map[string]any{}, map[string]any{}
		segments, unknownSegments := strings.Split(p.path, "/"), strings.Split(k.pathWithUnknownIDs(p.operation.path), "/")
		for i, s := range strings.Split(p.operation.path, "/") {
			if name, isParameter := api.PathParameter(s); isParameter && name != "companyId" {
				arguments[name], unknown[name] = segments[i], unknownSegments[i]
			}
		}
		result, content, err := k.callTool(toolName(p.operation), arguments)
		got, _ := result["structuredContent"].(map[string]any)
		want := k.get(p.url()).object()
		delete(got, "asOf") // the overview says when it was read
		delete(want, "asOf")
		k.require(err == nil && got != nil && reflect.DeepEqual(got, want), "%s: structuredContent is not what %s returns: %v %s", toolName(p.operation), p.request, err, content)
		k.requireToolError(p.operation, map[string]any{"nope": 1}, "nope: ")
		if len(unknown) > 0 {
			k.requireToolError(p.operation, unknown, "service_list_")
		}
	})
}

// requireToolError fails the rule unless the tool's result is an error with the given text.
func (run *runner) requireToolError(op operation, arguments map[string]any, want string) {
	result, content, err := run.callTool(toolName(op), arguments)
	run.require(err == nil && result["isError"] == true && strings.Contains(content, want), "%s with %v: want an error with %q, got %v %s", toolName(op), arguments, want, err, content)
}
