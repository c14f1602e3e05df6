package faults

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"sync"
	"sync/atomic"
	"time"

	"growthworkspace/scripts/prove/testbed"
)

// victim is the process that a check kills.
type victim string

const (
	victimEngine victim = "engine"
	victimServer victim = "server"
)

// killSizes are the numbers of items on the boards. A transaction has at most 100 writes, so a
// publish starts to need more than one transaction at a size of about 100.
var killSizes = []int{0, 1, 99, 100, 101, 1000}

// killOptions configures the check of killed processes.
type killOptions struct {
	victim victim
	kills  int   // the number of kills that must interrupt a publish; a kill after the response does not count
	sizes  []int // the sizes of the boards, in items
}

// killProcesses kills the victim at random moments while boards of each size in turn are being
// published. After each kill, visitors must see either all of the old content or all of the new,
// and no acknowledged write may be lost. The moments are within the time that the last
// uninterrupted publish of the board took.
func killProcesses(ctx context.Context, t *checkRun, options killOptions) (err error) {
	k := &killer{killOptions: options, checkRun: t, ledger: writeLedger{acknowledged: map[string]string{}}}
	if k.process, err = t.startServer(ctx); err != nil {
		return err
	}
	defer func() { err = errors.Join(err, k.process.kill()) }()
	for _, size := range options.sizes {
		a := &sizedBoard{size: size}
		k.boards = append(k.boards, a)
		if err := k.newBoard(ctx, a); err != nil {
			return err
		}
	}
	if k.ledger.client, err = t.companyWithBoard(ctx, ""); err != nil {
		return err
	}
	for n := 0; k.killed < options.kills; n++ {
		if n > 20*options.kills+20 {
			return fmt.Errorf("only %d of %d kills came before the publish was done", k.killed, n)
		}
		if err := k.killDuringPublish(ctx, k.boards[n%len(k.boards)]); err != nil {
			return fmt.Errorf("after %d kills: %w", k.killed, err)
		}
		if count, _ := t.violations(); count >= violationsMax {
			break // enough to report
		}
	}
	if err := k.ledger.verify(ctx, t); err != nil {
		return err
	}
	t.addFigure("%d kills in the middle of publishes of %v items", k.killed, options.sizes)
	t.addFigure("%d left the old state and %d the new", k.oldVersions, k.killed-k.oldVersions)
	t.addFigure("%d torn or lost", k.tornOrLost)
	t.addFigure("kills by tenth of the publish %v", k.killMoments)
	t.addFigure("%d interrupted publishes acknowledged, %d acknowledged writes beside them", k.acknowledged, len(k.ledger.acknowledged))
	t.addFigure("%d later publishes retried after a 500", k.retries)
	return nil
}

type killer struct {
	killOptions
	*checkRun
	process *server
	boards  []*sizedBoard
	ledger  writeLedger

	killed, oldVersions, tornOrLost, acknowledged, retries int
	killMoments                                            [10]int // the number of kills in each tenth of the duration of a publish
}

// sizedBoard is a board of one size and the duration of its last uninterrupted publish.
type sizedBoard struct {
	*board
	size         int
	publishTime  time.Duration
	hasViolation bool // whether a violation has left the board in an unknown state
}

// newBoard replaces a.board with a new board, and measures how long it takes to publish a board of
// that size.
func (k *killer) newBoard(ctx context.Context, a *sizedBoard) (err error) {
	measured := a.publishTime > 0
	if a.board, err = newBoard(ctx, k.checkRun, a.size); err != nil {
		return err
	}
	if a.hasViolation = false; a.size == 0 && measured {
		return nil // for an empty board, only the first publish changes anything, so leave that publish to killDuringPublish
	}
	if err := a.edit(ctx); err != nil {
		return err
	}
	if err := k.publish(ctx, a); err != nil || a.size > 0 {
		return err
	}
	a.board, err = newBoard(ctx, k.checkRun, 0)
	return err
}

// publishTries is the maximum number of attempts to publish a board. On a busy machine, an attempt
// may fail with a 500.
const publishTries = 5

// publish publishes a board without a kill. This must succeed no matter what an interrupted publish
// has left behind.
func (k *killer) publish(ctx context.Context, a *sizedBoard) error {
	c := newClient(k.process.base, a.Company)
	var out response
	for try := 0; try < publishTries && (try == 0 || out.failed()); try++ {
		begin := time.Now()
		var err error
		if out, err = c.call(ctx, http.MethodPost, publishPath, nil); err != nil {
			return fmt.Errorf("publish: %w", err)
		}
		a.publishTime = time.Since(begin)
		if try > 0 {
			k.retries++
		}
	}
	if out.status != http.StatusOK {
		k.recordViolation(a, "an uninterrupted publish of %d items: %d %s: %s", a.size, out.status, out.body, k.process.log)
		return nil
	}
	_, wrong, err := a.checkLiveContent(ctx, true)
	if err == nil && len(wrong) > 0 {
		k.recordViolation(a, "an uninterrupted publish of %d items: %q", a.size, wrong)
	}
	return err
}

func (k *killer) recordViolation(a *sizedBoard, format string, values ...any) {
	k.tornOrLost++
	a.hasViolation = true
	k.violate(format, values...)
}

// killDuringPublish starts a publish, kills the victim at a random moment, restarts the victim, and
// checks the board.
func (k *killer) killDuringPublish(ctx context.Context, a *sizedBoard) error {
	if a.size == 0 || a.hasViolation {
		if err := k.newBoard(ctx, a); err != nil {
			return err
		}
	}
	if err := a.edit(ctx); err != nil {
		return err
	}
	var done atomic.Bool
	var duration time.Duration // of the publish, set before responded receives
	responded := make(chan bool, 1)
	outage := k.random.chance(0.5) // whether the victim stays down until the publish request has ended; if not, a retry may still succeed
	c := newClient(k.process.base, a.Company)
	stopWriting := k.ledger.startWriting(ctx, k.process.base)
	go func() {
		begin := time.Now()
		out, err := c.call(ctx, http.MethodPost, publishPath, nil)
		duration = time.Since(begin)
		done.Store(true)
		responded <- err == nil && out.status == http.StatusOK
	}()
	moment := k.random.float()
	<-time.After(time.Duration(moment * float64(a.publishTime)))
	interrupted := !done.Load()
	if err := k.kill(ctx); err != nil {
		return err
	}
	var acknowledged bool
	if outage {
		acknowledged = <-responded
	}
	if err := k.restart(ctx); err != nil {
		return err
	}
	if !outage {
		acknowledged = <-responded
	}
	stopWriting()
	if acknowledged {
		k.acknowledged++
	}
	published, wrong, err := a.checkLiveContent(ctx, acknowledged)
	if err != nil {
		return err
	}
	if interrupted {
		k.killed++
		k.killMoments[min(9, int(10*moment))]++
		if !published {
			k.oldVersions++
		}
	} else if acknowledged {
		a.publishTime = duration
	}
	if len(wrong) > 0 {
		k.recordViolation(a, "%d items, kill %d: %q", a.size, k.killed, wrong)
		return nil
	}
	if published {
		return nil
	}
	return k.publish(ctx, a)
}

func (k *killer) kill(ctx context.Context) error {
	if k.victim == victimEngine {
		return k.killEngine(ctx)
	}
	return k.process.kill()
}

func (k *killer) restart(ctx context.Context) error {
	if k.victim == victimEngine {
		return k.restartEngine(ctx)
	}
	process, err := k.startServer(ctx)
	if err == nil {
		k.process = process
	}
	return err
}

// ledgerWriters is the number of clients that write items during a publish.
const ledgerWriters = 2

// writeLedger writes items while processes are killed, and remembers the acknowledged writes.
type writeLedger struct {
	client       *client
	mu           sync.Mutex
	serial       int
	acknowledged map[string]string // the title of each acknowledged item, by the item's id
}

// nextTitle returns a title that no other write uses.
func (l *writeLedger) nextTitle() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.serial++
	return fmt.Sprintf("Write %d", l.serial)
}

// startWriting starts clients that write until stop is called. stop waits for their last responses.
// A client also stops if its server does not respond.
func (l *writeLedger) startWriting(ctx context.Context, base string) (stop func()) {
	var ended atomic.Bool
	var wait sync.WaitGroup
	c := newClient(base, l.client.Company)
	for range ledgerWriters {
		wait.Go(func() {
			for !ended.Load() {
				title := l.nextTitle()
				out, err := c.call(ctx, http.MethodPost, "plan/boards/brd_1/items", map[string]any{"title": title})
				if err != nil {
					return
				}
				var item struct{ ID string }
				if out.status == http.StatusOK && out.decode(&item) == nil {
					l.mu.Lock()
					l.acknowledged[item.ID] = title
					l.mu.Unlock()
				}
			}
		})
	}
	return func() { ended.Store(true); wait.Wait() }
}

// verify requires that every acknowledged write is stored.
func (l *writeLedger) verify(ctx context.Context, t *checkRun) error {
	items, err := testbed.Export[item](ctx, t.Testbed, l.client.ID, "item")
	if err != nil {
		return err
	}
	stored := map[string]string{}
	for _, i := range items {
		stored[i.ID] = i.Title
	}
	for id, title := range l.acknowledged {
		t.require(stored[id] == title, "the acknowledged write %q of %s is lost", title, id)
	}
	return nil
}
