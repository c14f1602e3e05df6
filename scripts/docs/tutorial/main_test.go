package main

import (
	"bytes"
	"net/http/httptest"
	"os"
	"strings"
	"testing"

	"growthworkspace/functions"
	"growthworkspace/functions/company"
	"growthworkspace/shared/client"
	"growthworkspace/shared/testkit/apitest"
	"growthworkspace/shared/timestamp"
)

// between returns the part of text between begin and end.
func between(t *testing.T, text, begin, end string) string {
	t.Helper()
	_, rest, ok := strings.Cut(text, begin)
	part, _, closed := strings.Cut(rest, end)
	if !ok || !closed {
		t.Fatalf("the tutorial has no %q", begin)
	}
	return part
}

// Ensure the program needs only a key to add the records to an empty company. It prints what the
// tutorial shows, and a second run creates nothing.
func TestFill(t *testing.T) {
	t.Parallel()
	page, err := os.ReadFile("../tutorial.md")
	if err != nil {
		t.Fatal(err)
	}
	report := between(t, string(page), "cat > lighthouse.json <<'END'\n", "END\n")
	want := between(t, between(t, string(page), "run ./scripts/docs/tutorial", "## Done"), "```text output\n", "```")

	s := apitest.New(t, functions.Operations)
	created := timestamp.Format(s.Clock.Now())
	if err := company.NewStore(s.Table).Create(t.Context(), company.Company{ID: s.CompanyID, Name: new("Northwind Go"), CreatedAt: &created, UpdatedAt: &created}); err != nil {
		t.Fatal(err)
	}
	server := httptest.NewServer(s.Handler)
	t.Cleanup(server.Close)
	c, err := client.New(server.URL, s.IssueKey(t))
	if err != nil {
		t.Fatal(err)
	}
	for range 2 {
		var out bytes.Buffer
		if err := fill(t.Context(), c, s.Clock.Now(), []byte(report), &out); err != nil {
			t.Fatal(err)
		}
		if out.String() != want {
			t.Errorf("it prints\n%s\ninstead of\n%s", out.String(), want)
		}
	}
}

// Ensure newAuditInput refuses a report without a score, and leaves out checks that do not apply.
func TestNewAuditInput(t *testing.T) {
	t.Parallel()
	for _, report := range []string{"", "[]", "{}", `{"categories":{"seo":{"score":null}}}`} {
		if audit, err := newAuditInput([]byte(report), "sit_1"); err == nil {
			t.Errorf("%s: %+v", report, audit)
		}
	}
	audit, err := newAuditInput([]byte(`{"finalUrl":"https://a.example/","fetchTime":"2026-08-11T09:30:00Z","categories":{"seo":{"score":0.5}},
		"audits":{"b":{"title":"B","score":0.9},"a":{"title":"A","score":0},"c":{"title":"C","score":1},"d":{"title":"D","score":null}}}`), "sit_1")
	if err != nil || audit.Findings.String() != `[{"id":"a","title":"A"},{"id":"b","title":"B"}]` || audit.ScoreSEO.Or(0) != 50 || audit.Summary.Or("") != "failed checks: 2" {
		t.Errorf("%v: %+v", err, audit)
	}
}
