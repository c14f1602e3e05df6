package agents

import (
	"slices"
	"time"
)

func changesTask() task {
	return task{
		name: "what has changed since Monday",
		seed: func(g *generator) scenario {
			monday := g.today.AddDate(0, 0, -int(g.today.Weekday()+6)%7)
			g.words["monday"] = day(monday)
			g.addBoard(publicBoard, 40)
			g.addBoard(teamBoard, 20)
			g.addIdeas(30, 60)
			g.addReviews(130)
			for i := range 8 {
				g.add("brand-goal", record{"name": g.title(), "description": g.prose(2), "status": "active", "priority": i}, 200, g.between(0, 30))
			}
			want := answer{}
			for list, kind := range map[string]string{"items": "item", "ideas": "content-idea", "posts": "post", "reviews": "feedback", "goals": "brand-goal"} {
				ids := []string{}
				for _, line := range g.lines {
					if line.Type != kind {
						continue
					}
					r := record(line.Record)
					if g.chance(8) { // changed recently, but created long ago
						r["updatedAt"] = max(r.text("createdAt"), g.today.Add(-time.Hour).Format("2006-01-02T15:04:05.000Z"))
					}
					if r.text("updatedAt") >= day(monday) {
						ids = append(ids, r.text("id"))
					}
				}
				slices.Sort(ids)
				want[list] = ids
			}
			return scenario{check: onlyAnswer(want)}
		},
		agent:     listChanges("updatedAt", nil),
		wrongRuns: []wrongRun{{mistake: "lists what is new", agent: listChanges("createdAt", nil)}, {mistake: "reads first pages", agent: listChanges("updatedAt", func([]record) bool { return true })}},
	}
}

// listChanges returns an agent that lists the ids of the records whose time in the given property
// is Monday or later.
func listChanges(property string, enough func([]record) bool) agent {
	return func(s *session, words map[string]string) answer {
		idsSinceMonday := func(records []record) []string {
			ids := []string{}
			for _, r := range records {
				if r.text(property) >= words["monday"] {
					ids = append(ids, r.text("id"))
				}
			}
			slices.Sort(ids)
			return ids
		}
		var items []record
		for _, board := range s.list("list_plan_boards", nil, enough, "name") {
			items = append(items, s.list("list_plan_items", arguments{"boardId": board.text("id")}, enough, "title", property)...)
		}
		return answer{
			"items": idsSinceMonday(items), "ideas": idsSinceMonday(s.list("list_broadcast_ideas", nil, enough, "title", property)), "posts": idsSinceMonday(s.list("list_broadcast_posts", nil, enough, "platform", "status", property)),
			"reviews": idsSinceMonday(s.list("list_feedback", nil, enough, "title", property)), "goals": idsSinceMonday(s.list("list_context_goals", nil, enough, "name", property)),
		}
	}
}
