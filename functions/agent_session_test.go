package functions_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"net/http"
	"reflect"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"growthworkspace/functions"
	"growthworkspace/shared/auth"
	"growthworkspace/shared/id"
	"growthworkspace/shared/testkit/apitest"
	"growthworkspace/shared/transfer"
)

// agentTask is a task that a person gives to an agent. The agent is a script that does what a
// sensible model would do after reading the list of tools. It knows only what the task says and what
// the tools have shown. A checker compares the company before and after.
type agentTask struct {
	name   string
	scopes []auth.Scope // the scopes of the agent's key; nil: all
	seed   func(c *taskCompany) taskChecker
	agent  taskAgent
	wrong  []wrongRun

	calls, textBytes int // the most calls, and the most bytes of text in their results
}

// taskAgent does a task with the tools. words contains the names and dates that the task mentions.
// The result is what the agent reports to the person who set the task.
type taskAgent func(s *agentSession, words map[string]string) object

// wrongRun is an agent that makes a typical mistake. The checker must reject its work.
type wrongRun struct {
	mistake string
	agent   taskAgent

	decides bool // it decides what only a person may decide, so tools must refuse it with a key that only drafts
}

// taskChecker checks what an agent did in a seeded company. No agent sees it.
type taskChecker struct {
	check   func(o taskOutcome) error
	crawled object // how the crawler completes an audit
}

// taskOutcome is the state after an agent has finished.
type taskOutcome struct {
	changes []recordChange
	answer  object
	after   map[string]object
}

// taskAttempt is the result of a run of an agent.
type taskAttempt struct {
	*agentSession
	rejected error // why the checker rejects the agent's work
}

// attempt seeds a new company and lets an agent do the task.
func (a agentTask) attempt(t *testing.T, s *apitest.Service, agent taskAgent, scopes []auth.Scope) taskAttempt {
	t.Helper()
	inCompany := *s
	inCompany.CompanyID = s.Table.NewID(id.CompanyPrefix)
	s = &inCompany
	c := newTaskCompany(a.name)
	checker := a.seed(c)
	kinds := functions.Transfers(s.Table)
	for _, kind := range kinds { // in this order, every type follows the types that its records refer to
		var lines []json.RawMessage
		for _, line := range c.lines {
			if line.kind == "company" {
				line.record["id"] = s.CompanyID
			}
			if line.kind == kind.Name {
				lines = append(lines, marshal(t, line.record))
			}
		}
		importLinesOf(t, s, kinds, kind.Name, lines...)
	}
	before := takeSnapshot(t, s, kinds)
	if checker.check(taskOutcome{after: before}) == nil {
		return taskAttempt{&agentSession{err: errors.New("the checker accepts an agent that does nothing")}, nil}
	}
	session := &agentSession{t: t, service: s, key: s.IssueKey(t, scopes...), crawled: checker.crawled}
	for _, word := range c.words {
		session.shown.WriteString(word + "\n")
	}
	answer := agent(session, c.words)
	if session.err != nil {
		return taskAttempt{session, nil}
	}
	after := takeSnapshot(t, s, kinds)
	return taskAttempt{session, checker.check(taskOutcome{changesBetween(before, after), answer, after})}
}

// run runs the task's agent and then its wrong runs. The keys of wrong runs have every scope, so that
// no tool refuses a mistake before the checker sees it.
func (a agentTask) run(t *testing.T, s *apitest.Service) (calls, textBytes int, problems []string) {
	t.Helper()
	done := a.attempt(t, s, a.agent, a.scopes)
	for _, err := range []error{done.err, done.rejected} {
		if err != nil {
			return done.calls, done.textBytes, []string{"the agent fails: " + err.Error()}
		}
	}
	for _, wrong := range a.wrong {
		switch got := a.attempt(t, s, wrong.agent, nil); {
		case got.err != nil:
			problems = append(problems, fmt.Sprintf("the checker has not seen the agent that %s: %v", wrong.mistake, got.err))
		case got.rejected == nil:
			problems = append(problems, "the checker accepts the agent that "+wrong.mistake)
		}
		if wrong.decides {
			var refused toolRefusal
			if got := a.attempt(t, s, wrong.agent, a.scopes); !errors.As(got.err, &refused) {
				problems = append(problems, fmt.Sprintf("no tool refuses the agent that %s with a key that drafts: %v", wrong.mistake, got.err))
			}
		}
	}
	return done.calls, done.textBytes, problems
}

// Ensure agents can do real work with the tools, with few calls and little text, and that the
// checkers reject typical mistakes.
func TestAgentsTasks(t *testing.T) {
	t.Parallel()
	apitest.SkipIfShort(t)
	s := start(t, nil)
	for _, task := range agentTasks() {
		calls, textBytes, problems := task.run(t, s)
		for _, problem := range problems {
			t.Errorf("%s: %s", task.name, problem)
		}
		if calls > task.calls || textBytes > task.textBytes {
			t.Errorf("%s: %d calls and %d bytes of text, want at most %d and %d", task.name, calls, textBytes, task.calls, task.textBytes)
		}
		if len(task.wrong) < 2 {
			t.Errorf("%s: %d mistakes, want at least 2", task.name, len(task.wrong))
		}
	}
}

// Ensure a run of a task finds a checker that accepts a mistake or rejects the agent, an agent that
// decides and is not refused, and one that uses an id that it was never shown.
func TestAgentsTasksFindMistakes(t *testing.T) {
	t.Parallel()
	s := start(t, nil)
	seed := func(c *taskCompany) taskChecker { return onlyAnswer(object{"name": "Mossgrove"}) }
	readName := func(s *agentSession, _ map[string]string) object {
		return object{"name": s.record("get_company", object{"fields": []string{"name"}})["name"]}
	}
	lie := func(*agentSession, map[string]string) object { return object{"name": "Another"} }
	for want, task := range map[string]agentTask{
		"":                  {seed: seed, agent: readName, wrong: []wrongRun{{mistake: "lies", agent: lie}}},
		"the agent fails":   {seed: seed, agent: lie},
		"accepts the agent": {seed: seed, agent: readName, wrong: []wrongRun{{mistake: "lies", agent: readName}}},
		"no tool refuses":   {seed: seed, agent: readName, scopes: []auth.Scope{auth.CompanyRead}, wrong: []wrongRun{{mistake: "lies", agent: lie, decides: true}}},
		"that does nothing": {seed: func(*taskCompany) taskChecker { return taskChecker{check: func(taskOutcome) error { return nil }} }, agent: readName},
		"never shown fbk_01k46": {seed: seed, agent: func(s *agentSession, _ map[string]string) object {
			return s.record("get_feedback", object{"feedbackId": "fbk_01k46m3m18e19mtw5ktnxtqwz7"})
		}},
	} {
		_, _, problems := task.run(t, s)
		if got := strings.Join(problems, "\n"); (got == "") != (want == "") || !strings.Contains(got, want) {
			t.Errorf("the problems are %q, want %q", got, want)
		}
	}
}

// object is a JSON object, such as a record of the company.
type object map[string]any

func (o object) text(name string) string    { text, _ := o[name].(string); return text }
func (o object) number(name string) float64 { n, _ := o[name].(float64); return n }

// texts returns the strings in the named property, which is an array.
func (o object) texts(name string) (out []string) {
	values, _ := o[name].([]any)
	for _, value := range values {
		out = append(out, value.(string))
	}
	return out
}

// objectsOf returns the objects in an array.
func objectsOf(value any) (out []object) {
	values, _ := value.([]any)
	for _, value := range values {
		out = append(out, value.(map[string]any))
	}
	return out
}

// agentSession is an agent's connection to the tools of one company. It keeps everything that the
// agent was shown, and a call with an id, a cursor, an ETag or a key that the agent was not shown
// fails. The first error ends the session: later calls return an empty result.
type agentSession struct {
	t       *testing.T
	service *apitest.Service
	key     string
	crawled object
	shown   strings.Builder
	err     error

	calls, textBytes int
}

// toolRefusal is an error that a tool returned.
type toolRefusal string

func (t toolRefusal) Error() string { return string(t) }

// call calls a tool and returns the JSON in its text, and the other texts.
func (s *agentSession) call(tool string, args object) (value any, notes string) {
	if s.err != nil {
		return nil, ""
	}
	for _, known := range valuesToKnow("", args) {
		if text, _ := json.Marshal(known); !strings.Contains(s.shown.String(), known) && !strings.Contains(s.shown.String(), strings.Trim(string(text), `"`)) {
			s.err = fmt.Errorf("%s: the agent was never shown %s", tool, known)
			return nil, ""
		}
	}
	s.service.Clock.Advance(time.Second) // so that no quota is used up
	if args == nil {
		args = object{}
	}
	r := callTool(s.t, s.service, s.key, tool, args)
	r.checkSize(s.t, tool)
	var texts []string
	for _, c := range r.Content {
		s.textBytes += len(c.Text)
		s.shown.WriteString(c.Text + "\n")
		texts = append(texts, c.Text)
	}
	if s.calls++; r.IsError {
		s.err = toolRefusal(tool + ": " + strings.Join(texts, "\n"))
		return nil, ""
	}
	if err := json.Unmarshal([]byte(texts[0]), &value); err != nil {
		s.err = fmt.Errorf("%s: the text is not JSON: %w: %.200s", tool, err, texts[0])
	}
	return value, strings.Join(texts[1:], "\n")
}

var (
	idPattern     = regexp.MustCompile(`^[a-z]{2,4}_[0-9a-z]{20,}$`)
	shownPattern  = regexp.MustCompile(`(Id|Key)$|^cursor$`) // the arguments whose values an agent cannot make up
	cursorPattern = regexp.MustCompile(`cursor "([^"]+)"`)
)

// valuesToKnow returns the strings in an argument that an agent can only know from a result.
func valuesToKnow(name string, value any) (out []string) {
	switch v := reflect.ValueOf(value); v.Kind() {
	case reflect.String:
		if text := v.String(); text != "" && (shownPattern.MatchString(name) || idPattern.MatchString(text)) {
			out = append(out, text)
		}
	case reflect.Slice:
		for i := range v.Len() {
			out = append(out, valuesToKnow(name, v.Index(i).Interface())...)
		}
	case reflect.Map:
		for _, key := range v.MapKeys() {
			if inner := v.MapIndex(key).Interface(); inner != nil {
				out = append(out, valuesToKnow(key.String(), inner)...)
			}
		}
	}
	return out
}

// record calls a tool that returns a record.
func (s *agentSession) record(tool string, args object) object {
	value, _ := s.call(tool, args)
	found, _ := value.(map[string]any)
	return found
}

// list reads the pages of a list until the function enough returns true. If enough is nil, it reads
// all pages. Points are returned as objects with the properties ts, value and dims.
func (s *agentSession) list(tool string, args object, enough func([]object) bool, fields ...string) (out []object) {
	args = maps.Clone(args)
	if args == nil {
		args = object{}
	}
	if len(fields) > 0 {
		args["fields"] = fields
	}
	for {
		value, notes := s.call(tool, args)
		page, _ := value.(map[string]any)
		out = append(out, objectsOf(page["items"])...)
		for _, series := range objectsOf(page["series"]) {
			for _, row := range series["rows"].([]any) {
				values := row.([]any) // in the order of the columns: day, value
				out = append(out, object{"ts": values[0], "value": values[1], "dims": series["dims"]})
			}
		}
		cursor := cursorPattern.FindStringSubmatch(notes)
		if s.err != nil || cursor == nil || enough != nil && enough(out) {
			return out
		}
		args["cursor"] = cursor[1]
	}
}

// runCrawler runs the program that completes an audit, for a step that no tool can do.
func (s *agentSession) runCrawler(auditID string) {
	if s.err != nil {
		return
	}
	args := maps.Clone(s.crawled)
	args["auditId"] = auditID
	if r := s.service.Call(s.t, s.key, "update_optimise_audit", args); r.Status != http.StatusOK {
		s.err = fmt.Errorf("the crawler: status %d: %s", r.Status, r.Body)
	}
}

// firstPage is a function for list that makes it read only one page.
func firstPage([]object) bool { return true }

// takeSnapshot returns all records of a company by type and id, from an export and not from tools, so
// that a defect in the tools cannot hide a change.
func takeSnapshot(t *testing.T, s *apitest.Service, kinds []transfer.Type) map[string]object {
	t.Helper()
	out := map[string]object{}
	for _, kind := range kinds {
		err := kind.Export(t.Context(), s.CompanyID, func(exported any) error {
			var r object
			if err := json.Unmarshal(marshal(t, exported), &r); err != nil {
				return err
			}
			name := r.text("id")
			if kind.Name == "metric-point" {
				name = fmt.Sprint(r["metricKey"], r["dims"], r["ts"])
			}
			out[kind.Name+" "+name] = r
			return nil
		})
		if err != nil {
			t.Fatal(err)
		}
	}
	return out
}

// recordChange is one difference between two snapshots.
type recordChange struct {
	kind       string // created, changed or deleted
	name       string // the type and the id
	properties string // the properties that differ, if the record was changed
	record     object // the deleted record, or the current version of the record
}

// String returns the form in which checkChanges expects a change.
func (c recordChange) String() string {
	return strings.TrimSpace(c.kind + " " + c.name + " " + c.properties)
}

// changesBetween returns the differences between two snapshots. It leaves out properties that the
// service may set when a record changes.
func changesBetween(before, after map[string]object) (out []recordChange) {
	for name, r := range after {
		if before[name] == nil {
			out = append(out, recordChange{"created", name, "", r})
			continue
		}
		var differing []string
		for property := range r {
			isSet := slices.Contains([]string{"updatedAt", "publishedVersion", "publishedAt", "ingestedAt"}, property)
			if !isSet && !reflect.DeepEqual(before[name][property], r[property]) {
				differing = append(differing, property)
			}
		}
		if slices.Sort(differing); len(differing) > 0 {
			out = append(out, recordChange{"changed", name, strings.Join(differing, ","), r})
		}
	}
	for name, r := range before {
		if after[name] == nil {
			out = append(out, recordChange{"deleted", name, "", r})
		}
	}
	return out
}

// checkChanges returns an error unless the changes are exactly the wanted ones, in any order.
func checkChanges(changes []recordChange, want ...string) error {
	var got []string
	for _, c := range changes {
		got = append(got, c.String())
	}
	slices.Sort(got)
	if slices.Sort(want); !slices.Equal(got, want) {
		return fmt.Errorf("the changes are\n  %s\ninstead of\n  %s", strings.Join(got, "\n  "), strings.Join(want, "\n  "))
	}
	return nil
}

// onlyAnswer returns a checker for a task that must not change anything.
func onlyAnswer(want object) taskChecker {
	return taskChecker{check: func(o taskOutcome) error { return errors.Join(checkChanges(o.changes), checkAnswer(o.answer, want)) }}
}

func checkAnswer(got, want object) error {
	if fmt.Sprint(got) != fmt.Sprint(want) {
		return fmt.Errorf("the answer is %v instead of %v", got, want)
	}
	return nil
}
