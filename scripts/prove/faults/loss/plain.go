package loss

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"sync/atomic"

	"growthworkspace/scripts/prove/faults/gate"
	"growthworkspace/scripts/prove/faults/stand"
	"growthworkspace/scripts/prove/faults/wire"
)

// losses is how many answers in a row are lost of each write, of the three times that the client asks: the table can be
// reached, with patience.
const losses = 2

// Plain is the gate of requests without an Idempotency-Key: every answer of a write is lost the first times it is given.
// Each client makes a record, changes it twice and deletes it, of several kinds; each step must be answered as done and
// have been done once.
func Plain(ctx context.Context, s gate.Setting, o Options) (report *gate.Report, err error) {
	where, err := stand.Open(ctx, s.Dir, s.Log)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, where.Close()) }()
	var transport http.RoundTripper = where.Transport
	if o.Plant != nil {
		transport = o.Plant(transport)
	}
	lose := &wire.Lose{Next: transport, Choose: func(call string, attempt int) bool { return wire.Writes(call) && attempt <= losses }}
	k, err := newKeyed(ctx, where, lose, o)
	if err != nil {
		return nil, err
	}
	defer k.stop()
	p := &plain{keyed: k}
	if err := each(o.Requests/stepsOfLife, func(n int) error { return p.life(ctx, n) }); err != nil {
		return nil, err
	}
	if err := p.publish(ctx); err != nil {
		return nil, err
	}
	for _, kind := range []string{"item", "post"} {
		left, err := k.titles(ctx, where, kind)
		if err != nil {
			return nil, err
		}
		k.doubles += len(left)
		k.report.Require(len(left) == 0, "%d records of the type %s are left, where all were deleted: %.3q", len(left), kind, left)
	}
	k.report.Figure("%d requests without a key, %d answers of the table lost, %d in a row for each write", p.requests.Load(), lose.Lost(), losses)
	k.report.Figure("%d answered as failed, %d doubles", p.failed.Load(), k.doubles)
	return k.report, nil
}

type plain struct {
	*keyed
	requests, failed atomic.Int64
}

// kinds are what lives are made of.
var kinds = []struct {
	create, record string
	body           map[string]any
}{
	{"plan/boards/brd_1/items", "plan/items/", map[string]any{}},
	{"broadcast/posts", "broadcast/posts/", map[string]any{"platform": "x", "body": "Text"}},
}

// stepsOfLife is how many requests a life makes.
const stepsOfLife = 5

func (p *plain) life(ctx context.Context, n int) error {
	kind, title := kinds[n%len(kinds)], fmt.Sprintf("Life %d", n)
	body := map[string]any{"title": title}
	for name, value := range kind.body {
		body[name] = value
	}
	var made struct{ ID string }
	if ok, err := p.step(ctx, n, http.MethodPost, kind.create, body, &made); err != nil || !ok {
		return err
	}
	for change := range 2 {
		var changed struct{ Title string }
		want := fmt.Sprintf("%s, change %d", title, change)
		ok, err := p.step(ctx, n, http.MethodPatch, kind.record+made.ID, map[string]any{"title": want}, &changed)
		if err != nil || !ok {
			return err
		}
		p.report.Require(changed.Title == want, "life %d: a change to %q answers %q", n, want, changed.Title)
	}
	var deleted struct{ Deleted bool }
	if ok, err := p.step(ctx, n, http.MethodDelete, kind.record+made.ID, nil, &deleted); err != nil || !ok {
		return err
	}
	p.report.Require(deleted.Deleted, "life %d: a delete answers deleted false", n)
	answer, err := p.clients[n%clients].Call(ctx, http.MethodGet, kind.record+made.ID, nil)
	p.requests.Add(1)
	p.report.Require(err != nil || answer.Status == http.StatusNotFound, "life %d: after its delete the record is answered %d", n, answer.Status)
	return err
}

// step makes a request that must be answered as done; ok tells whether it was.
func (p *plain) step(ctx context.Context, n int, method, path string, body, into any) (ok bool, err error) {
	p.requests.Add(1)
	answer, err := p.clients[n%clients].Call(ctx, method, path, body)
	if err != nil {
		return false, fmt.Errorf("%s %s: %w", method, path, err)
	}
	if answer.Status != http.StatusOK {
		p.failed.Add(1)
		p.report.Violate("life %d: %s %s is answered %d %s", n, method, path, answer.Status, answer.Body)
		return false, nil
	}
	return true, answer.Decode(into)
}

// publish publishes versions one after the other: each must be one more than the last.
func (p *plain) publish(ctx context.Context) error {
	const versions = 10
	var item struct{ ID string }
	ok, err := p.step(ctx, 0, http.MethodPost, "plan/boards/brd_1/items", map[string]any{"title": "Version 0", "status": "published"}, &item)
	if err != nil || !ok {
		return err
	}
	for want := 1; want <= versions; want++ {
		title := fmt.Sprintf("Version %d", want)
		if ok, err := p.step(ctx, 0, http.MethodPatch, "plan/items/"+item.ID, map[string]any{"title": title}, &struct{}{}); err != nil || !ok {
			return err
		}
		var done struct{ PublishedVersion int }
		if ok, err := p.step(ctx, 0, http.MethodPost, "plan/boards/brd_1/publish", nil, &done); err != nil || !ok {
			return err
		}
		p.report.Require(done.PublishedVersion == want, "publish %d made version %d", want, done.PublishedVersion)
	}
	_, err = p.step(ctx, 0, http.MethodDelete, "plan/items/"+item.ID, nil, &struct{}{})
	return err
}
