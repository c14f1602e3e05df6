//go:build unix

package main

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"growthworkspace/scripts/workspace/serve"
	"growthworkspace/shared/client"
	"growthworkspace/shared/testkit/apitest"
)

// Ensure a server process exits with code 0 on SIGTERM and SIGINT, and leaves no database engine
// running.
func TestSignals(t *testing.T) {
	t.Parallel()
	data := dataFolder(t)
	for _, signal := range []syscall.Signal{syscall.SIGTERM, syscall.SIGINT} {
		cmd, a := startServe(t, data)
		pid := enginePID(t, data)
		if got, _ := get(t, a.Key, a.BaseURL+"/v1/companies"); got != 200 {
			t.Errorf("status %d, want 200", got)
		}
		if err := cmd.Process.Signal(signal); err != nil {
			t.Fatal(err)
		}
		if err := cmd.Wait(); err != nil {
			t.Errorf("%v: the program ended with %v", signal, err)
		}
		for deadline := time.Now().Add(waitMax); ; time.Sleep(20 * time.Millisecond) {
			if errors.Is(syscall.Kill(pid, 0), syscall.ESRCH) {
				break
			}
			if time.Now().After(deadline) {
				t.Fatalf("%v left the engine, process %d", signal, pid)
			}
		}
	}
}

// startServe starts a server process that uses the data folder. If the process is still running at
// the end of the test, it is killed.
func startServe(t *testing.T, data string) (*exec.Cmd, serve.Announcement) {
	t.Helper()
	cmd := exec.Command(os.Args[0], "serve", "--json", "--addr", "127.0.0.1:0", "--data", data)
	cmd.Env = append(os.Environ(), asCommandVariable+"=1", memoryVariable+"=")
	cmd.Stderr = t.Output()
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = cmd.Process.Kill() }) // has no effect if the process has ended
	line, err := bufio.NewReader(out).ReadBytes('\n')
	if err != nil {
		t.Fatal(err)
	}
	var a serve.Announcement
	if err := json.Unmarshal(line, &a); err != nil || a.BaseURL == "" || a.Key == "" {
		t.Fatalf("the announcement has no address or key: %v: %s", err, line)
	}
	return cmd, a
}

// Ensure a command that uses the database engine of a server explains what happened if the server
// stops. The command can then be run again.
func TestServerStopsDuringACommand(t *testing.T) {
	t.Parallel()
	data := dataFolder(t)
	server, a := startServe(t, data)
	record := `{"type":"feedback","record":{"source":"reddit","externalId":"1","title":"a"}}` + "\n"
	stopped := make(chan error, 1)
	in := io.MultiReader(strings.NewReader(record), readerFunc(func([]byte) (int, error) {
		err := server.Process.Signal(syscall.SIGTERM)
		stopped <- errors.Join(err, server.Wait())
		return 0, io.EOF
	}))
	importing := []string{"import", "--data", data, "--company", a.CompanyID, "-"}
	var out, errOut bytes.Buffer
	code := run(t.Context(), "workspace", importing, in, &out, &errOut)
	if err := <-stopped; err != nil {
		t.Fatal(err)
	}
	want := "the process that had started the engine of " + data + " has ended, and the engine with it: run this command again"
	if code != 1 || !strings.Contains(errOut.String(), want) {
		t.Errorf("exit code %d, stderr %s, want 1 and %s", code, &errOut, want)
	}
	if again := runCommand(t, record, importing...); again.code != 0 {
		t.Errorf("run again: exit code %d, %s", again.code, again.err)
	}
}

// Ensure each stored record is in the feed exactly once, even if the server and its engine are
// killed again and again while clients push records.
func TestServeFeedThroughKills(t *testing.T) {
	t.Parallel()
	apitest.SkipIfShort(t)
	data := dataFolder(t)
	const rounds, pushed = 3, 30
	var sent, acknowledged atomic.Int64
	push := func(c *client.Client) error {
		in := client.PushFeedbackInput{Records: make([]client.PushFeedbackRecord, pushed)}
		for n := range in.Records {
			in.Records[n] = client.PushFeedbackRecord{Source: "reddit", ExternalID: fmt.Sprint(sent.Add(1)), Title: client.Value("pushed")}
		}
		_, err := c.PushFeedback(t.Context(), in)
		if err == nil {
			acknowledged.Add(pushed)
		}
		return err
	}
	for round := range rounds {
		cmd, a := startServe(t, data)
		if round == 0 {
			removeQuota(t, data, a.CompanyID, "push", "read")
		}
		c, err := client.New(a.BaseURL, a.Key)
		if err != nil {
			t.Fatal(err)
		}
		var others sync.WaitGroup
		others.Go(func() {
			for push(c) == nil { // until the kill
			}
		})
		for range 2 + round {
			if err := push(c); err != nil {
				t.Fatal(err)
			}
		}
		_ = cmd.Process.Kill()
		_ = cmd.Wait() // returns that it was killed
		others.Wait()
	}
	s := startServer(t, data)
	stored := 0
	f := &feed{changeType: "feedback", seen: map[string]int{}}
	for r, err := range s.client(t).AllFeedback(t.Context(), client.ListFeedbackInput{Source: client.Value(client.FeedbackSourceReddit), Limit: client.Value(200)}) {
		if err != nil {
			t.Fatal(err)
		}
		if title, ok := r.Title.Get(); ok && title == "pushed" { // not a record of the demo company
			stored++
			f.wait(t, s, r.ID)
		}
	}
	if stored < int(acknowledged.Load()) {
		t.Errorf("%d records are stored, and %d were acknowledged", stored, acknowledged.Load())
	}
	for id, n := range f.seen {
		if n != 1 {
			t.Errorf("%d changes of %s, want 1", n, id)
		}
	}
	if len(f.seen) != stored {
		t.Errorf("the feed has %d records, and %d are stored", len(f.seen), stored)
	}
}

type readerFunc func([]byte) (int, error)

func (f readerFunc) Read(p []byte) (int, error) { return f(p) }

func enginePID(t *testing.T, data string) int {
	t.Helper()
	text, err := os.ReadFile(filepath.Join(data, "engine.json"))
	if err != nil {
		t.Fatal(err)
	}
	var state struct{ PID int }
	if err := json.Unmarshal(text, &state); err != nil || state.PID == 0 {
		t.Fatalf("the engine's file has no process id: %v: %s", err, text)
	}
	return state.PID
}

// Ensure a bridge process exits with code 0 when the client closes its standard input, and when it
// receives a signal to stop. It must write only messages to standard output.
func TestBridgeProcess(t *testing.T) {
	t.Parallel()
	a, _ := useServer(t)
	start := func() (*exec.Cmd, io.WriteCloser, *bufio.Reader) {
		cmd := exec.Command(os.Args[0], "mcp", "--areas", "feedback")
		cmd.Env = append(os.Environ(), asCommandVariable+"=1", keyVariable+"="+a.Key, urlVariable+"="+a.BaseURL)
		cmd.Stderr = t.Output()
		in, err1 := cmd.StdinPipe()
		out, err2 := cmd.StdoutPipe()
		if err := errors.Join(err1, err2, cmd.Start()); err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { _ = cmd.Process.Kill() }) // has no effect on a process that has exited
		return cmd, in, bufio.NewReader(out)
	}
	const ping = `{"jsonrpc":"2.0","id":1,"method":"ping"}` + "\n"
	for name, end := range map[string]func(cmd *exec.Cmd, in io.Closer) error{
		"closed":  func(_ *exec.Cmd, in io.Closer) error { return in.Close() },
		"SIGTERM": func(cmd *exec.Cmd, _ io.Closer) error { return cmd.Process.Signal(syscall.SIGTERM) },
	} {
		cmd, in, out := start()
		if _, err := io.WriteString(in, ping); err != nil {
			t.Fatal(err)
		}
		if line, err := out.ReadString('\n'); err != nil || line != `{"jsonrpc":"2.0","id":1,"result":{}}`+"\n" {
			t.Errorf("%s: %q, %v", name, line, err)
		}
		if err := end(cmd, in); err != nil {
			t.Fatal(err)
		}
		rest, err := io.ReadAll(out)
		if err != nil || len(rest) > 0 {
			t.Errorf("%s: the rest of standard output is %q, %v", name, rest, err)
		}
		if err := cmd.Wait(); err != nil {
			t.Errorf("%s: the bridge ended with %v", name, err)
		}
	}
}

// Ensure `mcp install` refuses to run in a program that `go run` built, because the program will be
// deleted before a client starts it. The error must say what to do, and nothing may change.
func TestInstallOfTemporaryProgram(t *testing.T) {
	t.Parallel()
	home := t.TempDir()
	program := filepath.Join(t.TempDir(), "go-build1", "b001", "exe", "workspace")
	if err := errors.Join(os.MkdirAll(filepath.Dir(program), 0o700), os.Link(os.Args[0], program)); err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command(program, "mcp", "install", "cursor", "--yes")
	cmd.Env = append(os.Environ(), asCommandVariable+"=1", "HOME="+home, "XDG_CONFIG_HOME="+home)
	out, err := cmd.CombinedOutput()
	want := "built by go run, in a temporary folder that Go removes, so Cursor could not start it later: run `go install ./scripts/workspace`, and then `workspace mcp install cursor`"
	if err == nil || !strings.Contains(string(out), want) {
		t.Errorf("%v, %s, want %s", err, out, want)
	}
	if entries, err := os.ReadDir(home); err != nil || len(entries) > 0 {
		t.Errorf("it wrote %v, %v", entries, err)
	}
}
