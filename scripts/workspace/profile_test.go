package main

import (
	"encoding/json"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"growthworkspace/scripts/workspace/terminal"
)

// startWithProfiles starts a server with two companies. It stores the key of the demo company as
// the default login, and a key of the other company as the profile "tea". It clears the environment
// variables that select a key or a service.
func startWithProfiles(t *testing.T) (s *server, data, tea string) {
	t.Helper()
	s, data = startTestServer(t)
	for _, name := range []string{keyVariable, urlVariable} {
		t.Setenv(name, "")
	}
	tea = newCompany(t, data)
	key := runJSON(t, data, "", "key", "issue", "--company", tea, "--scopes", "company:read,plan:read")["key"].(string)
	for _, login := range [][]string{{s.Key, "login", "--base-url", s.BaseURL}, {key, "login", "--as", "tea", "--base-url", s.BaseURL}} {
		r := runCommand(t, login[0], append(login[1:], "--json")...)
		if r.code != 0 || strings.Contains(r.out+r.err, login[0]) {
			t.Fatalf("%v: exit code %d, or the key is printed: %s", login[1:], r.code, r.err)
		}
	}
	return s, data, tea
}

// Ensure a command uses the profile that --profile names, or else the one that WORKSPACE_PROFILE
// names, or else the login without a name. --profile overrides the variables with a key and a URL;
// WORKSPACE_PROFILE does not.
func TestProfiles(t *testing.T) {
	s, _, tea := startWithProfiles(t)
	companyOf := func(args ...string) string {
		t.Helper()
		return apiJSON(t, "", append([]string{"get_company"}, args...)...)["id"].(string)
	}
	for _, c := range []struct {
		key, url, profile string // the environment
		args              []string
		want              string
	}{
		{want: s.CompanyID},
		{args: []string{"--profile", "tea"}, want: tea},
		{profile: "tea", want: tea},
		{profile: "tea", args: []string{"--profile", "default"}, want: s.CompanyID},
		{profile: "tea", key: s.Key, want: s.CompanyID},
		{profile: "tea", url: s.BaseURL + "/", want: tea},
		{key: s.Key, url: "http://127.0.0.1:1", args: []string{"--profile", "tea"}, want: tea},
		{key: "sk_live_x", args: []string{"--profile", "tea", "--base-url", s.BaseURL + "/"}, want: tea},
	} {
		t.Setenv(keyVariable, c.key)
		t.Setenv(urlVariable, c.url)
		t.Setenv(profileVariable, c.profile)
		if got := companyOf(c.args...); got != c.want {
			t.Errorf("%+v: company %s", c, got)
		}
	}
}

// Ensure the command that undoes a write, and the question before a delete, name the profile that
// WORKSPACE_PROFILE selects.
func TestUndoWithProfile(t *testing.T) {
	s, data, tea := startWithProfiles(t)
	key := runJSON(t, data, "", "key", "issue", "--company", tea, "--scopes", "company:read,company:write,plan:read,plan:write")["key"].(string)
	if r := runCommand(t, key, "login", "--as", "tea"); r.code != 0 {
		t.Fatal(r)
	}
	t.Setenv(profileVariable, "tea")
	updated := runAtTerminal(t, "api", "update_company", "--summary", "Tea")
	created := runAtTerminal(t, "api", "create_plan_board", "--name", "Tea")
	requireContains(t, created.err, "To undo: workspace api delete_plan_board", " --profile tea\n")
	board := apiJSON(t, "", "list_plan_boards")["items"].([]any)[0].(map[string]any)["id"].(string)
	requireContains(t, runAtTerminal(t, "api", "delete_plan_board", board).err, "at "+s.BaseURL+" with the key of the profile tea.")
	t.Setenv(profileVariable, "")
	runUndo(t, updated)
	if got := apiJSON(t, "", "get_company", "--profile", "tea")["summary"]; got != nil {
		t.Errorf("summary %v after the undo, want none", got)
	}
}

// Ensure the commands that call the service use the profile that --profile names.
func TestProfileOfEveryCommand(t *testing.T) {
	s, _, tea := startWithProfiles(t)
	requireContains(t, runCommand(t, "", "doctor", "--profile", "tea").out, "the key of the profile tea is complete", tea)
	requireContains(t, runCommand(t, "", "check", "--profile", "tea", "--rule", "company").out, "pass  company")
	requireContains(t, runCommand(t, "", "check", "--base-url", s.BaseURL, "--rule", "company").out, "pass  company")
	requireContains(t, runCommand(t, "", "mcp", "--agent", "codex", "--profile", "tea").err, "leave out --profile")
	requireContains(t, runCommand(t, `{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"service_get_company","arguments":{}}}`+"\n", "mcp", "--profile", "tea").out, tea)
	url, _ := startStudio(t, "--profile", "tea")
	_, body := openInBrowser(t, url)
	requireContains(t, body, "Acme", `<span class="mark" title="workspace studio --profile tea">tea</span>`)
	url, _ = startStudio(t)
	if _, body = openInBrowser(t, url); strings.Contains(body, "--profile") {
		t.Error("the studio of the default login names a profile")
	}
	requireContains(t, runCommand(t, "", "__complete", "api", "get_company", "--profile", "").out, "default\ntea\n")
	requireContains(t, runCommand(t, "", "__complete", "logout", "--as", "").out, "default\ntea\n")
}

// Ensure the list of profiles shows the service and the company of each profile, and never a key.
// The profiles' files must be readable only by the user. A file that others can read must be listed
// with that problem.
func TestProfileList(t *testing.T) {
	isolateUserFolders(t)
	requireContains(t, runCommand(t, "", "profiles").err, "no profiles yet", "workspace login")
	s, _, tea := startWithProfiles(t)
	var list struct{ Items []map[string]any }
	if r := runCommand(t, "", "profiles", "--json"); json.Unmarshal([]byte(r.out), &list) != nil {
		t.Fatalf("profiles: %+v, want JSON", r)
	}
	for _, p := range list.Items {
		requireSecretFile(t, p["file"].(string))
		delete(p, "file")
	}
	want := []map[string]any{
		{"name": "default", "baseUrl": s.BaseURL, "companyId": s.CompanyID, "selected": true, "problem": nil},
		{"name": "tea", "baseUrl": s.BaseURL, "companyId": tea, "selected": false, "problem": nil},
	}
	if diff := cmp.Diff(want, list.Items); diff != "" {
		t.Errorf("profiles (-want +got):\n%s", diff)
	}
	text := runCommand(t, "", "profiles")
	requireContains(t, text.out, "NAME", "*  default  "+s.BaseURL+"  "+s.CompanyID, "   tea      "+s.BaseURL+"  "+tea)
	if strings.Contains(text.out+text.err, "sk_live_") {
		t.Error("a key is printed")
	}
	t.Setenv(profileVariable, "tea")
	t.Setenv(keyVariable, s.Key)
	t.Setenv(urlVariable, "https://other.example/")
	text = runCommand(t, "", "profiles")
	requireContains(t, text.out, "*  tea ")
	requireContains(t, text.err, "WORKSPACE_KEY is set", "commands call https://other.example, and do not use the key of tea")
	t.Setenv(urlVariable, "")
	file := filepath.Join(os.Getenv("XDG_CONFIG_HOME"), "growth-workspace", "profiles", "tea.json")
	if err := os.Chmod(file, 0o640); err != nil {
		t.Fatal(err)
	}
	requireContains(t, runCommand(t, "", "profiles").err, "tea.json can be read by others")
	requireContains(t, runRefused(t, 1, "", "api", "get_company", "--profile", "tea"), "can be read by others", "workspace login --as tea")
	if r := runCommand(t, "", "logout"); r.code != 0 || !strings.Contains(r.out, "tea.json") {
		t.Errorf("logout with WORKSPACE_PROFILE: %+v", r)
	}
}

// Ensure an error about a profile names the profiles that exist. If a profile is named, no command
// may fall back to another key.
func TestProfileErrors(t *testing.T) {
	s, data, tea := startWithProfiles(t)
	for _, args := range [][]string{
		{"api", "get_company", "--profile", "coffee"}, {"doctor", "--profile", "coffee"}, {"studio", "--profile", "coffee"}, {"check", "--profile", "coffee"},
	} {
		requireContains(t, runRefused(t, 1, "", args...), "there is no profile coffee (stored profiles: default, tea)", "workspace login --as coffee")
	}
	requireContains(t, runRefused(t, 1, "", "logout", "--as", "coffee"), "there is no profile coffee (stored profiles: default, tea)")
	for _, name := range []string{"Tea", "../tea", "", "a b", strings.Repeat("x", 41)} {
		for _, args := range [][]string{{"api", "get_company", "--profile=" + name}, {"login", "--as=" + name}} {
			r := runCommand(t, "", args...)
			requireUsage(t, strings.Join(args, " "), r)
			requireContains(t, r.err, "must be a name such as prod")
		}
	}
	requireContains(t, runRefused(t, 2, "", "api", "get_company", "--profile", "tea", "--base-url", "http://127.0.0.1:1"), "the profile tea is for "+s.BaseURL+" alone")
	requireContains(t, runCommand(t, "", "login", "--profile", "tea").err, "did you mean --as?")
	requireContains(t, runCommand(t, "", "doctor", "--as", "tea").err, "did you mean --profile?")

	// A revoked key is reported with its profile, and a login to a profile keeps the service.
	issued := runJSON(t, data, "", "key", "issue", "--company", tea, "--scopes", "company:read")
	t.Setenv(urlVariable, "http://127.0.0.1:1")
	if r := runCommand(t, issued["key"].(string), "login", "--as", "tea"); r.code != 0 {
		t.Fatalf("a login to a profile without --base-url: %+v", r)
	}
	runJSON(t, data, "", "key", "revoke", issued["id"].(string), "--company", tea)
	requireContains(t, runCommand(t, "", "api", "get_company", "--profile", "tea").err, "the key of the profile tea was sent to "+s.BaseURL, "workspace doctor --profile tea")

	// The profile that the variable names must exist, too, and its key must not be used for another
	// service.
	t.Setenv(urlVariable, "")
	t.Setenv(profileVariable, "coffee")
	t.Setenv(keyVariable, s.Key)
	requireContains(t, runRefused(t, 1, "", "api", "get_company"), "there is no profile coffee")
	requireContains(t, runCommand(t, "", "profiles").err, "WORKSPACE_PROFILE selects coffee, which is not stored")
	t.Setenv(profileVariable, "../tea")
	requireContains(t, runRefused(t, 2, "", "api", "get_company"), "WORKSPACE_PROFILE: must be a name")
	t.Setenv(profileVariable, "tea")
	t.Setenv(keyVariable, "")
	requireContains(t, runRefused(t, 1, "", "api", "get_company", "--base-url", "http://service.example"), "no key for http://service.example", "workspace login --as NAME --base-url")
	if r := runCommand(t, "", "logout", "--as", "default"); r.code != 0 {
		t.Fatalf("logout: %+v", r)
	}
	t.Setenv(profileVariable, "")
	requireContains(t, runRefused(t, 1, "", "api", "get_company", "--base-url", s.BaseURL), "no key for "+s.BaseURL, "; --profile tea has one")
}

// Ensure `mcp install` adds an entry whose bridge uses the profile that the user has named.
func TestInstallWithProfile(t *testing.T) {
	s, data := startTestServer(t)
	createHome(t)
	key := runJSON(t, data, "", "key", "issue", "--company", s.CompanyID, "--scopes", "plan:read")["key"].(string)
	if r := runCommand(t, key, "login", "--as", "reader"); r.code != 0 {
		t.Fatalf("login: %+v", r)
	}
	r := runCommand(t, "", "mcp", "install", "cursor", "--profile", "reader", "--own-key=false", "--skills=false", "--yes")
	if r.code != 0 || strings.Contains(r.out, key) {
		t.Fatalf("install: %+v, or the output has the key", r)
	}
	if entry := linkedEntry(t, r.out); !slices.Equal(entry.Args, []string{"mcp", "--profile", "reader"}) {
		t.Errorf("the entry is %+v, want the profile", entry)
	}
}

// Ensure every command that calls the service has --profile and --base-url.
func TestFlagsOfProfiles(t *testing.T) {
	t.Parallel()
	root := rootCommand(&terminal.Terminal{})
	for _, words := range []string{"api", "studio", "mcp", "mcp install", "doctor", "check"} {
		command, _, err := root.Find(strings.Fields(words))
		if err != nil || command.Flag("profile") == nil || command.Flag("base-url") == nil {
			t.Errorf("%s has no --profile or no --base-url: %v", words, err)
		}
	}
}
