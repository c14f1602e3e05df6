package main

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/pelletier/go-toml/v2"

	"growthworkspace/scripts/workspace/terminal"
)

// fakeClientVariable is an environment variable. If it is set, the test binary acts as the client
// program named in the value.
const fakeClientVariable = "WORKSPACE_TEST_AS_CLIENT"

// runFakeClient adds or removes a server as the client's real program does, to the extent that `mcp
// install` uses it. It appends its arguments to a file named "commands" in the home folder.
func runFakeClient(program string, args []string) error {
	home := os.Getenv("HOME")
	log, err := os.OpenFile(filepath.Join(home, "commands"), os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o600)
	if err != nil {
		return err
	}
	fmt.Fprintln(log, program, strings.Join(args, " "))
	if err := log.Close(); err != nil {
		return err
	}
	switch program {
	case "claude":
		return fakeClaude(filepath.Join(home, ".claude.json"), args)
	case "code":
		var server map[string]any
		if err := json.Unmarshal([]byte(args[1]), &server); err != nil {
			return err
		}
		name, _ := server["name"].(string)
		delete(server, "name")
		return editJSON(filepath.Join(os.Getenv("XDG_CONFIG_HOME"), "Code", "User", "mcp.json"), "servers", func(servers map[string]any) error {
			servers[name] = server
			return nil
		})
	case "codex":
		file := filepath.Join(home, ".codex", "config.toml")
		text, _ := os.ReadFile(file) // the file may not exist yet
		settings := map[string]any{}
		if err := toml.Unmarshal(text, &settings); err != nil {
			return err
		}
		servers, _ := settings["mcp_servers"].(map[string]any)
		if servers == nil {
			servers = map[string]any{}
			settings["mcp_servers"] = servers
		}
		servers[args[2]] = map[string]any{"command": args[4], "args": args[5:]}
		text, err := toml.Marshal(settings)
		if err == nil {
			err = os.MkdirAll(filepath.Dir(file), 0o700)
		}
		if err == nil {
			err = os.WriteFile(file, text, 0o600)
		}
		return err
	}
	return fmt.Errorf("no program %s", program)
}

// fakeClaude adds or removes a server as `claude mcp add` and `claude mcp remove` do.
func fakeClaude(file string, args []string) error {
	return editJSON(file, "mcpServers", func(servers map[string]any) error {
		separator := slices.Index(args, "--")
		switch {
		case args[1] == "remove":
			delete(servers, args[len(args)-1])
			return nil
		case args[1] != "add" || separator < 0 || !slices.Contains(args[:separator], "user"):
			return fmt.Errorf("wrong arguments %q", args)
		case servers[args[separator-1]] != nil:
			return fmt.Errorf("MCP server %s already exists in user config", args[separator-1])
		}
		servers[args[separator-1]] = map[string]any{"type": "stdio", "command": args[separator+1], "args": args[separator+2:], "env": map[string]any{}}
		return nil
	})
}

func editJSON(file, object string, edit func(map[string]any) error) error {
	settings := map[string]any{}
	text, err := os.ReadFile(file)
	if err == nil {
		err = json.Unmarshal(text, &settings)
	}
	if err != nil && !os.IsNotExist(err) {
		return err
	}
	servers, _ := settings[object].(map[string]any)
	if servers == nil {
		servers = map[string]any{}
		settings[object] = servers
	}
	if err := edit(servers); err != nil {
		return err
	}
	text, err = json.MarshalIndent(settings, "", "  ")
	if err == nil {
		err = os.MkdirAll(filepath.Dir(file), 0o700)
	}
	if err == nil {
		err = os.WriteFile(file, text, 0o600)
	}
	return err
}

// createHome creates an empty home folder, and sets PATH to a folder that contains only the given
// clients' programs.
func createHome(t *testing.T, programs ...string) string {
	t.Helper()
	home, bin := t.TempDir(), t.TempDir()
	t.Setenv("HOME", home)
	t.Setenv("XDG_CONFIG_HOME", filepath.Join(home, ".config"))
	t.Setenv("XDG_DATA_HOME", filepath.Join(home, ".local", "share"))
	for _, name := range []string{"CLAUDE_CONFIG_DIR", "CODEX_HOME"} {
		t.Setenv(name, "")
	}
	for _, program := range programs {
		script := fmt.Sprintf("#!/bin/sh\n%s=%s exec %q \"$@\"\n", fakeClientVariable, program, os.Args[0])
		if err := os.WriteFile(filepath.Join(bin, program), []byte(script), 0o700); err != nil {
			t.Fatal(err)
		}
	}
	t.Setenv("PATH", bin)
	return home
}

// settingsOf returns the path of a client's settings in a home folder on Linux, and the path of its
// skills, which is "" if it has none.
func settingsOf(home, client string) (file, skills string) {
	switch client {
	case "claude-code":
		return filepath.Join(home, ".claude.json"), filepath.Join(home, ".claude", "skills")
	case "claude-desktop":
		return filepath.Join(home, ".config", "Claude", "claude_desktop_config.json"), ""
	case "cursor":
		return filepath.Join(home, ".cursor", "mcp.json"), filepath.Join(home, ".cursor", "skills")
	case "vscode":
		return filepath.Join(home, ".config", "Code", "User", "mcp.json"), filepath.Join(home, ".copilot", "skills")
	}
	return filepath.Join(home, ".codex", "config.toml"), filepath.Join(home, ".agents", "skills")
}

func writeText(t *testing.T, file, text string) {
	t.Helper()
	if err := os.MkdirAll(filepath.Dir(file), 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(file, []byte(text), 0o640); err != nil {
		t.Fatal(err)
	}
}

// filesOf returns the contents of all files below a folder, by path.
func filesOf(t *testing.T, folder string) map[string]string {
	t.Helper()
	out := map[string]string{}
	err := filepath.WalkDir(folder, func(name string, entry os.DirEntry, err error) error {
		if err != nil || entry.IsDir() {
			return err
		}
		text, err := os.ReadFile(name)
		out[name] = string(text)
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return out
}

// clientSettings contains, for each client, a settings file with a different server and the part of
// that server that must not change.
var clientSettings = map[string]struct{ before, kept string }{
	"claude-code":    {"{\n  \"numStartups\": 7,\n  \"mcpServers\": {\n    \"files\": {\"command\": \"npx\"}\n  }\n}\n", `"files": {"command": "npx"}`},
	"claude-desktop": {"{\n  \"mcpServers\": {\n    \"files\": {\"command\": \"npx\"}\n  },\n  \"theme\": \"dark\"\n}\n", `"files": {"command": "npx"}`},
	"cursor":         {"{\"mcpServers\": {\"files\": {\"command\": \"npx\"}}}", `"files": {"command": "npx"}`},
	"vscode":         {"{\n\t// my servers\n\t\"servers\": {\n\t\t\"files\": {\"command\": \"npx\"}, // for files\n\t},\n\t\"inputs\": []\n}\n", "\"files\": {\"command\": \"npx\"}, // for files"},
	"codex":          {"model = \"m\" # my model\n\n[mcp_servers.files]\ncommand = \"npx\" # for files\n", "command = \"npx\" # for files"},
}

// entryOf returns the command and the arguments of the workspace entry in a client's settings.
func entryOf(t *testing.T, client, text string) (out struct {
	Command string
	Args    []string
}) {
	t.Helper()
	if client == "codex" {
		var settings struct {
			Servers map[string]struct {
				Command string
				Args    []string
			} `toml:"mcp_servers"`
		}
		if err := toml.Unmarshal([]byte(text), &settings); err != nil {
			t.Fatalf("%s: %v: %s", client, err, text)
		}
		return settings.Servers["workspace"]
	}
	var settings struct {
		Servers, MCPServers map[string]struct {
			Command string
			Args    []string
		}
	}
	for _, comment := range []string{"// my servers", "// for files"} {
		text = strings.ReplaceAll(text, comment, "")
	}
	if err := json.Unmarshal([]byte(text), &settings); err != nil {
		t.Fatalf("%s: %v: %s", client, err, text)
	}
	if client == "vscode" {
		return settings.Servers["workspace"]
	}
	return settings.MCPServers["workspace"]
}

// Ensure `mcp install` connects every client to the same server, one after the other.
func TestInstall(t *testing.T) {
	isolateUserFolders(t)
	data := dataFolder(t)
	s := startServer(t, data)
	for name, test := range map[string]func(t *testing.T, s *server, data string){
		"clients": testInstall, "broken settings": testInstallIntoBrokenSettings, "questions": testInstallAsks, "keys": testInstallKeys,
	} {
		t.Run(name, func(t *testing.T) { test(t, s, data) })
	}
}

// Ensure `mcp install` adds the bridge to the settings of every client, either with the client's
// own program or by changing the file and keeping a copy. It must create a key for the agent, write
// the skills, and leave everything else unchanged. A second run must change nothing. The bridge
// must work when it is started as the entry says.
func testInstall(t *testing.T, s *server, data string) {
	t.Setenv(urlVariable, s.BaseURL)
	t.Setenv(keyVariable, s.Key)
	keys := func() int {
		return len(runJSON(t, data, "", "key", "list", "--company", s.CompanyID)["items"].([]any))
	}
	for client, settings := range clientSettings {
		for _, programs := range [][]string{nil, {"claude", "code", "codex"}} {
			usesProgram := programs != nil && (client == "claude-code" || client == "vscode" || client == "codex")
			if programs != nil && !usesProgram {
				continue
			}
			name := fmt.Sprintf("%s, own program: %t", client, usesProgram)
			dir := createHome(t, programs...)
			file, skills := settingsOf(dir, client)
			before := settings.before
			if usesProgram && client == "vscode" { // VS Code's program would lose the comments
				before = `{"servers": {"files": {"command": "npx"}}, "inputs": []}`
			}
			writeText(t, file, before)
			args := []string{"mcp", "install", client, "--areas", "feedback,context"}
			count := keys()

			shown := runCommand(t, "", args...)
			if shown.code != 1 || !strings.Contains(shown.err, "nothing was done, because there is no terminal to ask on: --yes makes the change") ||
				!strings.Contains(shown.err, "+ ") || !strings.Contains(shown.err, os.Args[0]) || keys() != count {
				t.Errorf("%s: without --yes: %+v", name, shown)
			}
			if after := filesOf(t, dir); len(after) != 1 || after[file] != before {
				t.Errorf("%s: without --yes it changes files: %v", name, after)
			}

			done := runCommand(t, "", append(args, "--yes")...)
			if done.code != 0 {
				t.Fatalf("%s: %+v", name, done)
			}
			text := filesOf(t, dir)[file]
			entry := entryOf(t, client, text)
			if entry.Command != os.Args[0] || !filepath.IsAbs(entry.Command) || !slices.Equal(entry.Args, []string{"mcp", "--agent", client, "--areas", "feedback,context"}) {
				t.Errorf("%s: the entry is %+v", name, entry)
			}
			if strings.Contains(text, "sk_live") || !usesProgram && !strings.Contains(text, settings.kept) || !strings.Contains(text, "npx") {
				t.Errorf("%s: the settings have a key, or lost something: %s", name, text)
			}
			if keys() != count+1 {
				t.Errorf("%s: %d keys more, want 1", name, keys()-count)
			}
			checkInstalledFiles(t, name, dir, file, before, skills, usesProgram)

			files := filesOf(t, dir)
			again := runCommand(t, "", args...)
			if again.code != 0 || !strings.Contains(again.out, "nothing to change") {
				t.Errorf("%s: a second install: %+v", name, again)
			}
			if diff := cmp.Diff(files, filesOf(t, dir)); diff != "" || keys() != count+1 {
				t.Errorf("%s: a second install changes something: %s", name, diff)
			}

			t.Setenv(keyVariable, "sk_live_not_used")
			out := startBridge(t, entry.Args[1:]...).exchange(t, `{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"service_update_feedback_reply","arguments":{"feedbackId":"fbk_0","replyStatus":"approved"}}}`, `{"jsonrpc":"2.0","id":2,"method":"tools/call","params":{"name":"service_list_feedback","arguments":{"limit":1}}}`)
			t.Setenv(keyVariable, s.Key)
			if both := strings.Join(out, "\n"); len(out) != 2 || !strings.Contains(both, `"fbk_`) || !strings.Contains(both, "feedback:write") || strings.Count(both, `"isError":true`) != 1 {
				t.Errorf("%s: the bridge as entered lists no reviews, or approves a reply: %.2000s", name, both)
			}

			changed := runCommand(t, "", "mcp", "install", client, "--yes", "--own-key=false", "--base-url", s.BaseURL)
			requireContains(t, changed.err, "would not have WORKSPACE_KEY: store your key with `workspace login --base-url "+s.BaseURL+"`")
			if r := runCommand(t, s.Key, "login", "--base-url", s.BaseURL); r.code != 0 {
				t.Fatalf("login: %+v", r)
			}
			t.Setenv(keyVariable, "")
			changed = runCommand(t, "", "mcp", "install", client, "--yes", "--own-key=false", "--skills=false")
			t.Setenv(keyVariable, s.Key)
			text = filesOf(t, dir)[file]
			if entry := entryOf(t, client, text); changed.code != 0 || !slices.Equal(entry.Args, []string{"mcp", "--base-url", s.BaseURL}) || keys() != count+1 {
				t.Errorf("%s: with the user's key: %+v, the entry is %+v", name, changed, entry)
			}
			if !usesProgram && !strings.Contains(text, settings.kept) || !strings.Contains(changed.err, "- ") {
				t.Errorf("%s: the replaced entry is not shown, or the rest is lost: %s, %s", name, changed.err, text)
			}
		}
	}
}

// checkInstalledFiles checks the files other than the settings: the copy, the key, the skills, and
// the log of the commands that were run.
func checkInstalledFiles(t *testing.T, name, home, file, before, skills string, usesProgram bool) {
	t.Helper()
	var backups, secrets, written []string
	for path, text := range filesOf(t, home) {
		switch {
		case strings.HasPrefix(path, file+".bak-"):
			backups = append(backups, text)
		case strings.Contains(text, "sk_live"):
			secrets = append(secrets, path)
			if info, err := os.Stat(path); err != nil || info.Mode().Perm() != 0o600 {
				t.Errorf("%s: %s: %v, %v, want a file that only its owner can read", name, path, info.Mode(), err)
			}
		case filepath.Base(path) == "SKILL.md":
			written = append(written, path)
		}
	}
	if !usesProgram && !slices.Equal(backups, []string{before}) || usesProgram && backups != nil {
		t.Errorf("%s: copies of the settings %q", name, backups)
	}
	if len(secrets) != 1 || !strings.HasPrefix(secrets[0], filepath.Join(home, ".config", "growth-workspace", "agents")+"/") {
		t.Errorf("%s: keys are in %q", name, secrets)
	}
	if skills != "" && !slices.Equal(written, []string{filepath.Join(skills, "workspace-triage-reviews", "SKILL.md")}) || skills == "" && written != nil {
		t.Errorf("%s: skills %q", name, written)
	}
	if info, err := os.Stat(file); err != nil || !usesProgram && info.Mode().Perm() != 0o640 {
		t.Errorf("%s: the settings have other permissions than before: %v, %v", name, info.Mode(), err)
	}
	if log, err := os.ReadFile(filepath.Join(home, "commands")); (err == nil) != usesProgram {
		t.Errorf("%s: commands of the client %q", name, log)
	}
}

// Ensure settings do not change if they are invalid, or if a change would lose part of them. In
// both cases there must be no copy, no key and no skill, and the error must say where the problem
// is.
func testInstallIntoBrokenSettings(t *testing.T, s *server, data string) {
	t.Setenv(urlVariable, s.BaseURL)
	t.Setenv(keyVariable, s.Key)
	keys := len(runJSON(t, data, "", "key", "list", "--company", s.CompanyID)["items"].([]any))
	for _, c := range []struct{ client, text, want string }{
		{"claude-code", "{\n  \"mcpServers\": {},\n}", "line 3, column 1: invalid character '}'"},
		{"claude-desktop", "{\n  // mine\n}", "line 2, column 3: invalid character '/'"},
		{"cursor", "{\"mcpServers\": ", "line 1, column 15: unexpected end of JSON input"},
		{"vscode", "{\n  // mine\n  \"servers\": {,}\n}", "line 3, column 15: "},
		{"codex", "model = \"m\"\n[mcp_servers\n", "line 2, column "},
		{"vscode", `{"servers": {"workspace": {"command": "old" /* mine */}}}`, "has comments, which would be lost: change it by hand to"},
		{"cursor", `[]`, "the file must be an object"},
	} {
		for _, programs := range [][]string{nil, {"claude", "code", "codex"}} {
			dir := createHome(t, programs...)
			file, _ := settingsOf(dir, c.client)
			writeText(t, file, c.text)
			r := runCommand(t, "", "mcp", "install", c.client, "--yes")
			if r.code != 1 || !strings.Contains(r.err, file) || !strings.Contains(r.err, c.want) {
				t.Errorf("%s: %+v, want %s and %s", c.client, r, file, c.want)
			}
			if after := filesOf(t, dir); len(after) != 1 || after[file] != c.text {
				t.Errorf("%s: files were changed: %v", c.client, after)
			}
		}
	}
	dir := createHome(t, "code") // VS Code's program would drop the comments
	file, _ := settingsOf(dir, "vscode")
	writeText(t, file, clientSettings["vscode"].before)
	if r := runCommand(t, "", "mcp", "install", "vscode", "--yes", "--own-key=false"); r.code != 1 { // fails: the user's key is in WORKSPACE_KEY, which the client would not have
		t.Errorf("with the user's key: %+v", r)
	}
	if r := runCommand(t, "", "mcp", "install", "vscode", "--yes", "--areas", "metrics", "--scopes", "metrics:read"); r.code != 0 ||
		!strings.Contains(filesOf(t, dir)[file], clientSettings["vscode"].kept) || filesOf(t, dir)[filepath.Join(dir, "commands")] != "" {
		t.Errorf("comments: %+v, %v", r, filesOf(t, dir))
	}
	keys++
	if items := runJSON(t, data, "", "key", "list", "--company", s.CompanyID)["items"].([]any); len(items) != keys {
		t.Errorf("%d keys, want %d", len(items), keys)
	}
}

// Ensure a person at a terminal can decline the key, the skills or the whole change.
func testInstallAsks(t *testing.T, s *server, data string) {
	for _, c := range []struct {
		replies string
		code    int
		args    []string // the arguments of the entry; nil if there is no entry
		files   int
	}{
		{"y\ny\ny\n", 0, []string{"mcp", "--agent", "cursor", "--areas", "feedback"}, 3},
		{"n\nn\ny\n", 0, []string{"mcp", "--base-url", s.BaseURL, "--data", data, "--areas", "feedback"}, 1},
		{"y\nn\nyes\n", 0, []string{"mcp", "--agent", "cursor", "--areas", "feedback"}, 2},
		{"y\ny\nn\n", 1, nil, 0},
		{"", 1, nil, 0},
	} {
		dir := createHome(t)
		file, _ := settingsOf(dir, "cursor")
		var out, errOut bytes.Buffer
		term := &terminal.Terminal{In: strings.NewReader(c.replies), Out: &out, Err: &errOut, Interactive: true, Now: time.Now}
		root := rootCommand(term)
		root.SetArgs([]string{"mcp", "install", "cursor", "--areas", "feedback", "--base-url", s.BaseURL, "--data", data})
		err := root.ExecuteContext(t.Context())
		if (err == nil) != (c.code == 0) || !strings.Contains(errOut.String(), "Make this change? [y/N]") {
			t.Errorf("%q: %v: %s", c.replies, err, &errOut)
		}
		files := filesOf(t, dir)
		if len(files) != c.files {
			t.Errorf("%q: files %v, want %d", c.replies, files, c.files)
		}
		if c.args != nil && !slices.Equal(entryOf(t, "cursor", files[file]).Args, c.args) {
			t.Errorf("%q: the entry is %s", c.replies, files[file])
		}
	}
	dir := createHome(t)
	term := &terminal.Terminal{In: strings.NewReader("y\ny\ny\n"), Out: io.Discard, Err: io.Discard, Interactive: true, Now: time.Now}
	root := rootCommand(term)
	root.SetArgs([]string{"mcp", "install", "cursor", "--json", "--base-url", s.BaseURL, "--data", data})
	if err := root.ExecuteContext(t.Context()); err == nil || !strings.Contains(err.Error(), "--yes makes the change") || len(filesOf(t, dir)) > 0 {
		t.Errorf("with --json, which shows nothing: %v, %v", err, filesOf(t, dir))
	}
}

// Ensure an agent's key is replaced if it was revoked or has different scopes. A key that cannot
// create keys must be refused with an error that says what to do.
func testInstallKeys(t *testing.T, s *server, data string) {
	createHome(t)
	t.Setenv(urlVariable, s.BaseURL)
	t.Setenv(keyVariable, s.Key)
	install := func(args ...string) map[string]any {
		t.Helper()
		return runJSON(t, data, "", append([]string{"mcp", "install", "claude-desktop", "--yes"}, args...)...)
	}
	first := install()["keyId"].(string)
	if again := install(); again["changed"] != false || again["keyId"] != first {
		t.Errorf("a second install: %v", again)
	}
	key := func(id string) map[string]any {
		for _, item := range runJSON(t, data, "", "key", "list", "--company", s.CompanyID)["items"].([]any) {
			if k := item.(map[string]any); k["id"] == id {
				return k
			}
		}
		t.Fatalf("there is no key %s", id)
		return nil
	}
	if got, want := fmt.Sprint(key(first)["scopes"]), "[company:read plan:read feedback:draft metrics:read optimise:read broadcast:draft context:read]"; got != want {
		t.Errorf("the agent's key has the scopes %s, want %s", got, want)
	}
	if r := runCommand(t, "", "key", "revoke", first, "--company", s.CompanyID, "--data", data); r.code != 0 {
		t.Fatalf("revoke: %+v", r)
	}
	second := install()["keyId"].(string)
	if second == first {
		t.Error("a revoked key was not replaced")
	}
	other := runCommand(t, "", "mcp", "install", "claude-desktop", "--yes", "--scopes", "metrics:read")
	if other.code != 0 || !strings.Contains(other.err, "The agent's key "+second+" has other scopes, or is for another company or service. It keeps working until `workspace api revoke_key "+second+"`") {
		t.Errorf("other scopes: %+v", other)
	}
	company := runJSON(t, data, "", "company", "create", "--name", "Second")["companyId"].(string)
	t.Setenv(keyVariable, runJSON(t, data, "", "key", "issue", "--company", company, "--scopes", "all")["key"].(string))
	third := install("--scopes", "metrics:read")["keyId"].(string)
	if all := fmt.Sprint(runJSON(t, data, "", "key", "list", "--company", company)["items"]); !strings.Contains(all, third) {
		t.Errorf("after a login to another company the agent's key is %s, which the company does not have: %s", third, all)
	}
	readOnlyKey := runJSON(t, data, "", "key", "issue", "--company", s.CompanyID, "--scopes", "metrics:read")["key"].(string)
	t.Setenv(keyVariable, readOnlyKey)
	for args, want := range map[string]string{
		"mcp install cursor --yes":                 "the key of WORKSPACE_KEY cannot create a key for the agent, because it lacks the scope keys:write",
		"mcp install cursor --yes --own-key=false": "Cursor would not have WORKSPACE_KEY",
		"mcp install claude-desktop --scopes x,y":  `there is no scope "x"`,
	} {
		if r := runCommand(t, "", strings.Fields(args)...); r.code == 0 || !strings.Contains(r.err, want) {
			t.Errorf("%s: %+v, want %s", args, r, want)
		}
	}
	t.Setenv(keyVariable, s.Key)
	for script, want := range map[string]string{
		"echo no space left; exit 3": "codex mcp add workspace -- ",
		"exit 0":                     "config.toml does not have the entry, although the command succeeded: check the servers in Codex",
	} {
		if err := os.WriteFile(filepath.Join(os.Getenv("PATH"), "codex"), []byte("#!/bin/sh\n"+script+"\n"), 0o700); err != nil {
			t.Fatal(err)
		}
		r := runCommand(t, "", "mcp", "install", "codex", "--yes")
		if (r.code == 0) != (script == "exit 0") || !strings.Contains(r.err, want) || r.code != 0 && !strings.Contains(r.err, "failed: exit status 3: no space left") {
			t.Errorf("a program that does %q: %+v, want %s", script, r, want)
		}
	}
	t.Setenv(keyVariable, "")
	if r := runCommand(t, "", "mcp", "install", "cursor", "--base-url", "http://127.0.0.1:1", "--data", t.TempDir()); r.code != 1 || !strings.Contains(r.err, "no key for http://127.0.0.1:1") {
		t.Errorf("without a key: %+v", r)
	}
}
