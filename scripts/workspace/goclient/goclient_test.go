package goclient_test

import (
	"bytes"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"growthworkspace/scripts/workspace/goclient"
)

const program = `package main

import (
	"context"
	"fmt"

	client "IMPORT"
)

func main() {
	c, err := client.New("http://127.0.0.1:1", "pk_live_x")
	fmt.Println(c == nil, err != nil)
	_ = func(ctx context.Context) (client.Item, error) {
		return c.CreatePlanItem(ctx, client.CreatePlanItemInput{BoardID: "brd_1", Title: "Dark mode"})
	}
}
`

// write writes files to a folder and its subfolders.
func write(t *testing.T, folder string, files map[string]string) {
	t.Helper()
	for name, text := range files {
		path := filepath.Join(folder, name)
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
}

// run runs the go command in a module outside this repository, without network access.
func run(t *testing.T, folder string, args ...string) string {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), "go", args...)
	cmd.Dir = folder
	cmd.Env = append(os.Environ(), "GOWORK=off", "GOPROXY=off", "GOFLAGS=-trimpath")
	out, err := cmd.CombinedOutput()
	if err != nil {
		t.Fatalf("go %s: %v\n%s", strings.Join(args, " "), err, out)
	}
	return string(out)
}

// Ensure a program outside this repository compiles with the client, both as a package of the
// program's module and as a separate module.
func TestProgramsCompile(t *testing.T) {
	t.Parallel()
	root := t.TempDir()
	app, published := filepath.Join(root, "app"), filepath.Join(root, "published")
	write(t, app, map[string]string{"go.mod": "module example.com/app // ours\n\ngo 1.26\n"})
	w, err := goclient.Write(filepath.Join(app, "internal", "workspace"), "")
	if err != nil || w.ImportPath != "example.com/app/internal/workspace" {
		t.Fatalf("the import path is %q, want example.com/app/internal/workspace: %v", w.ImportPath, err)
	}
	write(t, app, map[string]string{"main.go": strings.Replace(program, "IMPORT", w.ImportPath, 1)})
	const want = "true true\n"
	if got := run(t, app, "run", "."); got != want {
		t.Errorf("the program with a package prints %q, want %q", got, want)
	}
	if got := run(t, app, "vet", "./..."); got != "" {
		t.Errorf("go vet prints %s", got)
	}

	if w, err = goclient.Write(published, "example.com/workspace-client"); err != nil || w.ImportPath != "example.com/workspace-client" {
		t.Fatalf("the import path is %q: %v", w.ImportPath, err)
	}
	write(t, app, map[string]string{
		"main.go": strings.Replace(program, "IMPORT", w.ImportPath, 1),
		"go.mod":  "module example.com/app\n\ngo 1.26\n\nrequire example.com/workspace-client v0.0.0\n\nreplace example.com/workspace-client => ../published\n",
	})
	if got := run(t, app, "run", "."); got != want {
		t.Errorf("the program with a module prints %q, want %q", got, want)
	}
}

// Ensure the written client has the same files as this repository's client, except its tests. It
// must include the licence.
func TestWrittenFiles(t *testing.T) {
	t.Parallel()
	folder := filepath.Join(t.TempDir(), "out")
	w, err := goclient.Write(folder, "example.com/c")
	if err != nil {
		t.Fatal(err)
	}
	found, err := os.ReadDir(folder)
	if err != nil || len(found) != w.Files || len(found) < 20 {
		t.Errorf("%d files, %d reported, want the same number and at least 20: %v", len(found), w.Files, err)
	}
	for _, f := range found {
		text, err := os.ReadFile(filepath.Join(folder, f.Name()))
		if err != nil {
			t.Fatal(err)
		}
		switch {
		case strings.Contains(string(text), "growthworkspace/"):
			t.Errorf("%s mentions a package of this repository", f.Name())
		case strings.HasSuffix(f.Name(), "_test.go"):
			t.Errorf("%s is a test", f.Name())
		}
	}
	license, err := os.ReadFile("../../../LICENSE")
	written, err2 := os.ReadFile(filepath.Join(folder, "LICENSE"))
	if err != nil || err2 != nil || !bytes.Equal(license, written) {
		t.Errorf("shared/client/LICENSE is not a copy of LICENSE: %v, %v", err, err2)
	}
}

// Ensure a second call replaces the files of the first and removes those that the client no longer
// has. A call must fail, and write nothing, if the folder has the caller's own Go files.
func TestWriteAgain(t *testing.T) {
	t.Parallel()
	folder := t.TempDir()
	if _, err := goclient.Write(folder, "example.com/c"); err != nil {
		t.Fatal(err)
	}
	first, err := os.ReadFile(filepath.Join(folder, "call.go"))
	if err != nil {
		t.Fatal(err)
	}
	header, _, _ := strings.Cut(string(first), "\n")
	write(t, folder, map[string]string{"call.go": header + "\npackage changed\n", "gone.go": header + "\npackage client\n", "README.md": "mine"})
	if _, err := goclient.Write(folder, "example.com/c"); err != nil {
		t.Fatal(err)
	}
	if again, err := os.ReadFile(filepath.Join(folder, "call.go")); err != nil || !bytes.Equal(again, first) {
		t.Errorf("call.go was not replaced: %v", err)
	}
	if _, err := os.Stat(filepath.Join(folder, "gone.go")); err == nil {
		t.Error("gone.go is still there")
	}
	if text, err := os.ReadFile(filepath.Join(folder, "README.md")); err != nil || string(text) != "mine" {
		t.Errorf("the caller's README.md is %q: %v", text, err)
	}

	write(t, folder, map[string]string{"mine.go": "package client\n", "call.go": header + "\npackage changed\n"})
	if _, err := goclient.Write(folder, "example.com/c"); err == nil || !strings.Contains(err.Error(), "mine.go") {
		t.Errorf("the error is %v, want one that names mine.go", err)
	}
	if text, err := os.ReadFile(filepath.Join(folder, "call.go")); err != nil || !strings.Contains(string(text), "changed") {
		t.Errorf("files were written despite the error: %v", err)
	}
}

// Ensure the go.mod and the LICENSE of a caller's module are not replaced, even in a folder without
// Go files.
func TestOtherModules(t *testing.T) {
	t.Parallel()
	for _, name := range []string{"go.mod", "LICENSE"} {
		folder := t.TempDir()
		write(t, folder, map[string]string{name: "module example.com/mine\n"})
		if _, err := goclient.Write(folder, "example.com/c"); err == nil || !strings.Contains(err.Error(), name) {
			t.Errorf("the error is %v, want one that names %s", err, name)
		}
		if text, err := os.ReadFile(filepath.Join(folder, name)); err != nil || string(text) != "module example.com/mine\n" {
			t.Errorf("%s is %q: %v", name, text, err)
		}
		if found, err := os.ReadDir(folder); err != nil || len(found) != 1 {
			t.Errorf("%d files are there, want only %s: %v", len(found), name, err)
		}
	}
}

// Ensure a folder outside any module, a go.mod without a module path, and an invalid module path
// cause errors that say what is wrong. Nothing may be written.
func TestWrongFolders(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct{ mod, module, want string }{
		"no module":         {"", "", "go mod init"},
		"an empty go.mod":   {"go 1.26\n", "", "has no module path"},
		"a bad module path": {"", "not a path", "--module: malformed import path"},
	} {
		root := t.TempDir()
		if c.mod != "" {
			write(t, root, map[string]string{"go.mod": c.mod})
		}
		folder := filepath.Join(root, "out")
		if _, err := goclient.Write(folder, c.module); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: the error is %v, want %q in it", name, err, c.want)
		}
		if _, err := os.Stat(folder); err == nil {
			t.Errorf("%s: the folder was made", name)
		}
	}
}
