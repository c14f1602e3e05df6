package localdb

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestInstallOnce(t *testing.T) {
	t.Parallel()
	cache := t.TempDir()
	final := filepath.Join(cache, "thing-1")
	fill := func(dir string) error { return os.WriteFile(filepath.Join(dir, "bin"), []byte(dir), 0o700) }

	if err := installOnce(t.Context(), final, "bin", func(string) error { return errors.New("no network") }); err == nil || exists(final) {
		t.Errorf("a failed installation: error %v, exists %v", err, exists(final))
	}
	if err := installOnce(t.Context(), final, "bin", func(string) error { return nil }); err == nil || !strings.Contains(err.Error(), "has no bin") || exists(final) {
		t.Errorf("an empty installation: error %v, exists %v", err, exists(final))
	}
	// The folder exists but is unusable, because files were removed from it.
	if err := os.Mkdir(final, 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(final, "rest"), nil, 0o600); err != nil {
		t.Fatal(err)
	}
	// The next installation removes what a killed one has left behind.
	if err := os.MkdirAll(filepath.Join(final+".new", "half"), 0o755); err != nil {
		t.Fatal(err)
	}
	var installCount atomic.Int32
	var wg sync.WaitGroup
	for range 8 {
		wg.Go(func() {
			if err := installOnce(t.Context(), final, "bin", func(dir string) error { installCount.Add(1); return fill(dir) }); err != nil {
				t.Error(err)
			}
			if !exists(filepath.Join(final, "bin")) {
				t.Error("it isn't there afterwards")
			}
		})
	}
	wg.Wait()
	entries, err := os.ReadDir(cache)
	if err != nil {
		t.Fatal(err)
	}
	var names []string
	for _, e := range entries {
		names = append(names, e.Name())
	}
	if diff := cmp.Diff([]string{"thing-1", "thing-1.lock"}, names); diff != "" {
		t.Errorf("the cache (-want +got):\n%s", diff)
	}
	if n := installCount.Load(); n != 1 {
		t.Errorf("%d installations, want 1", n)
	}
	if exists(filepath.Join(final, "rest")) {
		t.Error("the damaged installation was kept")
	}
}

// toolHost returns a machine on whose PATH there are only the given shell scripts.
func toolHost(t *testing.T, scripts map[string]string) *host {
	t.Helper()
	if runtime.GOOS == "windows" {
		skipMissing(t, "shell scripts stand in for the installers, and Windows runs none")
	}
	bin, cache := t.TempDir(), t.TempDir()
	for name, script := range scripts {
		if err := writeProgram(filepath.Join(bin, name), "#!/bin/sh\n"+script, 0o700); err != nil {
			t.Fatal(err)
		}
	}
	h := emptyHost()
	h.goos, h.goarch = "linux", "amd64"
	h.cacheDir = func() (string, error) { return cache, nil }
	h.lookPath = func(name string) (string, error) {
		if path := filepath.Join(bin, name); exists(path) {
			return path, nil
		}
		return "", os.ErrNotExist
	}
	return h
}

const fakeJava = `echo 'openjdk version "17.0.15" 2025-04-15' >&2`

func TestFindDynoxide(t *testing.T) {
	t.Parallel()
	npm := `mkdir -p node_modules/@dynoxide/linux-x64
printf '#!/bin/sh\necho dynoxide 1.2.1\n' > node_modules/@dynoxide/linux-x64/dynoxide
chmod +x node_modules/@dynoxide/linux-x64/dynoxide; echo "$@" > args; echo chatter`
	for _, c := range []struct {
		name    string
		scripts map[string]string
		install bool
		want    string // the engine's title, or part of the error
	}{
		{"OKInstalled", map[string]string{"npm": npm, "node": "echo v20.19.0"}, true, "Dynoxide 1.2.1"},
		{"OKNewerNode", map[string]string{"npm": npm, "node": "echo v24.1.0"}, true, "Dynoxide 1.2.1"},
		{"ErrOldNode", map[string]string{"npm": npm, "node": "echo v20.18.3"}, true, "node is v20.18.3: install Node.js 22 or later"},
		{"ErrOlderNode", map[string]string{"npm": npm, "node": "echo v8.20.0"}, true, "node is v8.20.0: install Node.js 22 or later"},
		{"ErrNoNode", map[string]string{"npm": npm}, true, "node is not on PATH"},
		{"ErrNodeFails", map[string]string{"npm": npm, "node": "exit 1"}, true, "it printed nothing; install Node.js 22 or later"},
		{"OKOnPath", map[string]string{"dynoxide": "echo dynoxide 1.4.0"}, false, "Dynoxide 1.4.0"},
		{"ErrOnPathTooNew", map[string]string{"dynoxide": "echo dynoxide 3.0.0"}, false, "npm is not on PATH"},
		{"ErrNotAllowed", map[string]string{"npm": npm}, false, "this command may not install it"},
		{"ErrNpmFails", map[string]string{"npm": "echo E404 no such package; exit 1", "node": "echo v22.0.0"}, true, "npm failed with exit status 1; its last output:\n  E404 no such package"},
		{"ErrEmpty", map[string]string{"npm": "true", "node": "echo v22.0.0"}, true, "has no node_modules"},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			h := toolHost(t, c.scripts)
			var log strings.Builder
			h.log = &log
			p, err := findDynoxide(t.Context(), h, c.install)
			got := fmt.Sprint(err)
			if err == nil {
				got = p.title
			}
			if !strings.Contains(got, c.want) {
				t.Errorf("got %q, want %q", got, c.want)
			}
			if strings.Contains(log.String(), "chatter") {
				t.Errorf("the installer's chatter was shown: %q", log.String())
			}
			if c.name == "OKInstalled" {
				// The second time, no program may be run.
				h.lookPath = emptyHost().lookPath
				if _, err := findDynoxide(t.Context(), h, false); err != nil || strings.Count(log.String(), "\n") != 1 {
					t.Errorf("again: error %v, log %q", err, log.String())
				}
			}
		})
	}
}

func TestFindLocal(t *testing.T) {
	t.Parallel()
	mvn := `for a; do case $a in -DoutputDirectory=*) d=${a#*=};; esac; done; mkdir -p "$d"; : > "$d/` + localJar + `"`
	for _, c := range []struct {
		name    string
		scripts map[string]string
		install bool
		want    string
	}{
		{"OKMaven", map[string]string{"java": fakeJava, "mvn": mvn}, true, "DynamoDB Local 3.1.0"},
		{"ErrNoMaven", map[string]string{"java": fakeJava}, true, "mvn is not on PATH: install Maven"},
		{"ErrOldJava", map[string]string{"java": `echo 'java version "1.8.0_402"' >&2`, "mvn": mvn}, true, "java is version 8: install Java 17 or later"},
		{"ErrJavaStub", map[string]string{"java": "exit 1", "mvn": mvn}, true, "java does not run: install Java 17"},
		{"ErrNotAllowed", map[string]string{"java": fakeJava, "mvn": mvn}, false, "may not install it"},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			p, err := findLocal(t.Context(), toolHost(t, c.scripts), c.install)
			got := fmt.Sprint(err)
			if err == nil {
				got = p.title
			}
			if !strings.Contains(got, c.want) {
				t.Errorf("got %q, want %q", got, c.want)
			}
		})
	}
}
