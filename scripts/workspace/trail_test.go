package main

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"
)

// trailEntry is a line of `workspace trail --json`.
type trailEntry struct {
	ID, At, By, Act, CompanyID, Phase, BeganID string

	Details json.RawMessage
}

func readTrail(t *testing.T, data string, args ...string) (out []trailEntry) {
	t.Helper()
	r := runCommand(t, "", append([]string{"trail", "--json", "--data", data}, args...)...)
	if r.code != 0 {
		t.Fatalf("trail %v: exit code %d: %s", args, r.code, r.err)
	}
	for line := range strings.Lines(r.out) {
		var e trailEntry
		if err := json.Unmarshal([]byte(line), &e); err != nil {
			t.Fatalf("%q: %v", line, err)
		}
		out = append(out, e)
	}
	return out
}

func actsOf(entries []trailEntry) (out []string) {
	for _, e := range entries {
		out = append(out, strings.TrimSuffix(e.Act+" "+e.Phase, " "))
	}
	return out
}

// Ensure the trail contains every command that changes who may access a company, or that changes
// all its records at once, and shows who ran it. The trail of a deleted company must still be
// readable, and must contain neither a secret nor a name.
func TestTrail(t *testing.T) {
	t.Parallel()
	data := dataFolder(t)
	created := runJSON(t, data, "", "company", "create", "--name", "Hidden Name", "--issue-key")
	id, key := created["companyId"].(string), created["keyId"].(string)
	other := runJSON(t, data, "", "company", "create", "--name", "Other")["companyId"].(string)
	runJSON(t, data, "", "key", "quota", key, "--company", id, "--class", "read", "--limit", "200000")
	fresh := runJSON(t, data, "", "key", "rotate", key, "--company", id)
	runJSON(t, data, "", "key", "revoke", key, "--company", id)
	runJSON(t, data, `{"type":"board","record":{"id":"brd_1","name":"Hidden Name"}}`, "import", "--company", id, "-")
	runJSON(t, data, "", "company", "suspend", id)
	runJSON(t, data, "", "company", "resume", id)
	runJSON(t, data, "", "changes", "gap", "--company", id)
	runJSON(t, data, "", "changes", "gap")
	runJSON(t, data, "", "upgrade", "--company", id)
	runJSON(t, data, "", "company", "delete", id, "--yes")

	want := []string{
		"company_create", "key_issue", "key_quota", "key_rotate", "key_revoke", "import began", "import ended",
		"company_suspend began", "company_suspend ended", "company_resume began", "company_resume ended",
		"changes_gap began", "changes_gap ended", "upgrade began", "upgrade ended",
		"company_suspend began", "company_suspend ended", "company_delete began", "company_delete ended",
	}
	entries := readTrail(t, data, "--company", id)
	if got := actsOf(entries); fmt.Sprint(got) != fmt.Sprint(want) {
		t.Fatalf("the deleted company's trail has\n%q, want\n%q", got, want)
	}
	for n, e := range entries {
		if !strings.HasPrefix(e.By, "user:") || e.CompanyID != id || !strings.HasPrefix(e.ID, "trl_") {
			t.Errorf("%+v, want the user of this machine, the company and an id", e)
		}
		if e.Phase == "ended" && e.BeganID != entries[n-1].ID {
			t.Errorf("%+v does not name the entry with which it began, %s", e, entries[n-1].ID)
		}
	}
	for n, want := range map[int]string{
		2: fmt.Sprintf(`{"keyId":%q,"class":"read","limit":200000}`, key), 4: fmt.Sprintf(`{"keyId":%q}`, key), 6: `{"records":{"board":1}}`,
	} {
		if got := string(entries[n].Details); got != want {
			t.Errorf("the details of %s are %s, want %s", entries[n].Act, got, want)
		}
	}
	if rotated := string(entries[3].Details); !strings.Contains(rotated, fresh["id"].(string)) {
		t.Errorf("the rotation's details lack the new key: %s", rotated)
	}
	all := readTrail(t, data)
	if got := actsOf(all); len(all) != len(entries)+3 || fmt.Sprint(got[:3]) != "[company_create key_issue company_create]" {
		t.Errorf("the operators' trail has %q, want both companies and what was done to all", got)
	}
	if none := readTrail(t, data, "--company", other, "--since", "2999-01-01"); len(none) != 0 {
		t.Errorf("%d entries since a time in the future, want none", len(none))
	}
	r := runCommand(t, "", "trail", "--company", id, "--since", "1d", "--data", data)
	requireContains(t, r.out, "TIME", "key_quota", "limit=200000", "records=board:1", "company_delete ended")
	for _, hidden := range []string{"sk_live_", "Hidden"} {
		if strings.Contains(r.out, hidden) {
			t.Errorf("the trail contains %s", hidden)
		}
	}
	r = runCommand(t, "", "trail", "--company", "co_nobody", "--data", data)
	if r.code != 0 || r.out != "" || !strings.Contains(r.err, "no entries") {
		t.Errorf("the trail of a company that never existed: %+v", r)
	}
}
