package main

import (
	"bytes"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"io"
	"net/url"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"growthworkspace/scripts/workspace/terminal"
)

// fakeClientVariable is an environment variable. If it is set, the test binary acts as the client
// program named in the value.
const fakeClientVariable = "WORKSPACE_TEST_AS_CLIENT"

// runFakeClient adds, removes or shows a server as the client's real program does, to the extent
// that `mcp install` uses it. It appends its arguments to a file named "commands" in the home
// folder.
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
	file, object := settingsOf(home, map[string]string{"claude": "claude-code", "code": "vscode", "codex": "codex"}[program])
	switch line := strings.Join(args, " "); {
	case line == "mcp get workspace --json":
		server := serversIn(file, object)["workspace"]
		if server == nil {
			return fmt.Errorf("no server")
		}
		return json.NewEncoder(os.Stdout).Encode(map[string]any{"name": "workspace", "transport": server})
	case line == "mcp remove --scope user workspace":
		return editServers(file, object, func(servers map[string]any) { delete(servers, "workspace") })
	case program == "code" && len(args) == 2 && args[0] == "--add-mcp":
		var server map[string]any
		if err := json.Unmarshal([]byte(args[1]), &server); err != nil || server["type"] != "stdio" {
			return fmt.Errorf("wrong server %s: %w", args[1], err)
		}
		return editServers(file, object, func(servers map[string]any) { servers[server["name"].(string)] = server })
	case program == "claude" && strings.HasPrefix(line, "mcp add --transport stdio --scope user workspace -- ") && serversIn(file, object)["workspace"] == nil,
		program == "codex" && strings.HasPrefix(line, "mcp add workspace -- "):
		words := args[slices.Index(args, "--")+1:]
		return editServers(file, object, func(servers map[string]any) {
			servers["workspace"] = map[string]any{"command": words[0], "args": words[1:]}
		})
	}
	return fmt.Errorf("%s does not know %q, or has the server already", program, args)
}

// serversIn returns the servers in a settings file, or none if it cannot be read.
func serversIn(file, object string) map[string]any {
	settings := map[string]map[string]any{}
	text, err := os.ReadFile(file)
	if err != nil || json.Unmarshal(text, &settings) != nil || settings[object] == nil {
		return map[string]any{}
	}
	return settings[object]
}

func editServers(file, object string, edit func(map[string]any)) error {
	servers := serversIn(file, object)
	edit(servers)
	text, err := json.Marshal(map[string]any{object: servers})
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
	t.Setenv("CLAUDE_CONFIG_DIR", "")
	for _, program := range programs {
		script := fmt.Sprintf("#!/bin/sh\n%s=%s exec %q \"$@\"\n", fakeClientVariable, program, os.Args[0])
		if err := os.WriteFile(filepath.Join(bin, program), []byte(script), 0o700); err != nil {
			t.Fatal(err)
		}
	}
	t.Setenv("PATH", bin)
	return home
}

// settingsOf returns the path of a client's settings in a home folder on Linux, and the member that
// contains the servers. Codex's fake program has settings of its own, because only Codex reads them.
func settingsOf(home, client string) (file, object string) {
	switch client {
	case "claude-code":
		return filepath.Join(home, ".claude.json"), "mcpServers"
	case "claude-desktop":
		return filepath.Join(home, ".config", "Claude", "claude_desktop_config.json"), "mcpServers"
	case "cursor":
		return filepath.Join(home, ".cursor", "mcp.json"), "mcpServers"
	case "vscode":
		return filepath.Join(home, ".config", "Code", "User", "mcp.json"), "servers"
	}
	return filepath.Join(home, ".codex.json"), "servers"
}

// skillsOf contains the folder of each client's skills, in the home folder.
var skillsOf = map[string]string{"claude-code": ".claude/skills", "cursor": ".cursor/skills", "vscode": ".copilot/skills", "codex": ".agents/skills", "claude-desktop": ""}

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

// mcpEntry is a client's entry for a server.
type mcpEntry struct {
	Command string
	Args    []string
}

func decodeEntry(t *testing.T, text []byte) (e mcpEntry) {
	t.Helper()
	if err := json.Unmarshal(text, &e); err != nil {
		t.Fatalf("%v: %s", err, text)
	}
	return e
}

// linkedEntry returns the entry in the link, or in the text to paste, that the command printed.
func linkedEntry(t *testing.T, out string) mcpEntry {
	t.Helper()
	for _, word := range strings.Fields(out) {
		link, err := url.Parse(word)
		switch {
		case err != nil:
		case link.Scheme == "cursor" && link.Host == "anysphere.cursor-deeplink" && link.Path == "/mcp/install" && link.Query().Get("name") == "workspace":
			text, err := base64.StdEncoding.DecodeString(link.Query().Get("config"))
			if err != nil {
				t.Fatal(err)
			}
			return decodeEntry(t, text)
		case link.Scheme == "vscode" && link.Opaque == "mcp/install":
			text, err := url.PathUnescape(link.RawQuery)
			if err != nil || !strings.Contains(text, `"name":"workspace"`) {
				t.Fatalf("%s: %v", text, err)
			}
			return decodeEntry(t, []byte(text))
		}
	}
	return pastedEntry(t, out)
}

// pastedEntry returns the entry in the text to paste that the command printed.
func pastedEntry(t *testing.T, out string) mcpEntry {
	t.Helper()
	_, block, _ := strings.Cut(out, "{")
	var settings struct{ MCPServers map[string]json.RawMessage }
	if err := json.NewDecoder(strings.NewReader("{" + block)).Decode(&settings); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	return decodeEntry(t, settings.MCPServers["workspace"])
}

// Ensure `mcp install` connects every client to the same server, one after the other.
func TestInstall(t *testing.T) {
	isolateUserFolders(t)
	s, data := useServer(t)
	for name, test := range map[string]func(t *testing.T, s *server, data string){
		"by command": testInstallByCommand, "by hand": testInstallByHand, "questions": testInstallAsks, "keys": testInstallKeys,
	} {
		t.Run(name, func(t *testing.T) { test(t, s, data) })
	}
}

// testSettings are settings that no command may lose or change: they are not even JSON.
const testSettings = "{\n\t// my servers\n\t\"servers\": {}, \"mcpServers\": {},\n}\n"

// Ensure `mcp install` runs the client's own command, creates a key for the agent and writes the
// skills. Nothing may happen without consent, and a second run must change nothing. No key may be in
// an argument or in the client's settings. The bridge must work when it is started as the entry
// says.
func testInstallByCommand(t *testing.T, s *server, data string) {
	t.Setenv(urlVariable, s.BaseURL)
	t.Setenv(keyVariable, s.Key)
	keys := func() int {
		return len(runJSON(t, data, "", "key", "list", "--company", s.CompanyID)["items"].([]any))
	}
	for client, add := range map[string]string{
		"claude-code": "claude mcp add --transport stdio --scope user workspace -- ", "vscode": `code --add-mcp {"name":"workspace","type":"stdio",`, "codex": "codex mcp add workspace -- ",
	} {
		dir := createHome(t, "claude", "code", "codex")
		commands := func() string { return filesOf(t, dir)[filepath.Join(dir, "commands")] }
		entry := func() mcpEntry {
			file, object := settingsOf(dir, client)
			text, err := json.Marshal(serversIn(file, object)["workspace"])
			if err != nil || bytes.Contains(text, []byte("sk_live")) {
				t.Fatalf("%s: the entry is %s: %v", client, text, err)
			}
			return decodeEntry(t, text)
		}
		args, count := []string{"mcp", "install", client, "--areas", "feedback,context"}, keys()

		shown := runCommand(t, "", args...)
		requireContains(t, shown.err, "nothing was done, because there is no terminal to ask on: --yes makes the change", os.Args[0])
		if strings.Contains(commands(), "add") || keys() != count {
			t.Errorf("%s: without --yes: %+v, %s", client, shown, commands())
		}

		done := runCommand(t, "", append(args, "--yes")...)
		if want := (mcpEntry{os.Args[0], []string{"mcp", "--agent", client, "--areas", "feedback,context"}}); done.code != 0 || cmp.Diff(want, entry()) != "" || keys() != count+1 {
			t.Fatalf("%s: %+v, the entry is %+v, want %+v and a key", client, done, entry(), want)
		}
		if got := commands(); !strings.Contains(got, add) || strings.Contains(got, "sk_live") {
			t.Errorf("%s: the commands %s, want %s and no key", client, got, add)
		}
		checkKeyAndSkills(t, client, dir)

		files := filesOf(t, dir)
		again := runCommand(t, "", args...)
		requireContains(t, again.out, "nothing to change")
		if diff := cmp.Diff(files, filesOf(t, dir), cmp.FilterPath(func(p cmp.Path) bool { return strings.Contains(p.String(), "commands") }, cmp.Ignore())); again.code != 0 || keys() != count+1 ||
			client != "codex" && diff != "" || strings.Count(commands(), " add") != strings.Count(files[filepath.Join(dir, "commands")], " add") {
			t.Errorf("%s: a second install: %+v changes something: %s", client, again, diff)
		}

		t.Setenv(keyVariable, "sk_live_not_used")
		out := startBridge(t, entry().Args[1:]...).exchange(t, `{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"service_update_feedback_reply","arguments":{"feedbackId":"fbk_0","replyStatus":"approved"}}}`, `{"jsonrpc":"2.0","id":2,"method":"tools/call","params":{"name":"service_list_feedback","arguments":{"limit":1}}}`)
		t.Setenv(keyVariable, s.Key)
		if both := strings.Join(out, "\n"); len(out) != 2 || !strings.Contains(both, `"fbk_`) || !strings.Contains(both, "feedback:write") || strings.Count(both, `"isError":true`) != 1 {
			t.Errorf("%s: the bridge as entered lists no reviews, or approves a reply: %.2000s", client, both)
		}

		changed := runCommand(t, "", "mcp", "install", client, "--yes", "--own-key=false", "--base-url", s.BaseURL)
		requireContains(t, changed.err, "would not have WORKSPACE_KEY: store your key with `workspace login --base-url "+s.BaseURL+"`")
		if r := runCommand(t, s.Key, "login", "--base-url", s.BaseURL); r.code != 0 {
			t.Fatalf("login: %+v", r)
		}
		t.Setenv(keyVariable, "")
		changed = runCommand(t, "", "mcp", "install", client, "--yes", "--own-key=false", "--skills=false")
		t.Setenv(keyVariable, s.Key)
		if e := entry(); changed.code != 0 || !slices.Equal(e.Args, []string{"mcp", "--base-url", s.BaseURL}) || keys() != count+1 {
			t.Errorf("%s: with the user's key: %+v, the entry is %+v", client, changed, e)
		}
	}
}

// checkKeyAndSkills checks that the only key in the home folder is in a file of this program that
// only its owner can read, and that the skills of the areas are written.
func checkKeyAndSkills(t *testing.T, client, home string) {
	t.Helper()
	var secrets, written []string
	for path, text := range filesOf(t, home) {
		if strings.Contains(text, "sk_live") {
			secrets = append(secrets, path)
			if info, err := os.Stat(path); err != nil || info.Mode().Perm() != 0o600 {
				t.Errorf("%s: %s: %v, %v, want a file that only its owner can read", client, path, info.Mode(), err)
			}
		}
		if filepath.Base(path) == "SKILL.md" {
			written = append(written, path)
		}
	}
	if !slices.Equal(secrets, []string{filepath.Join(home, ".config", "growth-workspace", "agents", client+".json")}) {
		t.Errorf("%s: keys are in %q", client, secrets)
	}
	if folder := skillsOf[client]; folder != "" && !slices.Equal(written, []string{filepath.Join(home, folder, "workspace-triage-reviews", "SKILL.md")}) || folder == "" && written != nil {
		t.Errorf("%s: skills %q", client, written)
	}
}

// Ensure `mcp install` prints the link to open or the text to paste if the client has no command, or
// if the command is not on PATH. The client's settings must not change. Once the entry is there, a
// run must change nothing.
func testInstallByHand(t *testing.T, s *server, data string) {
	t.Setenv(urlVariable, s.BaseURL)
	t.Setenv(keyVariable, s.Key)
	for client, want := range map[string]string{
		"claude-code": "claude is not on PATH. Run this where it is:\n\n  claude mcp add --transport stdio --scope user workspace -- ", "codex": "codex mcp add workspace -- ", "vscode": "code --add-mcp '",
		"cursor": "Open this link; Cursor asks before it adds the server:", "claude-desktop": "Add this to ",
	} {
		dir := createHome(t)
		file, object := settingsOf(dir, client)
		writeText(t, file, testSettings)
		args := []string{"mcp", "install", client, "--areas", "feedback,context", "--yes"}
		done := runCommand(t, "", args...)
		if done.code != 0 || !strings.Contains(done.out, want) || strings.Contains(done.out, "sk_live") || filesOf(t, dir)[file] != testSettings {
			t.Errorf("%s: %+v, want %q and no change of %s", client, done, want, file)
		}
		checkKeyAndSkills(t, client, dir)
		if client == "claude-code" || client == "codex" {
			continue
		}
		e := linkedEntry(t, done.out)
		if want := (mcpEntry{os.Args[0], []string{"mcp", "--agent", client, "--areas", "feedback,context"}}); cmp.Diff(want, e) != "" {
			t.Errorf("%s: the entry is %+v, want %+v", client, e, want)
		}
		if client == "cursor" {
			if diff := cmp.Diff(e, pastedEntry(t, done.out)); diff != "" {
				t.Errorf("the link and the text differ: %s", diff)
			}
		}
		if err := editServers(file, object, func(servers map[string]any) { servers["workspace"] = e }); err != nil {
			t.Fatal(err)
		}
		writeText(t, file, strings.NewReplacer(`"Command"`, `"command"`, `"Args"`, `"args"`).Replace(filesOf(t, dir)[file]))
		files := filesOf(t, dir)
		again := runCommand(t, "", args...)
		if diff := cmp.Diff(files, filesOf(t, dir)); again.code != 0 || !strings.Contains(again.out, "nothing to change") || diff != "" {
			t.Errorf("%s: with the entry: %+v %s", client, again, diff)
		}
	}
}

// Ensure a person at a terminal can decline the key, the skills or the whole change.
func testInstallAsks(t *testing.T, s *server, data string) {
	for _, c := range []struct {
		replies string
		code    int
		args    []string // the arguments of the entry; nil if none is printed
		files   int
	}{
		{"y\ny\ny\n", 0, []string{"mcp", "--agent", "cursor", "--areas", "feedback"}, 2},
		{"n\nn\ny\n", 0, []string{"mcp", "--base-url", s.BaseURL, "--data", data, "--areas", "feedback"}, 0},
		{"y\nn\nyes\n", 0, []string{"mcp", "--agent", "cursor", "--areas", "feedback"}, 1},
		{"y\ny\nn\n", 1, nil, 0},
		{"", 1, nil, 0},
	} {
		dir := createHome(t)
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
		if c.args != nil && !slices.Equal(linkedEntry(t, out.String()).Args, c.args) {
			t.Errorf("%q: the output is %s", c.replies, &out)
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
	if err := os.WriteFile(filepath.Join(os.Getenv("PATH"), "codex"), []byte("#!/bin/sh\necho no space left; exit 3\n"), 0o700); err != nil {
		t.Fatal(err)
	}
	r := runCommand(t, "", "mcp", "install", "codex", "--yes")
	if r.code == 0 || !strings.Contains(r.err, "codex mcp add workspace -- ") || !strings.Contains(r.err, "failed: exit status 3: no space left") {
		t.Errorf("a program that fails: %+v", r)
	}
	t.Setenv(keyVariable, "")
	if r := runCommand(t, "", "mcp", "install", "cursor", "--base-url", "http://127.0.0.1:1", "--data", t.TempDir()); r.code != 1 || !strings.Contains(r.err, "no key for http://127.0.0.1:1") {
		t.Errorf("without a key: %+v", r)
	}
}
