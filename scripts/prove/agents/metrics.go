package agents

import (
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"
)

func signupsTask() task {
	return task{
		name: "sign-ups of this month against the same days of the last one",
		seed: func(g *generator) scenario {
			g.addOtherMetrics()
			g.words["metric"] = "Sign-ups"
			factor := 0.6 + g.Float64()
			points := g.addSignups(150, func(_ string, n int) float64 {
				if g.today.AddDate(0, 0, -n).Month() == g.today.Month() {
					return factor
				}
				return 1
			})
			return scenario{check: onlyAnswer(sumMonths(points, g.today, g.today.Day()-1))}
		},
		agent:     compareMonths(true, false),
		wrongRuns: []wrongRun{{mistake: "takes the whole last month", agent: compareMonths(true, true)}, {mistake: "counts one country", agent: compareMonths(false, false)}},
	}
}

// sumMonths returns two sums: that of the points of this month up to yesterday, and that of the
// points of last month. From last month, it includes only the first lastDays days.
func sumMonths(points []record, today time.Time, lastDays int) answer {
	this, last := 0.0, 0.0
	lastMonth := today.AddDate(0, 0, 1-today.Day()).AddDate(0, -1, 0)
	for _, p := range points {
		at, err := time.Parse(time.DateOnly, p.text("ts")[:len(time.DateOnly)])
		switch {
		case err != nil || !at.Before(today):
		case at.Month() == today.Month():
			this += p.number("value")
		case at.Month() == lastMonth.Month() && at.Day() <= lastDays:
			last += p.number("value")
		}
	}
	return answer{"this": this, "last": last}
}

// metricNamed returns the definition of the metric with the given display name.
func metricNamed(s *session, name string) record {
	for _, d := range s.list("list_metric_definitions", nil, nil, "key", "name", "aggregation", "dimensions") {
		if d.text("name") == name {
			return d
		}
	}
	return nil
}

// compareMonths returns an agent that compares this month with last month. If total is set, the
// agent reads the sum of all series. If wholeMonth is set, it makes the mistake of summing all days
// of last month.
func compareMonths(total, wholeMonth bool) agent {
	return func(s *session, words map[string]string) answer {
		today, err := time.Parse(time.DateOnly, words["today"])
		if err != nil {
			s.err = err
			return nil
		}
		a := arguments{
			"metricKey": metricNamed(s, words["metric"]).text("key"), "from": day(today.AddDate(0, 0, 1-today.Day()).AddDate(0, -1, 0)), "to": daysBefore(words["today"], 1),
		}
		if total {
			a["total"] = true
		}
		points := s.list("list_metric_points", a, nil)
		if !total && len(points) > 0 {
			points = slices.DeleteFunc(points, func(p record) bool { return p.text("seriesId") != points[0].text("seriesId") })
		}
		days := today.Day() - 1
		if wholeMonth {
			days = 31
		}
		return sumMonths(points, today, days)
	}
}

// trendDays is the length of each of the two periods that are compared.
const trendDays = 90

func countryTask() task {
	return task{
		name: "which country brought the growth of sign-ups of the last 90 days",
		seed: func(g *generator) scenario {
			g.addOtherMetrics()
			g.words["metric"] = "Sign-ups"
			best := pick(g, countries...)
			points := g.addSignups(2*trendDays+30, func(country string, n int) float64 {
				if country == best && n <= trendDays {
					return 2.5
				}
				return 1
			})
			return scenario{check: onlyAnswer(fastestGrowingCountry(points, g.today, 2*trendDays))}
		},
		agent: findGrowth(2*trendDays, nil),
		wrongRuns: []wrongRun{
			{mistake: "reads only the first page", agent: findGrowth(2*trendDays, func([]record) bool { return true })},
			{mistake: "compares shorter periods", agent: findGrowth(trendDays, nil)},
		},
	}
}

// fastestGrowingCountry divides the given number of days before today into two halves. It returns
// the country whose sign-ups grew most from the first half to the second, and the increase.
func fastestGrowingCountry(points []record, today time.Time, days int) answer {
	from, half := day(today.AddDate(0, 0, -days)), day(today.AddDate(0, 0, -days/2))
	growth := map[string]float64{}
	for _, p := range points {
		at, country := p.text("ts"), ""
		switch dims := p["dims"].(type) {
		case map[string]any:
			country = record(dims).text("country")
		case record:
			country = dims.text("country")
		}
		switch {
		case at < from:
		case at < half:
			growth[country] -= p.number("value")
		default:
			growth[country] += p.number("value")
		}
	}
	best := ""
	for _, country := range slices.Sorted(maps.Keys(growth)) {
		if best == "" || growth[country] > growth[best] {
			best = country
		}
	}
	return answer{"country": best, "growth": growth[best]}
}

func findGrowth(days int, enough func([]record) bool) agent {
	return func(s *session, words map[string]string) answer {
		today, err := time.Parse(time.DateOnly, words["today"])
		if err != nil {
			s.err = err
			return nil
		}
		points := s.list("list_metric_points", arguments{
			"metricKey": metricNamed(s, words["metric"]).text("key"), "from": daysBefore(words["today"], days), "to": daysBefore(words["today"], 1),
		}, enough)
		return fastestGrowingCountry(points, today, days)
	}
}

// correctKey is the key under which a program should have pushed its points. It used a wrong key
// instead.
const correctKey = "growth.signups"

func wrongNameTask() task {
	return task{
		name: "put right the sign-ups that were pushed under a wrong name",
		seed: func(g *generator) scenario {
			g.addOtherMetrics()
			gap := g.between(5, 12)
			points := g.addSignups(60, func(string, int) float64 { return 1 })
			wrong := "custom.growth." + pick(g, "sign_ups", "signup", "sign_up")
			for _, name := range []string{"custom.widget_pins", "custom.trail_exports", wrong} {
				g.add("metric-definition", record{"key": name, "kind": "measured", "source": "push", "needsReview": true}, gap, gap)
			}
			g.addPoints("custom.widget_pins", nil, gap, 1, func(int) float64 { return float64(g.IntN(90)) })
			g.addPoints("custom.trail_exports", nil, gap, 1, func(int) float64 { return float64(g.IntN(9)) })
			first := day(g.today.AddDate(0, 0, -gap))
			var moved []string
			for _, p := range points {
				if p.text("ts") >= first {
					p["metricKey"] = wrong
					moved = append(moved, pointContent(p))
				}
			}
			slices.Sort(moved)
			return scenario{check: func(o outcome) error {
				var problems []error
				var gotPoints []string
				deletedCount := 0
				for _, c := range o.changes {
					switch {
					case c.kind == created && c.list == pointsOfMetric(correctKey):
						gotPoints = append(gotPoints, pointContent(c.record))
					case c.kind == deleted && c.list == pointsOfMetric(wrong):
						deletedCount++
					case c.kind == deleted && c.list == "definitions" && c.record.text("key") == wrong:
					default:
						problems = append(problems, fmt.Errorf("%s", c))
					}
				}
				slices.Sort(gotPoints)
				if !slices.Equal(gotPoints, moved) {
					problems = append(problems, fmt.Errorf("%s has %d new points instead of %d, or others", correctKey, len(gotPoints), len(moved)))
				}
				if deletedCount != len(moved) || len(o.after[pointsOfMetric(wrong)]) > 0 {
					problems = append(problems, fmt.Errorf("%s still has points", wrong))
				}
				if slices.ContainsFunc(slices.Collect(maps.Values(o.after["definitions"])), func(d record) bool { return d.text("key") == wrong }) {
					problems = append(problems, fmt.Errorf("%s is still defined", wrong))
				}
				return errors.Join(problems...)
			}}
		},
		agent: repairName(repairSteps{push: true, dims: true, remove: true}),
		wrongRuns: []wrongRun{
			{mistake: "deletes without pushing again", agent: repairName(repairSteps{remove: true})},
			{mistake: "pushes without the dimensions", agent: repairName(repairSteps{push: true, remove: true})},
			{mistake: "leaves the wrong name", agent: repairName(repairSteps{push: true, dims: true})},
		},
	}
}

// pointContent returns a string with the values of a point that must not change when the point
// moves to a different metric.
func pointContent(p record) string {
	return fmt.Sprint(p.text("ts")[:len(time.DateOnly)], p["dims"], p["value"])
}

// repairSteps selects the steps with which an agent moves the points.
type repairSteps struct{ push, dims, remove bool }

// pushMax is the maximum number of points that an agent pushes in one call.
const pushMax = 100

func repairName(steps repairSteps) agent {
	normaliseKey := func(key string) string {
		return strings.TrimSuffix(strings.ReplaceAll(strings.TrimPrefix(key, "custom."), "_", ""), "s")
	}
	return func(s *session, _ map[string]string) answer {
		definitions := s.list("list_metric_definitions", nil, nil, "key", "needsReview", "name")
		var wrong, right record
		for _, d := range definitions {
			for _, other := range definitions {
				if d["needsReview"] == true && other["needsReview"] != true && normaliseKey(d.text("key")) == normaliseKey(other.text("key")) {
					wrong, right = d, other
				}
			}
		}
		points := s.list("list_metric_points", arguments{"metricKey": wrong.text("key")}, nil)
		if len(points) == 0 {
			return nil
		}
		first, last := points[0].text("ts"), points[0].text("ts")
		var push []record
		for _, p := range points {
			first, last = min(first, p.text("ts")), max(last, p.text("ts"))
			point := record{"metricKey": right.text("key"), "grain": "day", "ts": p.text("ts"), "value": p["value"]}
			if len(point.text("ts")) == len(time.DateOnly) {
				point["ts"] = point.text("ts") + "T00:00:00Z"
			}
			if steps.dims {
				point["dims"] = p["dims"]
			}
			push = append(push, point)
		}
		for chunk := range slices.Chunk(push, pushMax) {
			if steps.push {
				s.call("push_metric_points", arguments{"points": chunk})
			}
		}
		if steps.remove {
			s.call("delete_metric_points", arguments{"metricKey": wrong.text("key"), "from": first[:len(time.DateOnly)], "to": last[:len(time.DateOnly)]})
			s.call("delete_metric_definition", arguments{"definitionId": wrong.text("id")})
		}
		return nil
	}
}

// goalDays is the number of days whose mean value is compared with a goal.
const goalDays = 28

func goalsTask() task {
	return task{
		name: "which brand goals are off track",
		seed: func(g *generator) scenario {
			g.addOtherMetrics()
			offTrack := []string{}
			for i, m := range []struct{ key, name string }{
				{"store.rating", "Store rating"}, {"product.sync_time", "Sync time"}, {"revenue.mrr", "Recurring revenue"}, {"support.first_reply", "First reply"},
				{"product.weekly_active", "Active people of a week"}, {"product.crashes", "Crashes"}, {"growth.referrals", "Referrals"},
			} {
				baseline := float64(g.between(500, 5000))
				target := baseline * 1.6
				if i%2 == 1 { // a lower value is better
					target = baseline * 0.4
				}
				age, left := g.between(40, 120), g.between(40, 120)
				elapsedShare, late := float64(age)/float64(age+left), i == 0 || i == 1 || i > 3 && g.chance(50)
				progress := elapsedShare + 0.2
				if late {
					progress = elapsedShare - 0.2
				}
				g.addMetric(m.key, m.name, record{"aggregation": "avg", "polarity": "neutral"})
				g.addPoints(m.key, nil, 60, 1, func(int) float64 {
					return float64(int(baseline + (target-baseline)*(progress+0.04*(g.Float64()-0.5))))
				})
				status := "active"
				if i == 6 {
					status = "archived"
				}
				goal := g.add("brand-goal", record{
					"name": "Goal for " + m.name, "description": g.prose(2), "metricKey": m.key, "baselineValue": baseline, "targetValue": target,
					"dueAt": g.today.AddDate(0, 0, left).Format(time.RFC3339), "status": status, "priority": i + 1,
				}, age, g.IntN(age))
				if late && status == "active" {
					offTrack = append(offTrack, goal.text("name"))
				}
			}
			slices.Sort(offTrack)
			return scenario{check: onlyAnswer(answer{"offTrack": offTrack})}
		},
		agent: findLateGoals(isBehind),
		wrongRuns: []wrongRun{
			{mistake: "calls every goal below its target late", agent: findLateGoals(func(value, _, target, up, _ float64) bool { return up*(value-target) < 0 })},
			{mistake: "takes more for better", agent: findLateGoals(func(value, baseline, target, _, share float64) bool { return value < baseline+(target-baseline)*share })},
		},
	}
}

// isBehind reports whether a value is behind the straight line from the baseline to the target,
// when the given share of the goal's time has passed. direction is 1 if the target is above the
// baseline, and -1 otherwise.
func isBehind(value, baseline, target, direction, share float64) bool {
	return direction*(value-(baseline+(target-baseline)*share)) < 0
}

func findLateGoals(isLate func(value, baseline, target, up, share float64) bool) agent {
	return func(s *session, words map[string]string) answer {
		offTrack := []string{}
		today, err := time.Parse(time.DateOnly, words["today"])
		if err != nil {
			s.err = err
			return nil
		}
		for _, goal := range s.list("list_context_goals", nil, nil, "name", "metricKey", "baselineValue", "targetValue", "dueAt", "status", "createdAt") {
			if goal.text("status") != "active" {
				continue
			}
			sum, n := 0.0, 0.0
			for _, p := range s.list("list_metric_points", arguments{"metricKey": goal.text("metricKey"), "from": daysBefore(words["today"], goalDays), "to": daysBefore(words["today"], 1)}, nil) {
				sum, n = sum+p.number("value"), n+1
			}
			start, errStart := time.Parse(time.RFC3339, goal.text("createdAt"))
			end, errEnd := time.Parse(time.RFC3339, goal.text("dueAt"))
			if s.err = errors.Join(s.err, errStart, errEnd); s.err != nil {
				return nil
			}
			baseline, target, up := goal.number("baselineValue"), goal.number("targetValue"), 1.0
			if target < baseline {
				up = -1
			}
			if isLate(sum/n, baseline, target, up, float64(today.Sub(start))/float64(end.Sub(start))) {
				offTrack = append(offTrack, goal.text("name"))
			}
		}
		slices.Sort(offTrack)
		return answer{"offTrack": offTrack}
	}
}
