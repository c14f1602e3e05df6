package agents

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
)

// task is something that a person asks an agent to do.
type task struct {
	name  string
	seed  func(g *generator) scenario
	agent agent
	wrong []wrongRun

	drafts bool // the agent's key can only draft replies, if the build has such keys
}

// agent does a task with the tools. words is what the person said. The result is what the agent
// tells the person.
type agent func(s *session, words map[string]string) answer

// answer is what an agent tells the person who set the task.
type answer map[string]any

// wrongRun is an agent that makes a mistake, which the checker must reject.
type wrongRun struct {
	mistake string
	agent   agent
}

// scenario is what seeding a company leaves behind. No agent sees it.
type scenario struct {
	check     func(o outcome) error // returns what the agent did wrong
	delegates map[string]func(ctx context.Context, c company, ids ...string) error
}

// outcome is what is left when an agent has finished.
type outcome struct {
	changes []change
	answer  answer
	after   snapshot
}

// tasks are the tasks of the trial.
func tasks() []task {
	return []task{
		urgentReviewsTask(), handOverTask(), complaintsTask(),
		signupsTask(), countryTask(), wrongNameTask(), goalsTask(),
		publishOneTask(), launchPostTask(), ideasTask(), calendarTask(),
		scoreTask(), worstPageTask(), changesTask(),
	}
}

// onlyAnswer returns a checker for a task that changes nothing.
func onlyAnswer(want answer) func(outcome) error {
	return func(o outcome) error { return errors.Join(onlyChanges(o.changes), sameAnswer(o.answer, want)) }
}

func sameAnswer(got, want answer) error {
	a, errA := json.Marshal(got)
	b, errB := json.Marshal(want)
	if errA != nil || errB != nil || string(a) != string(b) {
		return fmt.Errorf("the answer is %s instead of %s", a, b)
	}
	return nil
}

// errAcceptsNothing says that a checker rejects nothing.
var errAcceptsNothing = errors.New("the checker accepts an agent that does nothing")

// attempt is a run of an agent on a company of its own.
type attempt struct {
	task  task
	seed  uint64
	build build
}

// run seeds a company and lets the agent do the task. rejected is the checker's error or, if a tool
// refused a call of the agent, that error. err means that the run was not possible.
func (a attempt) run(ctx context.Context, agent agent, drafts bool) (count Counts, rejected, err error) {
	g := newGenerator(a.seed, a.task.name)
	scene := a.task.seed(g)
	c, err := a.build.newCompany(ctx, g.lines)
	if err != nil {
		return count, nil, fmt.Errorf("seed the company: %w", err)
	}
	before, err := takeSnapshot(ctx, c)
	if err != nil {
		return count, nil, err
	}
	if scene.check(outcome{nil, nil, before}) == nil {
		return count, nil, errAcceptsNothing
	}
	caller := c
	if drafts {
		if caller, err = draftingKey(ctx, c); err != nil {
			return count, nil, err
		}
	}
	s, err := connect(ctx, caller, g.words)
	if err != nil {
		return count, nil, err
	}
	s.delegates = map[string]func(...string) error{}
	for name, do := range scene.delegates {
		s.delegates[name] = func(ids ...string) error { return do(ctx, c, ids...) }
	}
	told := agent(s, g.words)
	var refused *toolError
	if errors.As(s.err, &refused) {
		return s.Counts, refused, nil
	}
	if s.err != nil {
		return s.Counts, nil, s.err
	}
	after, err := takeSnapshot(ctx, c)
	if err != nil {
		return s.Counts, nil, err
	}
	return s.Counts, scene.check(outcome{before.changesTo(after), told, after}), nil
}
