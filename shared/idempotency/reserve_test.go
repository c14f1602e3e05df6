package idempotency_test

import (
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"net/http"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"growthworkspace/shared/fault"
	"growthworkspace/shared/idempotency"
	"growthworkspace/shared/table"
	"growthworkspace/shared/testkit/apitest"
)

// identityWithOtherArguments returns an identity with the fixture's Idempotency-Key, but with
// different arguments for each n.
func (f fixture) identityWithOtherArguments(n int) idempotency.Identity {
	out := f.identity
	out.RequestDigest = sha256.Sum256(fmt.Append(nil, "other ", n))
	return out
}

func (f fixture) reserve(ctx context.Context) error { return idempotency.Reserve(ctx, f.table) }

// finish stores a response with the given body, as the pipeline does after a reserved change.
func (f fixture) finish(ctx context.Context, text string) (*idempotency.Response, error) {
	return attemptOf(ctx).Finish(ctx, &idempotency.Response{Status: 200, Body: []byte(text)})
}

// runOnFakeClock runs test in a synctest bubble, which counter.Count creates, so that the fixture's
// requests wait on the fake clock.
func runOnFakeClock(t *testing.T, test func(t *testing.T, f fixture)) {
	t.Helper()
	counter := &apitest.RoundTripCounter{}
	f := newFixtureWithTransport(t, counter)
	counter.Count(t, func(t *testing.T) {
		f.t = t
		test(t, f)
	})
}

// contextNearDeadline returns the context of a request that has little time left: enough for one
// read of a reservation, but not for a pause.
func (f fixture) contextNearDeadline(i idempotency.Identity) context.Context {
	f.t.Helper()
	ctx, cancel := context.WithTimeout(f.contextWith(i), 1500*time.Millisecond)
	f.t.Cleanup(cancel)
	return ctx
}

func isInProgress(err error) bool { return fault.PublicError(err).Code == fault.Unavailable }

func isKeyReused(err error) bool { return fault.PublicError(err).Code == fault.BadRequest }

// Ensure that when several requests share an Idempotency-Key but have different arguments, exactly
// one succeeds and the others write nothing. This must hold for requests that reserve the key
// first, and for requests that store the response in the transaction of their change.
func TestReservationRace(t *testing.T) {
	t.Parallel()
	f := start(t)
	const requests = 12
	var errs [requests]error
	var wait sync.WaitGroup
	for n := range requests {
		wait.Go(func() {
			ctx := f.contextWith(f.identityWithOtherArguments(n))
			if n%2 == 0 {
				if errs[n] = f.reserve(ctx); errs[n] == nil {
					errs[n] = f.table.Insert(ctx, table.Keys{Key: f.key(fmt.Sprint(n))}, note{ID: fmt.Sprint(n)})
				}
			} else {
				errs[n] = f.create(ctx, note{ID: fmt.Sprint(n)})
			}
			if errs[n] == nil || errors.Is(errs[n], idempotency.ErrAlreadyServed) {
				_, errs[n] = f.finish(ctx, "{}")
			}
		})
	}
	wait.Wait()
	won := 0
	for n, err := range errs {
		if err == nil {
			won++
		}
		if (err == nil) != f.exists(fmt.Sprint(n)) || err != nil && !isKeyReused(err) {
			t.Errorf("request %d: %v, and its record is stored: %v", n, err, f.exists(fmt.Sprint(n)))
		}
	}
	if won != 1 {
		t.Errorf("%d requests won", won)
	}
}

// Ensure a request whose Idempotency-Key is reserved waits for the response. It must return
// unavailable near its deadline, and bad_request if its arguments differ.
func TestReservationBlocksOthers(t *testing.T) {
	t.Parallel()
	runOnFakeClock(t, testReservationBlocksOthers)
}

func testReservationBlocksOthers(t *testing.T, f fixture) {
	firstCtx := f.contextWith(f.identity)
	if err := errors.Join(f.reserve(firstCtx), f.reserve(firstCtx)); err != nil {
		t.Fatal(err)
	}
	if r, err := f.beginAttempt(f.identity).Lookup(t.Context()); r != nil || err != nil {
		t.Errorf("a reservation is no response: %+v, %v", r, err)
	}
	if _, err := f.beginAttempt(f.identityWithOtherArguments(1)).Lookup(t.Context()); !isKeyReused(err) {
		t.Errorf("other arguments: %v", err)
	}
	if err := f.reserve(f.contextWith(f.identityWithOtherArguments(1))); !isKeyReused(err) {
		t.Errorf("other arguments: %v", err)
	}
	if err := f.reserve(f.contextNearDeadline(f.identity)); !isInProgress(err) {
		t.Errorf("near the deadline: %v", err)
	}
	smallCtx := f.contextNearDeadline(f.identity)
	if err := f.create(smallCtx, note{"small", ""}); !errors.Is(err, idempotency.ErrAlreadyServed) || f.exists("small") {
		t.Errorf("a change with its response beside a reservation: %v", err)
	}
	if r, err := attemptOf(smallCtx).Finish(smallCtx, nil); r != nil || !isInProgress(err) {
		t.Errorf("end of a change beside a reservation: response %+v and error %v, want only that another request runs", r, err)
	}
	waitingCtx := f.contextWith(f.identity)
	done := make(chan error, 1)
	go func() { done <- f.reserve(waitingCtx) }()
	if r, err := f.finish(firstCtx, "the response"); r != nil || err != nil {
		t.Errorf("end of the first: response %+v and error %v, want neither", r, err)
	}
	if err := <-done; !errors.Is(err, idempotency.ErrAlreadyServed) {
		t.Errorf("the waiting request: %v", err)
	}
	if r, err := attemptOf(waitingCtx).Finish(waitingCtx, nil); err != nil || r == nil || string(r.Body) != "the response" {
		t.Errorf("end of the waiting request: response %+v and error %v, want that of the first", r, err)
	}
}

// Ensure a reservation without a response can be taken over after 15 seconds and not before, only
// with the same arguments, and by only one of several requests. If the first holder is still
// running, it must get the response of the request that took over.
func TestTakeOverReservation(t *testing.T) {
	t.Parallel()
	runOnFakeClock(t, testTakeOverReservation)
}

func testTakeOverReservation(t *testing.T, f fixture) {
	firstCtx := f.contextWith(f.identity)
	if err := f.reserve(firstCtx); err != nil {
		t.Fatal(err)
	}
	f.clock.Advance(15*time.Second - time.Millisecond)
	if err := f.reserve(f.contextNearDeadline(f.identity)); !isInProgress(err) {
		t.Errorf("too early: %v", err)
	}
	f.clock.Advance(time.Millisecond)
	if err := f.reserve(f.contextWith(f.identityWithOtherArguments(1))); !isKeyReused(err) {
		t.Errorf("other arguments: %v", err)
	}
	if err := f.create(f.contextWith(f.identityWithOtherArguments(1)), note{"other", ""}); !errors.Is(err, idempotency.ErrAlreadyServed) || f.exists("other") {
		t.Errorf("a change with other arguments: %v", err)
	}
	const requests = 6
	var contexts [requests]context.Context
	var errs [requests]error
	var wait sync.WaitGroup
	for n := range requests {
		contexts[n] = f.contextNearDeadline(f.identity)
		wait.Go(func() { errs[n] = f.reserve(contexts[n]) })
	}
	wait.Wait()
	winner := -1
	for n, err := range errs {
		switch {
		case err == nil && winner < 0:
			winner = n
		case !isInProgress(err):
			t.Errorf("request %d: %v", n, err)
		}
	}
	if winner < 0 {
		t.Fatal("nobody took the reservation over")
	}
	if r, err := f.finish(contexts[winner], "of the winner"); r != nil || err != nil {
		t.Errorf("end of the winner: response %+v and error %v, want neither", r, err)
	}
	if r, err := f.finish(firstCtx, "of the first"); err != nil || r == nil || string(r.Body) != "of the winner" {
		t.Errorf("end of the first: response %+v and error %v, want that of the winner", r, err)
	}
	if response := f.lookup(f.identity); response == nil || string(response.Body) != "of the winner" {
		t.Errorf("stored response %+v, want that of the winner", response)
	}
}

// beforeQueryTransport is a transport that calls beforeQuery before the query at which queriesLeft
// reaches zero, and beforeLateQuery before the 20th query after that one.
type beforeQueryTransport struct {
	queriesLeft                  atomic.Int64
	beforeQuery, beforeLateQuery func()
}

func (q *beforeQueryTransport) RoundTrip(r *http.Request) (*http.Response, error) {
	if strings.HasSuffix(r.Header.Get("X-Amz-Target"), ".Query") {
		switch q.queriesLeft.Add(-1) {
		case 0:
			q.beforeQuery()
		case -20:
			q.beforeLateQuery()
		}
	}
	return apitest.Transport.RoundTrip(r)
}

// Ensure a request that waits for a reservation takes it over once it expires.
func TestReservationExpiresWhileAnotherWaits(t *testing.T) {
	t.Parallel()
	q := &beforeQueryTransport{}
	f := newFixtureWithTransport(t, q)
	if err := f.reserve(f.contextWith(f.identity)); err != nil {
		t.Fatal(err)
	}
	q.beforeQuery = func() { f.clock.Advance(15 * time.Second) }
	q.queriesLeft.Store(2)                                              // the first read finds an unexpired reservation
	waitingCtx, cancel := context.WithCancel(f.contextWith(f.identity)) // without a deadline
	defer cancel()
	q.beforeLateQuery = cancel
	if err := f.reserve(waitingCtx); err != nil || q.queriesLeft.Load() > 0 {
		t.Fatalf("%v, %d queries are left", err, q.queriesLeft.Load())
	}
	if r, err := f.finish(waitingCtx, "the response"); r != nil || err != nil {
		t.Errorf("end of the waiting request: response %+v and error %v, want neither", r, err)
	}
}

// Ensure a change that fits into one transaction can also take over an expired reservation.
func TestTransactionTakesOverReservation(t *testing.T) {
	t.Parallel()
	f := start(t)
	if err := f.reserve(f.contextWith(f.identity)); err != nil {
		t.Fatal(err)
	}
	f.clock.Advance(15 * time.Second)
	if err := f.create(f.contextWith(f.identity), note{"a", "first"}); err != nil || !f.exists("a") {
		t.Errorf("the note exists: %t, want true; error %v", f.exists("a"), err)
	}
	if response := f.lookup(f.identity); response == nil || response.Status != 200 {
		t.Errorf("stored response %+v, want one with the status 200", response)
	}
}

// Ensure a failed request releases its Idempotency-Key, so that the next one with the same
// arguments need not wait.
func TestReleasedReservation(t *testing.T) {
	t.Parallel()
	runOnFakeClock(t, testReleasedReservation)
}

func testReleasedReservation(t *testing.T, f fixture) {
	failedCtx := f.contextWith(f.identity)
	if err := f.reserve(failedCtx); err != nil {
		t.Fatal(err)
	}
	if r, err := attemptOf(failedCtx).Finish(failedCtx, nil); r != nil || err != nil {
		t.Fatalf("end of the failed request: response %+v and error %v, want neither", r, err)
	}
	if err := f.reserve(f.contextWith(f.identityWithOtherArguments(1))); !isKeyReused(err) {
		t.Errorf("other arguments: %v", err)
	}
	nextCtx := f.contextNearDeadline(f.identity)
	if err := f.reserve(nextCtx); err != nil {
		t.Fatal(err)
	}
	if r, err := attemptOf(failedCtx).Finish(failedCtx, nil); r != nil || err != nil {
		t.Errorf("second end of the failed request: response %+v and error %v, want neither", r, err)
	}
	if err := f.reserve(f.contextNearDeadline(f.identity)); !isInProgress(err) {
		t.Errorf("the key was given back by a request that no longer had it: %v", err)
	}
	// A refusal replaces the reservation, like any other response.
	if _, err := attemptOf(nextCtx).Finish(nextCtx, &idempotency.Response{Status: 409, Body: fault.Envelope(fault.New(fault.Conflict, "no"))}); err != nil {
		t.Error(err)
	}
	if response := f.lookup(f.identity); response == nil || response.Status != 409 {
		t.Errorf("stored response %+v, want the refusal", response)
	}
}

// Ensure a request without an Idempotency-Key reserves nothing.
func TestReserveWithoutKey(t *testing.T) {
	t.Parallel()
	f := start(t)
	if err := f.reserve(t.Context()); err != nil || idempotency.HasKey(t.Context()) || !idempotency.HasKey(f.contextWith(f.identity)) {
		t.Errorf("error %v; has a key without one: %t, with one: %t", err, idempotency.HasKey(t.Context()), idempotency.HasKey(f.contextWith(f.identity)))
	}
}
