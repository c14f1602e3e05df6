package feedback_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"testing"

	"growthworkspace/shared/testkit/apitest"
	"growthworkspace/shared/transfer"
)

// merge merges records and returns the outcome for each of them.
func merge(t *testing.T, s *apitest.Service, records ...string) (outcomes []string, refused transfer.RefusedRecords) {
	t.Helper()
	kind := transferType(s)
	var checked []any
	for _, text := range records {
		r, problems := kind.Check(json.RawMessage(text))
		if len(problems) > 0 {
			t.Fatalf("%s: %q", text, problems)
		}
		checked = append(checked, r)
	}
	merged, err := kind.Merge(t.Context(), s.CompanyID, checked)
	if err != nil && !errors.As(err, &refused) {
		t.Fatal(err)
	}
	for _, m := range merged {
		outcome := string(m.Outcome)
		if m.NotMergedText != "" {
			outcome += ", kept"
		}
		outcomes = append(outcomes, outcome)
	}
	return outcomes, refused
}

// Ensure a merge creates a record that is not stored yet. It must change only those fields of a
// stored record that the new version contains. It must write nothing if nothing changes, and skip a
// version that is at least a second older than the stored one.
func TestMerge(t *testing.T) {
	t.Parallel()
	s := start(t)
	key := s.IssueKey(t)
	const first = `{"source":"google_play","externalId":"1","rating":2,"body":"Slow","authorName":"A","postedAt":"2026-08-02T10:00:00.5Z"}`
	for _, step := range []struct{ record, want string }{
		{first, "created"},
		{first, "unchanged"},
		{`{"source":"google_play","externalId":"1","rating":5,"postedAt":"2026-08-01T10:00:00Z"}`, "older"},
		{`{"source":"google_play","externalId":"1","rating":4,"body":"Fast","postedAt":"2026-08-02T10:00:00Z"}`, "updated"},
		{`{"source":"google_play","externalId":"1","rating":5}`, "updated"},
	} {
		if got, _ := merge(t, s, step.record); got[0] != step.want {
			t.Errorf("%s: %s, want %s", step.record, got[0], step.want)
		}
	}
	requireEqual(t, "a push of the same review", mustPush(t, s, key, `{"source":"google_play","externalId":"1","title":"t"}`), pushCounts{1, 0, 1})
	r := listRecords(t, s)[0]
	requireEqual(t, "the record", []any{r["rating"], r["body"], r["authorName"], r["title"], r["kind"], r["replyStatus"]}, []any{5.0, "Fast", "A", "t", "review", "none"})
}

// Ensure a reply that the app store shows is stored with the status posted. It must not replace the
// company's own reply if that reply has a different status.
func TestMergeKeepsReplies(t *testing.T) {
	t.Parallel()
	s := start(t)
	for _, c := range []struct{ status, want, body string }{
		{"none", "updated", "Store"},
		{"posted", "updated", "Store"},
		{"draft", "unchanged, kept", "Own"},
		{"needs_review", "unchanged, kept", "Own"},
		{"approved", "unchanged, kept", "Own"},
		{"posting", "unchanged, kept", "Own"},
		{"failed", "unchanged, kept", "Own"},
		{"skipped", "unchanged, kept", "Own"},
	} {
		id := "fbk_" + strings.ReplaceAll(c.status, "_", "")
		importLines(t, s, s.CompanyID, fmt.Sprintf(`{"id":%q,"source":"google_play","externalId":%q,"replyBody":"Own","replyStatus":%q}`, id, c.status, c.status))
		record := fmt.Sprintf(`{"source":"google_play","externalId":%q,"replyBody":"Store","replyStatus":"posted"}`, c.status)
		if got, _ := merge(t, s, record); got[0] != c.want {
			t.Errorf("%s: %s, want %s", c.status, got[0], c.want)
		}
		got := s.Send(t, s.IssueKey(t), "GET", pushPath+"/"+id, "").JSON(t)
		status := c.status
		if c.body == "Store" {
			status = "posted"
		}
		requireEqual(t, c.status, []any{got["replyBody"], got["replyStatus"]}, []any{c.body, status})
	}
	if got, _ := merge(t, s, `{"source":"google_play","externalId":"new","replyBody":"Draft","replyStatus":"draft"}`, `{"source":"google_play","externalId":"posted"}`); got[0] != "created, kept" || got[1] != "unchanged" {
		t.Errorf("a draft and no reply: %v", got)
	}
	for _, r := range listRecords(t, s) {
		if r["externalId"] == "new" && (r["replyBody"] != nil || r["replyStatus"] != "none") {
			t.Errorf("a reply that no store shows: %v", r)
		}
	}
}

// Ensure a merge refuses only the records that would be invalid once merged with the stored ones.
// If several records have the same identity, the last one must be merged.
func TestMergeRefuses(t *testing.T) {
	t.Parallel()
	s := start(t)
	importLines(t, s, s.CompanyID, `{"id":"fbk_m","source":"reddit","externalId":"m","kind":"mention"}`, `{"id":"fbk_old","source":"reddit","externalId":"moved"}`)
	got, refused := merge(t, s, `{"source":"reddit","externalId":"m","kind":"review","title":"x"}`, `{"id":"fbk_none","externalId":"none"}`,
		`{"source":"reddit","externalId":"n","title":"1"}`, `{"source":"reddit","externalId":"n","title":"2"}`, `{"source":"reddit","externalId":"moved","title":"3"}`)
	if len(refused) != 2 || !strings.Contains(refused[0], "record.kind: must be mention") || !strings.Contains(refused[1], "record.source: is required") {
		t.Errorf("refused %v", refused)
	}
	requireEqual(t, "outcomes", got[2:], []string{"unchanged", "created", "updated"})
	titles := map[any]any{}
	for _, r := range listRecords(t, s) {
		titles[r["externalId"]] = r["title"]
	}
	requireEqual(t, "titles", titles, map[any]any{"m": nil, "n": "2", "moved": "3"})
	_, refused = merge(t, s, `{"source":"reddit","externalId":"m","rating":1}`)
	if len(refused) != 1 || !strings.Contains(refused[0], "record.rating: must be left out") {
		t.Errorf("a rating for a stored mention: refused %v", refused)
	}
}

// Ensure concurrent merges and pushes of the same new reviews create each review once.
func TestMergeConcurrently(t *testing.T) {
	t.Parallel()
	s := start(t)
	key := s.IssueKey(t)
	var records []string
	for n := range 40 {
		records = append(records, fmt.Sprintf(`{"source":"app_store","externalId":"%d","rating":%d}`, n, 1+n%5))
	}
	created := make(chan int, 4)
	for n := range 4 {
		go func() {
			count := 0
			if n == 0 {
				count = mustPush(t, s, key, records...).Created
			} else {
				outcomes, _ := merge(t, s, records...)
				count = strings.Count(strings.Join(outcomes, " "), "created")
			}
			created <- count
		}()
	}
	total := 0
	for range 4 {
		total += <-created
	}
	if total != 40 || len(listRecords(t, s)) != 40 {
		t.Errorf("%d created, %d records, want 40", total, len(listRecords(t, s)))
	}
}
