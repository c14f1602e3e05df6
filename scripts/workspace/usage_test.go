package main

import (
	"strings"
	"testing"
)

// Ensure a usage error is one line that says what to do, with exit code 2 and before anything is started.
func TestWrongUsage(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		args string
		want []string
	}{
		{"srve", []string{`unknown command "srve"`, "did you mean serve?"}},
		{"bananas", []string{`unknown command "bananas"`}},
		{"key", []string{"name a command: issue, list, current, rotate, revoke, quota"}},
		{"key isue --company co_1", []string{`unknown command "isue"`, "did you mean issue?"}},
		{"company lst", []string{"did you mean list?"}},
		{"serve --adr :0", []string{"unknown flag: --adr", "did you mean --addr?"}},
		{"serve --addr 8080", []string{"--addr: must be host:port"}},
		{"studio now", []string{`too many arguments, starting with "now"`}},
		{"serve now", []string{`too many arguments, starting with "now"`}},
		{"company create", []string{"--name: must have 1 to 200 characters"}},
		{"company suspend", []string{"name the ID"}},
		{"key list", []string{"--company ID"}},
		{"key issue --company co_1", []string{"--scopes: name all, or some of company:read"}},
		{"key issue --company co_1 --scopes plan:read,plan:fly", []string{`no scope "plan:fly"`, "keys:write", "metrics:write"}},
		{"key issue --company co_1 --scopes all --expires soon", []string{"--expires: must be a time from now such as 90d"}},
		{"key issue --company co_1 --scopes all --expires 2001-01-01", []string{"2001-01-01 is not in the future"}},
		{"key rotate key_1 --company co_1 --overlap 31d", []string{"--overlap: must be 0s to 30d"}},
		{"key quota key_1 --company co_1 --class reed --limit 1", []string{"--class: must be one of read, write, publish, push"}},
		{"key quota key_1 --company co_1 --class read", []string{"--limit: must be 0 to"}},
		{"import --company co_1", []string{"name the FILE"}},
		{"import file.jsonl", []string{"--company ID"}},
		{"export", []string{"--company ID"}},
		{"due", []string{"name a command: list, claim, published, failed, retry, stuck"}},
		{"due list", []string{"--company ID, or --company all"}},
		{"due list --company co_1 --limit 0", []string{"--limit: must be 1 to 1000"}},
		{"due stuck --company co_1 --older long", []string{"--older: must be a length of time"}},
		{"due claim --company co_1", []string{"name the POST"}},
		{"due claim pst_1", []string{"--company ID"}},
		{"due published pst_1 --company co_1", []string{"--claim: must be the claimId"}},
		{"due published pst_1 --company co_1 --claim clm_1 --external-url ftp://x", []string{"--external-url: must be an http or https address"}},
		{"due published pst_1 --company co_1 --claim clm_1 --published-at today", []string{"--published-at: must be a time"}},
		{"due failed pst_1 --company co_1 --claim clm_1", []string{"--reason: must have 1 to 2000 characters"}},
		{"due retry pst_1 --company co_1 --claim pst_1", []string{"--claim: must be the claimId"}},
		{"approved", []string{"name a command: list, claim, posted, failed, stuck"}},
		{"approved posted fbk_1 --company co_1", []string{"--claim: must be the claimId"}},
		{"approved posted --company co_1 --claim none", []string{"name the FEEDBACK"}},
		{"snapshot --company co_1", []string{"--board ID"}},
		{"snapshot --board brd_1", []string{"--company ID"}},
		{"snapshot lst", []string{"did you mean list?"}},
		{"snapshot --company co_1 --board brd_1 --version 0", []string{"--version: must be 1 to"}},
		{"snapshot rollback --company co_1 --board brd_1", []string{"--version: must be 1 to"}},
		{"snapshot list --company co_1 --board x#y", []string{"--board ID"}},
		{"company list --data d --table t", []string{"--data cannot be combined with --table"}},
	} {
		r := call(t, "", strings.Fields(c.args)...)
		if r.code != 2 || r.out != "" || strings.Count(r.err, "\n") != 1 || strings.Contains(r.err, "Usage:") {
			t.Errorf("%s: exit code %d, %q, %q", c.args, r.code, r.out, r.err)
		}
		want(t, r.err, c.want...)
		want(t, refusal(t, 2, "", strings.Fields(c.args)...), c.want...)
	}
}

// Ensure each command's help has an example, and the root's help shows the first steps.
func TestHelp(t *testing.T) {
	t.Parallel()
	root := call(t, "", "--help")
	want(t, root.out, "Two minutes", "workspace serve", "company create", "key issue", "--data", "--endpoint", "--table")
	for _, command := range []string{
		"serve", "company create", "company list", "company suspend", "company resume", "key issue", "key list", "key rotate", "key revoke", "key quota", "import", "export",
		"due list", "due claim", "due published", "due failed", "due retry", "due stuck",
		"approved list", "approved claim", "approved posted", "approved failed", "approved stuck", "snapshot", "snapshot list", "snapshot rollback", "upgrade",
	} {
		r := call(t, "", append(strings.Fields(command), "--help")...)
		if r.code != 0 {
			t.Errorf("%s: %d", command, r.code)
		}
		want(t, r.out, "Examples:", "workspace "+command)
	}
}
