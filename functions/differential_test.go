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
// and invalid, to two companies with equal records: to one over HTTP, to the other as tool calls.
// It compares status, code, messages, body, rate limit and whether there is an ETag. Finally it
// compares the records of the two companies. The reads, the creates and the updates of a scope each
// use the same two companies, because none of them changes what another one needs.
func TestToolsRespondLikeHTTP(t *testing.T) {
	t.Parallel()
	apitest.SkipIfShort(t)
	groups := map[string][]api.Operation{}
	for _, op := range toolOperations() {
		name := op.ID
		switch {
		case op.Effect == api.Read:
			name = "reads of " + string(op.Scope)
		case op.Effect == api.Create:
			name = "creates of " + string(op.Scope)
		case op.Method == http.MethodPatch:
			name = "updates of " + string(op.Scope)
		}
		groups[name] = append(groups[name], op)
	}
	for name, operations := range groups {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			d := newTwinCompanies(t, operations[0])
			for _, op := range operations {
				t.Run(op.ID, func(t *testing.T) {
					d.t, d.op = t, op
					d.compareGenerated()
				})
			}
			d.t = t
			d.compareRecords()
			checkExportIsImportable(t, d.companyA)
		})
	}
}

// twinCompanies are two companies with equal records.
type twinCompanies struct {
	t                  *testing.T
	op                 api.Operation
	random             *rand.Rand
	companyA, companyB *apitest.Service // companyA is called over HTTP, companyB through tools
	keyA               string
	keyB               string
	limitedKeyA        string // lacks the operation's scope
	limitedKeyB        string
	statusCounts       map[int]int
	ids                [2][]string // generated ids in order of appearance
}

func newTwinCompanies(t *testing.T, op api.Operation) *twinCompanies {
	t.Helper()
	a, b := start(t, nil), start(t, nil)
	d := &twinCompanies{t: t, op: op, companyA: a, companyB: b, keyA: a.IssueKey(t), keyB: b.IssueKey(t)}
	a.Clock.Advance(time.Millisecond) // so that both companies' keys are listed in the same order
	b.Clock.Advance(time.Millisecond)
	d.limitedKeyA, d.limitedKeyB = a.IssueKey(t, otherScopes(op)...), b.IssueKey(t, otherScopes(op)...)
	return d
}

func (t *twinCompanies) compareGenerated() {
	t.t.Helper()
	const calls = 24 // enough for every kind of call that generateCall makes
	t.random, t.statusCounts = rand.New(rand.NewSource(1)), map[int]int{}
	for n := range calls {
		t.compare(t.generateCall(n))
	}
	if t.statusCounts[200] == 0 || t.statusCounts[200] == calls && len(t.op.Input) > 0 {
		t.t.Errorf("the generated calls must include successes and failures: %v", t.statusCounts)
	}
}

func (t *twinCompanies) callHTTP(c generatedCall) apitest.Response {
	t.t.Helper()
	company := t.companyA.CompanyID
	if c.company == "other" {
		company = otherCompany
	}
	path := strings.ReplaceAll(t.op.Path, "{companyId}", company)
	query, body, header := url.Values{}, map[string]any{}, http.Header{}
	for name, value := range c.args {
		f := slices.IndexFunc(t.op.Input, func(f schema.Field) bool { return f.ArgumentName() == name })
		place := schema.InQuery
		if hasBody(t.op) {
			place = schema.InBody
		}
		if f >= 0 {
			place, name = t.op.Input[f].In, t.op.Input[f].Name
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
	if hasBody(t.op) {
		text = generatedCall{args: body, raw: c.raw}.encode()
		header.Set("Content-Type", "application/json")
	}
	key := t.keyA
	if c.limitedKey {
		key = t.limitedKeyA
	}
	return testRequest{t.op.Method, path, query.Encode(), text, key, header}.send(t.t, t.companyA)
}

func (t *twinCompanies) callTool(c generatedCall) toolResult {
	t.t.Helper()
	args := maps.Clone(c.args)
	switch c.company {
	case "other":
		args["companyId"] = otherCompany
	case "own":
		args["companyId"] = t.companyB.CompanyID
	}
	key := t.keyB
	if c.limitedKey {
		key = t.limitedKeyB
	}
	return callTool(t.t, t.companyB, key, t.op.ID, json.RawMessage(generatedCall{args: args, raw: c.raw}.encode()))
}

const otherCompany = "co_01k2zzzzzzzzzzzzzzzzzzzzzz"

func (t *twinCompanies) compare(c generatedCall) {
	t.t.Helper()
	if c.company == "other" && !t.op.HasCompanyID() {
		return // an HTTP request for this operation contains no company id
	}
	t.companyA.Clock.Advance(10 * time.Second) // so that no rate limit is reached
	t.companyB.Clock.Advance(10 * time.Second)
	httpResponse, result := t.callHTTP(c), t.callTool(c)
	toolResponse := result.response(t.t)
	t.statusCounts[httpResponse.Status]++
	report := func(what string, fromHTTP, fromTool any) {
		t.t.Helper()
		if diff := cmp.Diff(fromHTTP, fromTool); diff != "" {
			t.t.Errorf("%s of %.300s (-HTTP +tool)\n%s", what, c.encode(), diff)
		}
	}
	report("status", httpResponse.Status, toolResponse.Status)
	for _, name := range []string{"RateLimit-Limit", "RateLimit-Remaining", "RateLimit-Reset", "RateLimit-Policy", "Service-Version"} {
		report(name, httpResponse.Header.Get(name), toolResponse.Header.Get(name))
	}
	if httpResponse.Status != http.StatusOK {
		codeA, messagesA := httpResponse.Messages(t.t)
		codeB, messagesB := toolResponse.Messages(t.t)
		report("code", codeA, codeB)
		if strings.HasPrefix(httpResponse.Body, `{"errors":[{"code":"not_found"`) {
			return // the messages differ: "no such path" over HTTP, "no such record" from the tool
		}
		report("messages", normaliseMessages(messagesA), normaliseMessages(messagesB))
		return
	}
	report("body", t.numberIDs(0, httpResponse.Body), t.numberIDs(1, toolResponse.Body))
	report("entity tag", httpResponse.Header.Get("ETag") != "", result.Meta.ETag != "") // only presence: the tags differ, because the bodies contain different ids
	if t.op.IsList() {
		_, more := httpResponse.NextCursor(t.t)
		if result.Meta.HasMore == nil || *result.Meta.HasMore != more || (result.Meta.NextCursor != "") != more {
			t.t.Errorf("hasMore of %s: %v over HTTP, %+v as a tool", c.encode(), more, result.Meta)
		}
	}
}

var (
	locationPattern        = regexp.MustCompile(`^(?:path|query|body)\.`)
	unknownArgumentPattern = regexp.MustCompile(`^(.*): unknown (?:parameter|property|argument).*$`)
	wholeArgumentPattern   = regexp.MustCompile(`^(?:body|arguments): (?:everything but findings )?`) // The size limit of a body excludes findings, and the message says so. The size limit of a tool call includes them.
)

// normaliseMessages returns the messages, sorted, in a form in which those of HTTP and of tools can
// be compared. Only HTTP messages say where in the request an argument belongs, so it removes those
// words. It also removes the hint for an unknown argument.
func normaliseMessages(messages []string) []string {
	out := slices.Clone(messages)
	for i := range out {
		out[i] = locationPattern.ReplaceAllString(out[i], "")
		out[i] = strings.NewReplacer("header.If-Match:", "ifMatch:", "header.Idempotency-Key:", "idempotencyKey:").Replace(out[i])
		out[i] = unknownArgumentPattern.ReplaceAllString(out[i], "unknown: $1")
		out[i] = wholeArgumentPattern.ReplaceAllString(out[i], "whole: ")
	}
	slices.Sort(out)
	return out
}

var generatedIDPattern = func() *regexp.Regexp {
	prefixes := []string{id.CompanyPrefix, id.KeyPrefix, "chg", "req", "pk_live"}
	for _, kind := range functions.Transfers(nil) {
		if kind.Prefix != "" {
			prefixes = append(prefixes, kind.Prefix)
		}
	}
	return regexp.MustCompile(`\b(?:` + strings.Join(prefixes, "|") + `)_[0-9a-z]{26}\b`)
}()

// keyPrefixPattern matches the visible prefix of an API key, which the record of a key contains.
var keyPrefixPattern = regexp.MustCompile(`\bsk_live_[0-9A-Za-z]{12}\b`)

// numberIDs returns the body with each generated id replaced by a number, in order of first
// appearance.
func (t *twinCompanies) numberIDs(side int, body string) string {
	body = keyPrefixPattern.ReplaceAllString(body, "prefix")
	return generatedIDPattern.ReplaceAllStringFunc(body, func(one string) string {
		if one == t.companyA.CompanyID || one == t.companyB.CompanyID {
			return "co_own"
		}
		n := slices.Index(t.ids[side], one)
		if n < 0 {
			n = len(t.ids[side])
			t.ids[side] = append(t.ids[side], one)
		}
		return "id" + strconv.Itoa(n)
	})
}

func (t *twinCompanies) compareRecords() {
	t.t.Helper()
	for _, op := range functions.Operations(nil) {
		if op.Effect != api.Read {
			continue
		}
		t.companyA.Clock.Advance(10 * time.Second)
		t.companyB.Clock.Advance(10 * time.Second)
		a, b := t.companyA.Call(t.t, t.keyA, op.ID, fixtureArguments[op.ID]), t.companyB.Call(t.t, t.keyB, op.ID, fixtureArguments[op.ID])
		if diff := cmp.Diff(t.numberIDs(0, a.Body), t.numberIDs(1, b.Body)); diff != "" {
			t.t.Errorf("%s afterwards (-HTTP +tool)\n%s", op.ID, diff)
		}
	}
}
