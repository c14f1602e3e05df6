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

func encodeLines(t *testing.T, now time.Time) string {
	t.Helper()
	text, err := json.Marshal(demo.Lines(now))
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

// Ensure Lines returns the same records for the same time, and the same ids for any time.
func TestDeterministic(t *testing.T) {
	t.Parallel()
	first, second := encodeLines(t, now), encodeLines(t, now)
	if first != second {
		t.Error("two companies created for the same time differ")
	}
	later := demo.Lines(now.AddDate(0, 0, 40))
	for n, line := range demo.Lines(now) {
		if line.Type != "metric-point" && line.Record["id"] != later[n].Record["id"] {
			t.Fatalf("%s: the id depends on the time", line.Type)
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
				t.Errorf("%s: %s: add records of the type %s to scripts/workspace/demo, as brand.go adds brand goals", strings.Join(problems, "; "), text, line.Type)
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
