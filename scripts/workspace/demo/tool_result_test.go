package demo_test

import (
	"encoding/json"
	"fmt"
	"log/slog"
	"maps"
	"slices"
	"testing"
	"time"

	"growthworkspace/functions"
	"growthworkspace/scripts/workspace/demo"
	"growthworkspace/scripts/workspace/demo/demotest"
	"growthworkspace/shared/api"
	"growthworkspace/shared/mcpserver"
	"growthworkspace/shared/schema"
	"growthworkspace/shared/testkit/apitest"
	"growthworkspace/shared/testkit/oracle"
)

// demoTools calls the tools of the demo company.
type demoTools struct {
	*apitest.Service

	key     string
	results int
}

func startDemo(t *testing.T) *demoTools {
	t.Helper()
	s := apitest.New(t, functions.Operations)
	config := api.NewConfig(s.ServingTable, slog.New(slog.DiscardHandler))
	config.Timeout = time.Minute
	s.Handler = mcpserver.New(functions.Operations(s.ServingTable), config)
	demotest.Load(t, s, demo.Lines(s.Clock.Now())...)
	return &demoTools{Service: s, key: s.IssueKey(t)}
}

// call calls a tool and requires that the result fits into a model's context. It returns the value
// of the given property for each record in the result's text.
func (d *demoTools) call(t *testing.T, op api.Operation, arguments map[string]any, property string) (values []string) {
	t.Helper()
	d.Clock.Advance(time.Second)
	d.results++
	body, err := json.Marshal(map[string]any{"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": map[string]any{"name": mcpserver.ToolName(op), "arguments": arguments}})
	if err != nil {
		t.Fatal(err)
	}
	var response struct {
		Result struct {
			IsError           bool
			Content           []struct{ Text string }
			StructuredContent json.RawMessage
		}
	}
	r := d.Send(t, d.key, "POST", "http://api.test/mcp", string(body))
	if r.Decode(t, &response); response.Result.IsError || len(response.Result.Content) == 0 {
		t.Fatalf("%s %v: %s", op.ID, arguments, r.Body)
	}
	textBytes := 0
	for _, c := range response.Result.Content {
		textBytes += len(c.Text)
	}
	if totalBytes := textBytes + len(response.Result.StructuredContent); textBytes > oracle.ResultTextBytesMax || totalBytes > oracle.ResultBytesMax {
		t.Errorf("%s %v: %d bytes of text, %d in all", op.ID, arguments, textBytes, totalBytes)
	}
	var list struct{ Items []map[string]any }
	if err := json.Unmarshal([]byte(response.Result.Content[0].Text), &list); err != nil {
		t.Fatal(err)
	}
	for _, item := range list.Items {
		values = append(values, fmt.Sprint(item[property]))
	}
	return values
}

// Ensure the results of all read-only tools fit into a model's context: for every record of the
// demo company, and for every list at its maximum limit.
func TestToolResultsFit(t *testing.T) {
	t.Parallel()
	apitest.SkipIfShort(t)
	d := startDemo(t)
	operations := functions.Operations(nil)
	operationByID := func(id string) api.Operation {
		return operations[slices.IndexFunc(operations, func(op api.Operation) bool { return op.ID == id })]
	}
	known := map[string][]string{ // possible values of the required arguments of lists
		"boardId":   d.call(t, operationByID("list_plan_boards"), nil, "id"),
		"siteId":    d.call(t, operationByID("list_optimise_sites"), nil, "id"),
		"metricKey": d.call(t, operationByID("list_metric_definitions"), map[string]any{"fields": []string{"key"}}, "key"),
	}
	for _, op := range operations {
		if op.Effect != api.Read || op.NotTool {
			continue
		}
		for _, arguments := range combinations(op, known) {
			ids := d.call(t, op, arguments, "id")
			for _, get := range operations {
				i := slices.IndexFunc(get.Input, func(f schema.Field) bool { return f.In == schema.InPath && len(known[f.Name]) == 0 })
				if !op.IsList() || get.Effect != api.Read || get.IsList() || get.Record() != op.Record() || i < 0 {
					continue
				}
				for _, id := range ids {
					one := map[string]any{get.Input[i].Name: id}
					if site, has := arguments["siteId"]; has {
						one["siteId"] = site
					}
					d.call(t, get, one, "")
				}
			}
		}
	}
	if d.results < 150 {
		t.Errorf("only %d results", d.results)
	}
}

// combinations returns the sets of arguments to call a tool with: each value of a required
// argument, both with the default limit and with the maximum. It returns none if the map known has
// no values for a required argument.
func combinations(op api.Operation, known map[string][]string) []map[string]any {
	out := []map[string]any{{}}
	for _, f := range op.Input {
		if f.Name == "limit" {
			out = append(out, map[string]any{"limit": *f.Max})
		}
	}
	for _, f := range op.Input {
		if !f.Required {
			continue
		}
		var more []map[string]any
		for _, value := range known[f.Name] {
			for _, arguments := range out {
				arguments = maps.Clone(arguments)
				arguments[f.Name] = value
				more = append(more, arguments)
			}
		}
		out = more
	}
	return out
}
