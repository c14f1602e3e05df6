package crash

import (
	"context"
	"errors"
	"fmt"
	"net/http"

	"growthworkspace/scripts/prove/faults/gate"
	"growthworkspace/scripts/prove/faults/stand"
)

// creates are requests that make a record of a kind, as the export names it.
var creates = []struct {
	name, path, kind string
	body             map[string]any
}{
	{"item", "plan/boards/brd_1/items", "item", map[string]any{"title": "Once"}},
	{"item with a slug", "plan/boards/brd_1/items", "item", map[string]any{"title": "Once", "slug": "chosen"}},
	{"post", "broadcast/posts", "post", map[string]any{"platform": "x", "body": "Once"}},
	{"content type", "context/content-types", "content-type", map[string]any{"name": "Once", "active": true}},
}

// Create is the gate of creates with an Idempotency-Key.
func Create(ctx context.Context, s gate.Setting, o Options) (report *gate.Report, err error) {
	where, err := stand.Open(ctx, s.Dir, s.Log)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, where.Close()) }()
	report = &gate.Report{}
	crashes, made := 0, 0
	for n := range creates {
		for range o.Rounds {
			for calls := int64(0); ; calls++ {
				if calls > callsMax {
					return nil, fmt.Errorf("a create takes no end of calls")
				}
				alive := false
				for _, unheard := range []bool{false, true} {
					done, died, err := createDies(ctx, where, o, n, death{calls, unheard}, report)
					if err != nil {
						return nil, fmt.Errorf("%s, death after call %d: %w", creates[n].name, calls, err)
					}
					if alive = alive || !died; !died {
						continue
					}
					if crashes++; done {
						made++
					}
				}
				if alive {
					break
				}
			}
		}
	}
	count, _ := report.Violations()
	report.Figure("%d deaths in creates of %d kinds, %d left nothing and %d the record", crashes, len(creates), crashes-made, made)
	report.Figure("%d mixes or doubles after the same request again", count)
	return report, nil
}

// createDies creates a record in a company of its own, in a process that dies after so many calls, looks at what is
// left, and sends the same request again to a process that lives.
func createDies(ctx context.Context, where *stand.Stand, o Options, n int, at death, report *gate.Report) (done, died bool, err error) {
	c := creates[n]
	company, err := where.NewCompany(ctx, 0)
	if err != nil {
		return false, false, err
	}
	if err := where.Write(ctx, company.ID, "board", map[string]any{"id": "brd_1", "companyId": company.ID}); err != nil {
		return false, false, err
	}
	key := []string{"Idempotency-Key", "one-" + company.ID}
	first, died, err := dying(ctx, where, company, o, at, http.MethodPost, c.path, c.body, key...)
	if err != nil {
		return false, died, err
	}
	left, err := where.Export(ctx, company.ID, c.kind)
	if err != nil {
		return false, died, err
	}
	place := fmt.Sprintf("%s, death after call %d", c.name, at.calls)
	report.Require(len(left) <= 1, "%s: %d records", place, len(left))
	report.Require(first.Failed() || len(left) == 1, "%s: answered %d and nothing is there", place, first.Status)

	again, _, err := dying(ctx, where, company, o, never, http.MethodPost, c.path, c.body, key...)
	if err != nil {
		return false, died, err
	}
	report.Require(again.Status == http.StatusOK, "%s: the same request again is answered %d %s", place, again.Status, again.Body)
	if again.Status == http.StatusOK {
		replayed := again.Header.Get("Idempotent-Replayed") == "true"
		report.Require(replayed == (len(left) == 1), "%s: %d records were there, and the same request again was replayed: %v", place, len(left), replayed)
	}
	finally, err := where.Export(ctx, company.ID, c.kind)
	report.Require(len(finally) == 1, "%s: %d records after the same request again", place, len(finally))
	return len(left) == 1, died, err
}
