package localdb

import (
	"context"
	"errors"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

func TestEndpointOption(t *testing.T) {
	t.Parallel()
	up := httptest.NewServer(http.NotFoundHandler())
	defer up.Close()
	down := httptest.NewServer(http.NotFoundHandler())
	down.Close()
	for _, c := range []struct{ name, endpoint, want string }{
		{"OK", up.URL, ""},
		{"ErrNothingAnswers", down.URL, "nothing answers at the endpoint " + down.URL},
		{"ErrNoScheme", "localhost:8000", "must be a URL such as http://127.0.0.1:8000"},
		{"ErrNoHost", "http://", "must be a URL such as"},
	} {
		t.Run(c.name, func(t *testing.T) {
			// An endpoint takes precedence over everything else, including a data folder.
			e, err := open(t.Context(), Options{Endpoint: c.endpoint, Data: t.TempDir()}, emptyHost())
			if c.want != "" {
				if err == nil || !strings.Contains(err.Error(), c.want) {
					t.Fatalf("error %v, want %q", err, c.want)
				}
				return
			}
			if err != nil {
				t.Fatal(err)
			}
			if e.Endpoint != c.endpoint || !e.Shared {
				t.Errorf("got %q, shared %v", e.Endpoint, e.Shared)
			}
			if err := errors.Join(e.Close(), e.Close()); err != nil {
				t.Error(err)
			}
		})
	}
}

func TestNothingFound(t *testing.T) {
	t.Parallel()
	h := emptyHost()
	h.goos, h.goarch = "linux", "amd64"
	h.cacheDir = func() (string, error) { return t.TempDir(), nil }
	_, err := open(t.Context(), Options{Install: true}, h)
	if !errors.Is(err, ErrNoEngine) {
		t.Fatalf("error %v, want ErrNoEngine", err)
	}
	want := `no engine that speaks DynamoDB's protocol can be had here:
  Dynoxide 1.2.1: npm is not on PATH: install Node.js 22 or later, which has it
  DynamoDB Local 3.1.0: java is not on PATH: install Java 17 or later, and Maven
  or name a running one: --endpoint URL or AWS_ENDPOINT_URL_DYNAMODB`
	if err.Error() != want {
		t.Errorf("got\n%v\nwant\n%s", err, want)
	}
	h.goarch = "riscv64"
	_, err = open(t.Context(), Options{Prefer: Dynoxide}, h)
	if err == nil || !strings.Contains(err.Error(), "there is no build for linux/riscv64") || strings.Contains(err.Error(), "java") {
		t.Errorf("error %v, want only Dynoxide's reason", err)
	}
	_, err = open(t.Context(), Options{Prefer: "dynalite"}, h)
	if err == nil || !strings.Contains(err.Error(), `unknown engine "dynalite": name dynoxide or dynamodb-local`) {
		t.Errorf("error %v, want the names", err)
	}
}

func TestStartAndClose(t *testing.T) {
	temp := t.TempDir()
	t.Setenv("TMPDIR", temp)
	e := mustOpen(t, Options{}, fakeHost("well"))
	if e.Shared || e.Name != "Dynoxide 1.2.1" {
		t.Fatalf("got %s at %s, shared %v", e.Name, e.Endpoint, e.Shared)
	}
	requireResponds(t, e)
	if err := errors.Join(e.Close(), e.Close()); err != nil {
		t.Fatal(err)
	}
	if responds(t, e) {
		t.Error("the engine outlived Close")
	}
	if left, err := os.ReadDir(temp); err != nil || len(left) > 0 {
		t.Errorf("an engine in memory left %v, %v", left, err)
	}
	select {
	case <-e.Done():
		t.Error("Close closed Done")
	default:
	}
}

func TestEngineEndsByItself(t *testing.T) {
	t.Parallel()
	e := mustOpen(t, Options{Data: t.TempDir()}, fakeHost("well"))
	if err := e.Err(); err != nil {
		t.Error(err)
	}
	if res, err := (address{e.Endpoint, e.Socket}).probeClient().Get(e.Endpoint + "/die"); err == nil {
		_ = res.Body.Close()
	}
	<-e.Done()
	if err := e.Err(); err == nil || !strings.Contains(err.Error(), "ended by itself, with exit status 4") ||
		!strings.Contains(err.Error(), "told to die") {
		t.Errorf("Err is %v, want the status and the output", err)
	}
}

func TestBadStarts(t *testing.T) {
	t.Parallel()
	for _, c := range []struct{ name, mode, want string }{
		{"ErrDies", "dies", "Dynoxide 1.2.1 ended at its start, with exit status 3; its last output:\n  fake: the disk is on fire"},
		{"ErrSilent", "silent", "Dynoxide 1.2.1 didn't answer at http://"},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			h := fakeHost(c.mode)
			if c.mode == "silent" {
				h.startWait = 300 * time.Millisecond
			}
			dir := t.TempDir()
			_, err := open(t.Context(), Options{Data: dir}, h)
			if err == nil || !strings.HasPrefix(err.Error(), c.want) {
				t.Fatalf("error %v, want %q", err, c.want)
			}
			// After a failed start, the folder can be opened with any engine.
			if exists(dir + "/engine.json") {
				t.Error("engine.json was written")
			}
			mustOpen(t, Options{Data: dir}, fakeHost("well"))
		})
	}
	t.Run("ErrNotExecutable", func(t *testing.T) {
		h := fakeHost("well")
		h.sources[0].find = findAlways(&program{kind: Dynoxide, title: "Dynoxide", argv: func(string, int, string) []string { return []string{"/nowhere"} }})
		if _, err := open(t.Context(), Options{}, h); err == nil || !strings.HasPrefix(err.Error(), "start Dynoxide: ") {
			t.Errorf("error %v", err)
		}
	})
}

func TestTakenPortIsRetried(t *testing.T) {
	t.Parallel()
	h := fakeHost("unlucky")
	h.useNamespaces = false // because nothing can take the port of an engine in its own namespace
	requireResponds(t, mustOpen(t, Options{Data: t.TempDir()}, h))
}

func TestUnresponsiveEngineIsKilled(t *testing.T) {
	t.Parallel()
	h := fakeHost("deaf")
	h.grace = 100 * time.Millisecond
	e := mustOpen(t, Options{}, h)
	begin := time.Now()
	if err := e.Close(); err != nil {
		t.Fatal(err)
	}
	if took := time.Since(begin); responds(t, e) || took < h.grace {
		t.Errorf("ended after %v, want after %v", took, h.grace)
	}
}

func TestOpenCancelled(t *testing.T) {
	t.Parallel()
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	dir, opened := t.TempDir(), make(chan error, 1)
	go func() {
		_, err := open(ctx, Options{Data: dir}, fakeHost("silent"))
		opened <- err
	}()
	waitUntil(t, "the start of an engine", func() bool { return exists(filepath.Join(dir, startedFile)) })
	cancel()
	if err := <-opened; !errors.Is(err, context.Canceled) {
		t.Errorf("error %v", err)
	}
}
