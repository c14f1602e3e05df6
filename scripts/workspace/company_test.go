package main

import (
	"strings"
	"testing"

	"growthworkspace/infra"
)

func TestCompanies(t *testing.T) {
	t.Parallel()
	data := dataFolder(t)
	if items := runJSON(t, data, "", "company", "list")["items"].([]any); len(items) != 0 {
		t.Errorf("companies in a new folder: %v, want none", items)
	}
	first := runJSON(t, data, "", "company", "create", "--name", "First & Co")
	second := runJSON(t, data, "", "company", "create", "--name", "Second")
	id, _ := first["companyId"].(string)
	if first["createdAt"] == nil {
		t.Errorf("createdAt is missing: %v", first)
	}
	if diff := objectDifference(map[string]any{"name": "First & Co", "id": id}, first); diff != "" {
		t.Errorf("created company (-want +got):\n%s", diff)
	}
	items := runJSON(t, data, "", "company", "list")["items"].([]any)
	if len(items) != 2 || items[0].(map[string]any)["id"] != id || items[1].(map[string]any)["id"] != second["companyId"] {
		t.Errorf("companies %v, want %s and %v", items, id, second["companyId"])
	}
	suspended := runJSON(t, data, "", "company", "suspend", id)
	if diff := objectDifference(map[string]any{"companyId": id, "keys": 0.0}, suspended); diff != "" || suspended["suspendedAt"] == nil {
		t.Errorf("suspended at %v, want a time (-want +got):\n%s", suspended["suspendedAt"], diff)
	}
	items = runJSON(t, data, "", "company", "list")["items"].([]any)
	if at := items[0].(map[string]any)["suspendedAt"]; at != suspended["suspendedAt"] {
		t.Errorf("in the list the company is suspended at %v, want %v", at, suspended["suspendedAt"])
	}
	if at := items[1].(map[string]any)["suspendedAt"]; at != nil {
		t.Errorf("the other company is suspended at %v, too", at)
	}
	if resumed := runJSON(t, data, "", "company", "resume", id); resumed["suspendedAt"] != nil {
		t.Errorf("a resumed company is suspended at %v", resumed["suspendedAt"])
	}
	r := runCommand(t, "", "company", "list", "--data", data)
	requireContains(t, r.out, "SUSPENDED", "First & Co", id)
}

// Ensure the command that a deployed stack prints creates a company with a working key. The command
// is one line that a shell accepts unchanged.
func TestFirstKeyCommand(t *testing.T) {
	t.Parallel()
	data := dataFolder(t)
	line := ""
	for _, output := range infra.New().Outputs {
		if output.Name == "FirstKeyCommand" {
			line = output.Value[0].Value.(infra.List)[0].(string)
		}
	}
	start, rest, found := strings.Cut(line, " --table ${Name} ")
	words, hasRegion := strings.CutPrefix(start, "AWS_REGION=${AWS::Region} "+goRun+" ")
	if !found || !hasRegion || strings.ContainsAny(words+rest, "<>|&;$\"'`") {
		t.Fatalf("the command is not one plain line: %s", line)
	}
	args := append(strings.Fields(words), strings.Fields(rest)...)
	created := runJSON(t, data, "", args...)
	key, _ := created["key"].(string)
	current := runJSON(t, data, key, "key", "current")
	expected := map[string]any{"companyId": created["companyId"], "id": created["keyId"], "state": "works"}
	if diff := objectDifference(expected, current); diff != "" {
		t.Errorf("the created key (-want +got):\n%s", diff)
	}
	if r := runCommand(t, "", append(args, "--data", data)...); r.code != 0 || !strings.Contains(r.out, "\n\nsk_live_") || !strings.Contains(r.out, "all scopes") {
		t.Errorf("%+v, want exit code 0, a key and its scopes", r)
	}
}

// Ensure a company is deleted only after confirmation. The command prints a receipt with the number
// of deleted records, and does not affect other companies.
func TestDeleteCompany(t *testing.T) {
	t.Parallel()
	data := dataFolder(t)
	id := companyWith(t, data,
		`{"type":"board","record":{"id":"brd_1","name":"Roadmap"}}`, `{"type":"feedback","record":{"id":"fbk_1","source":"app_store","externalId":"1"}}`)
	other := runJSON(t, data, "", "company", "create", "--name", "Other")["companyId"]
	one := runJSON(t, data, "", "company", "create", "--name", "One")["companyId"].(string)
	if r := runCommand(t, "", "company", "delete", one, "--yes", "--data", data); r.code != 0 || !strings.Contains(r.out, one+" is deleted; records: ") || strings.Contains(r.out, "Point-in-time") {
		t.Errorf("a folder has no point-in-time recovery: %+v", r)
	}
	runJSON(t, data, "", "key", "issue", "--company", id, "--scopes", "all")
	requireContains(t, runRefused(t, 2, "", "company", "delete", id, "--data", data), "--yes is needed")
	if items := runJSON(t, data, "", "company", "list")["items"].([]any); len(items) != 2 {
		t.Errorf("%d companies, want 2, because nothing was confirmed: %v", len(items), items)
	}
	got := runJSON(t, data, "", "company", "delete", id, "--yes")
	if got["companyId"] != id || got["erasedAt"] == nil || got["total"].(float64) < 5 {
		t.Errorf("receipt %v, want one of %s with a time and 5 records at least", got, id)
	}
	if diff := objectDifference(map[string]any{"plan": 1.0, "keys": 2.0}, got["records"].(map[string]any)); diff != "" {
		t.Errorf("records of the receipt (-want +got):\n%s", diff)
	}
	items := runJSON(t, data, "", "company", "list")["items"].([]any)
	if len(items) != 1 || items[0].(map[string]any)["id"] != other {
		t.Errorf("companies %v, want only %v", items, other)
	}
	requireContains(t, runRefused(t, 1, "", "company", "delete", id, "--yes", "--data", data), "no company")
}

// Ensure every command on a company that does not exist fails with an error that contains the id.
func TestUnknownCompany(t *testing.T) {
	t.Parallel()
	data := dataFolder(t)
	openTable(t, data) // keeps the engine running between the commands
	for _, id := range []string{"co_nobody", "co_x#company"} {
		for _, args := range [][]string{
			{"company", "suspend", id}, {"company", "resume", id}, {"company", "delete", id, "--yes"}, {"export", "--company", id}, {"import", "--company", id, "-"},
			{"key", "issue", "--scopes", "all", "--company", id}, {"key", "list", "--company", id}, {"key", "rotate", "key_1", "--company", id},
			{"snapshot", "--board", "brd_1", "--company", id}, {"upgrade", "--company", id}, {"changes", "gap", "--company", id},
			{"key", "revoke", "key_1", "--company", id}, {"key", "quota", "key_1", "--class", "read", "--limit", "1", "--company", id},
		} {
			requireContains(t, runRefused(t, 1, "", append(args, "--data", data)...), "no company \""+id+"\"", "workspace company list")
		}
	}
}
