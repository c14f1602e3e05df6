package terminal

import (
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
	for _, c := range []struct{ executable, installed, started, want string }{
		{"/tmp/go-build2984618686/b001/exe/workspace", "", "/tmp/go-build2984618686/b001/exe/workspace", goRun},
		{cached, "", cached, goRun},
		{cached, installed, cached, goRun}, // the program on PATH is an older version, so it is a different program
		{installed, installed, "workspace", "workspace"},
		{installed, link, "workspace", "workspace"},
		{installed, other, "./workspace", "./workspace"},
		{installed, "", "./workspace", "./workspace"},
		{installed, "", "/my tools/it's/workspace", `'/my tools/it'\''s/workspace'`},
	} {
		if got := programOf(c.executable, c.installed, c.started); got != c.want {
			t.Errorf("%+v: program %s", c, got)
		}
	}
}
