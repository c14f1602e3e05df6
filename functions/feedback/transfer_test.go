package feedback_test

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"

	"growthworkspace/functions/feedback"
	"growthworkspace/shared/testkit/apitest"
	"growthworkspace/shared/transfer"
)

func transferType(s *apitest.Service) transfer.Type { return feedback.Transfers(s.Table)[0] }

func importLines(t *testing.T, s *apitest.Service, companyID string, lines ...string) {
	t.Helper()
	var records []any
	for _, line := range lines {
		record, problems := transferType(s).Check(json.RawMessage(line))
		if len(problems) > 0 {
			t.Fatalf("record %.200s: problems %q, want none", line, problems)
		}
		records = append(records, record)
	}
	if err := transferType(s).Write(t.Context(), companyID, records); err != nil {
		t.Fatal(err)
	}
}

func exportLines(t *testing.T, s *apitest.Service, companyID string) (lines []string) {
	t.Helper()
	err := transferType(s).Export(t.Context(), companyID, func(record any) error {
		text, err := json.Marshal(record)
		lines = append(lines, string(text))
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return lines
}

// Ensure importing an export into a different company and exporting it again gives the same
// records. Two things may differ: companyId, and a null replyStatus that an older release stored,
// which becomes none.
func TestTransferRoundTrip(t *testing.T) {
	t.Parallel()
	records := mixedRecords()
	s := start(t, records...)
	importLines(t, s, s.CompanyID, `{"id":"fbk_odd","externalId":"-","flags":[],"body":"a\u0001 \u2028 <b> # \"","priority":-0,"rating":5}`)
	first := exportLines(t, s, s.CompanyID)
	other := s.Table.NewID("co")
	importLines(t, s, other, first...)
	second := exportLines(t, s, other)
	for i := range second {
		second[i] = strings.ReplaceAll(second[i], other, s.CompanyID)
	}
	for i := range first {
		first[i] = strings.ReplaceAll(first[i], `"replyStatus":null`, `"replyStatus":"none"`)
	}
	if len(first) != 145 || !slices.Equal(first, second) {
		t.Errorf("got %d %v\nwant %d %v", len(second), second, len(first), first)
	}
}

// Ensure an import replaces a record completely: all of its fields and its position in every list.
// If a file contains an id more than once, the last record with that id must win.
func TestTransferReplaces(t *testing.T) {
	t.Parallel()
	s := start(t)
	importLines(t, s, s.CompanyID,
		`{"id":"fbk_1","externalId":"x","source":"reddit","sentiment":"negative","replyStatus":"draft","title":"old","createdAt":"2026-01-01T01:00:00+01:00"}`)
	importLines(t, s, s.CompanyID,
		`{"id":"fbk_1","externalId":"lost"}`, `{"id":"fbk_2","externalId":"y"}`,
		`{"id":"fbk_1","externalId":"x","source":"app_store","postedAt":"2026-01-01T01:00:00.5+01:00","replyStatus":null}`)
	key := s.IssueKey(t)
	for name, want := range map[string][]string{
		"":                   {"fbk_1", "fbk_2"},
		"source=app_store":   {"fbk_1"},
		"source=reddit":      nil,
		"sentiment=negative": nil,
		"replyStatus=draft":  nil,
	} {
		args := map[string]any{}
		if filter, value, ok := strings.Cut(name, "="); ok {
			args[filter] = value
		}
		if got, _ := listPage(t, s, key, 10, args, ""); !slices.Equal(got, want) {
			t.Errorf("%s: %v, want %v", name, got, want)
		}
	}
	got := s.Call(t, key, "get_feedback", map[string]any{"feedbackId": "fbk_1"}).JSON(t)
	requireEqual(t, "the record", map[string]any{"title": got["title"], "createdAt": got["createdAt"], "postedAt": got["postedAt"], "companyId": got["companyId"]},
		map[string]any{"title": nil, "createdAt": nil, "postedAt": "2026-01-01T00:00:00.500Z", "companyId": s.CompanyID})
}

// Ensure the API can change an imported record.
func TestReplyToImportedRecord(t *testing.T) {
	t.Parallel()
	s := start(t)
	importLines(t, s, s.CompanyID, `{"id":"fbk_1","externalId":"x"}`)
	s.Run(t, []apitest.Scenario{{
		Name: "first reply", Op: "update_feedback_reply", Args: map[string]any{"feedbackId": "fbk_1", "replyBody": "Thanks", "replyStatus": "approved"},
		WantFields: map[string]any{"replyBody": "Thanks", "replyStatus": "approved", "createdAt": nil},
	}})
}

// Ensure the import check reports every problem with a record.
func TestTransferCheck(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		name, record string
		want         []string // a substring of each problem, none if the record is valid
	}{
		{"OK", `{"id":"fbk_a","companyId":"co_other","externalId":"x"}`, nil},
		{"ErrID", `{"id":"fbk_a#b","externalId":"x"}`, []string{"record.id"}},
		{"ErrIDOfAnotherKind", `{"id":"itm_a","externalId":"x"}`, []string{"record.id"}},
		{"OKWithoutID", `{"source":"reddit","externalId":"x"}`, nil},
		{"ErrIDOrSourceRequired", `{"externalId":"x"}`, []string{"record.source: is required in a record without id"}},
		{"ErrExternalIDRequired", `{"id":"fbk_a"}`, []string{"record.externalId: is required"}},
		{"ErrClosedLists", `{"id":"fbk_a","externalId":"x","source":"-","kind":"x","sentiment":"","replyStatus":"sent","flags":["money","fun"]}`,
			[]string{"record.source", "record.kind", "record.sentiment", "record.replyStatus", "record.flags"}},
		{"ErrTypes", `{"id":"fbk_a","externalId":1,"priority":"1","rating":1e999,"postedAt":"yesterday","extra":1}`,
			[]string{"record.externalId", "record.priority", "record.rating", "record.postedAt", "record.extra"}},
		{"LongBody", fmt.Sprintf(`{"id":"fbk_a","externalId":"x","body":%q}`, strings.Repeat("漢", 40_000)), nil},
		{"ErrTooLong", fmt.Sprintf(`{"id":"fbk_a","externalId":"x","body":%q}`, strings.Repeat("x", 40_001)), []string{"record.body: must have at most 40000 characters, has 40001"}},
		{"OKRating", `{"id":"fbk_a","externalId":"x","kind":"review","rating":5}`, nil},
		{"OKLeastRating", `{"id":"fbk_a","externalId":"x","rating":1}`, nil},
		{"ErrRatingAbove", `{"id":"fbk_a","externalId":"x","rating":6}`, []string{"record.rating: must be between 1 and 5"}},
		{"ErrRatingBelow", `{"id":"fbk_a","externalId":"x","rating":0}`, []string{"record.rating: must be"}},
		{"ErrRatingBetween", `{"id":"fbk_a","externalId":"x","rating":4.5}`, []string{"record.rating: must be"}},
		{"ErrRatingOfMention", `{"id":"fbk_a","externalId":"x","kind":"mention","rating":5}`, []string{"record.rating: "}},
		{"ErrExternalURL", `{"id":"fbk_a","externalId":"x","externalUrl":"javascript:alert(1)"}`, []string{"record.externalUrl: must be"}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			_, problems := feedback.Transfers(nil)[0].Check(json.RawMessage(tt.record))
			if len(problems) != len(tt.want) {
				t.Fatalf("%q, want %q", problems, tt.want)
			}
			for _, want := range tt.want {
				if !strings.Contains(strings.Join(problems, "\n"), want) {
					t.Errorf("%q lacks %q", problems, want)
				}
			}
		})
	}
}

// Ensure the largest record that an import accepts can be stored.
func TestTransferLargest(t *testing.T) {
	t.Parallel()
	s := start(t)
	importLines(t, s, s.CompanyID, fmt.Sprintf(`{"id":"fbk_a","externalId":"x","replyStatus":"draft","body":%q}`, strings.Repeat("\U0001f600", 40_000)))
	if lines := exportLines(t, s, s.CompanyID); len(lines) != 1 {
		t.Errorf("%d lines, want 1", len(lines))
	} else if n := len(lines[0]); n < 160_000 {
		t.Errorf("a line of %d bytes, want 160,000 or more", n)
	}
}
