package broadcast_test

import (
	"context"
	"fmt"
	"strings"
	"testing"

	"growthworkspace/functions/broadcast"
	"growthworkspace/shared/table"
	"growthworkspace/shared/testkit/apitest"
)

// Ensure the read units of a list do not grow with the number of records: for every combination of
// filters, the cost must be the same with ten times as many records. The number of posts per idea
// stays the same, because an idea has few posts.
func TestReadUnits(t *testing.T) {
	t.Parallel()
	apitest.SkipIfShort(t)
	const limit = 2
	few, many := start(t), start(t)
	for s, times := range map[*apitest.Service]int{few: 1, many: 10} {
		var posts, ideas []record
		for n := range 27 * times {
			posts = append(posts, record{
				"id": fmt.Sprintf("pst_%05d", n), "platform": []any{"x", "push", nil}[n%3], "status": []any{"draft", "failed", nil}[n/3%3],
				"createdAt": "2026-01-01T00:00:00Z", "body": "A text of some length, as posts have one.",
			})
		}
		for n := range 9 {
			posts = append(posts, record{"id": fmt.Sprintf("pst_idea%d", n), "ideaId": "ida_a", "platform": "x", "status": []any{"draft", "failed", nil}[n%3], "createdAt": "2025-01-01T00:00:00Z"})
		}
		for n := range 24 * times {
			ideas = append(ideas, record{
				"id": fmt.Sprintf("ida_%05d", n), "planId": []any{"pln_a", nil}[n%2], "status": []any{"suggested", "accepted", "rejected", nil}[n/2%4],
				"createdAt": "2026-01-01T00:00:00Z", "title": "A title of some length",
			})
		}
		importRecords(t, s, "post", posts...)
		importRecords(t, s, "content-idea", ideas...)
	}
	platform, status, idea := broadcast.PlatformX, broadcast.PostStatusDraft, "ida_a"
	for _, p := range []*broadcast.Platform{nil, &platform} {
		for _, st := range []*broadcast.PostStatus{nil, &status} {
			for _, i := range []*string{nil, &idea} {
				filter := broadcast.PostFilter{IdeaID: i, Platform: p, Status: st}
				name := fmt.Sprintf("posts platform=%t status=%t ideaId=%t", p != nil, st != nil, i != nil)
				compareUnits(t, name, few, many, func(s *apitest.Service) table.Usage {
					ctx, m := apitest.NewRequest(t)
					got, err := broadcast.NewStore(s.Table).Posts.List(ctx, s.CompanyID, filter, "", limit)
					if err != nil || len(got.Records) != limit || got.Next == "" {
						t.Errorf("%s: %d posts, next %q, %v", name, len(got.Records), got.Next, err)
					}
					return m.Usage()
				})
			}
		}
	}
	plan, accepted := "pln_a", broadcast.IdeaStatus("accepted")
	for _, p := range []*string{nil, &plan} {
		for _, st := range []*broadcast.IdeaStatus{nil, &accepted} {
			name := fmt.Sprintf("ideas planId=%t status=%t", p != nil, st != nil)
			compareUnits(t, name, few, many, func(s *apitest.Service) table.Usage {
				ctx, m := apitest.NewRequest(t)
				got, err := broadcast.NewStore(s.Table).Ideas.List(ctx, s.CompanyID, broadcast.IdeaFilter{PlanID: p, Status: st}, "", limit)
				if err != nil || len(got.Records) != limit || got.Next == "" {
					t.Errorf("%s: %d ideas, next %q, %v", name, len(got.Records), got.Next, err)
				}
				return m.Usage()
			})
		}
	}
}

// Ensure listing the posts in a range of days costs the same however many posts there are on other
// days, so that a calendar of one month reads only that month. This must hold for every combination
// of filters, in either sort order, and on every page.
func TestReadUnitsByDay(t *testing.T) {
	t.Parallel()
	apitest.SkipIfShort(t)
	const limit = 4
	few, many := start(t), start(t)
	for s, outside := range map[*apitest.Service]int{few: 0, many: 200} {
		var posts []record
		add := func(day string, n int) {
			for n := range n {
				posts = append(posts, record{
					"id": fmt.Sprintf("pst_%s%d", strings.ReplaceAll(day, "-", ""), n), "platform": []any{"x", "push"}[n%2], "status": []any{"scheduled", "draft"}[n/2%2],
					"scheduledFor": day + "T12:00:00Z", "ideaId": []any{nil, "ida_a"}[n/4%2], "body": strings.Repeat("A text. ", 100),
				})
			}
		}
		add("2026-02-28", outside)
		add("2026-03-01", 24)
		add("2026-03-02", 24)
		add("2026-03-03", outside)
		importRecords(t, s, "post", posts...)
	}
	platform, status, idea := broadcast.PlatformX, broadcast.PostStatusScheduled, "ida_a"
	for _, f := range []broadcast.PostFilter{
		{}, {Platform: &platform}, {Status: &status}, {Platform: &platform, Status: &status}, {IdeaID: &idea}, {IdeaID: &idea, Status: &status},
	} {
		for _, order := range []broadcast.PostOrder{"desc", "asc"} {
			f.From, f.Until, f.Order = new("2026-03-01T00:00:00.000Z"), new("2026-03-02T23:59:59.999Z"), order
			name := fmt.Sprintf("platform=%t status=%t ideaId=%t %s", f.Platform != nil, f.Status != nil, f.IdeaID != nil, order)
			for page, after := 1, ""; page == 1 || after != ""; page++ {
				compareUnits(t, fmt.Sprintf("%s, page %d", name, page), few, many, func(s *apitest.Service) table.Usage {
					ctx, m := apitest.NewRequest(t)
					got, err := broadcast.NewStore(s.Table).Posts.List(ctx, s.CompanyID, f, after, limit)
					if err != nil {
						t.Error(err)
					}
					if s == many {
						after = got.Next
					}
					return m.Usage()
				})
			}
		}
	}
}

func compareUnits(t *testing.T, name string, few, many *apitest.Service, list func(*apitest.Service) table.Usage) {
	t.Helper()
	a, b := list(few), list(many)
	t.Logf("%s: %d calls, %.1f units at N; %d calls, %.1f units at 10 N", name, a.Calls, a.Read, b.Calls, b.Read)
	if a != b || a.Read == 0 {
		t.Errorf("%s: %+v at N, %+v at 10 N", name, a, b)
	}
}

// Ensure a list of records of typical size costs at most 30 read units at its default limit,
// whatever the filter values of the records are. A list may be merged from several partitions. If
// all records of a page come from one of them, the list needs a second round trip, but no
// additional units.
func TestDefaultListUnits(t *testing.T) {
	t.Parallel()
	apitest.SkipIfShort(t)
	const limit, most = 50, 30
	text := strings.Repeat("A sentence of some forty characters here", 7)
	for name, alike := range map[string]bool{"evenly": false, "all alike": true} {
		s := start(t)
		var posts, ideas []record
		platforms, states := broadcast.Platform("").Values(), broadcast.PostStatus("").Values()
		for n := range map[bool]int{false: 2100, true: 150}[alike] { // 2100: 50 for each combination of platform and status
			p := record{
				"id": fmt.Sprintf("pst_%022d", n), "platform": "x", "status": "published", "createdAt": fmt.Sprintf("2026-01-01T00:%02d:%02dZ", n/60%60, n%60), "updatedAt": "2026-01-01T00:00:00Z",
				"title": "A title", "body": text, "hashtags": []string{"launch", "tips"}, "publishedAt": "2026-01-01T00:00:00Z", "externalUrl": "https://x.example/1234567890", "externalId": "1234567890",
			}
			i := record{
				"id": fmt.Sprintf("ida_%022d", n), "planId": "pln_a", "status": "accepted", "createdAt": p["createdAt"], "updatedAt": p["updatedAt"],
				"title": "A title of some length", "summary": text[:160], "rationale": text[:80], "platforms": []string{"x"}, "sourceKind": "manual",
			}
			if !alike {
				p["platform"], p["status"], i["status"] = valueOrNull(platforms, n%7), valueOrNull(states, n/7%6), []any{"suggested", "accepted", "rejected", nil}[n%4]
			}
			if posts = append(posts, p); n < 240 {
				ideas = append(ideas, i)
			}
		}
		storeUnchecked(t, s, "post", posts...) // unchecked, because some are scheduled but have no time
		importRecords(t, s, "content-idea", ideas...)
		check := func(what string, list func(context.Context, broadcast.Store) (int, error)) {
			ctx, m := apitest.NewRequest(t)
			n, err := list(ctx, broadcast.NewStore(s.Table))
			if err != nil || n != limit {
				t.Errorf("%s, %s: %d records, %v", what, name, n, err)
			}
			t.Logf("%s, %s: %d calls, %.1f units", what, name, m.Usage().Calls, m.Usage().Read)
			if m.Usage().Read > most {
				t.Errorf("%s, %s: %.1f units, want at most %d", what, name, m.Usage().Read, most)
			}
		}
		for what, f := range map[string]broadcast.PostFilter{
			"posts": {}, "posts of a platform": {Platform: new(broadcast.PlatformX)}, "posts with a status": {Status: new(broadcast.PostStatusPublished)},
			"posts of a day": {From: new("2026-01-01T00:00:00.000Z"), Until: new("2026-01-01T23:59:59.999Z"), Order: broadcast.OrderAscending},
			"posts of a day with a status": {
				Status: new(broadcast.PostStatusPublished), From: new("2026-01-01T00:00:00.000Z"), Until: new("2026-01-01T23:59:59.999Z"), Order: broadcast.OrderAscending,
			},
			"posts of a platform with a status": {Platform: new(broadcast.PlatformX), Status: new(broadcast.PostStatusPublished)},
		} {
			check(what, func(ctx context.Context, store broadcast.Store) (int, error) {
				page, err := store.Posts.List(ctx, s.CompanyID, f, "", limit)
				return len(page.Records), err
			})
		}
		for what, f := range map[string]broadcast.IdeaFilter{
			"ideas": {}, "ideas of a plan": {PlanID: new("pln_a")}, "ideas with a status": {Status: new(broadcast.IdeaStatus("accepted"))},
		} {
			check(what, func(ctx context.Context, store broadcast.Store) (int, error) {
				page, err := store.Ideas.List(ctx, s.CompanyID, f, "", limit)
				return len(page.Records), err
			})
		}
	}
}
