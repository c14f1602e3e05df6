package functions_test

import (
	"encoding/json"
	"fmt"
	"maps"
	"net/http"
	"net/http/httptest"
	"net/url"
	"slices"
	"strings"

	"pgregory.net/rapid"

	"growthworkspace/shared/api"
	codes "growthworkspace/shared/fault"
	"growthworkspace/shared/schema"
)

// generatedRequest is one call by a company.
type generatedRequest struct {
	tenant  *testTenant
	company string // the company in the path or the arguments; only a tool call may leave it empty
	op      api.Operation
	args    map[string]any // by argument name
	secret  string
	asTool  bool
}

func (g generatedRequest) String() string {
	return fmt.Sprintf("%s as a tool %t, company %q, %v, by %s", g.op.ID, g.asTool, g.company, g.args, g.tenant.marker)
}

// generateRequest draws a random, mostly valid call. Its ids, cursors, ETags and sort keys can
// belong to any company.
func generateRequest(r *rapid.T, w *isolationWorld, operations []api.Operation, actor *testTenant, d tableDump) generatedRequest {
	a := generatedRequest{tenant: actor, company: actor.id, secret: actor.fullKey, args: map[string]any{}}
	ids := make([]string, len(operations))
	for i := range operations {
		ids[i] = operations[i].ID
	}
	name := rapid.SampledFrom(ids).Draw(r, "operation")
	a.op = operations[slices.Index(ids, name)]
	a.asTool = rapid.Bool().Draw(r, "as a tool")
	switch rapid.IntRange(0, 15).Draw(r, "kind") {
	case 0:
		a.company = w.anyTenant(r, "named").id
	case 1:
		a.company = w.anyTenant(r, "named").id + rapid.SampledFrom([]string{"#plan", "/", "%23", " ", "/../" + actor.id}).Draw(r, "spoiled")
	case 2:
		a.secret = actor.readKey
	case 3, 4, 5:
		if a.asTool {
			a.company = ""
		}
	}
	generator := argumentGenerator{r, w, a, d}
	for _, f := range a.op.Input {
		if f.Required || rapid.IntRange(0, 2).Draw(r, f.Name+" is there") == 0 || f.Name == "cursor" && rapid.IntRange(0, 3).Draw(r, "goes on") > 0 {
			a.args[f.ArgumentName()] = generator.argument(f)
		}
	}
	if f := a.op.Input; len(f) > 0 && rapid.IntRange(0, 11).Draw(r, "spoil") == 0 {
		name := f[rapid.IntRange(0, len(f)-1).Draw(r, "spoiled")].ArgumentName()
		a.args[name] = rapid.SampledFrom([]any{nil, "nope nope", 5, true, []any{}, []any{nil}, map[string]any{"a": 1}}).Draw(r, "by")
	}
	return a
}

// argumentGenerator draws arguments for one call.
type argumentGenerator struct {
	rapid   *rapid.T
	world   *isolationWorld
	request generatedRequest
	dump    tableDump
}

func (a argumentGenerator) oneOf(label string, values ...string) string {
	return rapid.SampledFrom(values).Draw(a.rapid, label)
}

func (a argumentGenerator) anyTenant() *testTenant { return a.world.anyTenant(a.rapid, "whose") }

func (w *isolationWorld) anyTenant(r *rapid.T, label string) *testTenant {
	return w.tenants[rapid.IntRange(0, len(w.tenants)-1).Draw(r, label)]
}

// id draws either the id of any company's record, of the right type if possible, or a string that
// might reach another partition.
func (a argumentGenerator) id(f schema.Field) string {
	owner, uniqueOnly := a.request.tenant, false
	switch rapid.IntRange(0, 7).Draw(a.rapid, "id") {
	case 0, 1, 2:
		owner, uniqueOnly = a.anyTenant(), true
	case 3:
		other := a.anyTenant().id
		return a.oneOf("way out", other, other+"#plan", "itm_1#"+other, "../"+other, other+"/", "%2e%2e", "itm_1%23", "x", "itm_")
	}
	ids := a.dump.ids[owner.id]
	known, _ := fixtureArguments[a.request.op.ID][f.Name].(string)
	prefix, _, _ := strings.Cut(known, "_")
	if f.Name == "keyId" {
		prefix = "key"
	}
	for _, keep := range []func(string) bool{
		func(one string) bool { return strings.HasPrefix(one, prefix+"_") },
		func(one string) bool { return !uniqueOnly || !fixtureID.MatchString(one) }, // skips the fixture's ids, which exist in all companies
	} {
		if some := slices.DeleteFunc(slices.Clone(ids), func(one string) bool { return !keep(one) }); len(some) > 0 {
			ids = some
		}
	}
	return a.oneOf(f.Name, ids...)
}

func (a argumentGenerator) argument(f schema.Field) any {
	switch {
	case f.In == schema.InPath:
		return a.id(f)
	case f.Name == "cursor":
		return a.cursor()
	case f.In == schema.InHeader:
		values := []string{"one", "two", "*", `"stale"`}
		for _, tenant := range a.world.tenants {
			values = append(values, tenant.etags...)
		}
		return a.oneOf(f.Name, values...)
	case f.Name == "scopes": // random strings are not valid scopes
		return []any{a.oneOf(f.Name, "plan:read", "feedback:write")}
	case f.Name == "limit":
		return rapid.IntRange(0, 4).Draw(a.rapid, "limit")
	}
	return a.value(f)
}

// cursor draws a cursor that some list has returned, or a forged one. Cursors can be forged,
// because their digest needs no secret.
func (a argumentGenerator) cursor() string {
	values := []string{"AAAA"}
	for _, tenant := range a.world.tenants {
		values = append(values, tenant.cursors...)
	}
	if rapid.Bool().Draw(a.rapid, "of a list") {
		return a.oneOf("cursor", values...)
	}
	position := a.oneOf("position", a.dump.sortKeys...)
	switch rapid.IntRange(0, 3).Draw(a.rapid, "position") {
	case 0:
		_, position, _ = strings.Cut(position, "#")
	case 1:
		position = a.anyTenant().id + "#" + position
	case 2:
		position = a.oneOf("edge", "0", "~", "#", "\x00", "\U0010FFFF")
	}
	scope := schema.CursorScope{Operation: a.request.op.ID}
	for _, f := range a.request.op.Input {
		value, sent := a.request.args[f.Name]
		if !sent && f.Default != "" {
			value, sent = f.Default, true
		}
		if sent && (f.In == schema.InPath || f.In == schema.InQuery && f.Name != "limit" && f.Name != "cursor") {
			scope.Filters = append(scope.Filters, fmt.Sprintf("%s=%v", f.Name, value))
		}
	}
	return scope.Encode(position)
}

// value draws a mostly valid value for a field.
func (a argumentGenerator) value(f schema.Field) any {
	switch f.Kind {
	case schema.Integer:
		return rapid.Int64Range(int64(max(*f.Min, -5)), int64(min(*f.Max, 1000))).Draw(a.rapid, f.Name)
	case schema.Number:
		return float64(rapid.IntRange(0, 1000).Draw(a.rapid, f.Name)) / 8
	case schema.Any:
		return map[string]any{"page": a.oneOf(f.Name, "/", "/a")}
	case schema.Boolean:
		return rapid.Bool().Draw(a.rapid, f.Name)
	case schema.Map:
		return map[string]any{"country": a.oneOf(f.Name, "de", "fr")}
	case schema.Array:
		list := []any{}
		for range rapid.IntRange(1, 3).Draw(a.rapid, f.Name) {
			if f.Fields == nil {
				list = append(list, a.text(f))
				continue
			}
			o := map[string]any{}
			for _, inner := range f.Fields {
				if inner.Required || rapid.Bool().Draw(a.rapid, inner.Name) {
					o[inner.Name] = a.value(inner)
				}
			}
			list = append(list, o)
		}
		return list
	}
	switch {
	case f.Enum != nil:
		return a.oneOf(f.Name, f.Enum...)
	case samplesOf(f) != nil:
		return a.oneOf(f.Name, samplesOf(f)...)
	}
	return a.text(f)
}

// text draws a word or the id of any company's record, because callers can put ids in free-form
// strings. It never draws a company's id, because findViolation searches responses for company ids.
func (a argumentGenerator) text(f schema.Field) string {
	if rapid.Bool().Draw(a.rapid, "an id") {
		records := slices.DeleteFunc(slices.Clone(a.dump.ids[a.anyTenant().id]), func(one string) bool { return strings.HasPrefix(one, "co_") })
		return a.oneOf(f.Name, records...)
	}
	return a.oneOf(f.Name, "New words", "growth.signups", "a", "é<&>", "plan:read", "#", "")
}

type callResult struct {
	status        int
	canonicalBody string // the JSON of the response or of the tool's result; errors have the same form over HTTP and as a tool
	bodyAndHeader string
	next          string
	tag           string
}

// execute sends a call, either over HTTP or as a tool.
func (w *isolationWorld) execute(a generatedRequest) callResult {
	w.refillQuotas()
	if a.asTool {
		return w.executeAsTool(a)
	}
	path, query, body, header := a.op.Path, url.Values{}, map[string]any{}, http.Header{}
	path = strings.ReplaceAll(path, "{companyId}", url.PathEscape(a.company))
	for _, f := range a.op.Input {
		value, sent := a.args[f.ArgumentName()]
		switch {
		case !sent && f.In != schema.InPath:
		case f.In == schema.InPath:
			path = strings.ReplaceAll(path, "{"+f.Name+"}", url.PathEscape(fmt.Sprint(value)))
		case f.In == schema.InQuery:
			query.Set(f.Name, fmt.Sprint(value))
		case f.In == schema.InHeader:
			header.Set(f.Name, fmt.Sprint(value))
		default:
			body[f.Name] = value
		}
	}
	text := ""
	if hasBody(a.op) {
		header.Set("Content-Type", "application/json")
		text = generatedCall{args: body}.encode()
	}
	r := w.request(a.op.Method, path+"?"+query.Encode(), text, a.secret, header)
	got := w.service.Do(r)
	out := callResult{status: got.Status, canonicalBody: got.Body, bodyAndHeader: got.Body + formatHeader(got.Header), tag: got.Header.Get("ETag")}
	if link, _, more := strings.Cut(strings.TrimPrefix(got.Header.Get("Link"), "<"), ">"); more {
		u, err := url.Parse(link)
		if err != nil {
			w.t.Fatal(err)
		}
		out.next = u.Query().Get("cursor")
	}
	return out
}

func (w *isolationWorld) request(method, target, body, key string, header http.Header) *http.Request {
	r := httptest.NewRequestWithContext(w.t.Context(), method, "http://api.test/", strings.NewReader(body))
	u, err := url.Parse("http://api.test" + strings.TrimSuffix(target, "?"))
	if err != nil {
		w.t.Fatal(err)
	}
	r.URL, r.Header = u, header
	r.Header.Set("Authorization", "Bearer "+key)
	return r
}

func (w *isolationWorld) executeAsTool(a generatedRequest) callResult {
	args := maps.Clone(a.args)
	if a.company != "" {
		args["companyId"] = a.company
	}
	frame := generatedCall{args: map[string]any{"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": map[string]any{"name": "service_" + a.op.ID, "arguments": args}}}
	got := w.service.Do(w.request(http.MethodPost, "/mcp", frame.encode(), a.secret, http.Header{"Content-Type": {"application/json"}, "Accept": {"application/json, text/event-stream"}}))
	var response struct {
		Error  *struct{ Message string }
		Result toolResult
	}
	if err := json.Unmarshal([]byte(got.Body), &response); err != nil {
		w.t.Fatalf("%v: status %d, and no JSON: %s", a, got.Status, got.Body)
	}
	out := callResult{status: got.Status, canonicalBody: string(response.Result.StructuredContent), bodyAndHeader: got.Body + formatHeader(got.Header), next: response.Result.Meta.NextCursor, tag: response.Result.Meta.ETag}
	switch {
	case response.Error != nil: // not every operation is a tool
		out.status, out.canonicalBody = http.StatusNotFound, response.Error.Message
	case response.Result.IsError:
		out.canonicalBody = response.Result.Content[0].Text
		var envelope struct{ Errors []struct{ Code string } }
		if err := json.Unmarshal([]byte(out.canonicalBody), &envelope); err != nil || len(envelope.Errors) == 0 {
			w.t.Fatalf("%v: the text of the error has no errors: %s", a, out.canonicalBody)
		}
		out.status = codes.Code(envelope.Errors[0].Code).Status()
	case got.Status != http.StatusOK:
		out.canonicalBody = got.Body
	}
	return out
}

func formatHeader(h http.Header) string {
	var out strings.Builder
	for _, name := range slices.Sorted(maps.Keys(h)) {
		fmt.Fprintf(&out, "\n%s: %q", name, h[name])
	}
	return out.String()
}
