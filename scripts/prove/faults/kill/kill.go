// Package kill is the gate of sudden ends: the engine or the server is killed in the middle of publishes, and what is
// live afterwards is one of two states, whole; and nothing that was acknowledged is lost.
package kill

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"sync/atomic"
	"time"

	"growthworkspace/scripts/prove/faults/board"
	"growthworkspace/scripts/prove/faults/gate"
	"growthworkspace/scripts/prove/faults/stand"
	"growthworkspace/scripts/prove/faults/wire"
)

// Victim is the process that is killed.
type Victim string

// The processes that can be killed.
const (
	Engine Victim = "engine"
	Server Victim = "server"
)

// sizes are those of the boards: none, one, and around the number of writes that a transaction takes.
var sizes = []int{0, 1, 99, 100, 101, 1000}

// Options say what is killed, how often, and what is wrong with the server.
type Options struct {
	Victim Victim
	Kills  int // in the middle of publishes; a kill after the answer does not count
	Sizes  []int
	Plant  stand.Plant
}

// enough violations refute the claim; what follows says nothing more.
const enough = 20

// Gates returns the two gates.
func Gates() []gate.Gate {
	run := func(v Victim) func(context.Context, gate.Setting) (*gate.Report, error) {
		return func(ctx context.Context, s gate.Setting) (*gate.Report, error) {
			return Run(ctx, s, Options{Victim: v, Kills: s.Pick(24, 200), Sizes: sizes})
		}
	}
	return []gate.Gate{{Name: "kill-engine", Run: run(Engine)}, {Name: "kill-server", Run: run(Server)}}
}

// Run kills the victim until it was killed often enough in the middle of publishes, in turn of boards of each size. The
// time of each kill is random over the whole course of a publish of that size, as measured by those that are not
// interrupted.
func Run(ctx context.Context, s gate.Setting, o Options) (report *gate.Report, err error) {
	where, err := stand.Open(ctx, s.Dir, s.Log)
	if err != nil {
		return nil, err
	}
	k := &killer{Options: o, report: &gate.Report{}, stand: where, chance: wire.NewChance(s.Seed)}
	defer func() {
		if k.server != nil {
			err = errors.Join(err, k.server.Kill())
		}
		err = errors.Join(err, where.Close())
	}()
	if err := k.begin(ctx); err != nil {
		return nil, err
	}
	for n := 0; k.killed < o.Kills; n++ {
		if n > 20*o.Kills+20 {
			return nil, fmt.Errorf("only %d of %d kills came before the publish was done", k.killed, n)
		}
		if err := k.strike(ctx, n%len(o.Sizes)); err != nil {
			return nil, fmt.Errorf("after %d kills: %w", k.killed, err)
		}
		if count, _ := k.report.Violations(); count >= enough {
			break
		}
	}
	if err := k.ledger.verify(ctx, where, k.report); err != nil {
		return nil, err
	}
	k.report.Figure("%d kills in the middle of publishes of %v items", k.killed, o.Sizes)
	k.report.Figure("%d left the old state and %d the new", k.old, k.killed-k.old)
	k.report.Figure("%d torn or lost", k.wrong)
	k.report.Figure("kills by tenth of the course %v", k.deciles)
	k.report.Figure("%d of the publishes acknowledged all the same, %d acknowledged writes beside them", k.acknowledged, k.ledger.count())
	k.report.Figure("%d later publishes asked for again after a 500", k.again)
	return k.report, nil
}

type killer struct {
	Options
	report  *gate.Report
	stand   *stand.Stand
	chance  *wire.Chance
	server  *stand.Server
	boards  []*board.Board
	course  []time.Duration // of an uninterrupted publish of each board
	spoiled []bool          // boards of whose state nothing is known after a violation
	ledger  *ledger

	killed, old, wrong, acknowledged, again int
	deciles                                 [10]int // of the course, in which the kills came
}

func (k *killer) begin(ctx context.Context) (err error) {
	if k.server, err = k.stand.StartServer(ctx, k.Plant); err != nil {
		return err
	}
	k.boards, k.course, k.spoiled = make([]*board.Board, len(k.Sizes)), make([]time.Duration, len(k.Sizes)), make([]bool, len(k.Sizes))
	for n := range k.Sizes {
		if err := k.fresh(ctx, n); err != nil {
			return err
		}
	}
	company, err := k.stand.NewCompany(ctx, 0)
	if err != nil {
		return err
	}
	k.ledger = newLedger(company)
	return k.stand.Write(ctx, company.ID, "board", map[string]any{"id": ledgerBoard, "companyId": company.ID})
}

// fresh makes the n-th board and measures a publish of it.
func (k *killer) fresh(ctx context.Context, n int) (err error) {
	measured := k.course[n] > 0
	if k.boards[n], err = board.New(ctx, k.stand, k.Sizes[n]); err != nil {
		return err
	}
	if k.spoiled[n] = false; k.Sizes[n] == 0 && measured {
		return nil // nothing but its first publish changes an empty board, and that one is to be interrupted
	}
	if err := k.boards[n].Edit(ctx); err != nil {
		return err
	}
	if err := k.publish(ctx, n); err != nil {
		return err
	}
	if k.Sizes[n] == 0 {
		k.boards[n], err = board.New(ctx, k.stand, 0)
	}
	return err
}

// triesMax is how often a publish is asked for that is answered with a failure, as its caller would on a busy machine.
const triesMax = 5

// publish publishes without an interruption, which must work whatever an interrupted publish left behind.
func (k *killer) publish(ctx context.Context, n int) error {
	b, client := k.boards[n], stand.NewClient(k.server.Base, k.boards[n].Company)
	var answer stand.Answer
	for try := 0; try < triesMax && (try == 0 || answer.Failed()); try++ {
		began := time.Now()
		var err error
		if answer, err = client.Call(ctx, http.MethodPost, b.Path(), nil); err != nil {
			return fmt.Errorf("publish: %w", err)
		}
		k.course[n] = time.Since(began)
		if try > 0 {
			k.again++
		}
	}
	if answer.Status != http.StatusOK {
		k.spoil(n, "an uninterrupted publish of %d items: %d %s: %s", k.Sizes[n], answer.Status, answer.Body, k.server.Failure())
		return nil
	}
	outcome, err := b.Look(ctx, true)
	if err == nil && len(outcome.Wrong) > 0 {
		k.spoil(n, "an uninterrupted publish of %d items: %q", k.Sizes[n], outcome.Wrong)
	}
	return err
}

// spoil notes a violation, after which what is on the board is not known.
func (k *killer) spoil(n int, format string, values ...any) {
	k.wrong++
	k.spoiled[n] = true
	k.report.Violate(format, values...)
}

// strike begins a publish of the n-th board, kills the victim at some moment of it, and looks at what is left.
func (k *killer) strike(ctx context.Context, n int) error {
	if k.Sizes[n] == 0 || k.spoiled[n] {
		if err := k.fresh(ctx, n); err != nil {
			return err
		}
	}
	b := k.boards[n]
	if err := b.Edit(ctx); err != nil {
		return err
	}
	var done atomic.Bool
	answered := make(chan bool, 1)
	outage := k.chance.Of(0.5) // longer than the publish; else it may get through
	client := stand.NewClient(k.server.Base, b.Company)
	writing := k.ledger.write(ctx, k.server.Base)
	go func() {
		answer, err := client.Call(ctx, "POST", b.Path(), nil)
		done.Store(true)
		answered <- err == nil && answer.Status == http.StatusOK
	}()
	at := k.chance.Float()
	<-time.After(time.Duration(at * float64(k.course[n])))
	inTheMiddle := !done.Load()
	if err := k.kill(ctx); err != nil {
		return err
	}
	var acknowledged bool
	if outage {
		acknowledged = <-answered
	}
	if err := k.revive(ctx); err != nil {
		return err
	}
	if !outage {
		acknowledged = <-answered
	}
	writing()
	if acknowledged {
		k.acknowledged++
	}
	outcome, err := b.Look(ctx, acknowledged)
	if err != nil {
		return err
	}
	if inTheMiddle {
		k.killed++
		k.deciles[min(9, int(10*at))]++
		if !outcome.Published {
			k.old++
		}
	}
	if len(outcome.Wrong) > 0 {
		k.spoil(n, "%d items, kill %d: %q", k.Sizes[n], k.killed, outcome.Wrong)
		return nil
	}
	if outcome.Published {
		return nil
	}
	return k.publish(ctx, n)
}

func (k *killer) kill(ctx context.Context) error {
	if k.Victim == Engine {
		return k.stand.KillEngine(ctx)
	}
	return k.server.Kill()
}

func (k *killer) revive(ctx context.Context) (err error) {
	if k.Victim == Engine {
		return k.stand.RestartEngine(ctx)
	}
	k.server, err = k.stand.StartServer(ctx, k.Plant)
	return err
}
