package agents

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"
)

// ideaCount is the number of ideas that become posts.
const ideaCount = 3

func ideasTask() task {
	return task{
		name: "draft posts from the next three accepted ideas that have none", scopes: []string{"broadcast:draft", "context:read"},
		seed: func(g *generator) scenario {
			g.addBrand()
			ideas, posts := g.addIdeas(45, 70)
			var next []record
			for _, idea := range ideas { // ideas are sorted by suggestedFor
				if idea["status"] == "accepted" && !slices.ContainsFunc(posts, func(p record) bool { return p["ideaId"] == idea["id"] }) {
					next = append(next, idea)
				}
			}
			avoidWords := g.lines[1].Record["avoidWords"].([]string)
			return scenario{check: func(o outcome) error {
				var problems []error
				var got, want []string
				for _, idea := range next[:ideaCount] {
					want = append(want, idea.text("id"))
				}
				for _, c := range o.changes {
					post := c.record
					got = append(got, post.text("ideaId"))
					i := slices.IndexFunc(ideas, func(idea record) bool { return idea.text("id") == post.text("ideaId") })
					switch {
					case c.kind != created || c.list != "posts" || i < 0 || post.text("status") != "draft":
						problems = append(problems, fmt.Errorf("%s is not a new draft of an idea", c))
					case !slices.Contains(ideas[i]["platforms"].([]string), post.text("platform")):
						problems = append(problems, fmt.Errorf("%s is on %s, which its idea does not name", c, post.text("platform")))
					case !strings.Contains(post.text("body"), ideas[i].text("title")):
						problems = append(problems, fmt.Errorf("%s is not about its idea", c))
					case slices.ContainsFunc(avoidWords, func(word string) bool { return strings.Contains(post.text("body"), word) }):
						problems = append(problems, fmt.Errorf("%s has words that the company avoids", c))
					}
				}
				slices.Sort(got)
				slices.Sort(want)
				if !slices.Equal(got, want) {
					problems = append(problems, fmt.Errorf("the ideas are %v instead of %v", got, want))
				}
				return errors.Join(problems...)
			}}
		},
		agent: postIdeas("accepted", true, "draft"),
		wrongRuns: []wrongRun{
			{mistake: "takes ideas that nobody accepted", agent: postIdeas("suggested", true, "draft")},
			{mistake: "takes ideas that have posts", agent: postIdeas("accepted", false, "draft")},
			{mistake: "schedules the posts", agent: postIdeas("accepted", true, "scheduled"), decides: true},
		},
	}
}

// postIdeas returns an agent that creates posts from ideas. ideaStatus is the status of the ideas,
// and status is the status of the new posts. If onlyNew is set, the agent skips ideas that already
// have posts.
func postIdeas(ideaStatus string, onlyNew bool, status string) agent {
	return func(s *session, words map[string]string) answer {
		ideas := s.list("list_broadcast_ideas", arguments{"status": ideaStatus}, nil, "title", "summary", "platforms", "suggestedFor")
		slices.SortStableFunc(ideas, func(a, b record) int { return strings.Compare(a.text("suggestedFor"), b.text("suggestedFor")) })
		kit := s.read("get_context_brand_kit", nil, "voiceTone", "voiceGuidelines", "avoidWords").asRecord()
		n := 0
		for _, idea := range ideas {
			if onlyNew && len(s.list("list_broadcast_posts", arguments{"ideaId": idea.text("id"), "limit": 1}, func([]record) bool { return true }, "status")) > 0 {
				continue
			}
			body := idea.text("title") + ". " + idea.text("summary")
			for _, word := range kit.texts("avoidWords") {
				body = strings.ReplaceAll(body, word, "")
			}
			a := arguments{"platform": idea.texts("platforms")[0], "body": body, "ideaId": idea.text("id"), "status": status}
			if status == "scheduled" {
				a["scheduledFor"] = words["today"] + "T15:00:00Z"
			}
			s.call("create_broadcast_post", a)
			if n++; n == ideaCount || s.err != nil {
				break
			}
		}
		return nil
	}
}

func calendarTask() task {
	return task{
		name: "on which days of the next week does nothing go out",
		seed: func(g *generator) scenario {
			g.addIdeas(10, 60)
			monday := g.today.AddDate(0, 0, 8-int(g.today.Weekday()))
			if g.today.Weekday() == time.Sunday {
				monday = g.today.AddDate(0, 0, 1)
			}
			days := g.Perm(7)
			free := []string{}
			for i, n := range days {
				at := monday.AddDate(0, 0, n).Add(time.Duration(g.between(7, 20)) * time.Hour).Format(time.RFC3339)
				switch {
				case i < 4:
					for range g.between(1, 5) {
						g.add("post", record{"platform": pick(g, platforms...), "body": g.prose(4), "hashtags": []string{"fieldnotes"}, "status": "scheduled", "scheduledFor": at}, g.between(1, 9), 0)
					}
				case i == 4: // a draft with a suggested time, so the day is still free
					g.add("post", record{"platform": pick(g, platforms...), "body": g.prose(4), "status": "draft", "scheduledFor": at}, g.between(1, 9), 0)
				}
				if i >= 4 {
					free = append(free, day(monday.AddDate(0, 0, n)))
				}
			}
			for range 12 { // posts scheduled for this week
				at := monday.AddDate(0, 0, -g.between(1, 6)).Add(9 * time.Hour).Format(time.RFC3339)
				g.add("post", record{"platform": pick(g, platforms...), "body": g.prose(4), "status": "scheduled", "scheduledFor": at}, g.between(1, 9), 0)
			}
			slices.Sort(free)
			g.words["monday"] = day(monday)
			return scenario{check: onlyAnswer(answer{"free": free})}
		},
		agent:     freeDays(0, false),
		wrongRuns: []wrongRun{{mistake: "counts drafts", agent: freeDays(0, true)}, {mistake: "looks at this week", agent: freeDays(7, false)}},
	}
}

// freeDays returns an agent that lists the days of a week that have no scheduled posts. daysEarly
// is the number of days by which the week starts too early. If countDrafts is set, the agent also
// counts drafts as scheduled.
func freeDays(daysEarly int, countDrafts bool) agent {
	return func(s *session, words map[string]string) answer {
		monday := daysBefore(words["monday"], daysEarly)
		taken := map[string]bool{}
		for _, post := range s.list("list_broadcast_posts", arguments{"from": monday, "to": daysBefore(monday, -6), "order": "asc"}, nil, "status", "scheduledFor", "platform") {
			if at := post.text("scheduledFor"); at != "" && (countDrafts || post.text("status") != "draft") {
				taken[at[:len(time.DateOnly)]] = true
			}
		}
		free := []string{}
		for n := range 7 {
			if d := daysBefore(monday, -n); !taken[d] {
				free = append(free, d)
			}
		}
		return answer{"free": free}
	}
}
