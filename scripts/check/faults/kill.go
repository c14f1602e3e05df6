package faults

import (
	"context"
	"fmt"
	"net/http"
	"sync/atomic"
	"time"
)

// killSizes are the numbers of items on the boards. A transaction has at most 100 writes, so a
// publish starts to need more than one transaction at a size of about 100.
var killSizes = []int{0, 1, 99, 100, 101, 1000}

// checkKills kills a server at random moments while boards of each size in turn are being published.
// After each kill, visitors must see either all of the old content or all of the new, and no
// acknowledged write may be lost. The moments are within the time that the last uninterrupted
// publish of the board took. kills is the number of kills that must interrupt a publish; a kill
// after the response does not count.
func checkKills(ctx context.Context, t *checkRun, kills int, sizes []int) (err error) {
	k := &killer{checkRun: t, writers: newItemWriters()}
	if k.process, err = t.startServer(ctx); err != nil {
		return err
	}
	for _, size := range sizes {
		a := &sizedBoard{size: size}
		k.boards = append(k.boards, a)
		if err := k.newBoard(ctx, a); err != nil {
			return err
		}
	}
	c, err := t.companyWithBoard(ctx, "")
	if err != nil {
		return err
	}
	k.writersCompany = c.company
	for n := 0; k.killed < kills; n++ {
		if n > 20*kills+20 {
			return fmt.Errorf("only %d of %d kills came before the publish was done", k.killed, n)
		}
		if err := k.killDuringPublish(ctx, k.boards[n%len(k.boards)]); err != nil {
			return fmt.Errorf("after %d kills: %w", k.killed, err)
		}
		if count, _ := t.violations(); count > 0 {
			break // the board is in an unknown state
		}
	}
	if err := k.writers.verify(ctx, t, k.writersCompany.id); err != nil {
		return err
	}
	t.addFigure("%d kills in the middle of publishes of %v items", k.killed, sizes)
	t.addFigure("%d left the old state and %d the new", k.oldVersions, k.killed-k.oldVersions)
	t.addFigure("%d interrupted publishes acknowledged, %d items written beside them", k.acknowledged, len(k.writers.acknowledged))
	t.addFigure("%d later publishes retried after a 500", k.retries)
	return nil
}

type killer struct {
	*checkRun
	process        *server
	boards         []*sizedBoard
	writers        *itemWriters
	writersCompany company

	killed, oldVersions, acknowledged, retries int
}

// sizedBoard is a board of one size and the duration of its last uninterrupted publish.
type sizedBoard struct {
	*board
	size        int
	publishTime time.Duration
}

// newBoard replaces a.board with a new board, and measures how long it takes to publish a board of
// that size.
func (k *killer) newBoard(ctx context.Context, a *sizedBoard) (err error) {
	if a.board, err = newBoard(ctx, k.checkRun, a.size); err != nil {
		return err
	}
	if a.size == 0 && a.publishTime > 0 {
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
	c := newClient(k.process.base, a.company)
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
		k.violate("an uninterrupted publish of %d items: %d %s: %s", a.size, out.status, out.body, k.process.log)
		return nil
	}
	_, wrong, err := a.checkLiveContent(ctx, true)
	k.require(len(wrong) == 0, "an uninterrupted publish of %d items: %q", a.size, wrong)
	return err
}

// killDuringPublish starts a publish, kills the server at a random moment, starts another, and
// checks the board.
func (k *killer) killDuringPublish(ctx context.Context, a *sizedBoard) (err error) {
	if a.size == 0 {
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
	c := newClient(k.process.base, a.company)
	stopWriting := k.writers.start(ctx, k.writersCompany, k.process)
	go func() {
		begin := time.Now()
		out, err := c.call(ctx, http.MethodPost, publishPath, nil)
		duration = time.Since(begin)
		done.Store(true)
		responded <- err == nil && out.status == http.StatusOK
	}()
	<-time.After(time.Duration(k.random.float() * float64(a.publishTime)))
	interrupted := !done.Load()
	if err := k.process.kill(); err != nil {
		return err
	}
	acknowledged := <-responded
	stopWriting()
	if k.process, err = k.startServer(ctx); err != nil {
		return err
	}
	if acknowledged {
		k.acknowledged++
	}
	published, wrong, err := a.checkLiveContent(ctx, acknowledged)
	if err != nil {
		return err
	}
	if interrupted {
		k.killed++
		if !published {
			k.oldVersions++
		}
	} else if acknowledged {
		a.publishTime = duration
	}
	k.require(len(wrong) == 0, "%d items, kill %d: %q", a.size, k.killed, wrong)
	if published || len(wrong) > 0 {
		return nil
	}
	return k.publish(ctx, a)
}
