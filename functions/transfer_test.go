package functions_test

import (
	"encoding/json"
	"errors"
	"maps"
	"slices"
	"strings"
	"testing"

	"growthworkspace/functions"
	"growthworkspace/shared/auth"
	"growthworkspace/shared/schema"
	"growthworkspace/shared/table"
	"growthworkspace/shared/testkit/apitest"
	"growthworkspace/shared/transfer"
)

// exportLines returns the company's data as an export writes it.
func exportLines(t *testing.T, s *apitest.Service) string {
	t.Helper()
	var out strings.Builder
	for _, kind := range functions.Transfers(s.Table) {
		err := kind.Export(t.Context(), s.CompanyID, func(record any) error {
			text, err := schema.EncodeRecord(record)
			out.WriteString(kind.Name + " " + string(text) + "\n")
			return err
		})
		if err != nil {
			t.Fatal(err)
		}
	}
	return out.String()
}

// changeRecord returns the record with a changed value in a field that does not identify it.
func changeRecord(t *testing.T, kind string, text json.RawMessage) string {
	t.Helper()
	var record map[string]any
	if err := json.Unmarshal(text, &record); err != nil {
		t.Fatal(err)
	}
	field, value := "name", any("Ours")
	switch kind {
	case "item", "content-idea", "feedback":
		field = "title"
	case "post":
		field = "body"
	case "brand-kit":
		field = "context"
	case "audit":
		field = "summary"
	case "metric-point":
		field, value = "value", 4711
	}
	record[field] = value
	out := marshal(t, record)
	return string(out)
}

func mustCheck(t testing.TB, kind transfer.Type, text string) any {
	t.Helper()
	record, problems := kind.Check(json.RawMessage(text))
	if len(problems) > 0 {
		t.Fatalf("the %s %s has problems: %q", kind.Name, text, problems)
	}
	return record
}

// Ensure an import with --new-only never replaces a record that is created after the import has
// looked for it. For each type, the test acts as another caller, who writes the record between the
// import's lookup and its write. That caller's records must remain, including findings and
// snapshots.
func TestNewOnlyKeepsConcurrentRecords(t *testing.T) {
	t.Parallel()
	apitest.SkipIfShort(t)
	s := apitest.New(t, functions.Operations)
	kinds := map[string]transfer.Type{}
	for _, kind := range functions.Transfers(s.Table) {
		kinds[kind.Name] = kind.ForFile(func(string) bool { return false })
	}
	seen := map[string]bool{}
	for _, line := range fixtureLines(t) {
		kind := kinds[line.Type]
		imported := []any{mustCheck(t, kind, changeRecord(t, line.Type, line.Record))}
		fresh, _, err := kind.FilterNew(t.Context(), s.CompanyID, imported)
		isProfile := line.Type == "company" // every company has a profile from the start
		if err != nil || !isProfile && len(fresh) != 1 {
			t.Fatalf("%s: %d are new, %v", line.Type, len(fresh), err)
		}
		if err := kind.Write(t.Context(), s.CompanyID, []any{mustCheck(t, kind, string(line.Record))}); err != nil {
			t.Fatal(err)
		}
		before := exportLines(t, s)
		skipped, err := kind.Add(t.Context(), s.CompanyID, imported)
		if after := exportLines(t, s); err != nil || skipped != 1 || after != before {
			t.Errorf("%s: %d skipped, %v\nbefore %s\nafter %s", line.Type, skipped, err, before, after)
		}
		seen[line.Type] = true
	}
	for name := range kinds {
		if !seen[name] {
			t.Errorf("no record of type %s", name)
		}
	}
}

// Ensure --new-only recognises stored records by more than their ids: an item by its slug, a review
// by its source and externalId, and a point by its time, even if the point shares a record with
// other points.
func TestNewOnlyKeepsIdentities(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		kind             string
		stored, imported []string
		skipped          int
		want             string // must occur once in the export
		refused          int    // how many records are refused because a value that must be unique is already taken
	}{
		"a slug": {
			"item", []string{`{"id":"itm_1","roadmapId":"brd_1","slug":"a","title":"Theirs"}`},
			[]string{`{"id":"itm_2","roadmapId":"brd_1","slug":"a","title":"Ours"}`, `{"id":"itm_3","roadmapId":"brd_1","slug":"b","title":"New"}`}, 0, `"New"`, 1,
		},
		"a review with the derived id": {
			"feedback", []string{`{"source":"reddit","externalId":"1","title":"Theirs"}`},
			[]string{`{"id":"fbk_1","source":"reddit","externalId":"1","title":"Ours"}`, `{"source":"reddit","externalId":"2","title":"New"}`}, 1, `"New"`, 0,
		},
		"a review with an id of its own": {
			"feedback", []string{`{"id":"fbk_1","source":"reddit","externalId":"1","title":"Theirs"}`},
			[]string{`{"source":"reddit","externalId":"1","title":"Ours"}`, `{"id":"fbk_2","source":"reddit","externalId":"1","title":"Ours"}`, `{"id":"fbk_3","source":"reddit","externalId":"3","title":"New"}`},
			2, `"New"`, 0,
		},
		"a published board": {
			"board", []string{`{"id":"brd_1","name":"Theirs","publishedVersion":1,"publishedAt":"2026-01-01T00:00:00Z","snapshot":[]}`},
			[]string{
				`{"id":"brd_1","name":"Ours","publishedVersion":2,"publishedAt":"2026-01-02T00:00:00Z","snapshot":[]}`,
				`{"id":"brd_2","name":"New","publishedVersion":2,"publishedAt":"2026-01-02T00:00:00Z","snapshot":[]}`,
			}, 1, `"New","publicKey":null,"allowedOrigins":null,"publishedVersion":2`, 0,
		},
		"points of one record": {
			"metric-point", []string{`{"metricKey":"a.b","ts":"2026-08-10T00:00:00Z","value":1}`},
			[]string{`{"metricKey":"a.b","ts":"2026-08-10T00:00:00Z","value":4711}`, `{"metricKey":"a.b","ts":"2026-08-11T00:00:00Z","value":3}`}, 1, `"value":3`, 0,
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := apitest.New(t, functions.Operations)
			if c.kind == "item" {
				importLines(t, s, "board", json.RawMessage(`{"id":"brd_1"}`))
			}
			kind := typeNamed(t, functions.Transfers(s.Table), c.kind).ForFile(func(string) bool { return false })
			var stored, imported []any
			for _, text := range c.stored {
				stored = append(stored, mustCheck(t, kind, text))
			}
			for _, text := range c.imported {
				imported = append(imported, mustCheck(t, kind, text))
			}
			if err := kind.Write(t.Context(), s.CompanyID, stored); err != nil {
				t.Fatal(err)
			}
			skipped, err := kind.Add(t.Context(), s.CompanyID, imported)
			after := exportLines(t, s)
			var refused transfer.RefusedRecords
			if errors.As(err, &refused) {
				err = nil
			}
			if err != nil || skipped != c.skipped || len(refused) != c.refused {
				t.Errorf("%d records are skipped and %d refused, error %v; want %d and %d", skipped, len(refused), err, c.skipped, c.refused)
			}
			for word, want := range map[string]int{"Ours": 0, "4711": 0, c.want: 1} {
				if got := strings.Count(after, word); got != want {
					t.Errorf("the export has %s %d times, want %d:\n%s", word, got, want, after)
				}
			}
			if !strings.Contains(after, "Theirs") && c.kind != "metric-point" || c.kind == "metric-point" && !strings.Contains(after, `"value":1`) {
				t.Errorf("the stored record is gone:\n%s", after)
			}
		})
	}
}

// Ensure a stored reference to a review that no longer exists does not prevent the import of that
// review.
func TestNewOnlyIgnoresDanglingReference(t *testing.T) {
	t.Parallel()
	s := apitest.New(t, functions.Operations)
	kind := typeNamed(t, functions.Transfers(s.Table), "feedback")
	importLines(t, s, kind.Name, json.RawMessage(`{"id":"fbk_1","source":"reddit","externalId":"1"}`))
	if err := s.Table.BatchDelete(t.Context(), []table.Key{{PK: table.Partition(s.CompanyID, "feedback"), SK: table.JoinKey("feedback", "fbk_1")}}); err != nil {
		t.Fatal(err)
	}
	imported := []any{mustCheck(t, kind, `{"id":"fbk_2","source":"reddit","externalId":"1","title":"New"}`)}
	if skipped, err := kind.Add(t.Context(), s.CompanyID, imported); err != nil || skipped != 0 {
		t.Errorf("%d skipped, %v", skipped, err)
	}
	if after := exportLines(t, s); !strings.Contains(after, `"New"`) {
		t.Errorf("the record was not added; the export is\n%s", after)
	}
}

// Ensure an import of an export restores which texts nobody with write has read: approving such a
// reply, or scheduling such a post, still needs an If-Match. Texts of other keys carry no such mark.
func TestDraftsStayUnreadThroughTransfer(t *testing.T) {
	t.Parallel()
	s := start(t, nil)
	drafter, writer := s.IssueKey(t, auth.DraftingAgentScopes()...), s.IssueKey(t)
	for _, c := range []struct {
		importType, draft, read string
		id                      map[string]any
		content, decision       map[string]any
		drafted                 string
	}{
		{
			"feedback", "update_feedback_reply", "get_feedback", map[string]any{"feedbackId": "fbk_1"},
			map[string]any{"replyBody": "Free money"}, map[string]any{"replyStatus": "approved"}, `,"drafted":["replyBody"]}`,
		},
		{
			"post", "update_broadcast_post", "get_broadcast_post", map[string]any{"postId": "pst_1"},
			map[string]any{"body": "Free money", "deepLink": "https://evil.example"}, map[string]any{"status": "scheduled", "scheduledFor": "2026-09-01T09:00:00Z"},
			`,"drafted":["body","deepLink"]}`,
		},
	} {
		with := func(more ...map[string]any) map[string]any {
			args := maps.Clone(c.id)
			for _, m := range more {
				maps.Copy(args, m)
			}
			return args
		}
		call := func(key, operation string, args map[string]any, want int) apitest.Response {
			t.Helper()
			r := s.Call(t, key, operation, args)
			if r.Status != want {
				t.Errorf("%s: status %d, want %d: %s", operation, r.Status, want, r.Body)
			}
			return r
		}
		export := func() (line string) {
			t.Helper()
			id := slices.Collect(maps.Values(c.id))[0].(string)
			for l := range strings.Lines(exportLines(t, s)) {
				if kind, record, _ := strings.Cut(strings.TrimSpace(l), " "); kind == c.importType && strings.HasPrefix(record, `{"id":"`+id+`"`) {
					line = record
				}
			}
			return line
		}
		call(writer, c.draft, with(c.content), 200)
		if line := export(); strings.Contains(line, `"drafted":`) {
			t.Errorf("a text of a key with write is marked: %s", line)
		}
		changed := maps.Clone(c.content)
		for name := range changed {
			changed[name] = "https://drafted.example"
		}
		call(drafter, c.draft, with(changed), 200)
		line := export()
		if !strings.HasSuffix(line, c.drafted) {
			t.Errorf("the export %s does not end with %s", line, c.drafted)
		}
		call(writer, c.draft, with(changed), 200) // clears the mark
		if line := export(); strings.Contains(line, `"drafted":`) {
			t.Errorf("a text that a key with write repeats is marked: %s", line)
		}
		importLines(t, s, c.importType, json.RawMessage(line))
		call(writer, c.draft, with(c.decision), 409)
		if got := export(); got != line {
			t.Errorf("the import changed the export from %s to %s", line, got)
		}
		tag := call(writer, c.read, with(), 200).Header.Get("ETag")
		call(writer, c.draft, with(c.decision, map[string]any{"If-Match": tag}), 200)

		kind := typeNamed(t, functions.Transfers(s.Table), c.importType)
		for _, names := range []string{`["updatedAt"]`, `["replybody"]`, `"body"`} {
			text := line[:strings.LastIndex(line, `"drafted"`)] + `"drafted":` + names + "}"
			if _, problems := kind.Check(json.RawMessage(text)); len(problems) != 1 || !strings.HasPrefix(problems[0], "record.drafted: ") {
				t.Errorf("%s: problems %q, want one of record.drafted", text, problems)
			}
		}
	}
}
