package main

import (
	"encoding/json"
	"regexp"
	"runtime/debug"
	"strings"
	"testing"

	"github.com/spf13/cobra"

	"growthworkspace/scripts/workspace/terminal"
	"growthworkspace/shared/fault"
)

// Ensure a usage error is one line that says what to do, with exit code 2. The command fails before
// it starts anything.
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
		{"serve --port 8099", []string{"unknown flag: --port", "did you mean --addr?"}},
		{"studio --host localhost", []string{"did you mean --addr?"}},
		{"doctor --url http://x", []string{"did you mean --base-url?"}},
		{"api push_metric_points --file x", []string{"did you mean --input?"}},
		{"key list --format x", []string{"did you mean --json?"}},
		{"key issue --port 1", []string{"unknown flag: --port (see"}},
		{"vrsion", []string{"did you mean version?"}},
		{"version now", []string{"too many arguments"}},
		{"serve --addr 8080", []string{"--addr: must be host:port"}},
		{"status now", []string{`too many arguments, starting with "now"`}},
		{"report --week 47", []string{"--week: must be a week such as 2026-W47, this or last"}},
		{"report --week 2027-W53", []string{"--week: there is no week 2027-W53"}},
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
		{"import file.jsonl --company co_1 --site sit_1", []string{"--site needs --from KIND"}},
		{"import file.jsonl --company co_1 --replace", []string{"--replace needs --from KIND"}},
		{"import a b --company co_1", []string{`too many arguments, starting with "b"`}},
		{"import a --company co_1 --from google-play --site s", []string{"--site belongs to --from lighthouse"}},
		{"convert x.csv", []string{"--from: must be one of google-play, app-store, reddit, lighthouse"}},
		{"convert --from google-play", []string{"name the FILE"}},
		{"push", []string{"name a command: reviews, points, audit"}},
		{"push reviews", []string{"name the FILE"}},
		{"push reviews x --from lighthouse", []string{"--from: must be one of google-play, app-store, reddit"}},
		{"push audit x --fail-if scoreSeo=90", []string{"--fail-if: must be a score, < or <=, and a number"}},
		{"export", []string{"--company ID"}},
		{"due", []string{"name a command: run, list, claim, published, failed, retry, stuck"}},
		{"due list --company co_1 --limit 0", []string{"--limit: must be 1 to 1000"}},
		{"due stuck --company co_1 --older long", []string{"--older: must be a length of time"}},
		{"due claim --company co_1", []string{"name the POST"}},
		{"due published pst_1 --company co_1", []string{"--claim: must be the claimId"}},
		{"due published pst_1 --company co_1 --claim clm_1 --published-at today", []string{"--published-at: must be a time"}},
		{"due failed pst_1 --company co_1 --claim clm_1", []string{"--reason: say why the post was not sent"}},
		{"due retry pst_1 --company co_1 --claim pst_1", []string{"--claim: must be the claimId"}},
		{"approved", []string{"name a command: run, list, claim, posted, failed, stuck"}},
		{"approved posted fbk_1 --company co_1", []string{"--claim: must be the claimId"}},
		{"approved posted --company co_1 --claim none", []string{"name the FEEDBACK"}},
		{"snapshot --company co_1", []string{"--board ID"}},
		{"snapshot --board brd_1", []string{"--company ID"}},
		{"snapshot lst", []string{"did you mean list?"}},
		{"snapshot --company co_1 --board brd_1 --version 0", []string{"--version: must be 1 to"}},
		{"snapshot rollback --board brd_1", []string{"--version: must be 1 to"}},
		{"snapshot list --board x#y", []string{"--board ID"}},
		{"snapshot list --board brd_1 --table t", []string{"--table and --endpoint: this command calls the API"}},
		{"trail --since soon", []string{"--since: must be a time ago such as 7d"}},
		{"trail --company x#y", []string{"--company: must be the id of a company"}},
		{"company list --data d --table t", []string{"--data cannot be combined with --table"}},
	} {
		r := runCommand(t, "", strings.Fields(c.args)...)
		requireUsage(t, c.args, r)
		requireContains(t, r.err, c.want...)
	}
	requireContains(t, runRefused(t, 2, "", "srve"), "did you mean serve?")
}

// Ensure each command's help has an example, and the root command's help shows the first steps. No
// help may need a clone of the repository: the archives contain only the program, the engine and
// the studio's files.
func TestHelp(t *testing.T) {
	t.Parallel()
	root := runCommand(t, "", "--help")
	requireContains(t, root.out, "Two minutes", "workspace serve", "company create", "key issue", "--data", "--endpoint", "--table")
	count := 0
	var visit func(c *cobra.Command)
	visit = func(c *cobra.Command) {
		count++
		for _, word := range []string{"scripts/", "infra/", "npm"} {
			if text := c.Short + c.Long + c.Example + c.Flags().FlagUsages(); strings.Contains(text, word) {
				t.Errorf("the help of %s mentions %s", c.CommandPath(), word)
			}
		}
		if !c.HasSubCommands() && !strings.Contains(c.Example, c.CommandPath()) {
			t.Errorf("the help of %s has no example: %q", c.CommandPath(), c.Example)
		}
		for _, child := range c.Commands() {
			visit(child)
		}
	}
	visit(rootCommand(&terminal.Terminal{}))
	if count < 100 {
		t.Errorf("only %d commands", count)
	}
}

// Ensure every command in the main help is in a group.
func TestCommandGroups(t *testing.T) {
	t.Parallel()
	help := runCommand(t, "", "--help").out
	requireContains(t, help, "For users of the API:\n  api ", "For operators:\n  company ", "For developers:\n  check ", "About this program:\n  completion ")
	if strings.Contains(help, "Additional Commands") {
		t.Errorf("a command is in no group: %s", help)
	}
}

// goRun is the command that the documentation uses to start the program from a clone.
const goRun = "go run ./scripts/workspace"

// bareMentionPattern matches a command line that starts with "workspace", which works only if the
// program is installed.
var bareMentionPattern = regexp.MustCompile("(?m)(^|[` |(])workspace (api|check|client|company|doctor|due|approved|key|login|logout|mcp|report|serve|status|studio) ")

// Ensure each command that the program suggests starts the program in the same way as the user did,
// and uses the table that the user specified.
func TestSuggestedCommands(t *testing.T) {
	isolateUserFolders(t)
	data := dataFolder(t)
	// runForSuggestion runs a command and returns the arguments of the command that its output
	// suggests. words is the text before the suggestion.
	runForSuggestion := func(words string, args ...string) []string {
		t.Helper()
		r := runCommandAs(t, goRun, "", append(args, "--data", data)...)
		_, after, found := strings.Cut(r.out+r.err, words+goRun+" ")
		if !found || bareMentionPattern.MatchString(r.out+r.err) {
			t.Fatalf("%v: exit code %d, want a command after %q: %s%s", args, r.code, words, r.out, r.err)
		}
		after, _, _ = strings.Cut(after, "\n")
		after, _, _ = strings.Cut(after, "`")
		return strings.Fields(after)
	}
	create := runForSuggestion("create one with `", "company", "list")
	issue := runForSuggestion("Its first key:\n  ", append(create[:len(create)-2:len(create)-2], "--data", data)...)
	companyID := issue[3]
	if args := runForSuggestion("issue one with `", "key", "list", "--company", companyID); strings.Join(args, " ") != strings.Join(issue, " ") {
		t.Errorf("%v, want %v", args, issue)
	}
	if r := runCommandAs(t, goRun, "", issue...); r.code != 0 || !strings.HasPrefix(r.out, "sk_live_") {
		t.Errorf("%v: %+v, want exit code 0 and a key", issue, r)
	}
	resume := runForSuggestion("To end it:\n  ", "company", "suspend", companyID)
	if r := runCommandAs(t, goRun, "", resume...); r.code != 0 {
		t.Errorf("%v: %+v, want exit code 0", resume, r)
	}
	list := runForSuggestion("in "+data+": `", "key", "list", "--company", "co_0")
	if r := runCommandAs(t, goRun, "", list...); r.code != 0 || !strings.Contains(r.out, companyID) {
		t.Errorf("%v: %+v, want exit code 0 and %s", list, r, companyID)
	}
	keys := runForSuggestion("that still works: `", "key", "revoke", "key_0", "--company", companyID)
	if r := runCommandAs(t, goRun, "", keys...); r.code != 0 {
		t.Errorf("%v: %+v, want exit code 0", keys, r)
	}
}

// Ensure the help and the errors of every command show the program's name as the user typed it.
func TestHelpNamesTheProgram(t *testing.T) {
	isolateUserFolders(t)
	var visit func(c *cobra.Command, path []string)
	visit = func(c *cobra.Command, path []string) {
		if r := runCommandAs(t, goRun, "", append(path, "--help")...); r.code != 0 || bareMentionPattern.MatchString(strings.ReplaceAll(r.out, "`workspace", "")) || !strings.Contains(r.out, goRun+" ") {
			t.Errorf("%v --help: exit code %d, want 0 and only %s as the program: %s", path, r.code, goRun, r.out)
		}
		for _, child := range c.Commands() {
			if child.Name() == "create_plan_item" || child.Parent().Name() != "api" { // checking the command of one operation is enough, because all of them are alike
				visit(child, append(path[:len(path):len(path)], child.Name()))
			}
		}
	}
	visit(rootCommand(&terminal.Terminal{}), nil)
	for line, want := range map[string]string{
		"bananas": "(see `" + goRun + " --help`)", "serve --prt 1": "(see `" + goRun + " serve --help`)", "api": "`" + goRun + " api OPERATION --help`",
		"api bananas": "`" + goRun + " api` lists them", "api get_company": "`" + goRun + " login --base-url http://127.0.0.1:8080`",
		"doctor": "or run `" + goRun + " login`", "login": "| " + goRun + " login",
	} {
		if r := runCommandAs(t, goRun, "", strings.Fields(line)...); !strings.Contains(r.out+r.err, want) || bareMentionPattern.MatchString(r.out+r.err) {
			t.Errorf("%s: want %q, and only %s as the program: %s%s", line, want, goRun, r.out, r.err)
		}
	}
}

// Ensure each command's help lists the flags that it uses. Only commands that open the table have
// the table's flags.
func TestFlagsOfCommands(t *testing.T) {
	t.Parallel()
	for _, command := range []string{"api", "api list_feedback", "studio", "doctor", "check", "login", "logout", "due list", "approved claim"} {
		help := runCommand(t, "", append(strings.Fields(command), "--help")...).out
		if _, flags, _ := strings.Cut(help, "Flags:"); strings.Contains(flags, "--table") || strings.Contains(flags, "--endpoint") {
			t.Errorf("%s has flags of the table: %s", command, help)
		}
	}
	for _, command := range []string{"serve", "company list", "key issue", "import", "export", "snapshot", "upgrade", "changes gap"} {
		requireContains(t, runCommand(t, "", append(strings.Fields(command), "--help")...).out, "--table table", "--endpoint URL", "--data folder")
	}
	requireContains(t, runCommand(t, "", "key", "rotate", "--help").out, "--overlap duration", "such as 12h or 7d")
	requireContains(t, runCommand(t, "", "due", "stuck", "--help").out, "--older duration", "such as 15m, 2h or 1d")
	requireContains(t, runCommand(t, "", "key", "issue", "--help").out, "--expires duration")
	requireContains(t, runCommand(t, "", "--help").out, "  completion ", "  version ", "--version ")
	// A flag may also come before the command.
	requireContains(t, runCommand(t, "", "--table", "t", "--data", "d", "company", "list").err, "--data cannot be combined with --table")
}

// Ensure the version command prints the API's version and the source revision, as text and as JSON.
func TestVersion(t *testing.T) {
	t.Parallel()
	for _, command := range []string{"version", "--version"} {
		requireContains(t, runCommand(t, "", command).out, "version      none", "\ncommit       ", "\nengine       Dynoxide 1.2.1", "\nAPI version  "+fault.Version+"\n")
		var v programVersion
		r := runCommand(t, "", command, "--json")
		if err := json.Unmarshal([]byte(r.out), &v); err != nil || r.code != 0 {
			t.Errorf("%s --json: want exit code 0 and JSON: %v: %+v", command, err, r)
		}
		if v.APIVersion != fault.Version || v.Go == "" {
			t.Errorf("%s: API version %q, want %s; Go version %q, want any", command, v.APIVersion, fault.Version, v.Go)
		}
	}
	build := &debug.BuildInfo{GoVersion: "go1.26.0", Settings: []debug.BuildSetting{{Key: "vcs.revision", Value: "2e5960f"}, {Key: "vcs.modified", Value: "true"}}}
	requireContains(t, versionOf(build, "").String(), "commit       2e5960f, with changes\n", "built with   go1.26.0")
	requireContains(t, versionOf(&debug.BuildInfo{}, "").String(), "commit       unknown")
}
