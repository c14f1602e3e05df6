package mcpclient

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

var now = time.Date(2026, 8, 11, 12, 0, 0, 0, time.UTC)

// createHome creates an empty home folder and returns its path. No client's program is on PATH.
func createHome(t *testing.T) string {
	t.Helper()
	dir := t.TempDir()
	t.Setenv("HOME", dir)
	t.Setenv("XDG_CONFIG_HOME", filepath.Join(dir, ".config"))
	t.Setenv("PATH", filepath.Join(dir, "bin"))
	for _, name := range []string{"CLAUDE_CONFIG_DIR", "CODEX_HOME"} {
		t.Setenv(name, "")
	}
	return dir
}

func write(t *testing.T, file, text string, mode os.FileMode) {
	t.Helper()
	if err := os.MkdirAll(filepath.Dir(file), 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(file, []byte(text), mode); err != nil {
		t.Fatal(err)
	}
}

func read(t *testing.T, file string) string {
	t.Helper()
	text, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

// Ensure a plan shows the entry to be replaced, but not the key in that entry.
func TestPlanShowsNoKey(t *testing.T) {
	dir, key := createHome(t), "sk_"+"live_"+strings.Repeat("0123456789", 9)
	write(t, filepath.Join(dir, ".cursor", "mcp.json"), `{"mcpServers": {"workspace": {"url": "https://example.com/mcp", "headers": {"Authorization": "Bearer `+key+`"}}}}`, 0o600)
	c, err := Lookup("cursor")
	if err != nil {
		t.Fatal(err)
	}
	p, err := c.NewPlan(entry)
	if err != nil || !strings.Contains(p.Replaced, "https://example.com/mcp") || strings.Contains(p.Replaced, key[20:]) {
		t.Errorf("the replaced entry: %v\n%s", err, p.Replaced)
	}
}

// Ensure a copy of the settings remains if a client's program removes the old entry and then fails.
// The error must name the copy.
func TestFailingProgramLeavesCopy(t *testing.T) {
	dir, old := createHome(t), `{"mcpServers": {"workspace": {"command": "old"}}}`
	file := filepath.Join(dir, ".claude.json")
	write(t, file, old, 0o600)
	write(t, filepath.Join(dir, "bin", "claude"), "#!/bin/sh\nif [ \"$2\" = remove ]; then echo '{}' >'"+file+"'; else exit 1; fi\n", 0o700)
	c, err := Lookup("claude-code")
	if err != nil {
		t.Fatal(err)
	}
	p, err := c.NewPlan(entry)
	if err != nil || len(p.Commands) != 2 {
		t.Fatalf("%v: %q", err, p.Commands)
	}
	backup, err := p.Apply(t.Context(), now)
	if err == nil || backup == "" || !strings.Contains(err.Error(), backup) {
		t.Fatalf("%q, %v, want an error that names the copy", backup, err)
	}
	if got := read(t, backup); got != old {
		t.Errorf("the copy has %s, want %s", got, old)
	}
}

// Ensure a symbolic link is kept, even if its target does not exist yet. No other file may be
// changed or left behind.
func TestReplaceFile(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	target, link, other := filepath.Join(dir, "real", "mcp.json"), filepath.Join(dir, "mcp.json"), filepath.Join(dir, "real", "mcp.json.new")
	if err := os.Symlink(filepath.Join("real", "mcp.json"), link); err != nil {
		t.Fatal(err)
	}
	write(t, other, "mine", 0o600)
	if _, err := ReplaceFile(link, nil, []byte("{}"), now); err != nil {
		t.Fatal(err)
	}
	if info, err := os.Lstat(link); err != nil || info.Mode()&os.ModeSymlink == 0 || read(t, target) != "{}" {
		t.Errorf("the link is replaced: %v, %v", info, err)
	}
	if got := read(t, other); got != "mine" {
		t.Errorf("another file has %q", got)
	}
	if err := os.Chmod(target, 0o640); err != nil {
		t.Fatal(err)
	}
	backup, err := ReplaceFile(link, []byte("{}"), []byte("{ }"), now)
	if err != nil || read(t, backup) != "{}" || read(t, target) != "{ }" {
		t.Errorf("%v: the copy is %q", err, backup)
	}
	for _, file := range []string{target, backup} {
		if info, err := os.Stat(file); err != nil || info.Mode().Perm() != 0o640 {
			t.Errorf("%s: %v, %v", file, info, err)
		}
	}
	if err := os.Mkdir(filepath.Join(dir, "folder"), 0o700); err != nil {
		t.Fatal(err)
	}
	if _, err := ReplaceFile(filepath.Join(dir, "folder"), nil, []byte("{}"), now); err == nil {
		t.Error("a folder is replaced")
	}
	if files, err := os.ReadDir(dir); err != nil || len(files) != 3 {
		t.Errorf("files are left: %v, %v", files, err)
	}
}
