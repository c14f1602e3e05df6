package studio

import (
	"context"
	"fmt"
	"net/http"
	"strings"
	"sync"
	"time"

	"growthworkspace/scripts/studio/phrase"
)

// step makes one change of a bulk action, unless somebody has changed the record since the page was
// loaded. revert reverts the change; it is nil if the change cannot be reverted. failed is
// nothingToDo if the record needs no change.
type step func(v *pageRequest) (revert step, failed *failure)

// nothingToDo is the result of a step whose record needed no change.
var nothingToDo = &failure{}

// state is the state of a bulkItem.
type state int

const (
	stateWaiting   state = iota
	stateChanged         // the action has changed the record
	stateUnchanged       // the record needed no change
	stateConflict        // somebody else has changed the record
	stateFailed
	stateUndone // the change was reverted
)

// bulkItem is one record of a bulk action.
type bulkItem struct {
	Name, Path  string
	Index       int // its index in the action's list of records; set by the method counts
	State       state
	Problem     string // why the change failed
	Final       bool   // a retry would fail, too
	run, revert step
}

// bulk is a bulk action. It changes one record after another, and continues after the response to
// the request that started it.
type bulk struct {
	ID, Verb, Done string // Verb is an imperative such as "Skip", and Done is its participle "Skipped"
	Noun, Nouns    string
	Already        string                   // the words for a record that needed no change, such as "skipped already"
	Place, Back    string                   // the sidebar entry and the address of the page that started the action
	resultText     func(changed int) string // returns the first sentence of the result; if nil, the sentence is Done and the number of changed records
	undoResultText func(undone int) string  // returns the first sentence of the result of undoing the action

	mu      sync.Mutex
	items   []*bulkItem
	running bool
	stopped bool
	pause   time.Duration // how long the action waits until the service accepts requests again; 0 if it is not waiting
	ended   chan struct{} // closed when the action stops running
}

// bulkRecordsMax is the maximum number of records in one bulk action.
const bulkRecordsMax = 500

// recentBulksMax is the number of recent bulk actions whose pages users can still open.
const recentBulksMax = 20

// bulks holds the latest bulk actions.
type bulks struct {
	mu     sync.Mutex
	next   int
	recent map[string]*bulk

	ctx     context.Context // the studio's context
	cancel  context.CancelFunc
	running sync.WaitGroup
}

func (b *bulks) add(a *bulk) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.recent == nil {
		b.recent = map[string]*bulk{}
	}
	b.next++
	delete(b.recent, fmt.Sprint(b.next-recentBulksMax))
	a.ID = fmt.Sprint(b.next)
	b.recent[a.ID] = a
}

func (b *bulks) get(id string) *bulk {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.recent[id]
}

// close stops all actions and waits for them.
func (b *bulks) close() {
	b.cancel()
	b.running.Wait()
}

// startBulk starts a bulk action. It shows the result if the action finishes soon, and the progress
// otherwise.
func (pr *pageRequest) startBulk(a *bulk) *view {
	pr.bulks.add(a)
	pr.resume(a)
	return pr.bulkProgress(a)
}

// bulkProgress waits up to Limits.Bulk for the action. If the action has then changed every record,
// bulkProgress redirects to the page that started the action. Otherwise it redirects to the page
// that shows the progress.
func (pr *pageRequest) bulkProgress(a *bulk) *view {
	a.mu.Lock()
	ended := a.ended
	a.mu.Unlock()
	timer := time.NewTimer(pr.Limits.Bulk)
	defer timer.Stop()
	select {
	case <-ended:
	case <-timer.C:
	case <-pr.ctx.Done():
	}
	if c := a.counts(); !c.Running && c.Conflicts+c.Failed+c.Waiting == 0 {
		msg := notice{Text: c.Text(), Undo: a.undo(""), bulk: a}
		if c.Changed > 1 {
			msg.More, msg.Link = "/bulk/"+a.ID, "Show each"
		}
		return pr.finish(a.Back, msg)
	}
	return pr.redirect("/bulk/" + a.ID)
}

// resume runs the action on the records that are waiting or have failed. It does nothing if the
// action is already running.
func (s *Studio) resume(a *bulk) {
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.running {
		return
	}
	a.running, a.stopped, a.ended = true, false, make(chan struct{})
	s.bulks.running.Go(func() { s.run(a) })
}

// run runs the action until it has tried every record or is stopped.
func (s *Studio) run(a *bulk) {
	defer func() {
		a.mu.Lock()
		defer a.mu.Unlock()
		a.running, a.pause = false, 0
		close(a.ended)
	}()
	for _, item := range a.items {
		for !item.settled(a) {
			if a.isStopped() || s.bulks.ctx.Err() != nil {
				return
			}
			ctx, cancel := context.WithTimeout(s.bulks.ctx, s.Limits.Page)
			revert, problem := item.run(&pageRequest{Studio: s, ctx: context.WithValue(ctx, frameDataKey{}, &frameData{})})
			cancel()
			if pause := problem.pause(); pause > 0 {
				a.setPause(pause)
				if s.Sleep(s.bulks.ctx, pause) != nil {
					return
				}
				a.setPause(0)
				continue
			}
			a.settle(item, revert, problem)
			break
		}
	}
}

// settled reports whether the action is finished with the record and will not try it again.
func (i *bulkItem) settled(a *bulk) bool {
	a.mu.Lock()
	defer a.mu.Unlock()
	return i.State != stateWaiting && (i.State != stateFailed || i.Final)
}

func (b *bulk) settle(item *bulkItem, revert step, problem *failure) {
	b.mu.Lock()
	defer b.mu.Unlock()
	item.revert, item.Problem, item.Final = revert, "", false
	switch {
	case problem == nil:
		item.State = stateChanged
	case problem == nothingToDo:
		item.State = stateUnchanged
	case problem.Conflict():
		item.State = stateConflict
	default:
		item.State, item.Problem, item.Final = stateFailed, problem.Text(), problem.Final
	}
}

func (b *bulk) isStopped() bool {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.stopped
}

func (b *bulk) setPause(d time.Duration) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.pause = d
}

// stop stops the action as soon as it has finished the record that it is changing.
func (b *bulk) stop() {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.stopped = true
}

// pause returns how long to wait before sending the same request again, or 0 if the request must
// not be sent again. The service asks for such a wait when a quota is used up or the table is
// throttled.
func (f *failure) pause() time.Duration {
	if f != nil && (f.Status == http.StatusTooManyRequests || f.Status == http.StatusServiceUnavailable) {
		return f.RetryAfter
	}
	return 0
}

// undo returns the function that reverts the changes of the action, or nil if there is nothing to
// revert. index is the index of the only record to revert; if it is empty, all are reverted. The
// returned function starts a bulk action.
func (b *bulk) undo(index string) undo {
	reverse := b.reverse(index)
	if len(reverse.items) == 0 {
		return nil
	}
	return func(v *pageRequest) notice {
		v.bulks.add(reverse)
		v.resume(reverse)
		select {
		case <-reverse.ended:
		case <-time.After(v.Limits.Bulk):
		}
		c := reverse.counts()
		out := notice{Bad: c.Conflicts+c.Failed > 0, Text: c.Text(), retry: c.Failed > 0}
		if c.Running || c.Changed < c.All {
			out.More, out.Link = "/bulk/"+reverse.ID, "Details"
		}
		return out
	}
}

// undoVerb is the Verb of a bulk action that reverts a different one.
const undoVerb = "Undo"

// reverse returns a bulk action that reverts the changes. index is the index of the only record
// whose change is reverted; if it is empty, all changes are.
func (b *bulk) reverse(index string) *bulk {
	b.mu.Lock()
	defer b.mu.Unlock()
	out := &bulk{Verb: undoVerb, Done: "Undone:", Already: "undone already", Noun: b.Noun, Nouns: b.Nouns, Place: b.Place, Back: b.Back, resultText: b.undoResultText}
	for n, item := range b.items {
		if item.revert != nil && (index == "" || index == fmt.Sprint(n)) {
			out.items = append(out.items, &bulkItem{Name: item.Name, Path: item.Path, run: b.revertStep(item)})
		}
	}
	return out
}

// revertStep returns the step that reverts the change to a record. It reverts the change at most
// once.
func (b *bulk) revertStep(item *bulkItem) step {
	return func(v *pageRequest) (step, *failure) {
		b.mu.Lock()
		revert := item.revert
		b.mu.Unlock()
		if revert == nil {
			return nil, nothingToDo
		}
		_, problem := revert(v)
		b.mu.Lock()
		defer b.mu.Unlock()
		if problem == nil {
			item.State = stateUndone
		}
		if problem == nil || problem.Conflict() {
			item.revert = nil // after any other failure it can be tried again
		}
		return nil, problem
	}
}

// bulkCounts is the progress of a bulk action.
type bulkCounts struct {
	*bulk

	Running, Stopping                        bool
	All, Changed, Conflicts, Failed, Waiting int
	Unchanged, Undone                        int
	Retryable                                int // the number of failed changes that may succeed if they are tried again
	Tried                                    int
	Pause                                    int        // seconds
	Undoable                                 int        // the number of changes that can be reverted
	Problems                                 []bulkItem // the records that the action failed to change
	Settled                                  []bulkItem // the first records that the action has changed or that needed no change
	Failure                                  *failure
}

func (b *bulk) counts() bulkCounts {
	b.mu.Lock()
	defer b.mu.Unlock()
	c := bulkCounts{bulk: b, Running: b.running, Stopping: b.running && b.stopped, All: len(b.items), Pause: int(b.pause.Seconds() + 0.5)}
	for n, item := range b.items {
		switch item.State {
		case stateWaiting:
			c.Waiting++
		case stateChanged:
			c.Changed++
		case stateUnchanged:
			c.Unchanged++
		case stateUndone:
			c.Undone++
		case stateConflict:
			c.Conflicts++
		case stateFailed:
			c.Failed++
			if !item.Final {
				c.Retryable++
			}
		}
		shown := *item
		shown.Index = n
		switch {
		case item.State == stateConflict || item.State == stateFailed:
			c.Problems = append(c.Problems, shown)
		case item.State != stateWaiting && len(c.Settled) < settledMax:
			c.Settled = append(c.Settled, shown)
		}
		if item.revert != nil {
			c.Undoable++
		}
	}
	c.Tried = c.All - c.Waiting
	return c
}

// undoOutcome says whether an action has been undone completely, partly or not at all.
func (c bulkCounts) undoOutcome() string {
	switch {
	case c.Changed == 0:
		return undoneText
	case c.Undone == 0:
		return "not undone"
	}
	return "only partly undone"
}

// settledMax is the maximum number of changed records that the page of an action lists.
const settledMax = 200

// Conflict reports whether somebody else has changed the record. The template calls it.
func (i bulkItem) Conflict() bool { return i.State == stateConflict }

// Undone reports whether the change was reverted. The template calls it.
func (i bulkItem) Undone() bool { return i.State == stateUndone }

// Unchanged reports whether the record needed no change. The template calls it.
func (i bulkItem) Unchanged() bool { return i.State == stateUnchanged }

// Undoable reports whether the change can be reverted. The template calls it.
func (i bulkItem) Undoable() bool { return i.revert != nil }

// Title returns the heading of the page. It describes the action, or says that the action has
// finished.
func (c bulkCounts) Title() string {
	what := " " + phrase.Plural(c.All, c.Noun, c.Nouns)
	if c.Running || c.Waiting > 0 {
		return c.Verb + what
	}
	return "Finished: " + strings.ToLower(c.Verb[:1]) + c.Verb[1:] + what
}

// Text describes how many records the action has changed so far, and how many it has not.
func (c bulkCounts) Text() string {
	text := fmt.Sprintf("%s %s.", c.Done, phrase.Plural(c.Changed, c.Noun, c.Nouns))
	switch {
	case c.Changed == 0 && c.Undone == 0 && !c.Running:
		text = "Nothing was changed."
	case c.resultText != nil:
		text = c.resultText(c.Changed)
	}
	switch rest := c.Conflicts + c.Failed + c.Waiting + c.Undone; {
	case c.Unchanged > 0 && c.Changed+rest == 0:
		return fmt.Sprintf("Nothing was changed: %s %s.", phrase.Plural(c.Unchanged, c.Noun+" was", c.Nouns+" were"), c.Already)
	case c.Unchanged > 0:
		text += fmt.Sprintf(" %s %s.", phrase.Plural(c.Unchanged, c.Noun+" was", c.Nouns+" were"), c.Already)
	}
	if c.Undone > 0 {
		text += fmt.Sprintf(" %s taken back.", phrase.Plural(c.Undone, "change was", "changes were"))
	}
	switch {
	case c.Conflicts > 0 && c.Verb == undoVerb: // the conflict may be with somebody else's change or with a later change by the same person
		text += fmt.Sprintf(" %s changed since then, and so not undone.", phrase.Plural(c.Conflicts, c.Noun+" was", c.Nouns+" were"))
	case c.Conflicts > 0:
		text += fmt.Sprintf(" %s changed by somebody else since the page was loaded, and so not by this.", phrase.Plural(c.Conflicts, c.Noun+" was", c.Nouns+" were"))
	}
	if c.Failed > 0 {
		text += fmt.Sprintf(" %s not be changed.", phrase.Plural(c.Failed, c.Noun+" could", c.Nouns+" could"))
	}
	if c.Waiting > 0 {
		text += fmt.Sprintf(" %s not tried yet.", phrase.Plural(c.Waiting, c.Noun+" was", c.Nouns+" were"))
	}
	return text
}

// bulkPage shows the progress of an action. The browser reloads the page every second while the
// action is running.
func (s *Studio) bulkPage(v *pageRequest) *view {
	a := s.bulks.get(v.r.PathValue("id"))
	if a == nil {
		return v.notFound(v)
	}
	c := a.counts()
	if c.Running {
		v.w.Header().Set("Refresh", "1")
	}
	return &view{page: "bulk", place: a.Place, title: c.Title(), data: c}
}

// bulkAction stops, resumes or undoes an action.
func (s *Studio) bulkAction(v *pageRequest) *view {
	a := s.bulks.get(v.r.PathValue("id"))
	if a == nil {
		return v.notFound(v)
	}
	if index := v.r.PostForm.Get("undo"); index != "" {
		if run := a.undo(index); run != nil {
			return v.finish("/bulk/"+a.ID, run(v))
		}
	}
	switch v.r.PostForm.Get("action") {
	case "stop":
		a.stop()
	case "resume":
		s.resume(a)
		return v.bulkProgress(a)
	case "undo":
		if run := a.undo(""); run != nil {
			return v.finish(a.Back, run(v))
		}
	}
	return v.redirect("/bulk/" + a.ID)
}
