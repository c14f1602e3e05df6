package functions_test

import (
	"encoding/json"
	"maps"
	"net/http"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"growthworkspace/functions"
	"growthworkspace/shared/api"
	"growthworkspace/shared/schema"
	"growthworkspace/shared/testkit/apitest"
	"growthworkspace/shared/transfer"
)

// importTypeNames maps an operation's id to the import type of the record that the operation
// creates, updates or pushes. It lists only operations that do not return that record.
var importTypeNames = map[string]string{
	"create_plan_board": "board", "update_plan_board": "board", "create_optimise_audit": "audit", "update_optimise_audit": "audit",
	"push_feedback": "feedback", "push_metric_points": "metric-point",
}

// importType returns the import type of the record that an operation creates, updates or pushes.
func importType(t *testing.T, op api.Operation, types map[string]transfer.Type) transfer.Type {
	t.Helper()
	if name := importTypeNames[op.ID]; name != "" {
		return types[name]
	}
	for _, kind := range types {
		if kind.Record == op.Output {
			return kind
		}
	}
	t.Fatalf("%s: no area's transfer.go imports its response: importTypeNames must name its record, or bodiesWithoutRecord the operation", op.ID)
	return transfer.Type{}
}

// bodiesWithoutRecord lists the operations whose request body is not a record of an import: keys
// and claims are not transferred, and a publish and a rollback store existing content.
var bodiesWithoutRecord = []string{
	"create_key", "rotate_key", "publish_plan_board", "preview_plan_publish", "rollback_plan_board",
	"claim_feedback_reply", "report_feedback_reply", "report_broadcast_post",
}

// importOnlyValues lists the values that an import accepts but the API refuses, with the reason. A
// key of the map consists of a record type and a property, followed by the value if the exception
// is for one value only.
var importOnlyValues = map[string]string{
	"feedback replyStatus posting": "the posting step sets it", "feedback replyStatus posted": "the posting step sets it",
	"feedback replyStatus failed": "the posting step sets it", "post status publishing": "the dispatcher sets it",
	"post status published": "the dispatcher sets it", "post status failed": "the dispatcher sets it",
	"metric-definition needsReview": "a push sets it", "metric-point dims": "in a record they may be any JSON",
	"post media": "in a record it may be any JSON",
}

// invalidValue is a value that breaks one rule of a property.
type invalidValue struct {
	name  string
	value any
}

// invalidValues returns, for each rule of a field, one value that breaks the rule.
func invalidValues(f schema.Field) (out []invalidValue) {
	add := func(name string, value any) { out = append(out, invalidValue{name, value}) }
	form := f.Pattern + f.Format + f.Ref
	switch f.Kind {
	case schema.String:
		add("a number", 7)
		if f.Enum != nil {
			add("another word", "nope")
		}
		if f.Min != nil {
			add("too short", strings.Repeat("x", int(*f.Min)-1))
		}
		if f.Max != nil {
			add("too long", strings.Repeat("x", int(*f.Max)+1))
		}
		if form != "" {
			add("another form", "not of this form!")
			add("empty", "")
		}
	case schema.Integer:
		add("a text", "7")
		add("a fraction", 1.5)
		add("too small", *f.Min-2)
		add("too large", *f.Max+2)
	case schema.Number:
		add("a text", "7")
		add("too large to store", 1e126)
		if f.Min != nil {
			add("too small", *f.Min-0.5)
		}
		if f.Max != nil {
			add("too large", *f.Max+0.5)
		}
	case schema.Boolean:
		add("a text", "true")
	case schema.Array:
		add("a text", "x")
		add("too many", slices.Repeat([]any{validElement(f)}, f.ItemsMax+1))
		add("a number in it", []any{7})
		if f.Enum != nil {
			add("another word in it", []any{"nope"})
		}
		if f.ItemCharsMax > 0 {
			add("a long one in it", []any{strings.Repeat("x", f.ItemCharsMax+1)})
		}
		if form != "" {
			add("another form in it", []any{"not of this form!"})
		}
	case schema.Any:
		add("too much", strings.Repeat("x", int(*f.Max)))
	case schema.Map:
		add("a text", "x")
	}
	return out
}

// validElement returns a valid element for an array field.
func validElement(f schema.Field) any {
	switch {
	case f.Enum != nil:
		return f.Enum[0]
	case samplesOf(f) != nil:
		return samplesOf(f)[0]
	}
	return "x"
}

// Ensure an import refuses every value that the API refuses, with the same message. For every
// property of every record, the test breaks each rule once in a request body and once in an
// imported record. importOnlyValues lists the exceptions.
func TestImportKeepsTheRulesOfBodies(t *testing.T) {
	t.Parallel()
	apitest.SkipIfShort(t)
	s := start(t, nil)
	key := s.IssueKey(t)
	types, records, used := map[string]transfer.Type{}, recordsByType(t), map[string]bool{}
	for _, kind := range functions.Transfers(s.Table) {
		types[kind.Name] = kind
	}
	for _, op := range functions.Operations(nil) {
		if !hasBody(op) || slices.Contains(bodiesWithoutRecord, op.ID) {
			continue
		}
		kind := importType(t, op, types)
		name := kind.Name
		b := newOperationBody(t, op)
		for _, f := range b.fields {
			property := name + " " + f.Name
			for _, r := range invalidValues(f) {
				refusal := b.refusal(t, s, key, f.Name, r.value)
				_, problems := kind.Check(withValue(t, records[name], f.Name, r.value))
				if importOnlyValues[property] != "" {
					used[property] = true
				} else if !slices.ContainsFunc(problems, func(p string) bool { return sameProblem(f, refusal, p) }) {
					t.Errorf("%s: %s, %s: the API says %.200q, an import %.300q", op.ID, f.Name, r.name, refusal, problems)
				}
			}
			for _, word := range enumValues(kind.Record, f) {
				_, problems := kind.Check(withValue(t, records[name], f.Name, word))
				if refused := strings.Contains(strings.Join(problems, " "), "must be one of"); refused {
					t.Errorf("%s: the import refuses %s: %q", property, word, problems)
				}
				if !slices.Contains(f.Enum, word) {
					used[property+" "+word] = true
				}
			}
		}
	}
	if want := slices.Sorted(maps.Keys(importOnlyValues)); !slices.Equal(slices.Sorted(maps.Keys(used)), want) {
		t.Errorf("an import accepts more: %q, importOnlyValues has reasons for %q", slices.Sorted(maps.Keys(used)), want)
	}
}

// sameProblem reports whether the messages for a record and a body state the same problem. An enum
// may allow more values in a record than in a body, so the lists of allowed values in the messages
// are not compared.
func sameProblem(f schema.Field, refused, problem string) bool {
	if f.Enum != nil {
		refused, _, _ = strings.Cut(refused, " must be one of ")
		problem, _, _ = strings.Cut(problem, " must be one of ")
	}
	return refused == problem
}

// enumValues returns the enum values of a record's string property, or nil if it has none.
func enumValues(record reflect.Type, f schema.Field) []string {
	for _, field := range reflect.VisibleFields(record) {
		if name, _, _ := strings.Cut(field.Tag.Get("json"), ","); name != f.Name || field.Type.Kind() != reflect.Pointer {
			continue
		}
		if e, ok := reflect.Zero(field.Type.Elem()).Interface().(schema.Enum); ok {
			return e.Values()
		}
	}
	return nil
}

// operationBody describes the body of an operation. The body is either the record itself or has one
// record in an array.
type operationBody struct {
	op     api.Operation
	array  string // the array property that contains the record; empty if the body is the record
	path   string // prefix of the property names in messages
	fields []schema.Field
	valid  map[string]any
}

func newOperationBody(t *testing.T, op api.Operation) operationBody {
	t.Helper()
	b := operationBody{op: op, path: "body.", valid: map[string]any{}}
	for _, f := range op.Input {
		switch {
		case f.In != schema.InBody:
		case f.Fields != nil && f.Required:
			b.array, b.path, b.fields = f.Name, "body."+f.Name+"[0].", f.Fields
			b.valid = maps.Clone(fixtureArguments[op.ID][f.Name].([]any)[0].(map[string]any))
			return b
		default:
			b.fields = append(b.fields, f)
			if value, has := fixtureArguments[op.ID][f.Name]; has {
				b.valid[f.Name] = value
			}
		}
	}
	return b
}

// refusal returns the message with which the API refuses a value of a property. In that message, it
// replaces the property's path in the body with its path in a record.
func (b operationBody) refusal(t *testing.T, s *apitest.Service, key, name string, value any) string {
	t.Helper()
	content := maps.Clone(b.valid)
	content[name] = value
	var whole any = content
	if b.array != "" {
		whole = map[string]any{b.array: []any{content}}
	}
	text := marshal(t, whole)
	s.Clock.Advance(time.Second) // so that the quota refills
	r := newTestRequest(t, s, b.op, key)
	r.body = string(text)
	response := r.send(t, s)
	_, messages := response.Messages(t)
	at := slices.IndexFunc(messages, func(m string) bool { return strings.HasPrefix(m, b.path+name) })
	if response.Status != http.StatusBadRequest || at < 0 {
		t.Errorf("%s: the API accepts %s: %.100v: %d %.200s", b.op.ID, name, value, response.Status, response.Body)
		return "accepted"
	}
	return strings.Replace(messages[at], b.path, "record.", 1)
}

// withValue returns a record with the value of one property replaced.
func withValue(t *testing.T, record map[string]any, name string, value any) json.RawMessage {
	t.Helper()
	changed := maps.Clone(record)
	changed[name] = value
	text := marshal(t, changed)
	return text
}

// recordsByType returns the fixture company's first record of each type.
func recordsByType(t *testing.T) map[string]map[string]any {
	t.Helper()
	out := map[string]map[string]any{}
	for _, line := range fixtureLines(t) {
		if out[line.Type] == nil {
			out[line.Type] = line.properties(t)
		}
	}
	return out
}

// Ensure the rules that involve several properties also apply to records, with the same messages as
// in the API.
func TestImportKeepsTheRulesOfSeveralProperties(t *testing.T) {
	t.Parallel()
	types := functions.Transfers(nil)
	for _, c := range []struct{ kind, record, want string }{
		{"content-plan", `{"id":"pln_1","startsAt":"2026-09-01T00:30:00+01:00","endsAt":"2026-08-31T23:29:59.999Z"}`, "record.endsAt: must not be before startsAt"},
		{"metric-definition", `{"id":"mdf_1","key":"a","kind":"split"}`, "record.dimensions: is required for a metric of kind split, with at least one name"},
		{"metric-definition", `{"id":"mdf_1","key":"a","kind":"split","dimensions":[]}`, "record.dimensions: is required for a metric of kind split, with at least one name"},
		{"metric-definition", `{"id":"mdf_1","key":"a","kind":"derived"}`, "record.formula: is required for a metric of kind derived"},
		{"metric-definition", `{"id":"mdf_1","key":"a","formula":"b"}`, "record.formula: is only for a metric of kind derived"},
		{"metric-definition", `{"id":"mdf_1","key":"a","needsReview":true}`, ""},
		{"site-goal", `{"id":"gol_1","siteId":"sit_1","matchType":"regex","pattern":"a("}`, "record.pattern: with matchType regex, pattern must be a regular expression of RE2: error parsing regexp: missing closing ): `a(`"},
		{"site-goal", `{"id":"gol_1","siteId":"sit_1","matchType":"exact","pattern":"a("}`, ""},
		{"post", `{"id":"pst_1","status":"scheduled"}`, "record.scheduledFor: is required when status is scheduled"},
		{"post", `{"id":"pst_1","platform":"x","destination":"beta"}`, "record.destination: is allowed only when platform is push"},
		{"feedback", `{"id":"fbk_1","externalId":"1","kind":"mention","rating":4}`, "record.rating: must be left out, because a mention has no rating"},
		{"audit", `{"id":"aud_1","startedAt":"2026-08-11T09:00:00Z","finishedAt":"2026-08-11T08:00:00Z"}`, "record.finishedAt: must not be before startedAt, which is 2026-08-11T09:00:00.000Z"},
		{"audit", `{"id":"aud_1","status":"running","finishedAt":"2026-08-11T08:00:00Z"}`, "record.finishedAt: must be left out while status is running"},
		{"audit", `{"id":"aud_1","status":"complete","startedAt":"2026-08-11T09:00:00Z"}`, ""},
		{"board", `{"id":"brd_1","allowedOrigins":["*","javascript:1"]}`, "record.allowedOrigins[0]: must be an origin without path or wildcard, its host in small letters, for example https://example.com or http://localhost:3000\n" +
			"record.allowedOrigins[1]: must be an origin without path or wildcard, its host in small letters, for example https://example.com or http://localhost:3000"},
		{"metric-point", `{"metricKey":"a","ts":"2026-01-01T00:00:00Z","dims":{"n":1,"list":[null]}}`, ""},
	} {
		kind := typeNamed(t, types, c.kind)
		if _, problems := kind.Check(json.RawMessage(c.record)); strings.Join(problems, "\n") != c.want {
			t.Errorf("%s %s: %q, want %q", c.kind, c.record, problems, c.want)
		}
	}
}

// checkExportIsImportable reports a test error for each stored record that an import would refuse.
// Everything that the API accepts must be importable after an export.
func checkExportIsImportable(t *testing.T, s *apitest.Service) {
	t.Helper()
	for _, kind := range functions.Transfers(s.Table) {
		err := kind.Export(t.Context(), s.CompanyID, func(record any) error {
			text, err := json.Marshal(record)
			if err != nil {
				return err
			}
			if _, problems := kind.Check(text); len(problems) > 0 {
				t.Errorf("an import refuses what the API has stored: %s %.500s: %q", kind.Name, text, problems)
			}
			return nil
		})
		if err != nil {
			t.Error(err)
		}
	}
}
