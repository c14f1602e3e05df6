package engine

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"net"
	"os"
	"os/exec"
	"runtime"
	"strings"
	"sync"
	"testing"
	"time"
)

func contextWithTimeout(t *testing.T, d time.Duration) (context.Context, context.CancelFunc) {
	t.Helper()
	return context.WithTimeout(t.Context(), d)
}

func findFixed(p *program) func(context.Context, *host, bool) (*program, error) {
	return func(context.Context, *host, bool) (*program, error) { return p, nil }
}

// other is a second process that holds the folder.
type other struct {
	cmd    *exec.Cmd
	in     io.Closer
	answer string // "http://… false"
}

func openElsewhere(t *testing.T, dir string) *other {
	t.Helper()
	o, err := tryElsewhere(t, dir)
	if err != nil {
		t.Fatal(err)
	}
	return o
}

// tryElsewhere may be called from any goroutine.
func tryElsewhere(t *testing.T, dir string) (*other, error) {
	t.Helper()
	cmd := exec.Command(os.Args[0], "fake-opener", dir)
	in, err := cmd.StdinPipe()
	if err != nil {
		return nil, err
	}
	out, err := cmd.StdoutPipe()
	if err != nil {
		return nil, err
	}
	if err := cmd.Start(); err != nil {
		return nil, err
	}
	t.Cleanup(func() { _ = in.Close(); _ = cmd.Wait() })
	line, err := bufio.NewReader(out).ReadString('\n')
	if err != nil || !strings.HasPrefix(line, "http") {
		return nil, fmt.Errorf("the other process: %q %w", line, err)
	}
	return &other{cmd, in, strings.TrimSpace(line)}, nil
}

func TestSecondProcessShares(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	e := mustOpen(t, Options{Data: dir}, fakeHost("well"))
	o := openElsewhere(t, dir)
	if o.answer != e.Endpoint+" true" {
		t.Fatalf("the other process has %q, want %s shared", o.answer, e.Endpoint)
	}
	_ = o.in.Close()
	if err := o.cmd.Wait(); err != nil {
		t.Fatal(err)
	}
	if !answers(t, e) {
		t.Error("a sharer that left took the engine with it")
	}
	// A machine that could start nothing can still join.
	if s := mustOpen(t, Options{Data: dir}, bareHost()); s.Endpoint != e.Endpoint || !s.Shared {
		t.Errorf("joined %s, shared %v", s.Endpoint, s.Shared)
	}
}

// Ensure an open engine outlasts the process that started it.
func TestSharerTakesOver(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name  string
		leave func(*other)
	}{
		{"OwnerCloses", func(o *other) { _ = o.in.Close() }},
		{"OwnerIsKilled", func(o *other) { _ = o.cmd.Process.Kill() }},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			if c.name == "OwnerIsKilled" && runtime.GOOS != "linux" {
				return // elsewhere the engine outlives its parent and is still used
			}
			dir := t.TempDir()
			o := openElsewhere(t, dir)
			a := mustOpen(t, Options{Data: dir}, fakeHost("well"))
			b := mustOpen(t, Options{Data: dir}, fakeHost("well"))
			first := pidOf(t, dir)
			c.leave(o)
			_ = o.cmd.Wait()
			// That it has the same port shows that the first engine is gone, too.
			eventually(t, "a new engine", func() bool { p := pidOf(t, dir); return p != first && p != 0 && answers(t, a) })
			if a.Endpoint != b.Endpoint || !a.Shared || !b.Shared {
				t.Errorf("endpoints %s and %s", a.Endpoint, b.Endpoint)
			}
			// Now one of the two owns it; the other one still lives on.
			if a.owns() == b.owns() {
				t.Fatalf("owners: %v, %v", a.owns(), b.owns())
			}
			leaver, stayer := a, b
			if b.owns() {
				leaver, stayer = b, a
			}
			if err := leaver.Close(); err != nil {
				t.Fatal(err)
			}
			eventually(t, "a third engine", func() bool { return stayer.owns() && answers(t, stayer) })
		})
	}
}

func (e *Engine) owns() bool {
	e.mu.Lock()
	defer e.mu.Unlock()
	return e.proc != nil
}

func TestSharerLosesAddress(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	a, err := open(t.Context(), Options{Data: dir}, fakeHost("well"))
	if err != nil {
		t.Fatal(err)
	}
	b := mustOpen(t, Options{Data: dir}, bareHost()) // can't start one itself
	if err := a.Close(); err != nil {
		t.Fatal(err)
	}
	<-b.Done()
	if err := b.Err(); err == nil || !strings.Contains(err.Error(), "can't be started again") {
		t.Errorf("Err is %v", err)
	}
}

func TestStartTogether(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	var wg sync.WaitGroup
	var mu sync.Mutex
	owners, endpoints := 0, map[string]bool{}
	note := func(endpoint string, shared bool) {
		mu.Lock()
		defer mu.Unlock()
		endpoints[endpoint] = true
		if !shared {
			owners++
		}
	}
	for range 3 {
		wg.Go(func() {
			o, err := tryElsewhere(t, dir)
			if err != nil {
				t.Error(err)
				return
			}
			endpoint, shared, _ := strings.Cut(o.answer, " ")
			note(endpoint, shared == "true")
		})
		wg.Go(func() {
			e, err := open(t.Context(), Options{Data: dir}, fakeHost("well"))
			if err != nil {
				t.Error(err)
				return
			}
			t.Cleanup(func() { _ = e.Close() })
			note(e.Endpoint, e.Shared)
		})
	}
	wg.Wait()
	if owners != 1 || len(endpoints) != 1 {
		t.Errorf("%d owners, endpoints %v", owners, endpoints)
	}
}

func TestStaleState(t *testing.T) {
	t.Parallel()
	// A foreign server may by now have the dead engine's port.
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	for name, stale := range map[string]string{
		"DeadProcess":  fmt.Sprintf(`{"pid": 4194304, "endpoint": "http://%s", "name": "dynoxide"}`, l.Addr()),
		"OtherProcess": fmt.Sprintf(`{"pid": %d, "endpoint": "http://%s", "name": "dynoxide"}`, os.Getpid(), l.Addr()),
		"Torn":         `{"pid": 41`,
		"Empty":        ``,
	} {
		t.Run(name, func(t *testing.T) {
			dir := t.TempDir()
			if err := os.WriteFile(dir+"/engine.json", []byte(stale), 0o600); err != nil {
				t.Fatal(err)
			}
			e := mustOpen(t, Options{Data: dir}, fakeHost("well"))
			if e.Shared || !answers(t, e) || strings.HasSuffix(e.Endpoint, l.Addr().String()) {
				t.Errorf("got %s, shared %v", e.Endpoint, e.Shared)
			}
		})
	}
}

func TestHeldFolderWithoutEngine(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	lock, err := tryLock(dir + "/engine.lock")
	if err != nil || lock == nil {
		t.Fatal(lock, err)
	}
	defer lock.release()
	h := fakeHost("well")
	h.ownerWait = 200 * time.Millisecond
	if _, err := open(t.Context(), Options{Data: dir}, h); err == nil || !strings.Contains(err.Error(), "another process holds "+dir) {
		t.Errorf("error %v", err)
	}
}

func TestFolderKeepsItsEngine(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	e := mustOpen(t, Options{Data: dir}, fakeHost("well"))
	if err := e.Close(); err != nil {
		t.Fatal(err)
	}
	again := mustOpen(t, Options{Data: dir}, fakeHost("well"))
	if again.Endpoint != e.Endpoint {
		t.Errorf("the address moved from %s to %s", e.Endpoint, again.Endpoint)
	}
	for _, running := range []bool{true, false} {
		_, err := open(t.Context(), Options{Data: dir, Prefer: DynamoDBLocal}, bareHost())
		want := "was written by Dynoxide 1.2.1, and DynamoDB Local 3.1.0 can't read it: prefer dynoxide, or choose another folder"
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("running %v: error %v, want %q", running, err, want)
		}
		if err := again.Close(); err != nil {
			t.Fatal(err)
		}
	}
	// Without Dynoxide the other engine must not be taken instead.
	h := bareHost()
	h.sources[1].find = findFixed(&program{kind: DynamoDBLocal})
	_, err := open(t.Context(), Options{Data: dir}, h)
	if err == nil || !strings.Contains(err.Error(), "was written by Dynoxide 1.2.1 and no other engine can read it: no engine") {
		t.Errorf("error %v", err)
	}
	// The data files tell whose they are, even without engine.json.
	bare := t.TempDir()
	if err := os.WriteFile(bare+"/shared-local-instance.db", nil, 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := open(t.Context(), Options{Data: bare}, fakeHost("well")); err == nil || !strings.Contains(err.Error(), "was written by DynamoDB Local") {
		t.Errorf("error %v", err)
	}
}
