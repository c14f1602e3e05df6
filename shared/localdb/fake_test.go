package localdb

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net"
	"net/http"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"strconv"
	"syscall"
	"testing"
	"time"
)

// TestMain allows the test binary to also act as the fake engine and as the second process, so that
// the tests need no other program.
func TestMain(m *testing.M) {
	Main()
	if len(os.Args) > 4 && os.Args[1] == "fake-engine" {
		runFakeEngine(os.Args[2], os.Args[3], os.Args[4])
	}
	if len(os.Args) > 3 && os.Args[1] == "fake-opener" {
		runFakeOpener(os.Args[2], os.Args[3])
	}
	if len(os.Args) > 2 && os.Args[1] == "fake-caller" {
		runFakeCaller(os.Args[2])
	}
	os.Exit(m.Run())
}

// startedFile is the file that an unresponsive fake engine writes to its folder.
const startedFile = "started"

// runFakeEngine responds like Dynoxide, or misbehaves as specified by mode.
func runFakeEngine(mode, listen, dir string) {
	switch mode {
	case "dies":
		fmt.Println("fake: the disk is on fire")
		os.Exit(3)
	case "silent":
		_ = os.WriteFile(filepath.Join(dir, startedFile), nil, 0o600)
		select {}
	case "unlucky":
		// The first time the engine is started, its port is taken. The second time, it is not.
		marker := filepath.Join(dir, "tried")
		if !exists(marker) {
			_ = os.WriteFile(marker, nil, 0o600)
			fmt.Println("error: address already in use")
			os.Exit(1)
		}
	case "deaf":
		signal.Ignore(syscall.SIGTERM)
	}
	fmt.Println("fake listening on", listen)
	err := http.ListenAndServe(listen, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Server", "Dynoxide/fake")
		if r.URL.Path == "/die" {
			fmt.Println("fake: told to die")
			os.Exit(4)
		}
	}))
	fmt.Println(err)
	os.Exit(1)
}

// runFakeOpener opens the folder, prints the result, and keeps the folder open until its standard
// input ends or its engine exits.
func runFakeOpener(access, dir string) {
	e, err := open(context.Background(), Options{Data: dir, Share: true}, newOpenHost(access))
	if err != nil {
		fmt.Println("error:", err)
		os.Exit(1)
	}
	fmt.Println(e.Endpoint, e.Shared)
	closed := make(chan struct{})
	go func() { _, _ = io.Copy(io.Discard, os.Stdin); close(closed) }()
	select {
	case <-closed:
	case <-e.Done():
		fmt.Println(e.Err())
		os.Exit(1)
	}
	if err := e.Close(); err != nil {
		fmt.Println("error:", err)
		os.Exit(1)
	}
	os.Exit(0)
}

// fakeHost returns a machine whose only engine is the fake one, which takes the place of Dynoxide.
func fakeHost(mode string) *host {
	h := emptyHost()
	h.sources[0].find = func(context.Context, *host, bool) (*program, error) {
		return &program{
			kind: Dynoxide, title: engineTitles[Dynoxide], readyMessage: "listening on",
			argv: func(host string, port int, dir string) []string {
				return []string{os.Args[0], "fake-engine", mode, net.JoinHostPort(host, strconv.Itoa(port)), dir}
			},
		}, nil
	}
	return h
}

// The ways to reach a folder's engine. If the system refuses namespaces, accessBySocket falls back
// to accessByAddress.
const (
	accessBySocket  = "Socket"
	accessByAddress = "Address"
	// accessWithoutShell is accessByAddress on a machine without a shell.
	accessWithoutShell = "NoShell"
)

// newOpenHost returns a machine on which the engines of folders are reached in the given way.
func newOpenHost(access string) *host {
	h := fakeHost("well")
	h.useNamespaces = h.useNamespaces && access == accessBySocket
	if access == accessWithoutShell {
		h.shell = "/no/shell"
	}
	return h
}

// runFakeCaller runs in a separate process, possibly as another user. It tries to connect to the
// socket and prints what happened.
func runFakeCaller(socket string) {
	conn, err := dialSocket(context.Background(), socket)
	if err == nil {
		err = errors.Join(errors.New("connected"), conn.Close())
	}
	fmt.Println(err)
	os.Exit(0)
}

// writeProgram writes a file that the test may execute. It holds the lock that keeps other
// goroutines from starting a process. Otherwise, such a process could inherit the open file, and the
// system refuses to execute a file that is open for writing (text file busy).
func writeProgram(path, text string, mode fs.FileMode) error {
	syscall.ForkLock.RLock()
	defer syscall.ForkLock.RUnlock()
	return os.WriteFile(path, []byte(text), mode)
}

// emptyHost returns a machine with nothing on PATH and no cache.
func emptyHost() *host {
	h := newHost(nil)
	h.lookPath = func(string) (string, error) { return "", exec.ErrNotFound }
	h.cacheDir = func() (string, error) { return "", errors.New("no home") }
	h.startWait = waitMax
	return h
}

func mustOpen(t *testing.T, o Options, h *host) *Engine {
	t.Helper()
	e, err := open(t.Context(), o, h)
	if err != nil {
		t.Fatalf("open: %v", err)
	}
	t.Cleanup(func() {
		if err := e.Close(); err != nil {
			t.Errorf("close: %v", err)
		}
	})
	return e
}

// waitMax is how long a test waits for another process before it fails.
const waitMax = 2 * time.Minute

// waitUntil polls ok until it returns true, because the test waits for something that another
// process does.
func waitUntil(t *testing.T, description string, ok func() bool) {
	t.Helper()
	for deadline := time.Now().Add(waitMax); !ok(); time.Sleep(10 * time.Millisecond) {
		if time.Now().After(deadline) {
			t.Fatalf("not within %s: %s", waitMax, description)
		}
	}
}

// responds reports whether the engine responds now. On a busy machine, the response may be too
// late; see requireResponds.
func responds(t *testing.T, e *Engine) bool {
	t.Helper()
	return isEngine(t.Context(), Dynoxide, address{e.Endpoint, e.Socket})
}

func requireResponds(t *testing.T, e *Engine) {
	t.Helper()
	waitUntil(t, "an answer of "+e.Endpoint, func() bool { return responds(t, e) })
}

func pidOf(t *testing.T, dir string) int {
	t.Helper()
	f, err := newFolder(dir)
	if err != nil {
		t.Fatal(err)
	}
	s, err := f.read()
	if err != nil {
		t.Fatal(err)
	}
	return s.PID
}

// skipMissing skips a test that requires something that this machine lacks. If CI_NO_SKIP is set,
// it fails the test instead, because a skipped test would go unnoticed.
func skipMissing(t *testing.T, reason string) {
	t.Helper()
	if os.Getenv("CI_NO_SKIP") == "1" {
		t.Fatalf("CI_NO_SKIP=1, so this may not be missing: %s", reason)
	}
	t.Skip(reason)
}

// requireEngine skips the test unless the engine is in the user's cache or may be installed there.
func requireEngine(t *testing.T, find func(context.Context, *host, bool) (*program, error)) {
	t.Helper()
	if _, err := find(t.Context(), newHost(t.Output()), os.Getenv("WORKSPACE_TEST_INSTALL") == "1"); err != nil {
		skipMissing(t, fmt.Sprintf("%v (WORKSPACE_TEST_INSTALL=1 lets the tests install it)", err))
	}
}
