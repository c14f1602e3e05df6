package localdb

import (
	"bufio"
	"context"
	"errors"
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

	"growthworkspace/shared/filelock"
)

func findAlways(p *program) func(context.Context, *host, bool) (*program, error) {
	return func(context.Context, *host, bool) (*program, error) { return p, nil }
}

// otherProcess is a second process that has opened the folder.
type otherProcess struct {
	cmd       *exec.Cmd
	stdin     io.Closer
	stdout    *bufio.Reader
	firstLine string // the line that it printed, such as "http://… false"
}

func openInProcess(t *testing.T, access, dir string) *otherProcess {
	t.Helper()
	o, err := tryOpenInProcess(t, access, dir)
	if err != nil {
		t.Fatal(err)
	}
	return o
}

// tryOpenInProcess is like openInProcess, but returns the error, so it can be called from any
// goroutine.
func tryOpenInProcess(t *testing.T, access, dir string) (*otherProcess, error) {
	t.Helper()
	cmd := exec.Command(os.Args[0], "fake-opener", access, dir)
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
	lines := bufio.NewReader(out)
	line, err := lines.ReadString('\n')
	if err != nil || !strings.HasPrefix(line, "http") {
		return nil, fmt.Errorf("the other process: %q %w", line, err)
	}
	return &otherProcess{cmd, in, lines, strings.TrimSpace(line)}, nil
}

func TestSecondProcessShares(t *testing.T) {
	t.Parallel()
	for _, access := range []string{accessBySocket, accessByAddress} {
		t.Run(access, func(t *testing.T) {
			t.Parallel()
			dir := t.TempDir()
			e := mustOpen(t, Options{Data: dir, Share: true}, newOpenHost(access))
			o := openInProcess(t, access, dir)
			if o.firstLine != e.Endpoint+" true" {
				t.Fatalf("the other process has %q, want %s shared", o.firstLine, e.Endpoint)
			}
			_ = o.stdin.Close()
			if err := o.cmd.Wait(); err != nil {
				t.Fatal(err)
			}
			requireResponds(t, e) // a shared engine keeps running when a process that joined it closes it
			// A machine without an installed engine can still join a running one.
			if s := mustOpen(t, Options{Data: dir}, emptyHost()); s.Endpoint != e.Endpoint || s.Socket != e.Socket || !s.Shared {
				t.Errorf("joined %s, shared %v", s.Endpoint, s.Shared)
			}
		})
	}
}

// Ensure a shared engine exits with the process that started it. The processes that joined it must
// get an error that says so, and the folder can then be opened again.
func TestOwnerExits(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name   string
		access string
		leave  func(*otherProcess)
	}{
		{"Closes", accessBySocket, func(o *otherProcess) { _ = o.stdin.Close() }},
		{"IsKilled", accessBySocket, func(o *otherProcess) { _ = o.cmd.Process.Kill() }},
		{"OfAnAddressCloses", accessByAddress, func(o *otherProcess) { _ = o.stdin.Close() }},
		{"WithoutAShellCloses", accessWithoutShell, func(o *otherProcess) { _ = o.stdin.Close() }},
		{"WithoutAShellIsKilled", accessWithoutShell, func(o *otherProcess) { _ = o.cmd.Process.Kill() }},
		{"OfAnAddressIsKilled", accessByAddress, func(o *otherProcess) { _ = o.cmd.Process.Kill() }},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			if strings.HasSuffix(c.name, "IsKilled") && runtime.GOOS == "windows" {
				return // on Windows, the engine outlives its parent and is still used
			}
			dir := t.TempDir()
			owner := openInProcess(t, c.access, dir)
			joined := mustOpen(t, Options{Data: dir}, newOpenHost(c.access))
			joinedProcess := openInProcess(t, c.access, dir)
			c.leave(owner)
			_ = owner.cmd.Wait()
			<-joined.Done()
			want := "the process that had started the engine of " + dir + " has ended, and the engine with it: run this command again"
			if err := joined.Err(); err == nil || err.Error() != want {
				t.Errorf("Err is %v, want %s", err, want)
			}
			if said, err := joinedProcess.stdout.ReadString('\n'); err != nil || strings.TrimSpace(said) != want {
				t.Errorf("the other process said %q, %v, want %s", said, err, want)
			}
			reopened := mustOpen(t, Options{Data: dir}, newOpenHost(c.access))
			if requireResponds(t, reopened); reopened.Shared || reopened.Endpoint != joined.Endpoint {
				t.Errorf("run again: endpoint %s, shared %v; want %s, not shared", reopened.Endpoint, reopened.Shared, joined.Endpoint)
			}
		})
	}
}

// Ensure no other process can join the engine of a command that does not share it. Another command
// must log that it is waiting until the first one has closed its engine, and then get its own
// engine.
func TestUnsharedEngine(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	first, err := open(t.Context(), Options{Data: dir}, fakeHost("well"))
	if err != nil {
		t.Fatal(err)
	}
	said, log := io.Pipe()
	second := fakeHost("well")
	second.log = log
	opened := make(chan error, 1)
	go func() {
		e, err := open(t.Context(), Options{Data: dir}, second)
		if err == nil && e.Shared {
			err = fmt.Errorf("it joined %s", e.Endpoint)
		}
		if err == nil {
			err = e.Close()
		}
		opened <- errors.Join(err, log.Close())
	}()
	line, err := bufio.NewReader(said).ReadString('\n')
	if want := fmt.Sprintf("waiting for another command that uses %s (its engine is process %d)\n", dir, pidOf(t, dir)); err != nil || line != want {
		t.Errorf("the second command said %q, %v, want %q", line, err, want)
	}
	requireResponds(t, first) // the first command still has its engine
	if err := first.Close(); err != nil {
		t.Fatal(err)
	}
	if err := <-opened; err != nil {
		t.Error(err)
	}
}

// Ensure a process that closes an engine it has joined gets no error from Err and does not stop the
// engine.
func TestJoinedCloses(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	e := mustOpen(t, Options{Data: dir, Share: true}, fakeHost("well"))
	joined := mustOpen(t, Options{Data: dir}, fakeHost("well"))
	if err := joined.Close(); err != nil {
		t.Fatal(err)
	}
	requireResponds(t, e)
	if err := joined.Err(); err != nil {
		t.Errorf("Err is %v, want none", err)
	}
}

// Ensure a program that has not called Main cannot open a data folder, because it could not act as
// the proxy for the folder's engine.
func TestMainIsRequired(t *testing.T) {
	mainCalled.Store(false)
	defer mainCalled.Store(true)
	_, err := open(t.Context(), Options{Data: t.TempDir()}, fakeHost("well"))
	if err == nil || !strings.Contains(err.Error(), "does not call engine.Main first in main") {
		t.Errorf("error %v", err)
	}
}

// Ensure an engine in memory exits with the process that started it, even if that process is
// killed.
func TestNoOrphanProcess(t *testing.T) {
	t.Parallel()
	if runtime.GOOS == "windows" {
		skipMissing(t, "Windows has no such guard")
	}
	o := openInProcess(t, accessByAddress, "")
	e := engineOf(t, "", o)
	requireResponds(t, e)
	_ = o.cmd.Process.Kill()
	_ = o.cmd.Wait()
	waitUntil(t, "no engine", func() bool { return !responds(t, e) })
}

// engineOf returns the engine that the other process has opened.
func engineOf(t *testing.T, dir string, o *otherProcess) *Engine {
	t.Helper()
	endpoint, _, _ := strings.Cut(o.firstLine, " ")
	addr := (&folder{dir}).addressOf(state{Endpoint: endpoint})
	return &Engine{Endpoint: addr.endpoint, Socket: addr.socket}
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
			o, err := tryOpenInProcess(t, accessBySocket, dir)
			if err != nil {
				t.Error(err)
				return
			}
			endpoint, shared, _ := strings.Cut(o.firstLine, " ")
			note(endpoint, shared == "true")
		})
		wg.Go(func() {
			e, err := open(t.Context(), Options{Data: dir, Share: true}, fakeHost("well"))
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
	// Another server may have taken the port of an engine that has ended.
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
			err := os.WriteFile(dir+"/engine.json", []byte(stale), 0o600)
			if err = errors.Join(err, os.WriteFile(dir+"/dynoxide.db", []byte("data"), 0o600)); err != nil {
				t.Fatal(err)
			}
			e := mustOpen(t, Options{Data: dir}, fakeHost("well"))
			requireResponds(t, e)
			if e.Shared || strings.HasSuffix(e.Endpoint, l.Addr().String()) {
				t.Errorf("got %s, shared %v", e.Endpoint, e.Shared)
			}
		})
	}
}

// Ensure a folder that has lost its database is refused. A new database would have no company and
// no key.
func TestLostDatabase(t *testing.T) {
	t.Parallel()
	for name, damage := range map[string]func(dir string) error{
		"Empty":   func(dir string) error { return os.Truncate(dir+"/dynoxide.db", 0) },
		"Missing": func(dir string) error { return os.Remove(dir + "/dynoxide.db") },
		"EmptyAndNoState": func(dir string) error {
			return errors.Join(os.Truncate(dir+"/dynoxide.db", 0), os.Truncate(dir+"/engine.json", 0))
		},
	} {
		t.Run(name, func(t *testing.T) {
			dir := t.TempDir()
			e := mustOpen(t, Options{Data: dir}, fakeHost("well"))
			if err := errors.Join(e.Close(), damage(dir)); err != nil {
				t.Fatal(err)
			}
			_, err := open(t.Context(), Options{Data: dir}, fakeHost("well"))
			if want := "the data in " + dir + " is lost: dynoxide.db is missing or empty: restore a copy of it, or choose another folder"; err == nil || err.Error() != want {
				t.Errorf("error %v, want %s", err, want)
			}
		})
	}
}

func TestHeldFolderWithoutEngine(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	lock, err := filelock.Try(dir + "/engine.lock")
	if err != nil || lock == nil {
		t.Fatalf("the folder cannot be locked: %v, %v", lock, err)
	}
	defer lock.Close()
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
	reopened := mustOpen(t, Options{Data: dir}, fakeHost("well"))
	if reopened.Endpoint != e.Endpoint {
		t.Errorf("the address moved from %s to %s", e.Endpoint, reopened.Endpoint)
	}
	for _, running := range []bool{true, false} {
		_, err := open(t.Context(), Options{Data: dir, Prefer: DynamoDBLocal}, emptyHost())
		want := "was written by Dynoxide 1.2.1, and DynamoDB Local 3.1.0 can't read it: prefer dynoxide, or choose another folder"
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("running %v: error %v, want %q", running, err, want)
		}
		if err := reopened.Close(); err != nil {
			t.Fatal(err)
		}
	}
	// If Dynoxide is missing, the other engine must not be used instead.
	h := emptyHost()
	h.sources[1].find = findAlways(&program{kind: DynamoDBLocal})
	_, err := open(t.Context(), Options{Data: dir}, h)
	if err == nil || !strings.Contains(err.Error(), "was written by Dynoxide 1.2.1 and no other engine can read it: no engine") {
		t.Errorf("error %v", err)
	}
	// The data files show which engine wrote them, even without engine.json.
	bare := t.TempDir()
	if err := os.WriteFile(bare+"/shared-local-instance.db", []byte("SQLite format 3"), 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := open(t.Context(), Options{Data: bare}, fakeHost("well")); err == nil || !strings.Contains(err.Error(), "was written by DynamoDB Local") {
		t.Errorf("error %v", err)
	}
}

// Ensure the process that starts a folder's engine raises the folder's format to its own. A process
// that supports only earlier formats must be refused, whether the engine is running or not. A
// process that knows no formats must keep the folder's.
func TestFolderFormat(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	closeEngine := func(e *Engine) {
		t.Helper()
		if err := e.Close(); err != nil {
			t.Fatal(err)
		}
	}
	requireRefused := func(stage string) {
		t.Helper()
		if _, err := open(t.Context(), Options{Data: dir, Format: 1}, newOpenHost(accessByAddress)); err == nil || !strings.Contains(err.Error(), "has the format 2, and this version can use formats up to 1") {
			t.Errorf("%s: the error is %v", stage, err)
		}
	}
	closeEngine(mustOpen(t, Options{Data: dir, Format: 1}, newOpenHost(accessByAddress)))
	e := mustOpen(t, Options{Data: dir, Share: true, Format: 2}, newOpenHost(accessByAddress))
	requireRefused("running")
	mustOpen(t, Options{Data: dir, Format: 3}, emptyHost()) // joins the engine, and does not change the format
	closeEngine(e)
	requireRefused("stopped")
	closeEngine(mustOpen(t, Options{Data: dir}, newOpenHost(accessByAddress)))
	requireRefused("opened by a process that knows no formats")
}
