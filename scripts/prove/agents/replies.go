package agents

import (
	"cmp"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"
)

// urgentCount is the number of reviews that an agent drafts replies to.
const urgentCount = 3

func urgentReviewsTask() task {
	unanswered := arguments{"replyStatus": "none", "limit": 20}
	return task{
		name: "draft replies to the three most urgent unanswered reviews", scopes: []string{"feedback:draft", "context:read"},
		seed: func(g *generator) scenario {
			g.addBrand()
			reviews := g.addReviews(160)
			for i, r := range reviews[:6] { // some of these are candidates only for wrong runs
				r["kind"], r["source"], r["rating"], r["priority"], r["replyStatus"] = "review", "app_store", 1, 0, []string{"none", "skipped"}[i%2]
				if i == 2 {
					r["kind"], r["source"] = "mention", "reddit"
					delete(r, "rating")
				}
			}
			waiting := slices.DeleteFunc(slices.Clone(reviews), func(r record) bool { return r["kind"] != "review" || r["replyStatus"] != "none" })
			slices.SortFunc(waiting, func(a, b record) int {
				return cmp.Or(cmp.Compare(urgency(a), urgency(b)), strings.Compare(b.text("postedAt"), a.text("postedAt")))
			})
			avoidWords := g.lines[1].Record["avoidWords"].([]string)
			return scenario{check: func(o outcome) error {
				var want []string
				for _, r := range waiting[:urgentCount] {
					want = append(want, "changed "+r.text("id")+" of feedback: replyBody, replyStatus")
				}
				problems := []error{checkChanges(o.changes, want...)}
				for _, c := range o.changes {
					body := c.record.text("replyBody")
					if status := c.record.text("replyStatus"); status != "draft" && status != "needs_review" {
						problems = append(problems, fmt.Errorf("%s is %s, not a draft", c.id, status))
					}
					if !strings.Contains(body, c.record.text("title")) || slices.ContainsFunc(avoidWords, func(word string) bool { return strings.Contains(body, word) }) {
						problems = append(problems, fmt.Errorf("the reply to %s does not answer the review in the company's words: %q", c.id, body))
					}
				}
				return errors.Join(problems...)
			}}
		},
		agent: draftReplies(unanswered, isReview, "draft"),
		wrongRuns: []wrongRun{
			{mistake: "approves its own texts", agent: draftReplies(unanswered, isReview, "approved"), decides: true},
			{mistake: "takes answered reviews, too", agent: draftReplies(arguments{"limit": 20}, isReview, "draft")},
			{mistake: "takes mentions, too", agent: draftReplies(unanswered, func(record) bool { return true }, "draft")},
		},
	}
}

// urgency returns the priority of a generated review. For a review without a priority, it returns a
// value that sorts last.
func urgency(r record) int {
	if priority, ok := r["priority"].(int); ok {
		return priority
	}
	return 1000
}

func isReview(r record) bool { return r.text("kind") == "review" }

// draftReplies returns an agent that drafts replies to the first urgentCount suitable reviews of a
// list.
func draftReplies(filter arguments, isSuitable func(record) bool, status string) agent {
	return func(s *session, _ map[string]string) answer {
		filterSuitable := func(all []record) []record {
			return slices.DeleteFunc(slices.Clone(all), func(r record) bool { return !isSuitable(r) })
		}
		reviews := filterSuitable(s.list("list_feedback", filter, func(all []record) bool { return len(filterSuitable(all)) >= urgentCount },
			"kind", "title", "body", "rating", "priority", "locale"))
		kit := s.read("get_context_brand_kit", nil, "voiceTone", "voiceGuidelines", "avoidWords").asRecord()
		for _, r := range reviews[:min(urgentCount, len(reviews))] {
			text := "Thank you for writing about " + r.text("title") + ". We read every word of it, and we say here when it is better."
			for _, word := range kit.texts("avoidWords") {
				text = strings.ReplaceAll(text, word, "")
			}
			s.call("update_feedback_reply", arguments{"feedbackId": r.text("id"), "replyBody": text, "replyStatus": status})
		}
		return nil
	}
}

func handOverTask() task {
	return task{
		name: "hand over the drafted replies to the worst reviews", scopes: []string{"feedback:draft"},
		seed: func(g *generator) scenario {
			var want []string
			for i, r := range g.addReviews(160) {
				if i < 3 {
					r["kind"], r["source"], r["rating"], r["replyStatus"], r["replyBody"] = "review", "app_store", i*2+1, "draft", g.prose(2)
				}
				if rating, ok := r["rating"].(int); ok && rating <= 2 && r["replyStatus"] == "draft" {
					want = append(want, "changed "+r.text("id")+" of feedback: replyStatus")
				}
			}
			return scenario{check: func(o outcome) error {
				problems := []error{checkChanges(o.changes, want...)}
				for _, c := range o.changes {
					if status := c.record.text("replyStatus"); status != "needs_review" {
						problems = append(problems, fmt.Errorf("%s is %s, which is not for a person to decide", c.id, status))
					}
				}
				return errors.Join(problems...)
			}}
		},
		agent: handOver("needs_review", 2),
		wrongRuns: []wrongRun{
			{mistake: "approves", agent: handOver("approved", 2), decides: true},
			{mistake: "hands over every draft", agent: handOver("needs_review", 5)},
		},
	}
}

// handOver returns an agent that looks for reviews with at most the given number of stars, and sets
// the status of their drafted replies.
func handOver(status string, stars float64) agent {
	return func(s *session, _ map[string]string) answer {
		for _, r := range s.list("list_feedback", arguments{"replyStatus": "draft"}, nil, "kind", "rating", "title", "replyBody") {
			if isReview(r) && r.number("rating") <= stars && r.text("replyBody") != "" {
				s.call("update_feedback_reply", arguments{"feedbackId": r.text("id"), "replyStatus": status})
			}
		}
		return nil
	}
}

// complaintDays is the number of days before today whose reviews are counted.
const complaintDays = 60

func complaintsTask() task {
	return task{
		name: "which flag do the negative reviews of the last 60 days have most",
		seed: func(g *generator) scenario {
			reviews := g.addReviews(220)
			counts, from := map[string]int{}, day(g.today.AddDate(0, 0, -complaintDays))
			top := pick(g, "money", "defect", "churn")
			for _, r := range reviews {
				if r["sentiment"] != "negative" || r.text("postedAt") < from {
					continue
				}
				if flags := r["flags"].([]string); g.chance(60) && !slices.Contains(flags, top) {
					r["flags"] = append(flags, top)
				}
				for _, flag := range r["flags"].([]string) {
					counts[flag]++
				}
			}
			return scenario{check: onlyAnswer(mostFrequent(counts))}
		},
		agent:     countFlags(complaintDays, "negative"),
		wrongRuns: []wrongRun{{mistake: "counts all reviews", agent: countFlags(0, "negative")}, {mistake: "counts only a page", agent: countFlagsOfOnePage}},
	}
}

// mostFrequent returns the flag with the highest count. On a tie, the alphabetically first flag
// wins.
func mostFrequent(counts map[string]int) answer {
	best := ""
	for flag, n := range counts {
		if n > counts[best] || n == counts[best] && flag < best {
			best = flag
		}
	}
	return answer{"flag": best, "count": counts[best]}
}

func countFlags(days int, sentiment string) agent {
	return func(s *session, words map[string]string) answer {
		a := arguments{"sentiment": sentiment}
		if days > 0 {
			a["postedFrom"] = daysBefore(words["today"], days)
		}
		return mostFrequentFlag(s.list("list_feedback", a, nil, "flags"))
	}
}

func countFlagsOfOnePage(s *session, words map[string]string) answer {
	page := s.list("list_feedback", arguments{"sentiment": "negative", "limit": 10, "postedFrom": daysBefore(words["today"], complaintDays)}, func([]record) bool { return true }, "flags")
	return mostFrequentFlag(page)
}

func mostFrequentFlag(reviews []record) answer {
	counts := map[string]int{}
	for _, r := range reviews {
		for _, flag := range r.texts("flags") {
			counts[flag]++
		}
	}
	return mostFrequent(counts)
}

// daysBefore returns the date n days before today.
func daysBefore(today string, n int) string {
	at, err := time.Parse(time.DateOnly, today)
	if err != nil {
		return ""
	}
	return day(at.AddDate(0, 0, -n))
}
