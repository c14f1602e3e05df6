package functions_test

import (
	"bufio"
	"encoding/json"
	"os"
	"slices"
	"strings"
	"testing"

	"growthworkspace/functions"
	"growthworkspace/shared/testkit/apitest"
	"growthworkspace/shared/transfer"
)

// Ensure an import recognises stored records of every type, so that it can skip them. It must find
// the fixture company's records in that company only.
func TestExistingRecords(t *testing.T) {
	t.Parallel()
	s := start(t, nil)
	other := apitest.New(t, functions.Operations)
	types := functions.Transfers(s.Table)
	file, err := os.Open("testdata/company.jsonl")
	if err != nil {
		t.Fatal(err)
	}
	defer file.Close()
	seen := map[string]bool{}
	for lines := bufio.NewScanner(file); lines.Scan(); {
		var line struct {
			Type   string
			Record json.RawMessage
		}
		if err := json.Unmarshal(lines.Bytes(), &line); err != nil {
			t.Fatal(err)
		}
		kind := types[slices.IndexFunc(types, func(k transfer.Type) bool { return k.Name == line.Type })]
		seen[kind.Name] = true
		record, problems := kind.Check(line.Record)
		if len(problems) > 0 {
			t.Fatalf("the %s %s has problems: %q", kind.Name, line.Record, problems)
		}
		if fresh, _, err := kind.FilterNew(t.Context(), s.CompanyID, []any{record, record}); err != nil || len(fresh) != 0 {
			t.Errorf("%s: %d of 2 stored records are new: %v", kind.Name, len(fresh), err)
		}
		if fresh, indexes, err := kind.FilterNew(t.Context(), other.CompanyID, []any{record, record}); err != nil || len(fresh) != 2 || !slices.Equal(indexes, []int{0, 1}) {
			t.Errorf("%s: %d of 2 records of an empty company are new: %v", kind.Name, len(fresh), err)
		}
	}
	for _, kind := range types {
		if !seen[kind.Name] {
			t.Errorf("no %s in the fixture company", kind.Name)
		}
	}
}

// Ensure an import finds stored records by their identity, not by their id alone.
func TestExistingByIdentity(t *testing.T) {
	t.Parallel()
	s := start(t, nil)
	types := functions.Transfers(s.Table)
	for _, c := range []struct {
		kind, record string
		exists       bool
	}{
		{"feedback", `{"id":"fbk_other","source":"app_store","externalId":"100"}`, true},
		{"feedback", `{"source":"app_store","externalId":"100"}`, true},
		{"feedback", `{"id":"fbk_1","source":"reddit","externalId":"new"}`, true},
		{"feedback", `{"id":"fbk_other","source":"reddit","externalId":"100"}`, false},
		{"feedback", `{"id":"fbk_other","externalId":"100"}`, false},
		{"brand-kit", `{"id":"kit_other"}`, true},
		{"metric-definition", `{"id":"mdf_other","key":"growth.signups"}`, true},
		{"metric-definition", `{"id":"mdf_1","key":"growth.other"}`, false},
		{"metric-point", `{"metricKey":"growth.signups","ts":"2026-08-10T09:00:00Z","dims":{"country":"de"},"value":1}`, true},
		{"metric-point", `{"metricKey":"growth.signups","ts":"2026-08-09T00:00:00Z","dims":{"country":"de"},"value":1}`, false},
		{"metric-point", `{"metricKey":"growth.signups","ts":"2026-08-10T00:00:00Z","dims":{"country":"de"},"grain":"month","value":1}`, false},
		{"metric-point", `{"metricKey":"growth.signups","ts":"2026-08-10T00:00:00Z","value":1}`, false},
	} {
		kind := types[slices.IndexFunc(types, func(k transfer.Type) bool { return k.Name == c.kind })]
		record, problems := kind.Check(json.RawMessage(c.record))
		if len(problems) > 0 {
			t.Fatalf("the %s %s has problems: %q", c.kind, c.record, problems)
		}
		if fresh, _, err := kind.FilterNew(t.Context(), s.CompanyID, []any{record}); err != nil || (len(fresh) == 0) != c.exists {
			t.Errorf("%s %s is new: %v, %v", c.kind, c.record, len(fresh) > 0, err)
		}
	}
}

// Ensure an import applies the same checks to values as the API.
func TestImportChecksValues(t *testing.T) {
	t.Parallel()
	const address = "must be an http or https address with a host, for example https://example.com"
	for _, c := range []struct{ kind, record, want string }{
		{"company", `{"id":"co_any","websiteUrl":"javascript:alert(1)"}`, "record.websiteUrl: " + address},
		{"company", `{"id":"co_any","repositoryUrl":"example.com"}`, "record.repositoryUrl: " + address},
		{"company", `{"id":"co_any","timezone":"Mars/Olympus"}`, "record.timezone: must be a name of the IANA time zone database, for example Europe/Berlin"},
		{"company", `{"id":"co_any","primaryLanguage":"english"}`, "record.primaryLanguage: must be an ISO 639-1 code in small letters, for example de"},
		{"feedback", `{"id":"fbk_1","externalId":"1","externalUrl":"javascript:alert(1)"}`, "record.externalUrl: " + address},
		{"feedback", `{"id":"fbk_1","externalId":"1","rating":0}`, "record.rating: must be between 1 and 5"},
		{"feedback", `{"id":"fbk_1","externalId":"1","rating":4.5}`, "record.rating: must be a whole number, between 1 and 5"},
		{"feedback", `{"id":"fbk_1","externalId":"1","rating":6}`, "record.rating: must be between 1 and 5"},
		{"feedback", `{"id":"fbk_1","externalId":"1","kind":"mention","rating":4}`, "record.rating: must be left out, because a mention has no rating"},
		{"audit", `{"id":"aud_1","rootUrl":"ftp://example.com"}`, "record.rootUrl: " + address},
		{"post", `{"id":"pst_1","externalUrl":"//example.com"}`, "record.externalUrl: " + address},
		{"channel", `{"id":"chn_1","externalUrl":"https://"}`, "record.externalUrl: " + address},
		{"company", `{"id":"co_any","websiteUrl":"https://a..b"}`, "record.websiteUrl: must have a valid host, for example https://example.com"},
		{"company", `{"id":"co_any","repositoryUrl":"https://me:secret@a.b"}`, "record.repositoryUrl: must not have a user name or a password"},
		{"feedback", `{"id":"fbk_1","externalId":"1","externalUrl":"https://a.b:99999"}`, "record.externalUrl: must have a port between 1 and 65535"},
		{"brand-goal", `{"id":"bgl_1","targetValue":1e-400}`, "record.targetValue: must be 0 or between 1e-129 and 1e125, positive or negative"},
		{"feedback", `{"id":"fbk_1","externalId":"1","externalUrl":"https://example.com/1","rating":5}`, ""},
	} {
		types := functions.Transfers(nil)
		kind := types[slices.IndexFunc(types, func(k transfer.Type) bool { return k.Name == c.kind })]
		if _, problems := kind.Check(json.RawMessage(c.record)); strings.Join(problems, "\n") != c.want {
			t.Errorf("%s %s: %q, want %q", c.kind, c.record, problems, c.want)
		}
	}
}
