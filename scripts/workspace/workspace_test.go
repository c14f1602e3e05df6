package main

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"os"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"growthworkspace/scripts/workspace/serve"
	"growthworkspace/shared/localdb"
)

// asCommandVariable is the environment variable that makes the test binary run as the program
// `workspace`, for tests that need real processes.
const asCommandVariable = "WORKSPACE_TEST_AS_COMMAND"

// memoryVariable is the environment variable that limits the memory of a Go process. If it is not
// set, a server sets a limit itself.
const memoryVariable = "GOMEMLIMIT"

// The environment variables that name the key, the service and the profile.
const (
	keyVariable     = "WORKSPACE_KEY"
	urlVariable     = "WORKSPACE_URL"
	profileVariable = "WORKSPACE_PROFILE"
)

// asSenderVariable is the environment variable that makes the test binary run as a program that
// posts the record on its standard input to the URL in the variable.
const asSenderVariable = "WORKSPACE_TEST_AS_SENDER"

// runSender posts standard input to a URL, and prints the response.
func runSender(target string) error {
	response, err := http.Post(target, "application/json", os.Stdin)
	if err != nil {
		return err
	}
	_, err = io.Copy(os.Stdout, response.Body)
	return err
}

func TestMain(m *testing.M) {
	localdb.Main()
	if program := os.Getenv(fakeClientVariable); program != "" {
		if err := runFakeClient(program, os.Args[1:]); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
		os.Exit(0)
	}
	if target := os.Getenv(asSenderVariable); target != "" && len(os.Args) == 1 {
		if err := runSender(target); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
		os.Exit(0)
	}
	if os.Getenv(asCommandVariable) == "1" {
		main()
	}
	// Servers must not limit the memory of this process, which all tests share. With a limit, the
	// garbage collector would use half of the CPU time.
	if err := os.Setenv(memoryVariable, "off"); err != nil {
		panic(err)
	}
	code := m.Run()
	if shared.server != nil {
		shared.server.cancel()
		<-shared.server.exitCode
		_ = os.RemoveAll(shared.data) // the folder is temporary
	}
	os.Exit(code)
}

// waitMax is how long a test waits for something before it fails.
const waitMax = 2 * time.Minute

// dataFolder returns an empty data folder. Without an installed engine it skips the test, or fails
// it if CI_NO_SKIP is set.
func dataFolder(t *testing.T) string {
	t.Helper()
	probeOnce.Do(func() {
		var e *localdb.Engine
		install := os.Getenv("WORKSPACE_TEST_INSTALL") == "1"
		if e, probeErr = localdb.Open(context.Background(), localdb.Options{Install: install}); probeErr == nil {
			probeErr = e.Close()
		}
	})
	if probeErr != nil && os.Getenv("CI_NO_SKIP") != "" {
		t.Fatal("no engine:", probeErr)
	}
	if probeErr != nil {
		t.Skip(probeErr)
	}
	return t.TempDir()
}

var (
	probeOnce sync.Once
	probeErr  error
)

// commandResult is the exit code and the output of a command.
type commandResult struct {
	code     int
	out, err string
}

func runCommand(t *testing.T, in string, args ...string) commandResult {
	t.Helper()
	return runCommandAs(t, "workspace", in, args...)
}

// runCommandAs runs the program as if a user had started it with the command in program, such as
// `go run`.
func runCommandAs(t *testing.T, program, in string, args ...string) commandResult {
	t.Helper()
	var out, errOut bytes.Buffer
	code := run(t.Context(), program, args, strings.NewReader(in), &out, &errOut)
	return commandResult{code, out.String(), errOut.String()}
}

// runJSON runs a command with --json. It decodes stdout, which must be exactly one object.
func runJSON(t *testing.T, data, in string, args ...string) map[string]any {
	t.Helper()
	r := runCommand(t, in, append(args, "--json", "--data", data)...)
	if r.code != 0 {
		t.Fatalf("%v: exit code %d: %s", args, r.code, r.err)
	}
	var object map[string]any
	d := json.NewDecoder(strings.NewReader(r.out))
	if err := d.Decode(&object); err != nil {
		t.Fatalf("%v: the output is no JSON: %v: %s", args, err, r.out)
	}
	if _, err := d.Token(); err != io.EOF {
		t.Fatalf("%v: more than one object: %s", args, r.out)
	}
	return object
}

// runRefused runs a command with --json and returns its error. stderr must be exactly one object.
func runRefused(t *testing.T, code int, in string, args ...string) string {
	t.Helper()
	r := runCommand(t, in, append(args, "--json")...)
	var object map[string]string
	if err := json.Unmarshal([]byte(r.err), &object); err != nil || len(object) != 1 || r.out != "" {
		t.Fatalf("%v: not one error object: %q %q", args, r.out, r.err)
	}
	if r.code != code {
		t.Fatalf("%v: exit code %d instead of %d: %s", args, r.code, code, object["error"])
	}
	return object["error"]
}

func newCompany(t *testing.T, data string) string {
	t.Helper()
	return runJSON(t, data, "", "company", "create", "--name", "Acme")["companyId"].(string)
}

// exportOf returns an export of the company, with the company's id removed.
func exportOf(t *testing.T, data, companyID string) string {
	t.Helper()
	r := runCommand(t, "", "export", "--company", companyID, "--data", data)
	if r.code != 0 {
		t.Fatalf("export: exit code %d: %s", r.code, r.err)
	}
	return strings.ReplaceAll(r.out, companyID, "co_")
}

// server is a running `serve` command in this process.
type server struct {
	serve.Announcement
	cancel       context.CancelFunc
	exitCode     chan int
	logs         *lockedBuffer
	restOfOutput chan string // receives the output after the first line
}

// lockedBuffer is a buffer for concurrent use.
type lockedBuffer struct {
	mu   sync.Mutex
	text bytes.Buffer
}

func (l *lockedBuffer) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.text.Write(p)
}

func (l *lockedBuffer) String() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.text.String()
}

func startServer(t *testing.T, data string, args ...string) *server {
	t.Helper()
	return startServerWith(t, append([]string{"--data", data}, args...)...)
}

// shared is the server of useServer.
var shared struct {
	sync.Mutex

	server *server
	data   string
}

// useServer returns a server that many tests share, because creating the demo company takes most
// of a second. It is for tests that do not depend on what others do with the company. The quotas of
// its key are high.
func useServer(t *testing.T) (s *server, data string) {
	t.Helper()
	dataFolder(t) // skips the test if no engine is installed
	shared.Lock()
	defer shared.Unlock()
	if shared.server == nil {
		data, err := os.MkdirTemp("", "workspace-test-")
		if err == nil {
			shared.data = data
			shared.server, err = launchServer("--data", data)
		}
		if err != nil {
			t.Fatal(err)
		}
		removeQuota(t, data, shared.server.CompanyID, "read", "write", "publish", "push")
	}
	return shared.server, shared.data
}

// startServerWith starts a server with flags that select the table. The server stops at the end of
// the test.
func startServerWith(t *testing.T, args ...string) *server {
	t.Helper()
	s, err := launchServer(args...)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { s.stop(t) })
	return s
}

func launchServer(args ...string) (*server, error) {
	ctx, cancel := context.WithCancel(context.Background())
	s := &server{cancel: cancel, exitCode: make(chan int, 1), logs: &lockedBuffer{}, restOfOutput: make(chan string, 1)}
	out, in := io.Pipe()
	go func() {
		s.exitCode <- run(ctx, "workspace", append([]string{"serve", "--json", "--addr", "127.0.0.1:0"}, args...), strings.NewReader(""), in, s.logs)
		_ = in.Close()
	}()
	reader := bufio.NewReader(out)
	line, err := reader.ReadBytes('\n')
	if err == nil {
		err = json.Unmarshal(line, &s.Announcement)
	}
	if err != nil {
		cancel()
		return nil, fmt.Errorf("serve: %w: %q %s", err, line, s.logs)
	}
	go func() {
		rest, _ := io.ReadAll(reader) // reading from this pipe cannot fail
		s.restOfOutput <- string(rest)
	}()
	return s, nil
}

// stop ends the server by canceling its context, as a signal does. It may be called more than once.
func (s *server) stop(t *testing.T) {
	t.Helper()
	if s.cancel == nil {
		return
	}
	s.cancel()
	s.cancel = nil
	if code := <-s.exitCode; code != 0 {
		t.Errorf("serve ended with %d: %s", code, s.logs)
	}
	if rest := <-s.restOfOutput; rest != "" {
		t.Errorf("serve printed more than its first line: %q", rest)
	}
}

// get returns the status and the body of a request.
func get(t *testing.T, key, url string) (int, map[string]any) {
	t.Helper()
	req, err := http.NewRequestWithContext(t.Context(), http.MethodGet, url, http.NoBody)
	if err != nil {
		t.Fatal(err)
	}
	req.Header.Set("Authorization", "Bearer "+key)
	res, err := http.DefaultClient.Do(req)
	if err != nil {
		t.Fatal(err)
	}
	defer res.Body.Close()
	var body map[string]any
	if err := json.NewDecoder(res.Body).Decode(&body); err != nil {
		t.Fatal(err)
	}
	return res.StatusCode, body
}

func requireContains(t *testing.T, got string, parts ...string) {
	t.Helper()
	for _, part := range parts {
		if !strings.Contains(got, part) {
			t.Errorf("%q is not in: %s", part, got)
		}
	}
}

// objectDifference returns how an object differs from want. It compares only the fields in want. A
// field that is nil in want must be absent.
func objectDifference(want, object map[string]any) string {
	got := map[string]any{}
	for name := range want {
		got[name] = object[name]
	}
	return cmp.Diff(want, got)
}

// requireUsage fails unless a command rejected its arguments with one line on standard error.
func requireUsage(t *testing.T, args string, r commandResult) {
	t.Helper()
	if r.code != 2 || r.out != "" {
		t.Errorf("%s: exit code %d, want 2; standard output %q, want nothing", args, r.code, r.out)
	}
	if strings.Count(r.err, "\n") != 1 || strings.Contains(r.err, "Usage:") {
		t.Errorf("%s: standard error %q, want one line without the usage", args, r.err)
	}
}

// requireSecretFile fails the test unless only the owner can read the file.
func requireSecretFile(t *testing.T, file string) {
	t.Helper()
	info, err := os.Stat(file)
	if err != nil {
		t.Fatal(err)
	}
	if perm := info.Mode().Perm(); perm != 0o600 {
		t.Errorf("%s: permissions %o, want 600", file, perm)
	}
}
