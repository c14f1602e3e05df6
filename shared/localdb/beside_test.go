package localdb

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// bundledHost returns a machine without npm, and the path at which it looks for an engine bundled
// with the program. The program is started through a symbolic link, as programs on PATH often are.
func bundledHost(t *testing.T) (h *host, bundledPath string) {
	t.Helper()
	h = toolHost(t, nil)
	dir, bin := t.TempDir(), t.TempDir()
	program, link := filepath.Join(dir, "workspace"), filepath.Join(bin, "workspace")
	if err := errors.Join(os.WriteFile(program, nil, 0o700), os.Symlink(program, link)); err != nil {
		t.Fatal(err)
	}
	h.executable = func() (string, error) { return link, nil }
	dir, err := filepath.EvalSymlinks(dir)
	if err != nil {
		t.Fatal(err)
	}
	return h, filepath.Join(dir, "dynoxide")
}

// Ensure an unusable engine in this program's folder causes an error that contains the file's path
// and says what to do. No other engine may be used instead.
func TestBundledUnusable(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		text string
		mode fs.FileMode
		want string
	}{
		"ErrDamaged":       {"\x7fELF", 0o700, "is damaged, or for another system than linux/amd64: its SHA-256 is "},
		"ErrEmpty":         {"", 0o700, ": its SHA-256 is e3b0c44298fc1c14"},
		"ErrSameVersion":   {"#!/bin/sh\necho dynoxide 1.2.1\n", 0o700, "is damaged, or for another system than linux/amd64: its SHA-256 is "},
		"ErrNotExecutable": {"\x7fELF", 0o600, "is not executable: run chmod +x on it"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			h, bundledPath := bundledHost(t)
			h.sources[1].find = findAlways(&program{kind: DynamoDBLocal})
			if err := writeProgram(bundledPath, c.text, c.mode); err != nil {
				t.Fatal(err)
			}
			p, err := h.find(t.Context(), "", true)
			if err == nil {
				t.Fatalf("found %s, want an error", p.title)
			}
			for _, want := range []string{bundledPath, c.want, "unpack the whole archive again"} {
				if !strings.Contains(err.Error(), want) {
					t.Errorf("error %v, want %q", err, want)
				}
			}
		})
	}
}

// Ensure Dynoxide in this program's folder is used even if the user has installed a different
// version.
func TestBundledOtherVersion(t *testing.T) {
	t.Parallel()
	h, bundledPath := bundledHost(t)
	if err := writeProgram(bundledPath, "#!/bin/sh\necho dynoxide 1.4.0\n", 0o700); err != nil {
		t.Fatal(err)
	}
	p, err := findDynoxide(t.Context(), h, false)
	if err != nil || p.title != "Dynoxide 1.4.0" || p.argv("127.0.0.1", 1, "")[0] != bundledPath {
		t.Errorf("%+v, %v; want Dynoxide 1.4.0 of %s", p, err, bundledPath)
	}
}

// Ensure the pinned engine in this program's folder is preferred to all others and requires no
// other program. The binary that npm installs must match the pinned digests.
func TestBundledPinned(t *testing.T) {
	t.Parallel()
	realHost := newHost(nil)
	if dynoxidePackages[realHost.platform()].SHA256 == "" {
		skipMissing(t, "no engine is pinned by its digest for "+realHost.platform())
	}
	requireEngine(t, func(ctx context.Context, h *host, install bool) (*program, error) {
		path, err := findPinnedDynoxide(ctx, h, install)
		return dynoxideProgram(path, dynoxideVersion), err
	})
	installed, err := findPinnedDynoxide(t.Context(), realHost, false)
	if err != nil {
		t.Fatal(err)
	}
	h, bundledPath := bundledHost(t)
	h.goos, h.goarch = realHost.goos, realHost.goarch
	text, err := os.ReadFile(installed)
	if err == nil {
		err = writeProgram(bundledPath, string(text), 0o700)
	}
	if err != nil {
		t.Fatal(err)
	}
	p, err := findDynoxide(t.Context(), h, false)
	if err != nil || p.title != "Dynoxide "+dynoxideVersion || p.argv("127.0.0.1", 1, "")[0] != bundledPath {
		t.Errorf("%+v, %v; want the pinned version of %s", p, err, bundledPath)
	}
}

// Ensure that if a program was released with an engine that is now missing, the error says where to
// put it.
func TestBundledMissing(t *testing.T) {
	t.Parallel()
	h, bundledPath := bundledHost(t)
	for _, h.bundled = range []bool{true, false} {
		_, err := h.find(t.Context(), Dynoxide, true)
		want := bundledPath + " is missing: keep it in the folder of this program, or unpack the whole archive again"
		if !errors.Is(err, ErrNoEngine) || strings.Contains(fmt.Sprint(err), want) != h.bundled {
			t.Errorf("bundled %v: error %v", h.bundled, err)
		}
	}
}

// Ensure a folder without write permission causes an error that names the folder and the user, and
// says what to do.
func TestErrFolderNotWritable(t *testing.T) {
	t.Parallel()
	blocked := filepath.Join(t.TempDir(), "file")
	if err := os.WriteFile(blocked, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	folders := []string{filepath.Join(blocked, "data")}
	if os.Getuid() == 0 {
		folders = append(folders, "/proc/self") // root can write to every other folder
	} else {
		readOnlyDir := t.TempDir()
		if err := os.Chmod(readOnlyDir, 0o500); err != nil {
			t.Fatal(err)
		}
		folders = append(folders, readOnlyDir)
	}
	for _, dir := range folders {
		_, err := open(t.Context(), Options{Data: dir}, fakeHost("well"))
		for _, want := range []string{dir, fmt.Sprintf("cannot be written by this user (id %d)", os.Getuid()), "chown", "choose another folder"} {
			if err == nil || !strings.Contains(err.Error(), want) {
				t.Errorf("%s: error %v, want %q", dir, err, want)
			}
		}
	}
}

// Ensure an older engine does not open data that a newer one has written. A newer engine must open
// data from an older one.
func TestDataOfAnotherVersion(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	hostWithVersion := func(version string) *host {
		h := fakeHost("well")
		find := h.sources[0].find
		h.sources[0].find = func(ctx context.Context, h *host, install bool) (*program, error) {
			p, err := find(ctx, h, install)
			if err == nil {
				modified := *p
				modified.version, modified.title = version, "Dynoxide "+version
				p = &modified
			}
			return p, err
		}
		return h
	}
	for _, version := range []string{"1.2.1", "1.10.0"} {
		e := mustOpen(t, Options{Data: dir}, hostWithVersion(version))
		if err := e.Close(); err != nil {
			t.Fatal(err)
		}
	}
	_, err := open(t.Context(), Options{Data: dir}, hostWithVersion("1.9.9"))
	for _, want := range []string{dir, "was written by Dynoxide 1.10.0, which is newer than Dynoxide 1.9.9", "choose another folder"} {
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("error %v, want %q", err, want)
		}
	}
	mustOpen(t, Options{Data: dir}, hostWithVersion("1.10.0"))
}
