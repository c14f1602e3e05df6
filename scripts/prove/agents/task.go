package agents

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
)

// task is a task that a person gives to an agent.
type task struct {
	name      string
	seed      func(g *generator) scenario
	agent     agent
	wrongRuns []wrongRun

	scopes []string // the scopes of the agent's key; nil: all
}

// agent does a task with the tools. words contains the names and dates that the task mentions. The
// result is what the agent reports to the person who set the task.
type agent func(s *session, words map[string]string) answer

// answer is what an agent reports to the person who set the task.
type answer map[string]any

// wrongRun is an agent that makes a mistake. The checker must reject its work.
type wrongRun struct {
	mistake string
	agent   agent

	decides bool // it decides what only a person may decide, so tools must refuse it with a key that only drafts
}

// scenario contains what the trial needs to know about a seeded company. No agent sees it.
type scenario struct {
	check     func(o outcome) error // returns an error if the agent did something wrong
	delegates map[string]func(ctx context.Context, c company, ids ...string) error
}

// outcome is the state after an agent has finished.
type outcome struct {
	changes []change
	answer  answer
	after   snapshot
}

func tasks() []task {
	return []task{
		urgentReviewsTask(), handOverTask(), complaintsTask(),
		signupsTask(), countryTask(), wrongNameTask(), goalsTask(),
		publishOneTask(), launchPostTask(), ideasTask(), calendarTask(),
		scoreTask(), worstPageTask(), changesTask(),
	}
}

// onlyAnswer returns a checker for a task that must not change anything.
func onlyAnswer(want answer) func(outcome) error {
	return func(o outcome) error { return errors.Join(checkChanges(o.changes), checkAnswer(o.answer, want)) }
}

func checkAnswer(got, want answer) error {
	a, errA := json.Marshal(got)
	b, errB := json.Marshal(want)
	if errA != nil || errB != nil || string(a) != string(b) {
		return fmt.Errorf("the answer is %s instead of %s", a, b)
	}
	return nil
}

// errAcceptsNothing is the error for a checker that accepts an agent that does nothing.
var errAcceptsNothing = errors.New("the checker accepts an agent that does nothing")

// attemptRunner runs agents on the company of a task. Each run gets a new company with the same
// records.
type attemptRunner struct {
	task   task
	seed   uint64
	build  build
	before snapshot // the first company before its agent ran
}

// verdict is the result of an attempt.
type verdict struct {
	Counts
	rejected   error // why the checker rejects the agent's work
	refused    error // the tool error that ended the attempt
	draftsOnly bool  // the agent's key could only draft
}

// run seeds a company and lets an agent do the task with a key that has the given scopes. It
// returns an error if the attempt could not be made.
func (a *attemptRunner) run(ctx context.Context, agent agent, scopes []string) (v verdict, err error) {
	g := newGenerator(a.seed, a.task.name)
	scene := a.task.seed(g)
	c, err := a.build.newCompany(ctx, g.lines)
	if err != nil {
		return v, fmt.Errorf("seed the company: %w", err)
	}
	if a.before == nil {
		if a.before, err = takeSnapshot(ctx, c); err != nil {
			return v, err
		}
		if scene.check(outcome{nil, nil, a.before}) == nil {
			return v, errAcceptsNothing
		}
	}
	caller := c
	if scopes != nil {
		if caller, v.draftsOnly, err = withScopes(ctx, c, scopes); err != nil {
			return v, err
		}
	}
	s, err := connect(ctx, caller, g.words)
	if err != nil {
		return v, err
	}
	s.delegates = map[string]func(...string) error{}
	for name, do := range scene.delegates {
		s.delegates[name] = func(ids ...string) error { return do(ctx, c, ids...) }
	}
	got := agent(s, g.words)
	v.Counts = s.Counts
	var refused *toolError
	if errors.As(s.err, &refused) {
		v.refused = refused
		return v, nil
	}
	if s.err != nil {
		return v, s.err
	}
	after, err := takeSnapshot(ctx, c)
	if err != nil {
		return v, err
	}
	v.rejected = scene.check(outcome{a.before.changesTo(after), got, after})
	return v, nil
}
