package faults

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"strings"
	"sync"
	"time"

	"growthworkspace/functions"
	"growthworkspace/scripts/workspace/serve/devserver"
	"growthworkspace/shared/api"
	"growthworkspace/shared/stream"
	"growthworkspace/shared/table"
)

// attemptTimeout is the timeout for one attempt at a call to the table, the same as in `workspace
// serve`. In a Lambda function it is one second, but an engine on a busy machine sometimes takes
// longer.
const attemptTimeout = 2500 * time.Millisecond

// patientTimeout replaces the timeouts of a service that loses responses but does not hang. On a
// busy machine, the default timeouts could end the only attempt whose response is not lost.
const patientTimeout = time.Minute

// bug is a bug that a test injects into the service. The program that runs the checks has none.
type bug struct {
	transport func(next http.RoundTripper) http.RoundTripper // between the service and the table
	handler   func(next http.Handler) http.Handler
	stream    func(from streamReader) streamReader
	noLimits  bool // the server lacks the limits of `workspace serve`
}

// bugs contains the bugs by name. The tests of this package define them.
var bugs = map[string]bug{}

func (b bug) transportTo(next http.RoundTripper) http.RoundTripper {
	if b.transport == nil {
		return next
	}
	return b.transport(next)
}

// serve serves the whole API in this process until the end of the run. The service calls the table
// through the given transport, with patientTimeout.
func (cr *checkRun) serve(transport http.RoundTripper) (base string) {
	client := table.New(tableOptions(cr.engine.Endpoint, bugs[cr.bugName].transportTo(transport), patientTimeout))
	config := api.NewConfig(client, slog.New(slog.DiscardHandler))
	config.Timeout = patientTimeout
	s := httptest.NewServer(functions.Handler(client, config))
	cr.cleanups = append(cr.cleanups, func() error { s.Close(); return nil })
	return s.URL
}

// serverVariable is the environment variable that makes this program run as a server. Its value is
// a serverConfig as JSON.
const serverVariable = "CHECK_FAULTS_SERVER"

// serverConfig is the configuration of a server process.
type serverConfig struct {
	Endpoint, Socket, BugName   string
	Latency                     time.Duration
	ServeLimits, RecordsChanges bool
}

// RunServerIfRequested runs a server and never returns if serverVariable is set, which means that
// this process was started as a server. Otherwise, it does nothing. A program that runs checks must
// call it first, and so must the test binary of this package.
func RunServerIfRequested() {
	text, isServer := os.LookupEnv(serverVariable)
	if !isServer {
		return
	}
	if err := runServer(text); err != nil {
		fmt.Fprintln(os.Stderr, "server:", err)
		os.Exit(1)
	}
	os.Exit(0)
}

func runServer(text string) error {
	var c serverConfig
	if err := json.Unmarshal([]byte(text), &c); err != nil {
		return fmt.Errorf("read the configuration: %w", err)
	}
	injected := bugs[c.BugName]
	t := table.New(tableOptions(c.Endpoint, delayCalls(injected.transportTo(engineTransport(c.Socket)), c.Latency), attemptTimeout))
	log := slog.New(slog.NewTextHandler(os.Stderr, &slog.HandlerOptions{Level: slog.LevelError}))
	h := functions.Handler(t, api.NewConfig(t, log))
	if injected.handler != nil {
		h = injected.handler(h)
	}
	l, err := (&net.ListenConfig{}).Listen(context.Background(), "tcp", "127.0.0.1:0")
	if err != nil {
		return fmt.Errorf("listen: %w", err)
	}
	serve := (&http.Server{Handler: h}).Serve
	if c.ServeLimits && !injected.noLimits {
		serve = devserver.New(h, slog.New(slog.DiscardHandler), t.NewID, functions.UploadCheck(t, log)).Serve
	}
	ended := make(chan error, 1)
	if c.RecordsChanges {
		var from streamReader = stream.New(tableOptions(c.Endpoint, engineTransport(c.Socket), callTimeout))
		if injected.stream != nil {
			from = injected.stream(from)
		}
		go recordChanges(context.Background(), t.AsOperator(), from, func(err error) { fmt.Fprintln(os.Stderr, err) })
	}
	go func() { ended <- serve(l) }()
	if _, err := fmt.Println("http://" + l.Addr().String()); err != nil {
		return fmt.Errorf("print the address: %w", err)
	}
	go func() {
		_, err := io.Copy(io.Discard, os.Stdin) // reads until the parent process ends
		ended <- err
	}()
	return <-ended
}

// server is a process that serves the whole API and uses the run's table.
type server struct {
	base  string
	cmd   *exec.Cmd
	stdin io.Closer
	log   *lastLine
}

// lastLine is a writer that keeps only the last line written to it.
type lastLine struct {
	mu   sync.Mutex
	line string
}

// Write implements io.Writer.
func (l *lastLine) Write(text []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.line = string(text)
	return len(text), nil
}

func (l *lastLine) String() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.line
}

// startServer starts a server, which runs until it is killed or the run ends.
func (cr *checkRun) startServer(ctx context.Context) (*server, error) {
	program, err := os.Executable()
	if err != nil {
		return nil, fmt.Errorf("find this program: %w", err)
	}
	text, err := json.Marshal(serverConfig{cr.engine.Endpoint, cr.engine.Socket, cr.bugName, cr.latency, cr.serveLimits, cr.recordsChanges})
	if err != nil {
		return nil, fmt.Errorf("encode a configuration: %w", err)
	}
	s := &server{cmd: exec.CommandContext(ctx, program), log: &lastLine{}}
	s.cmd.Env = append(os.Environ(), serverVariable+"="+string(text))
	s.cmd.Stderr = s.log
	if s.stdin, err = s.cmd.StdinPipe(); err != nil {
		return nil, fmt.Errorf("start a server: %w", err)
	}
	out, err := s.cmd.StdoutPipe()
	if err == nil {
		err = s.cmd.Start()
	}
	if err != nil {
		return nil, fmt.Errorf("start a server: %w", err)
	}
	cr.cleanups = append(cr.cleanups, s.kill)
	line, err := bufio.NewReader(out).ReadString('\n')
	if s.base = strings.TrimSpace(line); err != nil || s.base == "" {
		return nil, fmt.Errorf("a server printed no address, but %q: %w", s.log, err)
	}
	return s, nil
}

// kill sends SIGKILL to the process and waits for the process to exit. It may be called again.
func (s *server) kill() error {
	if err := s.cmd.Process.Kill(); err != nil && !errors.Is(err, os.ErrProcessDone) {
		return fmt.Errorf("kill the server: %w", err)
	}
	_ = s.cmd.Wait() // ignore the error, which only says that the process was killed
	if err := s.stdin.Close(); err != nil && !errors.Is(err, os.ErrClosed) {
		return fmt.Errorf("close the server's input: %w", err)
	}
	return nil
}
