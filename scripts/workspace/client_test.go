package main

import (
	"path/filepath"
	"testing"
)

// Ensure `client go` writes the client and says how to import it. If a flag is wrong, the error
// must explain why.
func TestGoClientCommand(t *testing.T) {
	t.Parallel()
	folder := filepath.Join(t.TempDir(), "client")
	r := runCommand(t, "", "client", "go", "--out", folder, "--module", "example.com/c")
	if r.code != 0 {
		t.Fatalf("exit code %d, want 0: %s", r.code, r.err)
	}
	requireContains(t, r.out, "files in "+folder, `import client "example.com/c"`)
	for _, c := range []struct {
		args []string
		code int
		want string
	}{
		{[]string{"client", "go"}, 2, "--out is required"},
		{[]string{"client"}, 2, "name a command: go"},
		{[]string{"client", "go", folder}, 2, "too many arguments"},
		{[]string{"client", "go", "--out", folder, "--module", "a b"}, 1, "--module"},
		{[]string{"client", "go", "--out", filepath.Join(t.TempDir(), "x")}, 1, "go mod init"},
	} {
		if r := runCommand(t, "", c.args...); r.code != c.code {
			t.Errorf("%v: exit code %d, want %d", c.args, r.code, c.code)
		} else {
			requireContains(t, r.err, c.want)
		}
	}
}
