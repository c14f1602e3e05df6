package main

import (
	"strings"
	"testing"

	"growthworkspace/infra"
)

func TestCompanies(t *testing.T) {
	t.Parallel()
	data := folder(t)
	if items := answer(t, data, "", "company", "list")["items"].([]any); len(items) != 0 {
		t.Error(items)
	}
	first := answer(t, data, "", "company", "create", "--name", "First & Co")
	second := answer(t, data, "", "company", "create", "--name", "Second")
	id, _ := first["companyId"].(string)
	if first["name"] != "First & Co" || first["createdAt"] == nil || first["id"] != id {
		t.Error(first)
	}
	items := answer(t, data, "", "company", "list")["items"].([]any)
	if len(items) != 2 || items[0].(map[string]any)["id"] != id || items[1].(map[string]any)["id"] != second["companyId"] {
		t.Error(items)
	}
	suspended := answer(t, data, "", "company", "suspend", id)
	if suspended["companyId"] != id || suspended["suspendedAt"] == nil || suspended["keys"] != 0.0 {
		t.Error(suspended)
	}
	items = answer(t, data, "", "company", "list")["items"].([]any)
	if items[0].(map[string]any)["suspendedAt"] != suspended["suspendedAt"] || items[1].(map[string]any)["suspendedAt"] != nil {
		t.Error(items)
	}
	if resumed := answer(t, data, "", "company", "resume", id); resumed["suspendedAt"] != nil {
		t.Error(resumed)
	}
	r := call(t, "", "company", "list", "--data", data)
	want(t, r.out, "SUSPENDED", "First & Co", id)
}

// Ensure the command that a deployed stack prints creates a company with a key that works, as one line that a shell takes as it is.
func TestFirstKeyCommand(t *testing.T) {
	t.Parallel()
	data := folder(t)
	line := ""
	for _, output := range infra.New().Outputs {
		if output.Name == "FirstKeyCommand" {
			line = output.Value[0].Value.(infra.List)[0].(string)
		}
	}
	start, rest, found := strings.Cut(line, " --table ${Name} ")
	words, region := strings.CutPrefix(start, "AWS_REGION=${AWS::Region} "+goRun+" ")
	if !found || !region || strings.ContainsAny(words+rest, "<>|&;$\"'`") {
		t.Fatal(line)
	}
	args := append(strings.Fields(words), strings.Fields(rest)...)
	created := answer(t, data, "", args...)
	key, _ := created["key"].(string)
	current := answer(t, data, key, "key", "current")
	if current["companyId"] != created["companyId"] || current["id"] != created["keyId"] || current["state"] != "works" {
		t.Errorf("%v: %v", created, current)
	}
	if r := call(t, "", append(args, "--data", data)...); r.code != 0 || !strings.Contains(r.out, "\n\nsk_live_") || !strings.Contains(r.out, "all scopes") {
		t.Errorf("%+v", r)
	}
}

// Ensure a company is deleted only when that was confirmed, with a receipt of its records, and that another one stays.
func TestDeleteCompany(t *testing.T) {
	t.Parallel()
	data := folder(t)
	id := companyWith(t, data,
		`{"type":"board","record":{"id":"brd_1","name":"Roadmap"}}`, `{"type":"feedback","record":{"id":"fbk_1","source":"app_store","externalId":"1"}}`)
	other := answer(t, data, "", "company", "create", "--name", "Other")["companyId"]
	one := answer(t, data, "", "company", "create", "--name", "One")["companyId"].(string)
	if r := call(t, "", "company", "delete", one, "--yes", "--data", data); r.code != 0 || !strings.Contains(r.out, one+" is deleted; records: ") || strings.Contains(r.out, "Point-in-time") {
		t.Errorf("a folder has no point-in-time recovery: %+v", r)
	}
	answer(t, data, "", "key", "issue", "--company", id, "--scopes", "all")
	want(t, refusal(t, 2, "", "company", "delete", id, "--data", data), "--yes is needed")
	if items := answer(t, data, "", "company", "list")["items"].([]any); len(items) != 2 {
		t.Error(items)
	}
	got := answer(t, data, "", "company", "delete", id, "--yes")
	records := got["records"].(map[string]any)
	if got["companyId"] != id || got["erasedAt"] == nil || records["plan"] != 1.0 || records["keys"] != 2.0 || got["total"].(float64) < 5 {
		t.Error(got)
	}
	items := answer(t, data, "", "company", "list")["items"].([]any)
	if len(items) != 1 || items[0].(map[string]any)["id"] != other {
		t.Error(items)
	}
	want(t, refusal(t, 1, "", "company", "delete", id, "--yes", "--data", data), "no company")
}

// Ensure every command reports a company that does not exist, by its id.
func TestUnknownCompany(t *testing.T) {
	t.Parallel()
	data := folder(t)
	for _, id := range []string{"co_nobody", "nonsense", "co_x#company"} {
		for _, args := range [][]string{
			{"company", "suspend", id}, {"company", "resume", id}, {"company", "delete", id, "--yes"}, {"export", "--company", id}, {"import", "--company", id, "-"},
			{"key", "issue", "--scopes", "all", "--company", id}, {"key", "list", "--company", id}, {"key", "rotate", "key_1", "--company", id},
			{"due", "list", "--company", id}, {"due", "stuck", "--company", id}, {"due", "claim", "pst_1", "--company", id},
			{"due", "retry", "pst_1", "--claim", "clm_1", "--company", id}, {"approved", "list", "--company", id},
			{"approved", "posted", "fbk_1", "--claim", "none", "--company", id}, {"snapshot", "--board", "brd_1", "--company", id},
			{"snapshot", "rollback", "--board", "brd_1", "--version", "1", "--company", id}, {"upgrade", "--company", id},
			{"key", "revoke", "key_1", "--company", id}, {"key", "quota", "key_1", "--class", "read", "--limit", "1", "--company", id},
		} {
			want(t, refusal(t, 1, "", append(args, "--data", data)...), "no company \""+id+"\"", "workspace company list")
		}
	}
}
