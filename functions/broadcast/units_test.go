package broadcast_test

import (
	"fmt"
	"testing"

	"growthworkspace/functions/broadcast"
	"growthworkspace/shared/apitest"
	"growthworkspace/shared/meter"
)

// Ensure a list reads what it returns: the read units at 100 N are those at N, for every combination of filters
// (design.md §4). An idea has few posts, so its stay as they are.
func TestReadUnits(t *testing.T) {
	t.Parallel()
	const limit = 2
	few, many := start(t), start(t)
	for s, times := range map[*apitest.Service]int{few: 1, many: 100} {
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
		load(t, s, "post", posts...)
		load(t, s, "content-idea", ideas...)
	}
	platform, status, idea := broadcast.PlatformX, broadcast.PostStatusDraft, "ida_a"
	for _, p := range []*broadcast.Platform{nil, &platform} {
		for _, st := range []*broadcast.PostStatus{nil, &status} {
			for _, i := range []*string{nil, &idea} {
				filter := broadcast.PostFilter{IdeaID: i, Platform: p, Status: st}
				name := fmt.Sprintf("posts platform=%t status=%t ideaId=%t", p != nil, st != nil, i != nil)
				compareUnits(t, name, few, many, func(s *apitest.Service) meter.Total {
					ctx, m := meter.Start(t.Context())
					got, next, err := broadcast.NewStore(s.Table).ListPosts(ctx, s.CompanyID, filter, "", limit)
					if err != nil || len(got) != limit || next == "" {
						t.Errorf("%s: %d posts, next %q, %v", name, len(got), next, err)
					}
					return m.Total()
				})
			}
		}
	}
	plan, accepted := "pln_a", broadcast.IdeaStatus("accepted")
	for _, p := range []*string{nil, &plan} {
		for _, st := range []*broadcast.IdeaStatus{nil, &accepted} {
			name := fmt.Sprintf("ideas planId=%t status=%t", p != nil, st != nil)
			compareUnits(t, name, few, many, func(s *apitest.Service) meter.Total {
				ctx, m := meter.Start(t.Context())
				got, next, err := broadcast.NewStore(s.Table).ListIdeas(ctx, s.CompanyID, broadcast.IdeaFilter{PlanID: p, Status: st}, "", limit)
				if err != nil || len(got) != limit || next == "" {
					t.Errorf("%s: %d ideas, next %q, %v", name, len(got), next, err)
				}
				return m.Total()
			})
		}
	}
}

func compareUnits(t *testing.T, name string, few, many *apitest.Service, list func(*apitest.Service) meter.Total) {
	t.Helper()
	a, b := list(few), list(many)
	t.Logf("%s: %d calls, %.1f units at N; %d calls, %.1f units at 100 N", name, a.Calls, a.ReadUnits, b.Calls, b.ReadUnits)
	if a != b || a.ReadUnits == 0 {
		t.Errorf("%s: %+v at N, %+v at 100 N", name, a, b)
	}
}
