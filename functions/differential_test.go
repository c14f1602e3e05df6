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
	codes "growthworkspace/shared/fault"
	"growthworkspace/shared/id"
	"growthworkspace/shared/schema"
	"growthworkspace/shared/testkit/apitest"
)

func statusOf(code string) int { return codes.Code(code).Status() }

// Ensure a tool call has the same result as the HTTP request. The test sends generated calls, valid
// and invalid, to two companies with equal records: to one over HTTP, to the other as tools. It
// compares status, code, messages, body, rate limit and whether there is an ETag, and afterwards
// the records of the two companies.
func TestToolsAnswerAsHTTP(t *testing.T) {
	t.Parallel()
	apitest.SkipIfShort(t)
	const calls = 24 // generate has a kind of call for each number below 8, and for multiples of 3, 5 and 7
	for _, op := range toolOperations() {
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
				t.Errorf("the generated calls must include successes and failures: %v", d.statuses)
			}
			d.compareRecords()
			checkExport(t, d.a)
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
	d := &twins{t: t, op: op, random: rand.New(rand.NewSource(1)), a: a, b: b, keyA: a.Key(t), keyB: b.Key(t), statuses: map[int]int{}}
	a.Clock.Advance(time.Millisecond) // so that the lists of keys have the same order
	b.Clock.Advance(time.Millisecond)
	d.poorA, d.poorB = a.Key(t, otherScopes(op.Scope)...), b.Key(t, otherScopes(op.Scope)...)
	return d
}

// overHTTP sends a generated call as an HTTP request.
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
		return // an HTTP request of this operation cannot name a company
	}
	d.a.Clock.Advance(10 * time.Second) // so that no rate limit is reached
	d.b.Clock.Advance(10 * time.Second)
	over, tool := d.overHTTP(c), d.asTool(c)
	as := tool.response(d.t)
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
			return // the messages differ: "no such path" over HTTP, "no such record" from the tool
		}
		report("messages", alike(messagesA), alike(messagesB))
		return
	}
	report("body", d.plain(0, over.Body), d.plain(1, as.Body))
	report("entity tag", over.Header.Get("ETag") != "", tool.Meta.ETag != "") // the tags differ, because the ids in the bodies do
	if d.op.IsList() {
		_, more := over.Next(d.t)
		if tool.Meta.HasMore == nil || *tool.Meta.HasMore != more || (tool.Meta.NextCursor != "") != more {
			d.t.Errorf("hasMore of %s: %v over HTTP, %+v as a tool", c.text(), more, tool.Meta)
		}
	}
}

var (
	place          = regexp.MustCompile(`^(?:path|query|body)\.`)
	unknownProblem = regexp.MustCompile(`^(.*): unknown (?:parameter|property|argument).*$`)
	whole          = regexp.MustCompile(`^(?:body|arguments): (?:everything but findings )?`) // arguments are bounded with their findings
)

// alike returns messages without the location of an argument, which only HTTP names, and without
// the hint for an unknown argument.
func alike(messages []string) []string {
	out := slices.Clone(messages)
	for i := range out {
		out[i] = place.ReplaceAllString(out[i], "")
		out[i] = strings.NewReplacer("header.If-Match:", "ifMatch:", "header.Idempotency-Key:", "idempotencyKey:").Replace(out[i])
		out[i] = unknownProblem.ReplaceAllString(out[i], "unknown: $1")
		out[i] = whole.ReplaceAllString(out[i], "whole: ")
	}
	slices.Sort(out)
	return out
}

var generatedID = func() *regexp.Regexp {
	prefixes := []string{id.Company, id.Key, "req", "pk_live"}
	for _, kind := range functions.Transfers(nil) {
		if kind.Prefix != "" {
			prefixes = append(prefixes, kind.Prefix)
		}
	}
	return regexp.MustCompile(`\b(?:` + strings.Join(prefixes, "|") + `)_[0-9a-z]{26}\b`)
}()

// keyPrefix matches the prefix of a key that its record contains.
var keyPrefix = regexp.MustCompile(`\bsk_live_[0-9A-Za-z]{12}\b`)

// plain returns a body in which generated ids are replaced by numbers, in the order of their first
// appearance.
func (d *twins) plain(side int, body string) string {
	body = keyPrefix.ReplaceAllString(body, "prefix")
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

// compareRecords compares all records of the two companies.
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
