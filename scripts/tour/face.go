package main

import (
	"context"
	"fmt"
)

// operations is how many operations the specification lists; there may be more.
const operations = 35

// openapi reads the document, which needs no key.
func (t *tour) openapi(ctx context.Context) error {
	a, err := t.call(ctx, request{method: "GET", path: "/openapi.json", anonymous: true})
	if err != nil {
		return err
	}
	paths, _ := a.at("paths").(map[string]any)
	found := 0
	for _, item := range paths {
		verbs, _ := item.(map[string]any)
		for _, verb := range verbs {
			if operation, ok := verb.(map[string]any); ok && operation["operationId"] != nil {
				found++
			}
		}
	}
	if found < operations {
		return fmt.Errorf("/openapi.json holds %d operations, not %d or more", found, operations)
	}
	if a.header.Get("ETag") == "" {
		return fmt.Errorf("/openapi.json has no ETag")
	}
	return nil
}

// mcp initialises, lists the tools and calls two: one that reads and one that writes.
func (t *tour) mcp(ctx context.Context) error {
	if _, err := t.call(ctx, request{method: "POST", path: "/mcp", anonymous: true, header: accepts, body: message("tools/list", map[string]any{}), want: 401}); err != nil {
		return err
	}
	a, err := t.tool(ctx, "initialize", map[string]any{
		"protocolVersion": "2025-06-18", "capabilities": map[string]any{}, "clientInfo": map[string]any{"name": "tour", "version": "1"},
	})
	if err != nil || a.text("result", "protocolVersion") != "2025-06-18" {
		return fmt.Errorf("initialize answers %v, %v", a.body, err)
	}
	if a, err = t.tool(ctx, "tools/list", map[string]any{}); err != nil || a.count("result", "tools") == 0 {
		return fmt.Errorf("tools/list answers %v, %v", a.body, err)
	}
	a, err = t.tool(ctx, "tools/call", map[string]any{"name": "service_list_plan_boards", "arguments": map[string]any{}})
	if err != nil || a.text("result", "structuredContent", "items", 0, "id") != "brd_1" {
		return fmt.Errorf("service_list_plan_boards answers %v, %v", a.body, err)
	}
	a, err = t.tool(ctx, "tools/call", map[string]any{"name": "service_update_company", "arguments": map[string]any{"summary": "Told by a tool"}})
	if err != nil || a.text("result", "structuredContent", "summary") != "Told by a tool" {
		return fmt.Errorf("service_update_company answers %v, %v", a.body, err)
	}
	return nil
}

// accepts is what the protocol asks of a client's Accept header.
var accepts = map[string]string{"Accept": "application/json, text/event-stream"}

func message(method string, params any) map[string]any {
	return map[string]any{"jsonrpc": "2.0", "id": 1, "method": method, "params": params}
}

func (t *tour) tool(ctx context.Context, method string, params any) (answer, error) {
	return t.call(ctx, request{method: "POST", path: "/mcp", header: accepts, body: message(method, params)})
}
