package faults

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"sync/atomic"

	"growthworkspace/scripts/prove/testbed"
)

// callsMax is far above the calls of a publish of the largest board.
const callsMax = 500

// never is the death of a process that does not die.
var never = death{calls: 1 << 30}

// everyDeath calls try with a death after each call to the table and with a death during each call, until try survives. It
// returns the number of calls.
func everyDeath(try func(at death) (died bool, err error)) (calls int64, err error) {
	for ; calls <= callsMax; calls++ {
		before, err := try(death{calls, false})
		if err != nil {
			return calls, fmt.Errorf("death after call %d: %w", calls, err)
		}
		during, err := try(death{calls, true})
		if err != nil {
			return calls, fmt.Errorf("death during call %d: %w", calls+1, err)
		}
		if !before || !during {
			return calls, nil
		}
	}
	return calls, errors.New("the request never stops calling the table")
}

// callDying is requestDying for a POST.
func (t *trial) callDying(ctx context.Context, c testbed.Company, at death, path string, body any, header ...string) (out response, died bool, err error) {
	return t.requestDying(ctx, c, at, http.MethodPost, path, body, header...)
}

// requestDying sends one request to a new service that dies at a point. died reports whether the request reached that point.
// The response is a failure unless the request was done before the death.
func (t *trial) requestDying(ctx context.Context, c testbed.Company, at death, method, path string, body any, header ...string) (out response, died bool, err error) {
	var calls atomic.Int64
	s := t.service(t.plant(dying(t.transport, &calls, at)))
	defer s.Close()
	out, err = newClient(s.URL, c).call(ctx, method, path, body, header...)
	return out, calls.Load() > at.calls, err
}

// crashPublish is the gate of publishes that die. After every death the old or the new state must be live, and the next
// publish must succeed. Each death is tried in several rounds, because concurrent calls have another order each time.
func crashPublish(ctx context.Context, t *trial, sizes []int, rounds int) error {
	crashes, old, mixed := 0, 0, 0
	for _, size := range sizes {
		repeats := rounds
		if size > partly {
			repeats = 1 // writing the board alone takes seconds
		}
		for round := range repeats {
			calls, err := everyDeath(func(at death) (bool, error) {
				published, wrong, died, err := t.publishDying(ctx, size, at)
				for _, w := range wrong {
					t.violate("%d items, death after call %d: %s", size, at.calls, w)
				}
				if len(wrong) > 0 {
					mixed++
				}
				if died {
					crashes++
				}
				if died && !published {
					old++
				}
				return died, err
			})
			if err != nil {
				return fmt.Errorf("%d items: %w", size, err)
			}
			if round == 0 {
				t.figure("%d items: %d calls", size, calls)
			}
		}
	}
	t.figure("%d deaths, %d left the old state and %d the new, %d a mix", crashes, old, crashes-old, mixed)
	return nil
}

// publishDying publishes an edited board in a process that dies and reads the live content. If that is the old state, it
// publishes again.
func (t *trial) publishDying(ctx context.Context, size int, at death) (published bool, wrong []string, died bool, err error) {
	b, err := newBoard(ctx, t, size)
	if err != nil {
		return false, nil, false, err
	}
	if size > 0 { // the only change of an empty board is its first publish
		err = b.edit(ctx)
		if err == nil {
			err = t.publish(ctx, b)
		}
	}
	if err == nil {
		err = b.edit(ctx)
	}
	if err != nil {
		return false, nil, false, err
	}
	out, died, err := t.callDying(ctx, b.Company, at, boardPath, nil)
	if err != nil {
		return false, nil, died, err
	}
	published, wrong, err = b.look(ctx, out.status == http.StatusOK)
	if err == nil && !published && len(wrong) == 0 {
		err = t.publish(ctx, b)
	}
	return published, wrong, died, err
}

// publish publishes without a fault. It must succeed in any state that an earlier death left.
func (t *trial) publish(ctx context.Context, b *board) error {
	out, _, err := t.callDying(ctx, b.Company, never, boardPath, nil)
	if err != nil {
		return err
	}
	if out.status != http.StatusOK {
		t.violate("a publish after one that died: %d %s", out.status, out.body)
		return nil
	}
	_, wrong, err := b.look(ctx, true)
	for _, w := range wrong {
		t.violate("a publish after one that died: %s", w)
	}
	return err
}

// creates are the requests of crashCreate. kind is the type of the record in an export.
var creates = []struct {
	name, path, kind string
	body             map[string]any
}{
	{"item", "plan/boards/brd_1/items", "item", map[string]any{"title": "Once"}},
	{"item with a slug", "plan/boards/brd_1/items", "item", map[string]any{"title": "Once", "slug": "chosen"}},
	{"post", "broadcast/posts", "post", map[string]any{"platform": "x", "body": "Once"}},
	{"content idea", "broadcast/ideas", "content-idea", map[string]any{"title": "Once", "planId": "pln_1"}},
	{"content plan", "broadcast/plans", "content-plan", map[string]any{"name": "Once", "platforms": []string{"x"}}},
	{"brand goal", "context/goals", "brand-goal", map[string]any{"name": "Once", "status": "missed"}},
	{"content type", "context/content-types", "content-type", map[string]any{"name": "Once", "active": true}},
}

// crashCreate is the gate of creates with an Idempotency-Key. Every death must leave nothing, or the record with its stored
// response, and after a retry there must be one record.
func crashCreate(ctx context.Context, t *trial, rounds int) error {
	crashes, created := 0, 0
	for n := range creates {
		for range rounds {
			_, err := everyDeath(func(at death) (bool, error) {
				done, died, err := t.createDying(ctx, n, at)
				if died {
					crashes++
				}
				if died && done {
					created++
				}
				return died, err
			})
			if err != nil {
				return fmt.Errorf("%s: %w", creates[n].name, err)
			}
		}
	}
	count, _ := t.violations()
	t.figure("%d deaths in creates of %d kinds, %d left nothing and %d the record", crashes, len(creates), crashes-created, created)
	t.figure("%d mixes or duplicates after a retry", count)
	return nil
}

// createDying creates a record in a process that dies, reads the stored records, and retries in a process that does not die.
func (t *trial) createDying(ctx context.Context, n int, at death) (done, died bool, err error) {
	c := creates[n]
	in, err := t.companyWithBoard(ctx, "")
	if err != nil {
		return false, false, err
	}
	key := []string{"Idempotency-Key", "one-" + in.ID}
	first, died, err := t.callDying(ctx, in.Company, at, c.path, c.body, key...)
	if err != nil {
		return false, died, err
	}
	left, err := testbed.Export[any](ctx, t.Testbed, in.ID, c.kind)
	if err != nil {
		return false, died, err
	}
	where := fmt.Sprintf("%s, death after call %d", c.name, at.calls)
	t.require(len(left) <= 1, "%s: %d records", where, len(left))
	t.require(first.failed() || len(left) == 1, "%s: %d and no record is stored", where, first.status)

	retry, _, err := t.callDying(ctx, in.Company, never, c.path, c.body, key...)
	if err != nil {
		return false, died, err
	}
	t.require(retry.status == http.StatusOK, "%s: the retry gets %d %s", where, retry.status, retry.body)
	if retry.status == http.StatusOK {
		replayed := retry.header.Get("Idempotent-Replayed") == "true"
		t.require(replayed == (len(left) == 1), "%s: %d records were stored, and the retry was replayed: %v", where, len(left), replayed)
	}
	finally, err := testbed.Export[any](ctx, t.Testbed, in.ID, c.kind)
	t.require(len(finally) == 1, "%s: %d records after the retry", where, len(finally))
	return len(left) == 1, died, err
}
