package infra_test

import (
	"bytes"
	"context"
	"encoding/json"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"reflect"
	"strings"
	"testing"
	"time"

	"github.com/aws/aws-lambda-go/lambdacontext"

	"growthworkspace/functions"
	"growthworkspace/functions/mcp"
	"growthworkspace/infra"
	"growthworkspace/shared/api"
	"growthworkspace/shared/gateway"
	"growthworkspace/shared/mcpserver"
	"growthworkspace/shared/table"
)

// exampleIDs returns a value for each $context variable that is an id of the request.
func exampleIDs() map[string]string {
	return map[string]string{
		"$context.requestId": "c6af9ac6-7b61-11e6-9a41-93e8deadbeef", "$context.extendedRequestId": "TWegAcC4EowCHnA=",
		"$context.integration.requestId": "8a0a4e2d-0000-4000-8000-000000000000", "$context.xrayTraceId": "1-5759e988-bd862e3fe1be46a994272793",
	}
}

// Ensure each id of a request is in a response header or can be used to find the log lines of the
// gateway and of the function. Both lines have all ids under the same names.
func TestEveryIDFindsEveryLine(t *testing.T) {
	t.Parallel()
	ids := exampleIDs()
	var access map[string]string
	if err := json.Unmarshal([]byte(infra.AccessLog()), &access); err != nil {
		t.Fatal(err)
	}
	newID := func(prefix string) string { return prefix + "_1" }
	client := table.New(table.Options{Name: "nowhere", Region: "eu-central-1", Now: time.Now, NewID: newID})
	var log bytes.Buffer
	config := api.NewConfig(client, slog.New(slog.NewJSONHandler(&log, nil)))
	for path, h := range map[string]http.Handler{
		"/v1/companies":      api.New(functions.Operations(client), config),
		"/v1/companies/co":   api.New(functions.Operations(client), config),
		"/none":              api.New(functions.Operations(client), config),
		mcpserver.Path:       mcp.Handler(client, config),
		mcpserver.Path + "x": mcp.Handler(client, config),
	} {
		log.Reset()
		r := httptest.NewRequestWithContext(t.Context(), http.MethodPost, "https://api.test"+path, strings.NewReader("{}"))
		r.Header.Set("X-Amzn-Trace-Id", "Root="+ids["$context.xrayTraceId"])
		e, err := gateway.NewEvent(r, gateway.RequestIDs{Gateway: ids["$context.requestId"], Extended: ids["$context.extendedRequestId"]})
		if err != nil {
			t.Fatal(err)
		}
		response, err := gateway.Proxy(h)(lambdacontext.NewContext(context.Background(), &lambdacontext.LambdaContext{AwsRequestID: ids["$context.integration.requestId"]}), e)
		if sent := response.MultiValueHeaders["Service-Request-Id"]; err != nil || len(sent) != 1 || sent[0] != ids["$context.extendedRequestId"] {
			t.Errorf("%s: Service-Request-Id %q, %v; want the gateway's extended id", path, sent, err)
		}
		var line map[string]any
		if err := json.Unmarshal(log.Bytes(), &line); err != nil {
			t.Fatalf("%s: want one line, got %s: %v", path, log.Bytes(), err)
		}
		found := 0
		for name, variable := range access {
			if id := ids[variable]; id != "" {
				found++
				if line[name] != id {
					t.Errorf("%s: %s of the function's line is %v, and of the gateway's line %s", path, name, line[name], id)
				}
			}
		}
		if found != len(ids) || line["status"] != float64(response.StatusCode) || line["bytes"] != float64(len(response.Body)) {
			t.Errorf("%s: the gateway's line has %d of %d ids; the function's line %s for %d with %d bytes", path, found, len(ids), log.Bytes(), response.StatusCode, len(response.Body))
		}
	}
}

// Ensure the saved queries read the log groups of the gateway and of every function.
func TestQueriesReadEveryLogGroup(t *testing.T) {
	t.Parallel()
	m := infra.New()
	groups := map[string]bool{}
	queries := map[string][]any{}
	for id, r := range infra.JSON(m.PlainResources()).(map[string]any) {
		r := r.(map[string]any)
		switch r["Type"] {
		case "AWS::Logs::LogGroup":
			groups[id] = true
		case "AWS::Logs::QueryDefinition":
			queries[id] = r["Properties"].(map[string]any)["LogGroupNames"].([]any)
		}
	}
	if len(queries) < 2 || len(groups) != len(m.Functions)+1 {
		t.Fatalf("%d queries, %d log groups of %d functions", len(queries), len(groups), len(m.Functions))
	}
	for id, names := range queries {
		read := map[string]bool{}
		for _, name := range names {
			read[name.(map[string]any)["Ref"].(string)] = true
		}
		if !reflect.DeepEqual(read, groups) {
			t.Errorf("%s reads %v, want %v", id, read, groups)
		}
	}
}
