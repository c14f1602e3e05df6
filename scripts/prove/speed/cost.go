//go:build linux

package speed

import (
	"context"
	"fmt"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"

	"growthworkspace/functions"
	"growthworkspace/scripts/workspace/demo"
	"growthworkspace/shared/api"
)

// List prices in us-east-1, in US dollars, as published in November 2025. A million of each.
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
	"create_broadcast_post": `{"platform":"x","body":"What a request costs."}`, "update_broadcast_post": `{"body":"What an update costs."}`,
	"update_context_brand_kit": `{"artStyle":"Flat"}`, "create_context_content_type": `{"name":"Costs","active":true}`, "update_context_content_type": `{"cadence":"weekly"}`,
	"create_key": `{"name":"costs","scopes":["plan:read"]}`, "rotate_key": `{"overlapSeconds":60}`,
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
	s, err := newBed(ctx, nil, b.log)
	if err != nil {
		return nil, err
	}
	defer s.close()
	log := &spending{}
	handler := functions.Handler(s.Serving, slog.New(log))
	ids := map[string]string{
		"companyId": demo.CompanyID, "boardId": firstID("board"), "itemId": firstID("item"), "feedbackId": firstID("feedback"), "siteId": firstID("site"),
		"auditId": firstID("audit"), "postId": "", "contentTypeId": firstID("content-type"), "keyId": "",
	}
	var out strings.Builder
	fmt.Fprintf(&out, "| Operation | Calls | Read units | Write units | DynamoDB, $ per million | with gateway and Lambda's requests |\n|---|---|---|---|---|---|\n")
	for _, op := range functions.Operations(s.Table) {
		if err := s.own(handler, op, ids); err != nil {
			return nil, err
		}
		if s.secret, err = s.issue(ctx); err != nil { // the admission of a key with a full quota takes one call
			return nil, err
		}
		w := s.send(handler, op, ids)
		if w.Code != http.StatusOK {
			return nil, fmt.Errorf("%s: %d %s", op.ID, w.Code, w.Body)
		}
		table := log.last.reads*priceReadUnits + log.last.writes*priceWriteUnits
		fmt.Fprintf(&out, "| `%s` | %g | %g | %g | %.2f | %.2f |\n", op.ID, log.last.calls, log.last.reads, log.last.writes, table, table+priceGateway+priceLambda)
	}
	b.costs = out.String()
	return nil, nil
}

// own creates a record for an operation that would otherwise change a record that later operations need.
func (s *bed) own(h http.Handler, op api.Operation, ids map[string]string) error {
	create := map[string]string{"keyId": "create_key", "postId": "create_broadcast_post"}
	if strings.HasPrefix(op.ID, "delete_plan") {
		create["itemId"] = "create_plan_item"
	}
	for parameter, with := range create {
		if !strings.Contains(op.Path, "{"+parameter+"}") {
			continue
		}
		all := functions.Operations(s.Table)
		maker := all[slices.IndexFunc(all, func(o api.Operation) bool { return o.ID == with })]
		w := s.send(h, maker, ids)
		_, after, found := strings.Cut(w.Body.String(), `"id":"`)
		if !found {
			return fmt.Errorf("%s: %d %s", with, w.Code, w.Body)
		}
		ids[parameter], _, _ = strings.Cut(after, `"`)
	}
	return nil
}

func (s *bed) send(h http.Handler, op api.Operation, ids map[string]string) *httptest.ResponseRecorder {
	path := op.Path
	for name, value := range ids {
		path = strings.ReplaceAll(path, "{"+name+"}", value)
	}
	if op.ID == "list_metric_points" {
		path += "?metricKey=growth.signups"
	}
	r := httptest.NewRequest(op.Method, path, strings.NewReader(bodies[op.ID]))
	r.Header.Set("Authorization", "Bearer "+s.secret)
	if bodies[op.ID] != "" {
		r.Header.Set("Content-Type", "application/json")
	}
	w := httptest.NewRecorder()
	h.ServeHTTP(w, r)
	return w
}
