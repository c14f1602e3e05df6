package optimise_test

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"

	"growthworkspace/functions/optimise"
	"growthworkspace/shared/testkit/apitest"
)

// exportLines exports every record of the company. Each line contains the record's type and its
// JSON.
func exportLines(t *testing.T, s *apitest.Service) (lines []string) {
	t.Helper()
	for _, k := range optimise.Transfers(s.Table) {
		err := k.Export(t.Context(), s.CompanyID, func(record any) error {
			text, err := json.Marshal(record)
			lines = append(lines, k.Name+" "+string(text))
			return err
		})
		if err != nil {
			t.Fatal(err)
		}
	}
	return lines
}

// Ensure importing an export into a different company and exporting it again gives the same
// records, except for companyId.
func TestRoundTrip(t *testing.T) {
	t.Parallel()
	from, to := start(t), start(t)
	importRecords(t, from, "site", `{"id":"sit_a"}`,
		`{"id":"sit_b","name":"Shop","siteKey":"pk","domains":[],"timezone":"UTC","active":true,"lastEventAt":"2026-03-01T02:00:00+02:00","createdAt":"2026-02-01T00:00:00Z"}`)
	importRecords(t, from, "site-goal", `{"id":"gol_a","siteId":"sit_b"}`,
		`{"id":"gol_b","siteId":"sit_a","name":"N","kind":"event","matchType":"contains","pattern":"#","value":1e120,"order":-5,"active":false,"updatedAt":"2026-02-01T00:00:00Z"}`)
	importRecords(t, from, "audit", `{"id":"aud_a"}`, `{"id":"aud_b","siteId":"sit_a","status":"failed","startedAt":"2026-03-01T00:00:00Z","error":"timeout","findings":null}`,
		`{"id":"aud_c","status":"complete","findings":`+incompressibleFindings(700_000)+`}`, `{"id":"aud_d","findings":{"n":123456789012345678901234567890123456789}}`)
	for n := range 12 {
		importRecords(t, from, "audit", fmt.Sprintf(`{"id":"aud_e%02d","siteId":"sit_b","scoreSeo":%d,"findings":[%d]}`, n, n, n))
	}
	lines := exportLines(t, from)
	if len(lines) != 2+2+16 {
		t.Fatalf("%d records", len(lines))
	}
	for range 2 { // the second import replaces the records of the first
		for _, line := range lines {
			name, record, _ := strings.Cut(line, " ")
			importRecords(t, to, name, record)
		}
		again := exportLines(t, to)
		for i := range again {
			again[i] = strings.ReplaceAll(again[i], to.CompanyID, from.CompanyID)
		}
		if !slices.Equal(again, lines) {
			t.Errorf("%.2000s, want\n%.2000s", again, lines)
		}
	}
	if n := len(storedChunks(t, to, "aud_c")); n != 2 {
		t.Errorf("%d chunks, want 2", n)
	}
	if again := exportLines(t, from); !slices.Equal(again, lines) {
		t.Error("the import has changed the exported company")
	}
}

// Ensure the import check rejects invalid enum values, invalid ids, and invalid values in fields
// that become part of a table key.
func TestImportRejects(t *testing.T) {
	t.Parallel()
	s := start(t)
	for _, c := range []struct{ name, record, want string }{
		{"site", `{"id":"aud_1"}`, "record.id: must be sit_"},
		{"site", `{}`, "record.id: is required"},
		{"site", `{"id":"sit_1","lastEventAt":"yesterday"}`, "record.lastEventAt: must be an RFC 3339 time"},
		{"site", `{"id":"sit_1","domains":[1]}`, "record.domains"},
		{"site", `{"id":"sit_1","name":"` + strings.Repeat("x", 350_000) + `"}`, "record.name: must have at most 200 characters, has 350000"},
		{"site-goal", `{"id":"gol_1"}`, "record.siteId: is required"},
		{"site-goal", `{"id":"gol_1","siteId":""}`, "record.siteId: must be sit_"},
		{"site-goal", `{"id":"gol_1","siteId":"sit_a#b"}`, "record.siteId: must be sit_"},
		{"site-goal", `{"id":"gol_1","siteId":"sit_` + strings.Repeat("a", 41) + `"}`, "record.siteId: must be sit_"},
		{"site-goal", `{"id":"gol_1","siteId":"sit_a","kind":"page"}`, "record.kind: must be one of path, event"},
		{"site-goal", `{"id":"gol_1","siteId":"sit_a","matchType":"glob"}`, "record.matchType: must be one of exact, prefix, contains, regex"},
		{"site-goal", `{"id":"gol_1","siteId":"sit_a","order":"1"}`, "record.order: must be a whole number"},
		{"audit", `{"id":"aud_1","siteId":""}`, "record.siteId: must match ^sit_"},
		{"audit", `{"id":"aud_1","siteId":"sit_a#running"}`, "record.siteId: must match ^sit_"},
		{"audit", `{"id":"aud_1","status":"done"}`, "record.status: must be one of running, complete, failed"},
		{"audit", `{"id":"aud_1","findingsGeneration":"x"}`, "record.findingsGeneration: unknown property"},
		{"audit", `{"id":"aud_1#x"}`, "record.id: must be aud_"},
		{"audit", `{"id":"aud_1","summary":"` + strings.Repeat("x", 350_000) + `"}`, "record.summary: must have at most 2000 characters, has 350000"},
	} {
		_, problems := transferType(t, s, c.name).Check(json.RawMessage(c.record))
		if len(problems) != 1 || !strings.HasPrefix(problems[0], c.want) {
			t.Errorf("%s %.100s: %q, want %s", c.name, c.record, problems, c.want)
		}
	}
	long := strings.Repeat("z", 40) // the longest valid id
	importRecords(t, s, "site", `{"id":"sit_`+long+`"}`)
	importRecords(t, s, "site-goal", `{"id":"gol_`+long+`","siteId":"sit_`+long+`"}`)
	importRecords(t, s, "audit", `{"id":"aud_`+long+`","siteId":"sit_`+long+`","summary":"`+strings.Repeat("<", 2000)+`","findings":1}`)
	s.Run(t, []apitest.Scenario{
		{Name: "goals", Op: "list_optimise_goals", Args: map[string]any{"siteId": "sit_" + long}, Check: checkOneRecord},
		{Name: "audits", Op: "list_optimise_audits", Args: map[string]any{"siteId": "sit_" + long}, Check: checkOneRecord},
		{Name: "audit", Op: "get_optimise_audit", Args: map[string]any{"auditId": "aud_" + long}, WantFields: map[string]any{"findings": 1}},
	})
}

func checkOneRecord(t *testing.T, r apitest.Response) {
	if n := len(r.Items(t)); n != 1 {
		t.Errorf("%d items", n)
	}
}

// Ensure an audit that is imported again moves to the lists for its new values. If a file contains
// several records with the same id, the last one must win.
func TestAuditMoves(t *testing.T) {
	t.Parallel()
	s := start(t)
	importRecords(t, s, "audit", `{"id":"aud_1","siteId":"sit_a","status":"running","startedAt":"2026-03-01T00:00:00Z"}`, `{"id":"aud_2","siteId":"sit_a","status":"running"}`)
	importRecords(t, s, "audit", `{"id":"aud_1","siteId":"sit_a","status":"failed"}`, `{"id":"aud_1","siteId":"sit_b","status":"complete"}`)
	for _, c := range []struct {
		arguments map[string]any
		want      []string
	}{
		{map[string]any{}, []string{"aud_1", "aud_2"}},
		{map[string]any{"siteId": "sit_a"}, []string{"aud_2"}},
		{map[string]any{"siteId": "sit_b"}, []string{"aud_1"}},
		{map[string]any{"status": "running"}, []string{"aud_2"}},
		{map[string]any{"status": "failed"}, []string{}},
		{map[string]any{"status": "complete"}, []string{"aud_1"}},
		{map[string]any{"siteId": "sit_a", "status": "running"}, []string{"aud_2"}},
		{map[string]any{"siteId": "sit_b", "status": "complete"}, []string{"aud_1"}},
	} {
		if got := ids(s.Call(t, s.IssueKey(t), "list_optimise_audits", c.arguments).Items(t)); !slices.Equal(got, c.want) {
			t.Errorf("%v: %v, want %v", c.arguments, got, c.want)
		}
	}
}
