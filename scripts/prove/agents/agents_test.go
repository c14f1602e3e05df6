package agents

import (
	"io"
	"os"
	"reflect"
	"strings"
	"testing"

	"growthworkspace/shared/testkit/engine"
)

func TestMain(m *testing.M) {
	engine.Main()
	os.Exit(m.Run())
}

// Ensure agents do their tasks and every wrong run is rejected. The seed differs from the one that
// CI uses to run all tasks.
func TestTasks(t *testing.T) {
	t.Parallel()
	var out strings.Builder
	passed, err := Run(t.Context(), Options{Seed: 2, Tasks: []string{"urgent", "wrong name", "publish only", "worst page"}}, &out)
	if err != nil || !passed || strings.Count(out.String(), "\n") != 6 {
		t.Errorf("passed is %t, the error is %v; want four tasks that pass:\n%s", passed, err, out.String())
	}
}

// Ensure the trial fails when a checker accepts a mistake or rejects the agent. It must also fail
// when an agent with a key for drafting makes a decision and no tool refuses it. If an agent uses
// an id that it was never shown, the trial must return an error.
func TestBadTasks(t *testing.T) {
	t.Parallel()
	name := func(want string) func(*generator) scenario {
		return func(*generator) scenario { return scenario{check: onlyAnswer(answer{"name": want})} }
	}
	readName := func(s *session, _ map[string]string) answer {
		return answer{"name": s.read("get_company", nil, "name").asRecord()["name"]}
	}
	lie := func(*session, map[string]string) answer { return answer{"name": "Another"} }
	for _, c := range []struct {
		task task
		want string
	}{
		{task{name: "good", seed: name("Mossgrove"), agent: readName, wrongRuns: []wrongRun{{mistake: "lies", agent: lie}}}, ""},
		{task{name: "wrong agent", seed: name("Mossgrove"), agent: lie}, "rejects the agent"},
		{task{name: "blind to a mistake", seed: name("Mossgrove"), agent: readName, wrongRuns: []wrongRun{{mistake: "lies", agent: readName}}}, "accepts the agent that lies"},
		{task{name: "decides", seed: name("Mossgrove"), agent: readName, scopes: []string{"feedback:draft", "company:read"}, wrongRuns: []wrongRun{{mistake: "lies", agent: lie, decides: true}}},
			"no tool refuses the agent that lies"},
		{task{name: "accepts all", seed: func(*generator) scenario { return scenario{check: func(outcome) error { return nil }} }, agent: readName}, "does nothing"},
		{task{name: "knows too much", seed: name("Mossgrove"), agent: func(s *session, _ map[string]string) answer {
			s.call("get_feedback", arguments{"feedbackId": "fbk_01k46m3m18e19mtw5ktnxtqwz7"})
			return nil
		}}, "never shown feedbackId fbk_01"},
	} {
		var out strings.Builder
		passed, err := run(t.Context(), []task{c.task}, Options{}, &out)
		text := out.String()
		if err != nil {
			text += err.Error()
		}
		if passed != (c.want == "") || !strings.Contains(text, c.want) {
			t.Errorf("%s: passed is %t, want %t and %q:\n%s", c.task.name, passed, c.want == "", c.want, text)
		}
	}
	if _, err := Run(t.Context(), Options{Tasks: []string{"nothing like it"}}, io.Discard); err == nil {
		t.Error("a word that no task contains is accepted")
	}
}

// Ensure an agent can read lists of records, and points that are returned as rows and columns.
func TestRecords(t *testing.T) {
	t.Parallel()
	for text, want := range map[string][]record{
		`{"items":[{"id":"a"},{"id":"b"}]}`: {{"id": "a"}, {"id": "b"}},
		`{"columns":["day","value"],"series":[{"seriesId":"s","dims":{"country":"de"},"rows":[["2026-03-01",4]]}]}`: {
			{"seriesId": "s", "dims": map[string]any{"country": "de"}, "ts": "2026-03-01", "value": 4.0},
		},
	} {
		var r result
		r.Content = append(r.Content, struct{ Text string }{text})
		if got, err := r.records(); err != nil || !reflect.DeepEqual(got, want) {
			t.Errorf("%s: the records are %v, error %v; want %v", text, got, err, want)
		}
	}
}

// Ensure the same seed gives the same companies.
func TestSeed(t *testing.T) {
	t.Parallel()
	lines := func(seed uint64) any {
		g := newGenerator(seed, "a task")
		g.addReviews(3)
		return g.lines
	}
	if !reflect.DeepEqual(lines(1), lines(1)) || reflect.DeepEqual(lines(1), lines(2)) {
		t.Error("the same seed gives different companies, or another one the same")
	}
}

// Ensure the earlier report has the same tasks and seed as the trial in CI. Otherwise the trial
// would not compare the sizes of its results with those in that report.
func TestEarlierReport(t *testing.T) {
	t.Parallel()
	r := report{Seed: 1}
	for _, task := range tasks() {
		r.Tasks = append(r.Tasks, taskResult{Task: task.name})
	}
	earlier, err := r.loadEarlier()
	if err != nil || earlier == nil {
		t.Fatalf("the earlier report is %v for the tasks of today: %v; write it again, as before.go says", earlier, err)
	}
	var sum Counts
	for _, task := range earlier.Tasks {
		sum.add(task.Counts)
	}
	if sum != earlier.Total || sum.TextBytes == 0 {
		t.Errorf("the tasks have %+v, and the report says %+v", sum, earlier.Total)
	}
}

// Ensure the trial fails when results exceed a limit, whether it is absolute or relative to the
// earlier build.
func TestOverLimits(t *testing.T) {
	t.Parallel()
	within := report{
		Tasks: []taskResult{{Counts: Counts{LargestText: textBytesMax, LargestResult: resultBytesMax}}}, Total: Counts{TextBytes: 500}, earlier: &report{Total: Counts{TextBytes: 1000}},
	}
	if problems := within.limitProblems(); len(problems) > 0 {
		t.Errorf("at the limits: %v, want no problem", problems)
	}
	within.earlier.Total.TextBytes--
	within.Tasks[0].LargestText++
	within.Surveys = []survey{{LargestResult: resultBytesMax + 1}}
	if problems := within.limitProblems(); len(problems) != 3 {
		t.Errorf("over the limits: %v, want three problems", problems)
	}
}
