package table_test

import (
	"context"
	"errors"
	"net/http"
	"testing"

	"growthworkspace/shared/table"
	"growthworkspace/shared/testkit/apitest"
)

// Ensure only the first call of SettlePermit has an effect, and a write that is waiting for that
// call fails when its context is done.
func TestSettlePermit(t *testing.T) {
	t.Parallel()
	c, _ := newTestClient(t, nil)
	refused := table.NewRequest()
	errRefused := errors.New("planted")
	refused.SettlePermit(errRefused)
	refused.SettlePermit(nil)
	if err := c.BatchDelete(table.WithRequest(t.Context(), refused), nil); !errors.Is(err, errRefused) {
		t.Errorf("only the first decision counts: %v", err)
	}
	waitingCtx, cancel := context.WithCancel(table.WithRequest(t.Context(), table.NewRequest()))
	cancel()
	if err := c.BatchDelete(waitingCtx, nil); !errors.Is(err, context.Canceled) {
		t.Errorf("cancelled: %v", err)
	}
}

// Ensure every kind of write fails without a request in the context, and sends nothing but reads.
func TestNoRequestNoWrite(t *testing.T) {
	t.Parallel()
	p := &faultProxy{}
	operator, _ := newTestClient(t, p)
	n := insert(t, operator, newNote(operator))
	handlerClient := table.New(options(t, p))
	before := p.count("")
	for name, write := range everyWrite(handlerClient, n) {
		if err := write(context.Background()); !errors.Is(err, table.ErrNoPermit) {
			t.Errorf("%s: error %v, want %v", name, err, table.ErrNoPermit)
		}
	}
	if reads := p.count("GetItem"); p.count("") != before+reads {
		t.Errorf("%d calls beside reads", p.count("")-before-reads)
	}
	requireStored(t, operator, n)
}

// Ensure UpdateKey, which needs no permit, can only update the record of a key.
func TestUpdateKeyReachesKeysOnly(t *testing.T) {
	t.Parallel()
	p := &faultProxy{}
	operator, _ := newTestClient(t, p)
	n := insert(t, operator, newNote(operator))
	before := p.count("")
	if _, err := table.New(options(t, p)).UpdateKey(t.Context(), updateOf(n)); err == nil || p.count("") != before {
		t.Errorf("%v after %d calls", err, p.count("")-before)
	}
	requireStored(t, operator, n)
}

// Ensure a call that DynamoDB refuses counts as a call without units.
func TestRefusedCallsCount(t *testing.T) {
	t.Parallel()
	p := callRejectingProxy("", "AccessDeniedException", http.StatusBadRequest, 1<<30)
	c, _ := newTestClient(t, p)
	n := newNote(c)
	for name, write := range everyWrite(c, n) {
		ctx, m := apitest.NewRequest(t)
		before := p.count("")
		if err := write(ctx); err == nil {
			t.Errorf("%s: no error", name)
		}
		want := table.Usage{Calls: p.count("") - before}
		if units := m.Usage(); units != want || want.Calls == 0 {
			t.Errorf("%s: %+v, want %+v and one call at least", name, units, want)
		}
	}
}
