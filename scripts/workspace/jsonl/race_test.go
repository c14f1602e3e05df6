package jsonl

import (
	"maps"
	"slices"
	"strings"
	"testing"

	"growthworkspace/functions"
	"growthworkspace/shared/testkit/apitest"
)

// importWhile imports lines. Between the check and the write, it calls duringImport, which acts as
// a concurrent caller. written is the number of records written, by type. refused contains a
// message for each refused line. skipped is the number of skipped records.
func importWhile(t *testing.T, s *apitest.Service, o Options, duringImport func(), lines ...string) (written map[string]int, refused []string, skipped map[string]int) {
	t.Helper()
	checked, err := Check(t.Context(), functions.Transfers(s.Table), s.CompanyID, strings.NewReader(strings.Join(lines, "\n")), o)
	if err != nil {
		t.Fatal(err)
	}
	defer checked.Close()
	duringImport()
	written, err = checked.Write(t.Context(), s.CompanyID, func(int) {})
	if err != nil {
		t.Fatal(err)
	}
	return written, checked.Refused(), checked.Skipped()
}

// Ensure an import reports a line if another caller takes its slug or removes its parent between
// the check and the write. It stores all other lines. If the import is repeated, its check reports
// the same lines.
func TestRefusedLines(t *testing.T) {
	t.Parallel()
	for name, o := range map[string]Options{"import": {}, "only new records": {SkipExisting: true}} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := apitest.New(t, functions.Operations)
			key := s.IssueKey(t)
			call := func(op string, arguments map[string]any) {
				t.Helper()
				if r := s.Call(t, key, op, arguments); r.Status != 200 {
					t.Fatalf("%s: status %d, want 200: %s", op, r.Status, r.Body)
				}
			}
			none := func() {}
			importWhile(t, s, Options{}, none, `{"type":"board","record":{"id":"brd_1"}}`, `{"type":"board","record":{"id":"brd_gone"}}`, `{"type":"site","record":{"id":"sit_gone"}}`)
			file := []string{
				`{"type":"site-goal","record":{"id":"gol_1","siteId":"sit_gone"}}`,
				`{"type":"item","record":{"id":"itm_1","roadmapId":"brd_1","slug":"late","title":"Late"}}`, ``,
				`{"type":"item","record":{"id":"itm_2","roadmapId":"brd_1","slug":"b","title":"Good"}}`,
				`{"type":"item","record":{"id":"itm_3","roadmapId":"brd_gone","slug":"a","title":"Nowhere"}}`,
				`{"type":"site-goal","record":{"id":"gol_2","siteId":"sit_2"}}`,
				`{"type":"site","record":{"id":"sit_2"}}`,
			}
			written, refused, skipped := importWhile(t, s, o, func() {
				call("create_plan_item", map[string]any{"boardId": "brd_1", "title": "First", "slug": "late"})
				call("delete_plan_board", map[string]any{"boardId": "brd_gone"})
				call("delete_optimise_site", map[string]any{"siteId": "sit_gone"})
			}, file...)
			want := []string{
				"line 1: site-goal: record.siteId: there is no site sit_gone",
				"line 2: item: record.slug: late is taken on this board by itm_",
				"line 5: item: record.roadmapId: there is no board brd_gone",
			}
			if !slices.EqualFunc(refused, want, strings.HasPrefix) || len(skipped) != 0 ||
				!maps.Equal(written, map[string]int{"site": 1, "site-goal": 1, "item": 1}) {
				t.Errorf("wrote %v, refused %q, skipped %v", written, refused, skipped)
			}
			_, err := Check(t.Context(), functions.Transfers(s.Table), s.CompanyID, strings.NewReader(strings.Join(file, "\n")), o)
			if err == nil || !slices.EqualFunc(strings.Split(err.Error(), "\n"), want, strings.HasPrefix) {
				t.Errorf("the second check: %v", err)
			}
			if written, refused, _ := importWhile(t, s, o, none, file[3], file[5], file[6]); len(refused) > 0 || len(written) > 0 == o.SkipExisting {
				t.Errorf("the second import of the good lines: %v, %q", written, refused)
			}
		})
	}
}

// Ensure a record that has a parent is accepted only if the parent is stored or is anywhere in the
// file.
func TestParents(t *testing.T) {
	t.Parallel()
	s := apitest.New(t, functions.Operations)
	item := func(id, board string) string {
		return `{"type":"item","record":{"id":"itm_` + id + `","roadmapId":"` + board + `","slug":"s` + id + `","title":"T"}}`
	}
	lines := []string{item("1", "brd_later"), item("2", "brd_never"), `{"type":"board","record":{"id":"brd_later"}}`, `{"type":"site-goal","record":{"id":"gol_1","siteId":"sit_never"}}`}
	for range 450 { // enough records for more than two batches
		lines = append(lines, item(string(rune('a'+len(lines)%26))+strings.Repeat("x", len(lines)/26), "brd_later"))
	}
	_, err := Check(t.Context(), functions.Transfers(s.Table), s.CompanyID, strings.NewReader(strings.Join(lines, "\n")), Options{})
	want := "line 2: item: record.roadmapId: there is no board brd_never, neither stored nor in the file\n" +
		"line 4: site-goal: record.siteId: there is no site sit_never, neither stored nor in the file"
	if err == nil || err.Error() != want {
		t.Errorf("%v, want %s", err, want)
	}
	lines[1], lines[3] = "", ""
	if written, refused, _ := importWhile(t, s, Options{}, func() {}, lines...); written["item"] != 451 || len(refused) > 0 {
		t.Errorf("written %v, want 451 items; refused %q, want nothing", written, refused)
	}
}

// Ensure an import rejects a file that contradicts itself, because the result would depend on the
// order of the writes. Such a file gives one item two slugs, one goal two sites, two metrics the
// same id, or one review two ids.
func TestOneRecordTwice(t *testing.T) {
	t.Parallel()
	s := apitest.New(t, functions.Operations)
	for want, lines := range map[string][]string{
		"line 3: item: item itm_1 is on line 2 too": {
			`{"type":"board","record":{"id":"brd_1"}}`, `{"type":"item","record":{"id":"itm_1","roadmapId":"brd_1","slug":"a","title":"T"}}`,
			`{"type":"item","record":{"id":"itm_1","roadmapId":"brd_1","slug":"b","title":"T"}}`,
		},
		"line 4: site-goal: goal gol_1 is on line 3 too": {
			`{"type":"site","record":{"id":"sit_1"}}`, `{"type":"site","record":{"id":"sit_2"}}`, `{"type":"site-goal","record":{"id":"gol_1","siteId":"sit_1"}}`,
			`{"type":"site-goal","record":{"id":"gol_1","siteId":"sit_2"}}`, `{"type":"site-goal","record":{"id":"gol_1","siteId":"sit_1","name":"The last one counts"}}`,
		},
		"line 3: metric-definition: id mdf_1 is on line 1 too": {
			`{"type":"metric-definition","record":{"id":"mdf_1","key":"p"}}`, `{"type":"metric-definition","record":{"id":"mdf_1","key":"p"}}`,
			`{"type":"metric-definition","record":{"id":"mdf_1","key":"q"}}`,
		},
		"line 3: feedback: source reddit with externalId 1 is on line 1 too": {
			`{"type":"feedback","record":{"id":"fbk_1","source":"reddit","externalId":"1"}}`, `{"type":"feedback","record":{"id":"fbk_1","source":"reddit","externalId":"1"}}`,
			`{"type":"feedback","record":{"source":"reddit","externalId":"1"}}`,
			`{"type":"feedback","record":{"id":"fbk_2","source":"app_store","externalId":"1"}}`, `{"type":"feedback","record":{"id":"fbk_3","externalId":"1"}}`,
			`{"type":"feedback","record":{"id":"fbk_4","externalId":"1"}}`,
		},
	} {
		_, err := Check(t.Context(), functions.Transfers(s.Table), s.CompanyID, strings.NewReader(strings.Join(lines, "\n")), Options{})
		if err == nil || err.Error() != want {
			t.Errorf("%v, want %s", err, want)
		}
	}
}
