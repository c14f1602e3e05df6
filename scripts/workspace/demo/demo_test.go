package demo_test

import (
	"encoding/json"
	"strings"
	"testing"
	"time"

	"growthworkspace/functions"
	"growthworkspace/scripts/workspace/demo"
	"growthworkspace/shared/timestamp"
	"growthworkspace/shared/transfer"
)

var now = time.Date(2026, 8, 11, 9, 30, 0, 0, time.UTC)

// Ensure the metrics look alive on every day of a week: the last daily point is today's, no day is
// missing before it, weekends are quieter, weeks start on Mondays, and the months go on until the
// daily points begin.
func TestPointsOfAnyDay(t *testing.T) {
	t.Parallel()
	for n := range 40 {
		now := now.AddDate(0, 0, n)
		days, values, lastMonth := []time.Time{}, map[bool]float64{}, time.Time{}
		for _, line := range demo.Lines(now) {
			if line.Type == "company" && line.Record["id"] != demo.CompanyID {
				t.Errorf("company %v, want CompanyID", line.Record["id"])
			}
			if line.Type != "metric-point" {
				continue
			}
			at, _ := timestamp.Parse(line.Record["ts"].(string))
			isSignUpsByDay := line.Record["metricKey"] == "growth.signups" && line.Record["dims"] != nil
			switch grain := line.Record["grain"]; {
			case grain == "week" && at.Weekday() != time.Monday, grain == "month" && at.Day() != 1:
				t.Errorf("%s: a %s starts on %s", now, grain, at)
			case grain == "month" && line.Record["metricKey"] == "growth.signups":
				lastMonth = at
			case isSignUpsByDay && line.Record["dims"].(demo.Record)["country"] == "us":
				days = append(days, at)
				values[at.Weekday() == time.Saturday || at.Weekday() == time.Sunday] += line.Record["value"].(float64)
			}
		}
		first, last := days[0], days[len(days)-1]
		if last != now.Truncate(24*time.Hour) || len(days) < 119 || int(last.Sub(first).Hours())/24 != len(days)-1 {
			t.Errorf("%s: %d days from %s to %s", now, len(days), first, last)
		}
		if !lastMonth.Before(first) || lastMonth.AddDate(0, 1, 0).Before(first) {
			t.Errorf("%s: the last month is %s, the first day %s", now, lastMonth, first)
		}
		if perDay := values[true] / 2; perDay > values[false]/5*0.8 {
			t.Errorf("%s: a day of a weekend has %v, another day %v", now, perDay, values[false]/5)
		}
	}
}

// Ensure the records are valid no matter when they are created. Every record passes the checks of
// an import and has a unique id. No past event has a time in the future.
func TestRecords(t *testing.T) {
	t.Parallel()
	kinds := map[string]transfer.Type{}
	for _, kind := range functions.Transfers(nil) {
		kinds[kind.Name] = kind
	}
	for _, now := range []time.Time{now, now.Add(-9*time.Hour - 29*time.Minute), time.Date(2028, 2, 29, 23, 59, 59, 0, time.UTC), time.Date(2027, 1, 1, 0, 0, 0, 0, time.UTC)} {
		count, ids := map[string]int{}, map[any]bool{}
		for _, line := range demo.Lines(now) {
			count[line.Type]++
			if id := line.Record["id"]; id != nil {
				if ids[id] {
					t.Errorf("%v appears twice", id)
				}
				ids[id] = true
			}
			text, err := json.Marshal(line.Record)
			if err != nil {
				t.Fatal(err)
			}
			if _, problems := kinds[line.Type].Check(text); len(problems) > 0 {
				t.Errorf("%s: %s: correct scripts/workspace/demo/demo.jsonl", strings.Join(problems, "; "), text)
			}
			for _, field := range []string{"createdAt", "updatedAt", "publishedAt", "postedAt", "fetchedAt", "startedAt", "finishedAt", "ts", "ingestedAt", "lastCheckedAt", "lastEventAt"} {
				if at, ok := line.Record[field].(string); ok && at > timestamp.Format(now) {
					if field != "startedAt" || line.Type != "content-plan" {
						t.Errorf("%s %v: %s is in the future", line.Type, line.Record["id"], field)
					}
				}
			}
			if created, updated := line.Record["createdAt"], line.Record["updatedAt"]; created != nil && created.(string) > updated.(string) {
				t.Errorf("%s: updated before it was created", line.Type)
			}
		}
		for kind, least := range map[string]int{
			"company": 1, "board": 2, "item": 14, "feedback": 60, "metric-definition": 12, "metric-point": 1500, "site": 2, "site-goal": 6, "audit": 4,
			"content-plan": 3, "content-idea": 12, "post": 25, "channel": 5, "brand-kit": 1, "content-type": 5, "brand-goal": 4,
		} {
			if count[kind] < least {
				t.Errorf("%d records of type %s instead of at least %d", count[kind], kind, least)
			}
		}
	}
}

// Ensure each enum value that the test lists occurs in at least one record.
func TestRecordsVary(t *testing.T) {
	t.Parallel()
	seen := map[string]bool{}
	for _, line := range demo.Lines(now) {
		for field, value := range line.Record {
			if s, ok := value.(string); ok {
				seen[line.Type+" "+field+" "+s] = true
			}
		}
	}
	for kind, values := range map[string]string{
		"feedback source": "app_store google_play reddit", "feedback sentiment": "positive neutral negative", "feedback kind": "review mention",
		"feedback replyStatus": "none draft needs_review approved posting posted failed skipped", "item status": "draft in_review published archived",
		"post platform": "x instagram tiktok facebook reddit push", "post status": "draft scheduled published failed", "audit status": "running complete failed",
		"content-idea status": "suggested accepted rejected", "channel status": "connected expiring error disconnected", "metric-point grain": "day week month",
		"metric-definition kind": "measured derived split", "brand-goal status": "active achieved missed",
	} {
		for value := range strings.FieldsSeq(values) {
			if !seen[kind+" "+value] {
				t.Errorf("no %s is %s", kind, value)
			}
		}
	}
}
