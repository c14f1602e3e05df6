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
	"path/filepath"
	"strings"
	"sync"
	"time"

	"growthworkspace/functions"
	"growthworkspace/functions/company"
	"growthworkspace/scripts/prove/testbed"
	"growthworkspace/scripts/workspace/serve/devserver"
	"growthworkspace/shared/api"
	"growthworkspace/shared/gateway"
	"growthworkspace/shared/table"
)

// attemptTimeout is the timeout for one attempt at a call to the table, the same as in `workspace
// serve`. In a Lambda function it is one second, but an engine on a busy machine sometimes takes
// longer.
const attemptTimeout = 2500 * time.Millisecond

// patientTimeout replaces the timeouts of a service that loses responses but does not hang. On a
// busy machine, the default timeouts could end the only attempt whose response is not lost.
const patientTimeout = time.Minute

// serve serves the whole API in this process until the end of the run. The service calls the table
// through the given transport, with patientTimeout.
func (t *checkRun) serve(transport http.RoundTripper) (base string) {
	client := testbed.Client(t.Engine.Endpoint, transport, patientTimeout, time.Now)
	config := api.NewConfig(client, slog.New(slog.DiscardHandler))
	config.Timeout = patientTimeout
	s := httptest.NewServer(functions.Handler(client, config))
	t.cleanups = append(t.cleanups, func() error { s.Close(); return nil })
	return s.URL
}

// serverVariable is the environment variable that makes this program run as a server. Its value is
// a serverConfig as JSON.
const serverVariable = "PROVE_FAULTS_SERVER"

// serverConfig is the configuration of a server process.
type serverConfig struct {
	Endpoint, Socket string
	Mutant           mutant
	ServeLimits      bool // whether the server has the limits of `workspace serve`
	Latency          time.Duration
	RecordsChanges   bool // whether the server also writes the feeds of changes
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
	var o serverConfig
	if err := json.Unmarshal([]byte(text), &o); err != nil {
		return fmt.Errorf("read the order: %w", err)
	}
	t := testbed.Client(o.Endpoint, delayCalls(o.Mutant.transport(testbed.Transport(o.Socket)), o.Latency), attemptTimeout, time.Now)
	log := slog.New(slog.NewTextHandler(os.Stderr, &slog.HandlerOptions{Level: slog.LevelError}))
	h := o.Mutant.handler(functions.Handler(t, api.NewConfig(t, log)))
	if o.Mutant == mutantBaseline {
		c := api.NewConfig(t, log)
		c.Keys = baselineKeys{t}
		h = gateway.Local(api.New(company.Operations(t), c), t.NewID)
	}
	l, err := (&net.ListenConfig{}).Listen(context.Background(), "tcp", "127.0.0.1:0")
	if err != nil {
		return fmt.Errorf("listen: %w", err)
	}
	serve := (&http.Server{Handler: h}).Serve
	if o.ServeLimits {
		serve = devserver.New(h, slog.New(slog.DiscardHandler), t.NewID, functions.UploadCheck(t, log)).Serve
	}
	ended := make(chan error, 1)
	if o.RecordsChanges {
		go func() { ended <- recordChanges(o, t) }()
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

// recordChanges records changes until the process ends.
func recordChanges(o serverConfig, t *table.Client) error {
	ctx := context.Background()
	testbed.RecordChanges(ctx, t.AsOperator(), o.Mutant.stream(testbed.Stream(o.Endpoint, testbed.Transport(o.Socket))), func(err error) { fmt.Fprintln(os.Stderr, err) })
	return ctx.Err()
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

func (t *checkRun) startServer(ctx context.Context) (*server, error) {
	program, err := os.Executable()
	if err != nil {
		return nil, fmt.Errorf("find this program: %w", err)
	}
	text, err := json.Marshal(serverConfig{t.Engine.Endpoint, t.Engine.Socket, t.serverBug, t.serveLimits, t.latency, t.recordsChanges})
	if err != nil {
		return nil, fmt.Errorf("encode an order: %w", err)
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
	line, err := bufio.NewReader(out).ReadString('\n')
	if s.base = strings.TrimSpace(line); err != nil || s.base == "" {
		return nil, errors.Join(fmt.Errorf("a server printed no address, but %q: %w", s.log, err), s.kill())
	}
	return s, nil
}

// kill sends SIGKILL to the process and waits for the process to exit.
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

// killEngine sends SIGKILL to the engine and waits for the engine to exit.
func (t *checkRun) killEngine(ctx context.Context) error {
	// The package engine writes the process id of the engine to this file.
	text, err := os.ReadFile(filepath.Join(t.data, "engine.json"))
	if err != nil {
		return fmt.Errorf("find the engine's process: %w", err)
	}
	var state struct{ PID int }
	if err := json.Unmarshal(text, &state); err != nil || state.PID == 0 {
		return fmt.Errorf("find the engine's process in %q: %w", text, err)
	}
	process, err := os.FindProcess(state.PID)
	if err == nil {
		err = process.Kill()
	}
	if err != nil {
		return fmt.Errorf("kill the engine's process %d: %w", state.PID, err)
	}
	select {
	case <-t.Engine.Done():
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

// restartEngine restarts a killed engine at the same address.
func (t *checkRun) restartEngine(ctx context.Context) error {
	before := t.Engine.Endpoint
	if err := t.Close(); err != nil {
		return fmt.Errorf("close the killed engine: %w", err)
	}
	if err := t.Restart(ctx); err != nil {
		return err
	}
	if t.Engine.Endpoint != before {
		return fmt.Errorf("the engine moved from %s to %s", before, t.Engine.Endpoint)
	}
	return nil
}
