//go:build linux

package localdb

import (
	"fmt"
	"net"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
)

// unprivilegedUser is the id of a user that is unprivileged on every Linux system.
const unprivilegedUser = 65534

// unprivilegedCommand returns a command that runs the test binary as another user. This requires
// root privileges.
func unprivilegedCommand(t *testing.T, args ...string) *exec.Cmd {
	t.Helper()
	cmd := exec.Command("/proc/self/exe", args...) // other users may have no access to the binary's folder
	cmd.Dir = "/"
	cmd.SysProcAttr = &syscall.SysProcAttr{Credential: &syscall.Credential{Uid: unprivilegedUser, Gid: unprivilegedUser}}
	return cmd
}

// newPublicDir returns a folder that every user can enter.
func newPublicDir(t *testing.T) string {
	t.Helper()
	dir, err := os.MkdirTemp("/tmp", "engine-socket-*")
	if err == nil {
		err = os.Chmod(dir, 0o755)
	}
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = os.RemoveAll(dir) })
	return dir
}

// Ensure that another user of the machine cannot connect to a folder's engine, even in a folder
// that everyone can enter, and that no port of the machine leads to the engine. If the system
// refuses namespaces, the engine's address must not be one that a web page would guess.
func TestSocket(t *testing.T) {
	t.Parallel()
	dir := newPublicDir(t)
	e := mustOpen(t, Options{Data: dir}, fakeHost("well"))
	requireResponds(t, e)
	if e.Socket == "" {
		t.Logf("this system refuses namespaces; the engine is %s", e.AccessText())
		if u, err := url.Parse(e.Endpoint); err != nil || u.Hostname() == "127.0.0.1" || !net.ParseIP(u.Hostname()).IsLoopback() {
			t.Errorf("the address is %s", e.Endpoint)
		}
		return
	}
	if st, err := os.Lstat(e.Socket); err != nil || st.Mode() != os.ModeSocket|0o600 {
		t.Errorf("the socket is %v, %v", st, err)
	}
	engineNetns, err := os.Readlink(fmt.Sprintf("/proc/%d/ns/net", pidOf(t, dir)))
	ownNetns, ownErr := os.Readlink("/proc/self/ns/net")
	if err != nil || ownErr != nil || engineNetns == ownNetns {
		t.Errorf("the engine is in the network %s, as we are: %v, %v", engineNetns, err, ownErr)
	}
	if got := e.AccessText(); got != "reachable by your user only" {
		t.Errorf("Access is %q", got)
	}
	output, err := exec.Command(os.Args[0], "fake-caller", e.Socket).Output()
	if err != nil || !strings.HasPrefix(string(output), "connected") {
		t.Errorf("a process of this user: %s %v", output, err)
	}
	if os.Geteuid() != 0 {
		return // only root can become another user
	}
	otherOutput, err := unprivilegedCommand(t, "fake-caller", e.Socket).Output()
	if err != nil || !strings.Contains(string(otherOutput), "permission denied") {
		t.Errorf("a process of another user: %s %v", otherOutput, err)
	}
}

// Ensure a user other than root can start an engine, in a namespace if the system permits it.
func TestSocketForOrdinaryUser(t *testing.T) {
	t.Parallel()
	if os.Geteuid() != 0 {
		return // not root, so the other tests already cover this
	}
	dir := filepath.Join(newPublicDir(t), "data")
	if err := os.Mkdir(dir, 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.Chown(dir, unprivilegedUser, unprivilegedUser); err != nil {
		t.Fatal(err)
	}
	cmd := unprivilegedCommand(t, "fake-opener", accessBySocket, dir)
	in, err := cmd.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	var out strings.Builder
	cmd.Stdout = &out
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	_ = in.Close()
	if err := cmd.Wait(); err != nil || !strings.HasPrefix(out.String(), "http://") {
		t.Errorf("a plain user got %s, %v", &out, err)
	}
}

// Ensure a folder has a socket even if its path is longer than the path of a socket may be.
func TestSocketWithLongPath(t *testing.T) {
	t.Parallel()
	short, long := t.TempDir(), filepath.Join(t.TempDir(), strings.Repeat("a folder with a long name ", 6))
	want := mustOpen(t, Options{Data: short}, fakeHost("well"))
	e := mustOpen(t, Options{Data: long}, fakeHost("well"))
	if requireResponds(t, e); (e.Socket == "") != (want.Socket == "") {
		t.Errorf("the socket is %q", e.Socket)
	}
}

// Ensure an engine without a socket listens on a random loopback address, or on 127.0.0.1 if the
// system has no other.
func TestNoSocket(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name     string
		loopback func() string
		want     string
	}{
		{"OK", func() string { return "127.9.8.7" }, "http://127.9.8.7:"},
		{"OneAddress", func() string { return "192.0.2.1" }, "http://127.0.0.1:"},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			dir := t.TempDir()
			// The proxy exits if it cannot remove this folder.
			if err := os.MkdirAll(filepath.Join(dir, socketFile, "full"), 0o700); err != nil {
				t.Fatal(err)
			}
			h := fakeHost("well")
			h.loopback = c.loopback
			e := mustOpen(t, Options{Data: dir}, h)
			if requireResponds(t, e); e.Socket != "" || !strings.HasPrefix(e.Endpoint, c.want) {
				t.Errorf("got %q, %q", e.Endpoint, e.Socket)
			}
			if got := e.AccessText(); got != "reachable by every user of this machine" {
				t.Errorf("Access is %q", got)
			}
		})
	}
	if a, b := randomLoopback(), randomLoopback(); a == b || !net.ParseIP(a).IsLoopback() {
		t.Errorf("drew %s and %s", a, b)
	}
}
