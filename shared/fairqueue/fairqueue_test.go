package fairqueue_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"growthworkspace/shared/fairqueue"
)

// queue is a pool whose admitted calls are listed in the order of their admission.
type queue struct {
	*fairqueue.Pool

	admitted chan string
}

func newQueue(slots int) *queue { return &queue{fairqueue.New(slots), make(chan string, 100)} }

// start starts calls of a company, one after the other, and waits until each has a slot or waits.
func (q *queue) start(t *testing.T, company string, calls int) {
	t.Helper()
	for range calls {
		go func() {
			if err := q.Acquire(t.Context(), company); err == nil {
				q.admitted <- company
			}
		}()
		synctest.Wait()
	}
}

// requireAdmitted requires that the calls of these companies have been admitted since the last call.
func (q *queue) requireAdmitted(t *testing.T, want ...string) {
	t.Helper()
	synctest.Wait()
	var got []string
	for len(q.admitted) > 0 {
		got = append(got, <-q.admitted)
	}
	if !slices.Equal(got, want) {
		t.Errorf("admitted: %v, want %v", got, want)
	}
}

// Ensure a company gets a slot only while it has fewer than are free, so that every further company
// finds one.
func TestShares(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		slots int
		want  []string
	}{
		{1, []string{"A"}},
		{2, []string{"A", "B"}},
		{8, []string{"A", "A", "A", "A", "B", "B", "C", "D"}},
	} {
		t.Run(fmt.Sprint(test.slots), func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				q := newQueue(test.slots)
				for _, company := range []string{"A", "B", "C", "D", "E"} {
					q.start(t, company, 10)
				}
				q.requireAdmitted(t, test.want...)
			})
		})
	}
}

// Ensure companies that wait take turns, however many calls each of them has.
func TestTurns(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		q := newQueue(2)
		q.start(t, "A", 80)
		q.start(t, "B", 80)
		q.start(t, "C", 2)
		q.requireAdmitted(t, "A", "B")
		holder := "A"
		for _, next := range []string{"A", "C", "A", "C", "A", "A"} {
			q.Release(holder)
			q.requireAdmitted(t, next)
			holder = next
		}
	})
}

// Ensure a call that no longer waits keeps no slot and no place, also if its slot comes at the same
// moment.
func TestCancelledCalls(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		q := newQueue(1)
		q.start(t, "A", 1)
		q.requireAdmitted(t, "A")
		ctx, cancel := context.WithCancel(t.Context())
		errs := make(chan error, 2)
		for range 2 {
			go func() { errs <- q.Acquire(ctx, "B") }()
		}
		q.start(t, "C", 1)
		cancel()
		for range 2 {
			if err := <-errs; !errors.Is(err, context.Canceled) {
				t.Errorf("error %v, want %v", err, context.Canceled)
			}
		}
		q.Release("A")
		q.requireAdmitted(t, "C")
		q.Release("C")
		for range 1000 { // release and cancel race
			if err := q.Acquire(t.Context(), "A"); err != nil {
				t.Fatal(err)
			}
			ctx, cancel := context.WithCancel(t.Context())
			go func() { errs <- q.Acquire(ctx, "B") }()
			synctest.Wait()
			go cancel()
			go q.Release("A")
			if err := <-errs; err == nil {
				q.Release("B")
			}
			synctest.Wait()
		}
		q.start(t, "D", 1)
		q.requireAdmitted(t, "D")
	})
}

// Ensure a company rests for as long as its call took while another company uses the pool, too, and
// does not rest otherwise. Work of no company does not count.
func TestRest(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		q := newQueue(2)
		const call = 10 * time.Millisecond
		// serve lets each of A's waiting calls take 10 ms, and returns how long they take together.
		serve := func(calls int) time.Duration {
			t.Helper()
			q.start(t, "A", calls)
			begin := time.Now()
			for range calls {
				<-q.admitted
				time.Sleep(call)
				q.ReleaseRested("A", call)
			}
			return time.Since(begin)
		}
		if got := serve(10); got != 10*call {
			t.Errorf("ten calls of one company take %s, want %s", got, 10*call)
		}
		for company, want := range map[string]time.Duration{"": 10 * call, "B": 19 * call} { // after the last call nothing waits
			time.Sleep(time.Minute)
			q.start(t, company, 1)
			<-q.admitted
			q.ReleaseRested(company, 0)
			if got := serve(10); got != want {
				t.Errorf("ten calls beside one of %q take %s, want %s", company, got, want)
			}
		}
		time.Sleep(time.Minute)
		if got := serve(10); got != 10*call {
			t.Errorf("ten calls a minute later take %s, want %s", got, 10*call)
		}
	})
}
