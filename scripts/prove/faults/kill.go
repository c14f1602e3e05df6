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

// victim is the process that a gate kills.
type victim string

const (
	victimEngine victim = "engine"
	victimServer victim = "server"
)

// killSizes are the sizes of the boards: empty, one item, around the most writes of a transaction,
// and large.
var killSizes = []int{0, 1, 99, 100, 101, 1000}

// killing configures the gate.
type killing struct {
	victim victim
	kills  int   // the number of kills during a publish; a kill after the response does not count
	sizes  []int // of the boards
}

// kills is the gate of killed processes. It kills the victim at random moments of publishes, on
// boards of each size in turn. Afterwards either the old or the new state must be live as a whole,
// and no acknowledged write may be lost. A kill comes within the duration of the board's last
// uninterrupted publish.
func kills(ctx context.Context, t *trial, how killing) (err error) {
	k := &killer{killing: how, trial: t, ledger: ledger{acknowledged: map[string]string{}}}
	if k.process, err = t.startServer(ctx); err != nil {
		return err
	}
	defer func() { err = errors.Join(err, k.process.kill()) }()
	for _, size := range how.sizes {
		a := &arena{size: size}
		k.arenas = append(k.arenas, a)
		if err := k.fresh(ctx, a); err != nil {
			return err
		}
	}
	if k.ledger.client, err = t.companyWithBoard(ctx, ""); err != nil {
		return err
	}
	for n := 0; k.killed < how.kills; n++ {
		if n > 20*how.kills+20 {
			return fmt.Errorf("only %d of %d kills came before the publish was done", k.killed, n)
		}
		if err := k.strike(ctx, k.arenas[n%len(k.arenas)]); err != nil {
			return fmt.Errorf("after %d kills: %w", k.killed, err)
		}
		if count, _ := t.violations(); count >= violationsMax {
			break // enough to report
		}
	}
	if err := k.ledger.verify(ctx, t); err != nil {
		return err
	}
	t.figure("%d kills in the middle of publishes of %v items", k.killed, how.sizes)
	t.figure("%d left the old state and %d the new", k.old, k.killed-k.old)
	t.figure("%d torn or lost", k.wrong)
	t.figure("kills by tenth of the publish %v", k.tenths)
	t.figure("%d interrupted publishes acknowledged, %d acknowledged writes beside them", k.acknowledged, len(k.ledger.acknowledged))
	t.figure("%d later publishes retried after a 500", k.retries)
	return nil
}

type killer struct {
	killing
	*trial
	process *server
	arenas  []*arena
	ledger  ledger

	killed, old, wrong, acknowledged, retries int
	tenths                                    [10]int // how many kills came in each tenth of a publish
}

// arena is a board of one size and the duration of its last uninterrupted publish.
type arena struct {
	*board
	size    int
	takes   time.Duration
	spoiled bool // a violation left its state unknown
}

// fresh gives the arena a new board and measures a publish of it.
func (k *killer) fresh(ctx context.Context, a *arena) (err error) {
	measured := a.takes > 0
	if a.board, err = newBoard(ctx, k.trial, a.size); err != nil {
		return err
	}
	if a.spoiled = false; a.size == 0 && measured {
		return nil // only the first publish changes an empty board, and strike interrupts it
	}
	if err := a.edit(ctx); err != nil {
		return err
	}
	if err := k.publish(ctx, a); err != nil || a.size > 0 {
		return err
	}
	a.board, err = newBoard(ctx, k.trial, 0)
	return err
}

// publishTries limits the attempts of a publish. On a busy machine an attempt may fail with a 500.
const publishTries = 5

// publish publishes without interruption. It must succeed in any state in which an interrupted
// publish has left the board.
func (k *killer) publish(ctx context.Context, a *arena) error {
	c := newClient(k.process.base, a.Company)
	var out response
	for try := 0; try < publishTries && (try == 0 || out.failed()); try++ {
		begin := time.Now()
		var err error
		if out, err = c.call(ctx, http.MethodPost, boardPath, nil); err != nil {
			return fmt.Errorf("publish: %w", err)
		}
		a.takes = time.Since(begin)
		if try > 0 {
			k.retries++
		}
	}
	if out.status != http.StatusOK {
		k.spoil(a, "an uninterrupted publish of %d items: %d %s: %s", a.size, out.status, out.body, k.process.log)
		return nil
	}
	_, wrong, err := a.look(ctx, true)
	if err == nil && len(wrong) > 0 {
		k.spoil(a, "an uninterrupted publish of %d items: %q", a.size, wrong)
	}
	return err
}

func (k *killer) spoil(a *arena, format string, values ...any) {
	k.wrong++
	a.spoiled = true
	k.violate(format, values...)
}

// strike starts a publish, kills the victim at a random moment, restarts it and checks the state.
func (k *killer) strike(ctx context.Context, a *arena) error {
	if a.size == 0 || a.spoiled {
		if err := k.fresh(ctx, a); err != nil {
			return err
		}
	}
	if err := a.edit(ctx); err != nil {
		return err
	}
	var done atomic.Bool
	responded := make(chan bool, 1)
	outage := k.chance.of(0.5) // whether the server stays down until the publish ends; if not, a retry of the publish may still succeed
	c := newClient(k.process.base, a.Company)
	stopWriting := k.ledger.write(ctx, k.process.base)
	go func() {
		out, err := c.call(ctx, http.MethodPost, boardPath, nil)
		done.Store(true)
		responded <- err == nil && out.status == http.StatusOK
	}()
	at := k.chance.float()
	<-time.After(time.Duration(at * float64(a.takes)))
	interrupted := !done.Load()
	if err := k.kill(ctx); err != nil {
		return err
	}
	var acknowledged bool
	if outage {
		acknowledged = <-responded
	}
	if err := k.revive(ctx); err != nil {
		return err
	}
	if !outage {
		acknowledged = <-responded
	}
	stopWriting()
	if acknowledged {
		k.acknowledged++
	}
	published, wrong, err := a.look(ctx, acknowledged)
	if err != nil {
		return err
	}
	if interrupted {
		k.killed++
		k.tenths[min(9, int(10*at))]++
		if !published {
			k.old++
		}
	}
	if len(wrong) > 0 {
		k.spoil(a, "%d items, kill %d: %q", a.size, k.killed, wrong)
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

func (k *killer) revive(ctx context.Context) error {
	if k.victim == victimEngine {
		return k.restartEngine(ctx)
	}
	process, err := k.startServer(ctx)
	if err == nil {
		k.process = process
	}
	return err
}

// ledgerWriters is the number of clients that write during a publish.
const ledgerWriters = 2

// ledger writes items while processes are killed, and remembers the acknowledged writes.
type ledger struct {
	client       *client
	mu           sync.Mutex
	serial       int
	acknowledged map[string]string // the title of each item by its id
}

// title returns a title that no other write has.
func (l *ledger) title() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.serial++
	return fmt.Sprintf("Write %d", l.serial)
}

// write starts clients that write until stop is called, which waits for their last responses. A
// client stops on its own when its server is gone.
func (l *ledger) write(ctx context.Context, base string) (stop func()) {
	var ended atomic.Bool
	var wait sync.WaitGroup
	c := newClient(base, l.client.Company)
	for range ledgerWriters {
		wait.Go(func() {
			for !ended.Load() {
				title := l.title()
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
func (l *ledger) verify(ctx context.Context, t *trial) error {
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
