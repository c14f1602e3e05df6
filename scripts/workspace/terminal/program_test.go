package terminal

import (
	"errors"
	"os"
	"path/filepath"
	"testing"
)

// Ensure a suggested command starts the program in a way that works for the user. It uses the
// program's name only if that name runs this program from PATH.
func TestProgram(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	var files []string
	for _, name := range []string{"installed", "other"} {
		file := filepath.Join(dir, name)
		if err := os.WriteFile(file, nil, 0o700); err != nil {
			t.Fatal(err)
		}
		files = append(files, file)
	}
	installed, other := files[0], files[1]
	link := filepath.Join(dir, "link")
	if err := os.Symlink(installed, link); err != nil {
		t.Fatal(err)
	}
	cached := "/home/a/.cache/go-build/9b/9bbc43baafbd5e9632115263d0a052312f9f27a2d7a60b4d3cade6ce891f11fc-d/workspace"
	for _, c := range []struct{ executable, installedPath, arg0, want string }{
		{"/tmp/go-build2984618686/b001/exe/workspace", "", "/tmp/go-build2984618686/b001/exe/workspace", goRun},
		{cached, "", cached, goRun},
		{cached, installed, cached, goRun}, // the program on PATH is an older version, so it is a different program
		{installed, installed, "workspace", "workspace"},
		{installed, link, "workspace", "workspace"},
		{installed, other, "./workspace", "./workspace"},
		{installed, "", "./workspace", "./workspace"},
		{installed, "", "/my tools/it's/workspace", `'/my tools/it'\''s/workspace'`},
	} {
		if got := programOf(c.executable, c.installedPath, c.arg0); got != c.want {
			t.Errorf("%+v: program %s", c, got)
		}
	}
}

// Ensure ProgramPath returns an absolute path that stays valid when the program is updated, and
// refuses a program that `go run` built.
func TestProgramPath(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	installed, link := filepath.Join(dir, "workspace-1"), filepath.Join(dir, "workspace")
	if err := errors.Join(os.WriteFile(installed, nil, 0o700), os.Symlink(installed, link)); err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		executable, installedPath, want string
		temporary                       bool
	}{
		{"/tmp/go-build2984618686/b001/exe/workspace", link, "", true},
		{"/home/a/.cache/go-build/9b/9bbc43baafbd5e9632115263d0a052312f9f27a2d7a60b4d3cade6ce891f11fc-d/workspace", "", "", true},
		{installed, link, link, false},
		{installed, "", installed, false},
		{"/opt/workspace", link, "/opt/workspace", false},
	} {
		got, err := programPathOf(c.executable, c.installedPath)
		if got != c.want || errors.Is(err, ErrTemporaryProgram) != c.temporary {
			t.Errorf("%+v: path %q, %v", c, got, err)
		}
	}
}

// Ensure a word that a shell could change is in quotes.
func TestQuoteArgument(t *testing.T) {
	t.Parallel()
	for word, want := range map[string]string{
		"itm_1": "itm_1", "https://api.example.com/prod": "https://api.example.com/prod", "": "''", "a b": "'a b'",
		"=ls": "'=ls'", "a^b": "'a^b'", "it's": `'it'\''s'`, "$HOME": "'$HOME'", "a\nb": "'a\nb'",
	} {
		if got := QuoteArgument(word); got != want {
			t.Errorf("%q: %s, want %s", word, got, want)
		}
	}
}
