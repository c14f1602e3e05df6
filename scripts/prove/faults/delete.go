package faults

import (
	"context"
	"fmt"
	"net/http"
	"strings"

	"growthworkspace/scripts/prove/testbed"
	"growthworkspace/shared/table"
)

// removal is a delete of a record that has more than one record in the table.
type removal struct {
	name, path string
	partitions []string // after the company's id
	prepare    func(ctx context.Context, t *trial, companyID string) error
}

// removals are the requests of crashDelete.
var removals = []removal{
	{"board", "plan/boards/brd_1", []string{"plan"}, func(ctx context.Context, t *trial, companyID string) error {
		const at = "2026-01-01T00:00:00Z"
		shows := map[string]any{"id": "brd_1", "publishedVersion": 1, "publishedAt": at, "snapshot": []any{map[string]any{"id": "itm_1", "slug": "a", "title": "A"}}}
		empty := map[string]any{"id": "brd_1", "publishedVersion": 2, "publishedAt": at, "snapshot": []any{}}
		if err := t.Write(ctx, companyID, "board", shows); err != nil {
			return err
		}
		return t.Write(ctx, companyID, "board", empty)
	}},
	{"site", "optimise/sites/sit_1", []string{"optimise"}, func(ctx context.Context, t *trial, companyID string) error {
		if err := t.Write(ctx, companyID, "site", map[string]any{"id": "sit_1"}); err != nil {
			return err
		}
		return t.Write(ctx, companyID, "site-goal", map[string]any{"id": "gol_1", "siteId": "sit_1"}, map[string]any{"id": "gol_2", "siteId": "sit_1"})
	}},
	{"audit", "optimise/audits/aud_1", []string{"optimise", "optimise#findings#aud_1"}, func(ctx context.Context, t *trial, companyID string) error {
		return t.Write(ctx, companyID, "audit", map[string]any{"id": "aud_1", "status": "complete", "findings": []string{strings.Repeat("x", 1000)}})
	}},
}

// crashDelete is the gate of deletes of records that have others. Every death must leave the record with all that belongs to it, or a
// record that is gone for every reader. The same delete again must succeed then and leave nothing.
func crashDelete(ctx context.Context, t *trial, removals []removal, rounds int) error {
	crashes, gone := 0, 0
	for _, r := range removals {
		for range rounds {
			_, err := everyDeath(func(at death) (bool, error) {
				ended, died, err := t.removeDying(ctx, r, at)
				if died {
					crashes++
				}
				if died && ended {
					gone++
				}
				return died, err
			})
			if err != nil {
				return fmt.Errorf("%s: %w", r.name, err)
			}
		}
	}
	t.figure("%d deaths in deletes of %d kinds, %d left all and %d removed the record", crashes, len(removals), crashes-gone, gone)
	return nil
}

// removeDying deletes a record in a process that dies, reads what is left, and deletes it again in a process that does not die.
func (t *trial) removeDying(ctx context.Context, r removal, at death) (gone, died bool, err error) {
	c, err := t.NewCompany(ctx, testbed.Unlimited)
	if err != nil {
		return false, false, err
	}
	if err := r.prepare(ctx, t, c.ID); err != nil {
		return false, false, err
	}
	whole, err := t.recordsOf(ctx, c.ID, r)
	if err != nil {
		return false, false, err
	}
	first, died, err := t.requestDying(ctx, c, at, http.MethodDelete, r.path, nil)
	if err != nil {
		return false, died, err
	}
	left, err := t.recordsOf(ctx, c.ID, r)
	if err != nil {
		return false, died, err
	}
	read, _, err := t.requestDying(ctx, c, never, http.MethodGet, r.path, nil)
	if err != nil {
		return false, died, err
	}
	where := fmt.Sprintf("%s, death after call %d", r.name, at.calls)
	gone = read.status == http.StatusNotFound
	t.require(gone || len(left) == len(whole), "%s: the record is there, with %d records of %d", where, len(left), len(whole))
	t.require(first.failed() || gone && len(left) == 0, "%s: it was acknowledged, and %d records are left", where, len(left))

	again, _, err := t.requestDying(ctx, c, never, http.MethodDelete, r.path, nil)
	if err != nil {
		return gone, died, err
	}
	t.require(again.status == http.StatusOK || again.status == http.StatusNotFound && len(left) == 0, "%s: the next delete gets %d with %d records left", where, again.status, len(left))
	left, err = t.recordsOf(ctx, c.ID, r)
	t.require(len(left) == 0, "%s: the next delete leaves %q", where, left)
	return gone, died, err
}

// recordsOf returns the sort keys of what is stored of a company in the partitions of a removal, without the heads of its boards.
func (t *trial) recordsOf(ctx context.Context, companyID string, r removal) (keys []string, err error) {
	type record struct {
		SK string `store:"sk"`
	}
	for _, partition := range r.partitions {
		err := table.Each(ctx, t.Table, table.Collection{Partition: companyID + "#" + partition, Consistent: true}, func(one record) error {
			if one.SK != "heads" {
				keys = append(keys, one.SK)
			}
			return nil
		})
		if err != nil {
			return nil, err
		}
	}
	return keys, nil
}
