// Package agents proves that agents can do real work with the tools, and measures how many bytes of
// tool results they read to do it.
//
// Each task has a company with random records, an agent, and a checker. The agent is a script that
// does what a sensible model would do after reading the list of tools. It knows only what the
// person who set the task said and what the tools returned. The checker reads the company over HTTP
// before and after the agent runs, and compares the changes and the agent's answer with what the
// task requires. It must accept the agent. It must reject an agent that does nothing and agents
// that make a typical mistake.
//
// Reading order: task.go, session.go (what an agent can do), result.go (what it can read), then the
// tasks: replies.go, metrics.go, roadmap.go, posts.go, sites.go, changes.go. company.go creates
// companies, snapshot.go compares them, and build.go serves them. before.go sets the limits on the
// size of results, and survey.go looks for the largest results.
package agents

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"text/tabwriter"
	"time"

	"growthworkspace/shared/parallel"
)

// Options select the tasks and the build.
type Options struct {
	Tasks   []string // substrings of the names of the tasks to run; empty: all tasks
	Seed    uint64   // the seed of the companies
	Program string   // the path of another build's workspace command; empty: use this build
	Survey  bool     // also call every tool that reads, and report the largest results
	JSON    bool     // print one JSON object instead of a table
}

type taskResult struct {
	Task string `json:"task"`

	RejectedRuns int `json:"wrongRuns"`   // wrong runs that the checker rejected
	RefusedRuns  int `json:"refusedRuns"` // wrong runs that a tool refused because the key could only draft
	Counts
	Problems []string `json:"problems,omitempty"`
}

// report is the result of a trial.
type report struct {
	Seed    uint64       `json:"seed"`
	Tasks   []taskResult `json:"tasks"`
	Surveys []survey     `json:"surveys,omitempty"`
	Total   Counts       `json:"total"`
	Seconds float64      `json:"-"` // left out, so that two runs of the same build print the same JSON

	Problems []string `json:"problems,omitempty"` // the limits that results exceed

	earlier *report // the report of build 2e5960f on the same companies, or nil
}

// concurrency is the number of tasks that run at the same time.
const concurrency = 4

// Run runs the trial and reports whether every agent did its task and every wrong run was rejected.
// An error means that the trial could not run.
func Run(ctx context.Context, o Options, out io.Writer) (passed bool, err error) {
	return run(ctx, tasks(), o, out)
}

func run(ctx context.Context, all []task, o Options, out io.Writer) (passed bool, err error) {
	chosen := slices.DeleteFunc(all, func(t task) bool {
		return len(o.Tasks) > 0 && !slices.ContainsFunc(o.Tasks, func(word string) bool { return strings.Contains(t.name, word) })
	})
	if len(chosen) == 0 {
		return false, fmt.Errorf("no task contains %s", strings.Join(o.Tasks, " or "))
	}
	begin := time.Now()
	b, err := openBuild(ctx, o.Program)
	if err != nil {
		return false, err
	}
	defer func() { err = errors.Join(err, b.close()) }()
	r := report{Seed: o.Seed, Tasks: make([]taskResult, len(chosen))}
	err = parallel.Do(len(chosen), concurrency, func(n int) (err error) {
		if r.Tasks[n], err = runTask(ctx, b, chosen[n], o.Seed); err != nil {
			return fmt.Errorf("%s: %w", chosen[n].name, err)
		}
		return nil
	})
	if err != nil {
		return false, err
	}
	passed = true
	for _, t := range r.Tasks {
		passed = passed && len(t.Problems) == 0
		r.Total.add(t.Counts)
	}
	if o.Survey {
		if r.Surveys, err = surveyBuild(ctx, b); err != nil {
			return false, err
		}
	}
	r.Seconds = time.Since(begin).Seconds()
	if r.earlier, err = r.loadEarlier(); err != nil {
		return false, err
	}
	if o.Program == "" { // other builds may be older than the limits
		r.Problems = r.limitProblems()
		passed = passed && len(r.Problems) == 0
	}
	if o.JSON {
		encoder := json.NewEncoder(out)
		encoder.SetIndent("", "  ")
		return passed, encoder.Encode(r)
	}
	return passed, r.print(out)
}

func openBuild(ctx context.Context, program string) (build, error) {
	if program == "" {
		return openThisBuild(ctx)
	}
	return openOtherBuild(ctx, program)
}

// runTask runs the agent of a task, and then its wrong runs. The keys of wrong runs have every
// scope, so that no tool refuses a mistake before the checker sees it.
func runTask(ctx context.Context, b build, t task, seed uint64) (out taskResult, err error) {
	out.Task = t.name
	problem := func(format string, values ...any) {
		out.Problems = append(out.Problems, fmt.Sprintf(format, values...))
	}
	a := attemptRunner{task: t, seed: seed, build: b}
	agentVerdict, err := a.run(ctx, t.agent, t.scopes)
	out.Counts = agentVerdict.Counts
	switch {
	case errors.Is(err, errAcceptsNothing):
		problem("%v", err)
		return out, nil
	case err != nil:
		return out, err
	case agentVerdict.refused != nil:
		problem("a tool refuses the agent: %v", agentVerdict.refused)
	case agentVerdict.rejected != nil:
		problem("the checker rejects the agent: %v", agentVerdict.rejected)
	}
	for _, wrong := range t.wrongRuns {
		got, err := a.run(ctx, wrong.agent, nil)
		switch {
		case err != nil:
			return out, fmt.Errorf("the agent that %s: %w", wrong.mistake, err)
		case got.refused != nil:
			problem("a tool refuses the agent that %s, so the checker has not seen it: %v", wrong.mistake, got.refused)
		case got.rejected == nil:
			problem("the checker accepts the agent that %s", wrong.mistake)
		default:
			out.RejectedRuns++
		}
		if !wrong.decides || !agentVerdict.draftsOnly {
			continue
		}
		if got, err = a.run(ctx, wrong.agent, t.scopes); err != nil {
			return out, fmt.Errorf("the agent that %s, with a key that drafts: %w", wrong.mistake, err)
		}
		if got.refused == nil {
			problem("no tool refuses the agent that %s with a key that drafts", wrong.mistake)
			continue
		}
		out.RefusedRuns++
	}
	return out, nil
}

func (r report) print(out io.Writer) error {
	before := r.earlier
	w := tabwriter.NewWriter(out, 0, 0, 2, ' ', tabwriter.AlignRight)
	fmt.Fprintln(w, "calls\ttext\tstructured\ttools/list\tlargest text\tlargest result\twrong\trefused\ttext before\t")
	line := func(name string, t taskResult, earlierText string) {
		fmt.Fprintf(w, "%d\t%d\t%d\t%d\t%d\t%d\t%d\t%d\t%s\t  %s\n",
			t.Calls, t.TextBytes, t.StructuredBytes, t.ListBytes, t.LargestText, t.LargestResult, t.RejectedRuns, t.RefusedRuns, earlierText, name)
	}
	total := taskResult{Counts: r.Total}
	for i, t := range r.Tasks {
		earlierText := ""
		if before != nil {
			earlierText = fmt.Sprint(before.Tasks[i].TextBytes)
		}
		line(t.Task, t, earlierText)
		total.RejectedRuns, total.RefusedRuns = total.RejectedRuns+t.RejectedRuns, total.RefusedRuns+t.RefusedRuns
	}
	earlierText := ""
	if before != nil {
		earlierText = fmt.Sprint(before.Total.TextBytes)
	}
	line(fmt.Sprintf("in all, %d tasks with seed %d in %.1f s; sizes in bytes", len(r.Tasks), r.Seed, r.Seconds), total, earlierText)
	if err := w.Flush(); err != nil {
		return err
	}
	if before != nil {
		_, err := fmt.Fprintf(out, "the text is %.0f %% of that of 2e5960f, the structured content %.0f %%\n", 100*share(r.Total.TextBytes, before.Total.TextBytes), 100*share(r.Total.StructuredBytes, before.Total.StructuredBytes))
		if err != nil {
			return err
		}
	}
	for _, v := range r.Surveys {
		_, err := fmt.Fprintf(out, "%d calls over %s: the largest text has %d bytes (%s), the largest result %d (%s)\n",
			v.Calls, v.Company, v.LargestText, v.LargestTextTool, v.LargestResult, v.LargestResultTool)
		if err != nil {
			return err
		}
	}
	for _, t := range r.Tasks {
		for _, problem := range t.Problems {
			if _, err := fmt.Fprintf(out, "FAILED %s: %s\n", t.Task, problem); err != nil {
				return err
			}
		}
	}
	for _, problem := range r.Problems {
		if _, err := fmt.Fprintf(out, "FAILED %s\n", problem); err != nil {
			return err
		}
	}
	return nil
}
