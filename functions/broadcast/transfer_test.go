package broadcast_test

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"

	"growthworkspace/shared/testkit/apitest"
)

// exportLines returns the lines of an export, with the company's id replaced with co_any.
func exportLines(t *testing.T, s *apitest.Service, name string) (lines []string) {
	t.Helper()
	err := transferType(t, s, name).Export(t.Context(), s.CompanyID, func(r any) error {
		text, err := json.Marshal(r)
		lines = append(lines, strings.Replace(string(text), s.CompanyID, "co_any", 1))
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return lines
}

// Ensure importing an export into a different company and exporting it again gives the same
// records, whether their fields are set, null or empty.
func TestRoundTrip(t *testing.T) {
	t.Parallel()
	const at, normalised = "2026-08-01T10:00:00+02:00", "2026-08-01T08:00:00.000Z"
	full := map[string]record{
		"content-plan": {
			"id": "pln_1", "companyId": "co_any", "name": "n", "brief": "b", "objective": "o", "goalId": "bgl_1", "audience": "a", "platforms": []any{"x", "push"},
			"contentTypeIds": []any{}, "cadence": "weekly", "status": "paused", "startsAt": at, "endsAt": at, "createdAt": at, "updatedAt": at,
		},
		"content-idea": {
			"id": "ida_1", "companyId": "co_any", "planId": "pln_1", "contentTypeId": "cty_1", "title": "t", "summary": "", "rationale": "r", "platforms": []any{},
			"sourceKind": "feedback", "sourceId": "fbk_1", "suggestedFor": at, "status": "accepted", "createdAt": at, "updatedAt": at,
		},
		"post": {
			"id": "pst_1", "companyId": "co_any", "ideaId": "ida_1", "platform": "push", "title": "t", "body": strings.Repeat("long ", 100), "threadParts": []any{"a", "b"},
			"hashtags": []any{"h"}, "media": record{"images": []any{json.Number("123456789012345678901234567890123456789012345"), nil, "<&>"}}, "destination": "d", "deepLink": "x:y",
			"scheduledFor": at, "status": "published", "publishedAt": at, "externalId": "e", "externalUrl": "https://example.com/u", "failureReason": "f", "createdAt": at, "updatedAt": at,
		},
		"channel": {
			"id": "chn_1", "companyId": "co_any", "platform": "x", "name": "n", "handle": "@h", "externalId": "e", "externalUrl": "https://example.com/u", "status": "expiring", "credentialsValid": false,
			"credentialsExpireAt": at, "lastCheckedAt": at, "lastError": "", "active": true, "createdAt": at, "updatedAt": at,
		},
	}
	for name, all := range full {
		t.Run(name, func(t *testing.T) {
			from, to := start(t), start(t)
			bare := record{"id": strings.Replace(all["id"].(string), "_1", "_2", 1), "companyId": "co_any"}
			importRecords(t, from, name, all, bare)
			first := exportLines(t, from, name)
			if len(first) != 2 {
				t.Fatalf("%d exported records, want 2: %v", len(first), first)
			}
			for field, value := range all {
				if value == at {
					all[field] = normalised
				}
				if _, ok := bare[field]; !ok {
					bare[field] = nil
				}
			}
			for i, want := range []record{all, bare} {
				var got record
				d := json.NewDecoder(strings.NewReader(first[i]))
				d.UseNumber()
				if err := d.Decode(&got); err != nil {
					t.Fatal(err)
				}
				if a, b := fmt.Sprint(got), fmt.Sprint(want); a != b {
					t.Errorf("got  %s\nwant %s", a, b)
				}
			}
			var reimported []record
			for _, line := range first {
				var r record
				d := json.NewDecoder(strings.NewReader(line))
				d.UseNumber()
				if err := d.Decode(&r); err != nil {
					t.Fatal(err)
				}
				reimported = append(reimported, r)
			}
			importRecords(t, to, name, reimported...)
			if second := exportLines(t, to, name); !slices.Equal(first, second) {
				t.Errorf("got %s\nwant %s", second, first)
			}
		})
	}
}

// Ensure an import replaces a record and its index entries. If a batch contains several records
// with the same id, the last one must win.
func TestImportReplaces(t *testing.T) {
	t.Parallel()
	s := start(t)
	key := s.IssueKey(t)
	importRecords(t, s, "post", record{"id": "pst_1", "platform": "x", "status": "draft", "ideaId": "ida_1", "title": "old"})
	importRecords(t, s, "post",
		record{"id": "pst_1", "platform": "reddit", "status": "draft", "ideaId": "ida_2"},
		record{"id": "pst_2", "platform": "reddit"},
		record{"id": "pst_1", "platform": "push", "status": "published"})
	importRecords(t, s, "content-idea", record{"id": "ida_1", "planId": "pln_1", "status": "suggested"})
	importRecords(t, s, "content-idea", record{"id": "ida_1", "status": "rejected"})
	for _, tc := range []struct {
		op   string
		args record
		want []string
	}{
		{"list_broadcast_posts", record{"platform": "x"}, []string{}},
		{"list_broadcast_posts", record{"platform": "reddit"}, []string{"pst_2"}},
		{"list_broadcast_posts", record{"platform": "push", "status": "published"}, []string{"pst_1"}},
		{"list_broadcast_posts", record{"ideaId": "ida_1"}, []string{}},
		{"list_broadcast_posts", record{"ideaId": "ida_2"}, []string{}},
		{"list_broadcast_posts", record{}, []string{"pst_1", "pst_2"}},
		{"list_broadcast_ideas", record{"planId": "pln_1"}, []string{}},
		{"list_broadcast_ideas", record{"planId": "pln_1", "status": "suggested"}, []string{}},
		{"list_broadcast_ideas", record{"status": "suggested"}, []string{}},
		{"list_broadcast_ideas", record{"status": "rejected"}, []string{"ida_1"}},
	} {
		if got := idsOf(s.Call(t, key, tc.op, tc.args).Items(t)); !slices.Equal(got, tc.want) {
			t.Errorf("%s with %v: ids %v, want %v", tc.op, tc.args, got, tc.want)
		}
	}
	if post := s.Call(t, key, "get_broadcast_post", record{"postId": "pst_1"}).JSON(t); post["title"] != nil || post["status"] != "published" {
		t.Errorf("title %v and status %v, want null and published", post["title"], post["status"])
	}
}

// Ensure the import check rejects records that could not be stored or listed, and names the invalid
// field.
func TestImportRefuses(t *testing.T) {
	t.Parallel()
	s := start(t)
	for _, tc := range []struct{ typ, line, message string }{
		{"content-plan", `{}`, "record.id: is required"},
		{"content-plan", `{"id":"ida_1"}`, "record.id: must be pln_"},
		{"content-plan", `{"id":"pln_1","status":"done"}`, "record.status: must be one of draft, active, paused, complete, archived"},
		{"content-plan", `{"id":"pln_1","startsAt":"soon"}`, "record.startsAt: must be an RFC 3339 time"},
		{"content-plan", `{"id":"pln_1","nom":"x"}`, "record.nom: unknown property"},
		{"content-plan", `{"id":"pln_1","platforms":"x"}`, "record.platforms: must be an array"},
		{"content-plan", `{"id":"pln_1","brief":"` + strings.Repeat("a", 400_000) + `"}`, "record.brief: must have at most 2000 characters, has 400000"},
		{"content-idea", `{"id":"ida_1","planId":"pln_1#suggested"}`, "record.planId: must match ^pln_"},
		{"content-idea", `{"id":"ida_1","planId":""}`, "record.planId: must match ^pln_"},
		{"content-idea", `{"id":"ida_1","status":"draft"}`, "record.status: must be one of suggested, accepted, rejected"},
		{"content-idea", `{"id":"ida_1","sourceKind":"ai"}`, "record.sourceKind: must be one of manual, generated, feedback, metric, audit, roadmap"},
		{"post", `{"id":"pst_1","ideaId":"ida_1#"}`, "record.ideaId: must match ^ida_"},
		{"post", `{"id":"pst_1","ideaId":"pst_1"}`, "record.ideaId: must match ^ida_"},
		{"post", `{"id":"pst_#"}`, "record.id: must be pst_"},
		{"post", `{"id":"pst_1","status":"queued"}`, "record.status: must be one of draft, scheduled, publishing, published, failed"},
		{"post", `{"id":"pst_1","platform":"linkedin"}`, "record.platform: must be one of x"},
		{"post", `{"id":"pst_1","media":"` + strings.Repeat("a", 400_000) + `"}`, "record: must have at most 350000 bytes"},
		{"channel", `{"id":"chn_1","status":"ok"}`, "record.status: must be one of connected, expiring, disconnected, error"},
		{"channel", `{"id":"chn_1","token":"secret"}`, "record.token: unknown property"},
		{"channel", `{"id":"chn_1","credentialsValid":"yes"}`, "record.credentialsValid: must be true or false"},
	} {
		_, problems := transferType(t, s, tc.typ).Check(json.RawMessage(tc.line))
		if len(problems) != 1 || !strings.HasPrefix(problems[0], tc.message) {
			t.Errorf("%s %.80s: %q, want %q", tc.typ, tc.line, problems, tc.message)
		}
	}
}

// Ensure the largest record that an import accepts can be stored with its index entries, and read
// back.
func TestImportLargest(t *testing.T) {
	t.Parallel()
	s := start(t)
	importRecords(t, s, "post", record{"id": "pst_1", "ideaId": "ida_" + strings.Repeat("a", 40), "platform": "instagram", "status": "publishing", "media": strings.Repeat("é", 174_500)})
	r := s.Call(t, s.IssueKey(t), "list_broadcast_posts", record{"status": "publishing"})
	if got := r.Items(t); len(got) != 1 || len(got[0]["media"].(string)) != 349_000 {
		t.Errorf("%d posts", len(got))
	}
}

// Ensure an export that takes more than one query page contains every record.
func TestExportOfManyRecords(t *testing.T) {
	t.Parallel()
	apitest.SkipIfShort(t)
	s := start(t)
	var posts []record
	for n := range 60 { // 3 MB: more than one query page
		posts = append(posts, record{"id": fmt.Sprintf("pst_%03d", n), "body": strings.Repeat("a", 10_000), "media": strings.Repeat("a", 40_000)})
	}
	importRecords(t, s, "post", posts...)
	if got := exportLines(t, s, "post"); len(got) != len(posts) {
		t.Errorf("%d lines", len(got))
	}
}
