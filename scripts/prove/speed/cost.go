//go:build linux

package speed

import (
	"context"
	"crypto/rand"
	"encoding/json"
	"errors"
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
	"growthworkspace/scripts/prove/testbed"
	"growthworkspace/scripts/workspace/demo"
	"growthworkspace/shared/api"
	"growthworkspace/shared/schema"
	"growthworkspace/shared/testkit/oracle"
)

// AWS list prices in us-east-1, in US dollars per million units or requests. infra/RUNBOOK.md#costs
// gives their date and sources.
const (
	priceReadUnits  = 0.125 // DynamoDB on-demand
	priceWriteUnits = 0.625
	priceGateway    = 3.50 // requests to a REST API of API Gateway
	priceLambda     = 0.20 // requests only; each 10 ms of an arm64 function with 256 MB adds 0.0333
)

// requiredParameters maps the names of required query parameters to values to send.
var requiredParameters = map[string]string{"metricKey": "growth.signups", "from": "2026-08-01", "to": "2026-08-31"}

// requestBodies holds request bodies by operation id. Each body pushes one record, or makes a
// change that does not move the record in any list.
var requestBodies = map[string]string{
	"push_metric_points":    `{"points":[{"metricKey":"growth.signups","ts":"2026-08-11","value":14}]}`,
	"push_feedback":         `{"records":[{"source":"app_store","externalId":"costs"}]}`,
	"update_broadcast_post": `{"body":"What an update costs."}`,
}

// bodyOf returns a body with which a request to the operation succeeds. It is the one in
// requestBodies, or the body of the operation's sample event without the optional fields of a POST.
// A metric key that must be new is replaced with a new one.
func bodyOf(op api.Operation) (string, error) {
	if body, found := requestBodies[op.ID]; found {
		return body, nil
	}
	tables, err := oracle.Load()
	if err != nil {
		return "", err
	}
	o, ok := tables.Lookup(op.ID)
	if !ok {
		return "", fmt.Errorf("%s has no line for %s", oracle.AdditionsFile, op.ID)
	}
	event, err := os.ReadFile("events/" + op.ID + ".json")
	if err != nil {
		return "", err
	}
	body, err := o.Arguments(event)
	if err != nil {
		return "", err
	}
	for name := range o.Fixture {
		delete(body, name)
	}
	if len(body) == 0 {
		return "", nil
	}
	if body["key"] != nil {
		body["key"] = "costs.k" + strings.ToLower(rand.Text())
	}
	text, err := json.Marshal(body)
	return string(text), err
}

// measureCost sends one request with default parameters to each operation and computes its price.
func (b *bench) measureCost(ctx context.Context) ([]goal, error) {
	s, err := newEngineBed(ctx, b.log)
	if err != nil {
		return nil, err
	}
	defer s.close()
	recorder := &testbed.UseRecorder{}
	handler := functions.Handler(s.ServingTable, api.NewConfig(s.ServingTable, slog.New(recorder)))
	ids := map[string]string{
		"companyId": demo.CompanyID, "boardId": firstID("board"), "itemId": firstID("item"), "feedbackId": firstID("feedback"), "siteId": firstID("site"),
		"auditId": firstID("audit"), "contentTypeId": firstID("content-type"), "definitionId": firstID("metric-definition"),
	}
	var out strings.Builder
	fmt.Fprintf(&out, "| Operation | Calls | Read units | Write units | DynamoDB, $ per million | with gateway and Lambda's requests |\n|---|---|---|---|---|---|\n")
	for _, op := range functions.Operations(s.Table) {
		pathIDs, err := s.idsFor(ctx, handler, op, ids)
		if err != nil {
			return nil, err
		}
		if s.secret, err = s.issueKey(ctx); err != nil { // use a new key: its quota is full, so admitting a request takes only one table call
			return nil, err
		}
		w, err := s.sendTo(handler, op, pathIDs)
		if err != nil {
			return nil, err
		}
		if w.Code != http.StatusOK {
			return nil, fmt.Errorf("%s: %d %s", op.ID, w.Code, w.Body)
		}
		use := recorder.Last()
		tablePrice := use.ReadUnits*priceReadUnits + use.WriteUnits*priceWriteUnits
		fmt.Fprintf(&out, "| `%s` | %g | %g | %g | %.2f | %.2f |\n", op.ID, use.Calls, use.ReadUnits, use.WriteUnits, tablePrice, tablePrice+priceGateway+priceLambda)
	}
	b.costTable = out.String()
	return nil, nil
}

// idsFor returns the ids for the path of an operation. For a delete, it creates a new record,
// because later operations need the existing ones. It also creates a record if ids has no id for
// the path. For a claim or a report, it imports the fixture's record.
func (s *engineBed) idsFor(ctx context.Context, h http.Handler, op api.Operation, ids map[string]string) (map[string]string, error) {
	if strings.HasPrefix(op.ID, "claim_") || strings.HasPrefix(op.ID, "report_") {
		return s.importClaimable(ctx, op, ids)
	}
	segments := api.PathSegments(op.Path)
	parameter, ends := api.PathParameter(segments[len(segments)-1])
	if !ends && strings.Contains(op.Path, "{keyId}") {
		parameter = "keyId"
	}
	verb, noun, _ := strings.Cut(op.ID, "_")
	all := functions.Operations(s.Table)
	createIndex := slices.IndexFunc(all, func(o api.Operation) bool { return o.ID == "create_"+noun })
	if parameter == "" || createIndex < 0 || verb != "delete" && ids[parameter] != "" {
		return ids, nil
	}
	w, err := s.sendTo(h, all[createIndex], ids)
	if err != nil {
		return nil, err
	}
	_, after, found := strings.Cut(w.Body.String(), `"id":"`)
	if !found {
		return nil, fmt.Errorf("create_%s: %d %s", noun, w.Code, w.Body)
	}
	pathIDs := maps.Clone(ids)
	pathIDs[parameter], _, _ = strings.Cut(after, `"`)
	return pathIDs, nil
}

// importClaimable imports a record of the fixture company into the demo company, for an operation
// that claims a record or reports on it. It adds the record's id to ids.
func (s *engineBed) importClaimable(ctx context.Context, op api.Operation, ids map[string]string) (map[string]string, error) {
	tables, err := oracle.Load()
	if err != nil {
		return nil, err
	}
	o, _ := tables.Lookup(op.ID) // ignore a missing line, because bodyOf reports it
	text, err := os.ReadFile("functions/testdata/company.jsonl")
	if err != nil {
		return nil, err
	}
	pathIDs := maps.Clone(ids)
	maps.Copy(pathIDs, o.Fixture)
	for text := range strings.Lines(string(text)) {
		var line struct {
			Type   string
			Record json.RawMessage
		}
		var named struct{ ID string }
		if err := errors.Join(json.Unmarshal([]byte(text), &line), json.Unmarshal(line.Record, &named)); err != nil {
			return nil, err
		}
		for _, kind := range functions.Transfers(s.Table) {
			if kind.Name != line.Type || !slices.Contains(slices.Collect(maps.Values(o.Fixture)), named.ID) {
				continue
			}
			record, problems := kind.Check(line.Record)
			if len(problems) > 0 {
				return nil, fmt.Errorf("%s: %s", named.ID, strings.Join(problems, "; "))
			}
			if err := kind.Write(ctx, demo.CompanyID, []any{record}); err != nil {
				return nil, err
			}
		}
	}
	return pathIDs, nil
}

func (s *engineBed) sendTo(h http.Handler, op api.Operation, ids map[string]string) (*httptest.ResponseRecorder, error) {
	path := op.Path
	for name, value := range ids {
		path = strings.ReplaceAll(path, "{"+name+"}", value)
	}
	query := url.Values{}
	for _, f := range op.Input {
		if value, ok := requiredParameters[f.Name]; ok && f.In == schema.InQuery && f.Required {
			query.Set(f.Name, value)
		}
	}
	if len(query) > 0 {
		path += "?" + query.Encode()
	}
	body, err := bodyOf(op)
	if err != nil {
		return nil, err
	}
	r := httptest.NewRequest(op.Method, path, strings.NewReader(body))
	r.Header.Set("Authorization", "Bearer "+s.secret)
	if body != "" {
		r.Header.Set("Content-Type", "application/json")
	}
	w := httptest.NewRecorder()
	h.ServeHTTP(w, r)
	return w, nil
}
