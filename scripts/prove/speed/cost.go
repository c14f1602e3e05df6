//go:build linux

package speed

import (
	"context"
	"crypto/rand"
	"encoding/json"
	"fmt"
	"log/slog"
	"maps"
	"net/http"
	"net/http/httptest"
	"net/url"
	"os"
	"slices"
	"strings"

	"growthworkspace/functions"
	"growthworkspace/scripts/workspace/demo"
	"growthworkspace/shared/api"
	"growthworkspace/shared/schema"
)

// List prices in us-east-1, in US dollars, of a million of each. infra/RUNBOOK.md#costs has their date and sources.
const (
	priceReadUnits  = 0.125 // DynamoDB, on demand
	priceWriteUnits = 0.625
	priceGateway    = 3.50 // a request to a REST API
	priceLambda     = 0.20 // a request; 10 ms of an arm64 function with 256 MB are 0.0333 more
)

// bodies are the bodies of the requests whose costs are measured.
var bodies = map[string]string{
	"update_company": `{"summary":"A notes app for people who walk."}`, "create_plan_item": `{"title":"Costs of an item"}`, "update_plan_item": `{"title":"Costs of an update"}`,
	"update_feedback_reply": `{"replyBody":"Thank you.","replyStatus":"draft"}`, "push_metric_points": `{"points":[{"metricKey":"growth.signups","ts":"2026-08-11","value":14}]}`,
	"push_feedback": `{"records":[{"source":"app_store","externalId":"costs"}]}`, "update_metric_definition": `{"name":"Leads"}`,
	"create_broadcast_idea": `{"title":"Costs"}`, "update_broadcast_idea": `{"status":"accepted"}`,
	"create_broadcast_plan": `{"name":"Costs"}`, "update_broadcast_plan": `{"cadence":"weekly"}`,
	"create_broadcast_post": `{"platform":"x","body":"What a request costs."}`, "update_broadcast_post": `{"body":"What an update costs."}`,
	"update_context_brand_kit": `{"artStyle":"Flat"}`, "create_context_content_type": `{"name":"Costs","active":true}`, "update_context_content_type": `{"cadence":"weekly"}`,
	"create_metric_definition": `{"key":"KEY"}`, "create_context_goal": `{"name":"Costs"}`, "update_context_goal": `{"status":"achieved"}`,
	"create_key": `{"name":"costs","scopes":["plan:read"]}`, "rotate_key": `{"overlapSeconds":60}`,
}

// parameters are the values of required query parameters.
var parameters = map[string]string{"metricKey": "growth.signups", "from": "2026-08-01", "to": "2026-08-31"}

// bodyOf returns the body of an operation's request: its own, or that of its sample event. A key that must be
// new is one.
func bodyOf(op api.Operation) string {
	if body, own := bodies[op.ID]; own || op.Method == http.MethodGet || op.Method == http.MethodDelete {
		return strings.ReplaceAll(body, "KEY", "costs.k"+strings.ToLower(rand.Text()))
	}
	var event struct{ Body string }
	if text, err := os.ReadFile("events/" + op.ID + ".json"); err != nil || json.Unmarshal(text, &event) != nil {
		return ""
	}
	return event.Body
}

// spent is the use of the table in a request's log line.
type spent struct{ calls, reads, writes float64 }

// spending is a slog.Handler that keeps the use of the last request.
type spending struct {
	slog.Handler
	last spent
}

// Handle implements slog.Handler.
func (s *spending) Handle(_ context.Context, r slog.Record) error {
	r.Attrs(func(a slog.Attr) bool {
		switch a.Key {
		case "TableCalls":
			s.last.calls = float64(a.Value.Int64())
		case "ReadUnits":
			s.last.reads = a.Value.Float64()
		case "WriteUnits":
			s.last.writes = a.Value.Float64()
		}
		return true
	})
	return nil
}

// Enabled implements slog.Handler.
func (s *spending) Enabled(context.Context, slog.Level) bool { return true }

// WithAttrs implements slog.Handler. It ignores the attributes.
func (s *spending) WithAttrs([]slog.Attr) slog.Handler { return s }

// WithGroup implements slog.Handler. It ignores the group.
func (s *spending) WithGroup(string) slog.Handler { return s }

// cost sends one request with default parameters to each operation and computes its price.
func (b *bench) cost(ctx context.Context) ([]goal, error) {
	s, err := newBed(ctx, b.log)
	if err != nil {
		return nil, err
	}
	defer s.close()
	log := &spending{}
	handler := functions.Handler(s.Serving, slog.New(log))
	ids := map[string]string{
		"companyId": demo.CompanyID, "boardId": firstID("board"), "itemId": firstID("item"), "feedbackId": firstID("feedback"), "siteId": firstID("site"),
		"auditId": firstID("audit"), "contentTypeId": firstID("content-type"), "definitionId": firstID("metric-definition"),
	}
	var out strings.Builder
	fmt.Fprintf(&out, "| Operation | Calls | Read units | Write units | DynamoDB, $ per million | with gateway and Lambda's requests |\n|---|---|---|---|---|---|\n")
	for _, op := range functions.Operations(s.Table) {
		own, err := s.own(handler, op, ids)
		if err != nil {
			return nil, err
		}
		if s.secret, err = s.issue(ctx); err != nil { // the admission of a key with a full quota takes one call
			return nil, err
		}
		w := s.send(handler, op, own)
		if w.Code != http.StatusOK {
			return nil, fmt.Errorf("%s: %d %s", op.ID, w.Code, w.Body)
		}
		table := log.last.reads*priceReadUnits + log.last.writes*priceWriteUnits
		fmt.Fprintf(&out, "| `%s` | %g | %g | %g | %.2f | %.2f |\n", op.ID, log.last.calls, log.last.reads, log.last.writes, table, table+priceGateway+priceLambda)
	}
	b.costs = out.String()
	return nil, nil
}

// own returns the ids for an operation. A delete, and an operation on a record that ids does not have, gets a record of
// its own, because later operations need the others.
func (s *bed) own(h http.Handler, op api.Operation, ids map[string]string) (map[string]string, error) {
	segments := api.PathSegments(op.Path)
	parameter, ends := api.PathParameter(segments[len(segments)-1])
	if !ends && strings.Contains(op.Path, "{keyId}") {
		parameter = "keyId"
	}
	verb, noun, _ := strings.Cut(op.ID, "_")
	all := functions.Operations(s.Table)
	maker := slices.IndexFunc(all, func(o api.Operation) bool { return o.ID == "create_"+noun })
	if parameter == "" || maker < 0 || verb != "delete" && ids[parameter] != "" {
		return ids, nil
	}
	w := s.send(h, all[maker], ids)
	_, after, found := strings.Cut(w.Body.String(), `"id":"`)
	if !found {
		return nil, fmt.Errorf("create_%s: %d %s", noun, w.Code, w.Body)
	}
	own := maps.Clone(ids)
	own[parameter], _, _ = strings.Cut(after, `"`)
	return own, nil
}

func (s *bed) send(h http.Handler, op api.Operation, ids map[string]string) *httptest.ResponseRecorder {
	path := op.Path
	for name, value := range ids {
		path = strings.ReplaceAll(path, "{"+name+"}", value)
	}
	query := url.Values{}
	for _, f := range op.Input {
		if value, ok := parameters[f.Name]; ok && f.In == schema.InQuery && f.Required {
			query.Set(f.Name, value)
		}
	}
	if len(query) > 0 {
		path += "?" + query.Encode()
	}
	body := bodyOf(op)
	r := httptest.NewRequest(op.Method, path, strings.NewReader(body))
	r.Header.Set("Authorization", "Bearer "+s.secret)
	if body != "" {
		r.Header.Set("Content-Type", "application/json")
	}
	w := httptest.NewRecorder()
	h.ServeHTTP(w, r)
	return w
}
