package functions_test

import (
	"encoding/json"
	"fmt"
	"maps"
	"math/rand"
	"net/http"
	"net/url"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"growthworkspace/functions"
	"growthworkspace/shared/api"
	"growthworkspace/shared/apitest"
	codes "growthworkspace/shared/fault"
	"growthworkspace/shared/id"
	"growthworkspace/shared/schema"
)

func statusOf(code string) int { return codes.Code(code).Status() }

// TestToolsAnswerAsHTTP sends generated calls, valid ones and others, to two companies with equal records: to one over
// HTTP, to the other as a tool. Status, code, messages, body, quota and entity tag are the same, and so is what is in the
// two companies afterwards.
func TestToolsAnswerAsHTTP(t *testing.T) {
	t.Parallel()
	const calls = 60
	for _, op := range functions.Operations(nil) {
		t.Run(op.ID, func(t *testing.T) {
			t.Parallel()
			d := newTwins(t, op)
			for n := range calls {
				c := d.generate(n)
				d.compare(c)
			}
			for status, n := range d.statuses {
				t.Logf("%d: %d calls", status, n)
			}
			if d.statuses[200] == 0 || d.statuses[200] == calls && len(op.Input) > 0 {
				t.Errorf("the calls are no good: %v", d.statuses)
			}
			d.compareRecords()
		})
	}
}

// twins are two companies with equal records.
type twins struct {
	t        *testing.T
	op       api.Operation
	random   *rand.Rand
	a, b     *apitest.Service // over HTTP, as a tool
	keyA     string
	keyB     string
	poorA    string // lacks the operation's scope
	poorB    string
	statuses map[int]int
	ids      [2][]string // generated ids in the order of their appearance
}

func newTwins(t *testing.T, op api.Operation) *twins {
	t.Helper()
	a, b := start(t, nil), start(t, nil)
	return &twins{
		t: t, op: op, random: rand.New(rand.NewSource(1)), a: a, b: b, keyA: a.Key(t), keyB: b.Key(t),
		poorA: a.Key(t, otherScopes(op.Scope)...), poorB: b.Key(t, otherScopes(op.Scope)...), statuses: map[int]int{},
	}
}

// generated is one call.
type generated struct {
	args    map[string]any // flat; a nil is null
	raw     string         // an argument object that no map can spell; empty: args
	company string         // as named; empty: not named, which over HTTP means the key's
	poor    bool
}

func (c generated) text() string {
	if c.raw != "" {
		return c.raw
	}
	text, err := json.Marshal(c.args)
	if err != nil {
		panic(err)
	}
	return string(text)
}

func (d *twins) generate(n int) generated {
	c := generated{args: d.valid()}
	body := hasBody(d.op)
	switch {
	case n == 0:
		c.args = maps.Clone(arguments[d.op.ID])
	case n == 1:
		c.company, c.args = "other", maps.Clone(arguments[d.op.ID])
	case n == 2:
		c.poor = true
	case n == 3:
		c.poor, c.company = true, "other"
	case n == 4:
		c.args["nope"] = "1"
	case n == 5 && body:
		for _, f := range d.op.Input {
			if f.In == schema.InBody {
				c.args[strings.ToUpper(f.Name)] = 1
			}
		}
	case n == 6 && body:
		c.args["nope"] = strings.Repeat("x", 257<<10)
	case n == 7 && body && d.op.Path == strings.TrimSuffix(d.op.Path, "}"): // repeated, where no path is to be filled in
		c.raw = `{"nope":1,"nope":1}`
	case n%3 == 0:
		d.spoil(c.args, 1)
	case n%7 == 0:
		d.spoil(c.args, 3)
	case n%5 == 0:
		c.company = "own"
	}
	if len(pathFields(d.op)) > 0 {
		c.raw = ""
	}
	return c
}

func pathFields(op api.Operation) []schema.Field {
	return slices.DeleteFunc(slices.Clone(op.Input), func(f schema.Field) bool { return f.In != schema.InPath })
}

// valid are arguments that the schema takes: those of the fixture where they name records, others where any will do.
func (d *twins) valid() map[string]any {
	out := map[string]any{}
	known := arguments[d.op.ID]
	for _, f := range d.op.Input {
		value, isKnown := known[f.Name]
		switch {
		case f.In == schema.InPath && d.random.Intn(8) > 0, isKnown && d.random.Intn(2) == 0:
			out[f.Argument()] = value
		case f.In == schema.InPath:
			out[f.Name] = []string{"itm_nope", "brd_1", "pst_1", "x", "a b", "a/b", "é", "%00", "#"}[d.random.Intn(9)]
		case f.In == schema.InHeader || f.Name == "cursor":
		case f.Required || d.random.Intn(3) == 0:
			out[f.Name] = d.value(f)
		}
	}
	return out
}

var samples = map[string][]string{
	"uri": {"https://example.com", "mailto:a@example.com"}, "date-time": {"2026-08-11T09:30:00Z", "2020-02-29T23:59:60.5+02:00", "2026-08-11T09:30:00.123456789-11:00"},
	"day": {"2026-08-10", "2026-08-11T09:30:00+14:00"}, "slug": {"a", "dark-mode", "b-2"}, "metricKey": {"growth.signups", "a"}, "currency": {"EUR"}, "ideaId": {"ida_1"},
}

func (d *twins) pick(values []string) string { return values[d.random.Intn(len(values))] }

// value is one that a field takes.
func (d *twins) value(f schema.Field) any {
	switch f.Kind {
	case schema.Integer:
		least, most := max(*f.Min, -5), min(*f.Max, 1000)
		return int64(least) + d.random.Int63n(int64(most-least)+1)
	case schema.Number:
		return float64(d.random.Intn(1000)) / 8
	case schema.Boolean:
		return d.random.Intn(2) == 0
	case schema.Array:
		list := []any{}
		for range d.random.Intn(min(4, f.Items)) {
			if f.Fields == nil {
				list = append(list, d.words(0, min(f.Each, 20)))
				continue
			}
			o := map[string]any{}
			for _, inner := range f.Fields {
				if inner.Required || d.random.Intn(2) == 0 {
					o[inner.Name] = d.value(inner)
				}
			}
			list = append(list, o)
		}
		return list
	case schema.Map:
		return map[string]any{"a": d.words(0, 5)}
	}
	switch {
	case f.Enum != nil:
		return d.pick(f.Enum)
	case f.Format+f.Pattern != "":
		if samples[f.Format+f.Pattern] == nil {
			d.t.Fatalf("%s: samples has no %s%s", f.Name, f.Format, f.Pattern)
		}
		return d.pick(samples[f.Format+f.Pattern])
	}
	least, most := 0, 40
	if f.Min != nil {
		least = int(*f.Min)
	}
	if f.Max != nil {
		most = int(*f.Max)
	}
	if d.random.Intn(4) > 0 {
		most = min(most, 40)
	}
	return d.words(least, most)
}

// words is a text with characters that JSON, URLs and people spell in more than one way.
func (d *twins) words(least, most int) string {
	alphabet := []rune("abc XYZ019<>&\"\\/+%#?=;,'\t\n\u2028é漢🙂")
	out := make([]rune, least+d.random.Intn(most-least+1))
	for i := range out {
		out[i] = alphabet[d.random.Intn(len(alphabet))]
	}
	return string(out)
}

// spoil makes some arguments such as the schema refuses. What a query can spell is text, so a tool gets what such a text
// is in JSON: a number where it is one.
func (d *twins) spoil(args map[string]any, times int) {
	for range times {
		if len(d.op.Input) == 0 {
			args["nope"] = "x"
			return
		}
		f := d.op.Input[d.random.Intn(len(d.op.Input))]
		switch f.In {
		case schema.InPath:
			// Not "", "." and "..": no path spells them, so over HTTP they are no operation's at all.
			args[f.Name] = d.pick([]string{"...", "x y", strings.Repeat("a", 200), "ITM_1", "itm_"})
		case schema.InHeader:
			args[f.Argument()] = d.pick([]string{`"stale"`, "stale", `W/"stale"`, ""})
		case schema.InQuery:
			args[f.Name] = d.spoiledText(f)
		case schema.InBody:
			args[f.Name] = d.spoiledValue(f)
			if d.random.Intn(6) == 0 && f.Required {
				delete(args, f.Name)
			}
		}
	}
}

func (d *twins) spoiledText(f schema.Field) any {
	if f.Kind == schema.Integer {
		text := d.pick([]string{"abc", "", "1.5", "-1", "0", "99999", "1e3", "+5", "05", " 5", "null", "true"})
		if text == "1.5" || text == "-1" || text == "0" || text == "99999" {
			return json.Number(text)
		}
		return text
	}
	if f.Name == "cursor" {
		return d.pick([]string{"x", "", "AAAA", strings.Repeat("A", 2000)})
	}
	return d.pick([]string{"nope", "", strings.Repeat("y", 300), "2026-13-01", "é"})
}

func (d *twins) spoiledValue(f schema.Field) any {
	values := []any{nil, 5, true, "nope nope", []any{}, map[string]any{}, []any{5}, []any{nil}, []any{map[string]any{"nope": 1}}, 1.5, -1, "", map[string]any{"a": 1}}
	if f.Max != nil && f.Kind == schema.String {
		values = append(values, strings.Repeat("é", int(*f.Max)), strings.Repeat("é", int(*f.Max)+1))
	}
	if f.Items > 0 {
		values = append(values, slices.Repeat([]any{"a"}, f.Items+1), []any{strings.Repeat("z", f.Each+1)})
	}
	return values[d.random.Intn(len(values))]
}

// overHTTP spells flat arguments as a request.
func (d *twins) overHTTP(c generated) apitest.Response {
	d.t.Helper()
	company := d.a.CompanyID
	if c.company == "other" {
		company = otherCompany
	}
	path := strings.ReplaceAll(d.op.Path, "{companyId}", company)
	query, body, header := url.Values{}, map[string]any{}, http.Header{}
	for name, value := range c.args {
		f := slices.IndexFunc(d.op.Input, func(f schema.Field) bool { return f.Argument() == name })
		place := schema.InQuery
		if hasBody(d.op) {
			place = schema.InBody
		}
		if f >= 0 {
			place, name = d.op.Input[f].In, d.op.Input[f].Name
		}
		switch place {
		case schema.InPath:
			path = strings.ReplaceAll(path, "{"+name+"}", url.PathEscape(value.(string)))
		case schema.InQuery:
			query.Set(name, fmt.Sprint(value))
		case schema.InHeader:
			header.Set(name, value.(string))
		case schema.InBody:
			body[name] = value
		}
	}
	text := ""
	if hasBody(d.op) {
		text = generated{args: body, raw: c.raw}.text()
		header.Set("Content-Type", "application/json")
	}
	key := d.keyA
	if c.poor {
		key = d.poorA
	}
	return request{d.op.Method, path, query.Encode(), text, key, header}.send(d.t, d.a)
}

func (d *twins) asTool(c generated) called {
	d.t.Helper()
	args := maps.Clone(c.args)
	switch c.company {
	case "other":
		args["companyId"] = otherCompany
	case "own":
		args["companyId"] = d.b.CompanyID
	}
	key := d.keyB
	if c.poor {
		key = d.poorB
	}
	return callTool(d.t, d.b, key, d.op.ID, json.RawMessage(generated{args: args, raw: c.raw}.text()))
}

const otherCompany = "co_01k2zzzzzzzzzzzzzzzzzzzzzz"

func (d *twins) compare(c generated) {
	d.t.Helper()
	if c.company == "other" && !d.op.Company() {
		return // nothing in the request over HTTP could name it
	}
	d.a.Clock.Advance(10 * time.Second) // so that no quota runs out
	d.b.Clock.Advance(10 * time.Second)
	over, tool := d.overHTTP(c), d.asTool(c)
	as := tool.answer(d.t)
	d.statuses[over.Status]++
	report := func(what string, over, as any) {
		d.t.Helper()
		if diff := cmp.Diff(over, as); diff != "" {
			d.t.Errorf("%s of %.300s (-HTTP +tool)\n%s", what, c.text(), diff)
		}
	}
	report("status", over.Status, as.Status)
	for _, name := range []string{"RateLimit-Limit", "RateLimit-Remaining", "RateLimit-Reset", "RateLimit-Policy", "Service-Version"} {
		report(name, over.Header.Get(name), as.Header.Get(name))
	}
	if over.Status != http.StatusOK {
		codeA, messagesA := over.Messages(d.t)
		codeB, messagesB := as.Messages(d.t)
		report("code", codeA, codeB)
		if strings.HasPrefix(over.Body, `{"errors":[{"code":"not_found"`) {
			return // no such path, over HTTP, where the tool says no such record
		}
		report("messages", alike(messagesA), alike(messagesB))
		return
	}
	report("body", d.plain(0, over.Body), d.plain(1, as.Body))
	report("entity tag", over.Header.Get("ETag"), tool.Meta.ETag)
	if d.op.IsList() {
		_, more := over.Next(d.t)
		if tool.Meta.HasMore == nil || *tool.Meta.HasMore != more || (tool.Meta.NextCursor != "") != more {
			d.t.Errorf("hasMore of %s: %v over HTTP, %+v as a tool", c.text(), more, tool.Meta)
		}
	}
}

var (
	twiceProblem   = regexp.MustCompile(`^(?:body|arguments)\.(.*): is there twice$`)
	unknownProblem = regexp.MustCompile(`^(?:query|body|arguments)\.(.*): unknown (?:parameter|property|argument).*$`)
	whole          = regexp.MustCompile(`^(?:body|arguments): `)
)

// alike spells messages without what HTTP alone can know of an argument: where it is.
func alike(messages []string) []string {
	out := slices.Clone(messages)
	for i := range out {
		out[i] = unknownProblem.ReplaceAllString(out[i], "unknown: $1")
		out[i] = twiceProblem.ReplaceAllString(out[i], "twice: $1")
		out[i] = whole.ReplaceAllString(out[i], "whole: ")
	}
	slices.Sort(out)
	return out
}

var generatedID = regexp.MustCompile(`\b(?:` + id.Company + `|brd|itm|fbk|mdf|sit|gol|aud|pln|ida|pst|chn|kit|cty|bgl|req)_[0-9a-z]{26}\b`)

// plain spells a body without the ids that the service makes: each is called by its turn.
func (d *twins) plain(side int, body string) string {
	return generatedID.ReplaceAllStringFunc(body, func(one string) string {
		if one == d.a.CompanyID || one == d.b.CompanyID {
			return "co_own"
		}
		n := slices.Index(d.ids[side], one)
		if n < 0 {
			n = len(d.ids[side])
			d.ids[side] = append(d.ids[side], one)
		}
		return "id" + strconv.Itoa(n)
	})
}

// compareRecords compares all that the two companies hold.
func (d *twins) compareRecords() {
	d.t.Helper()
	for _, op := range functions.Operations(nil) {
		if op.Effect != api.Read {
			continue
		}
		d.a.Clock.Advance(10 * time.Second)
		d.b.Clock.Advance(10 * time.Second)
		a, b := d.a.Call(d.t, d.keyA, op.ID, arguments[op.ID]), d.b.Call(d.t, d.keyB, op.ID, arguments[op.ID])
		if diff := cmp.Diff(d.plain(0, a.Body), d.plain(1, b.Body)); diff != "" {
			d.t.Errorf("%s afterwards (-HTTP +tool)\n%s", op.ID, diff)
		}
	}
}
