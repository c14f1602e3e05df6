package faults

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"time"

	"growthworkspace/functions"
	"growthworkspace/scripts/prove/testbed"
)

// attemptTimeout is that of `workspace serve`. A function's is one second, but an engine on a busy machine now and then
// takes longer, which says nothing about the service.
const attemptTimeout = 5 * time.Second

// service serves the whole API in this process, over a transport to the table.
func (t *trial) service(transport http.RoundTripper) *httptest.Server {
	client := testbed.Client(t.Engine.Endpoint, transport, attemptTimeout, time.Now)
	return httptest.NewServer(functions.Handler(client, slog.New(slog.DiscardHandler)))
}

// serve is service until the end of the trial.
func (t *trial) serve(transport http.RoundTripper) (base string) {
	s := t.service(transport)
	t.ends = append(t.ends, func() error { s.Close(); return nil })
	return s.URL
}

// serverVariable makes this program a server: its value is the JSON of an order.
const serverVariable = "PROVE_FAULTS_SERVER"

// order is what a server process is told on its start.
type order struct {
	Endpoint string
	Plant    plant
}

// BeServer makes this process a server when it was started as one, and then never returns. A program that runs gates, and
// their test binary, calls it first of all.
func BeServer() {
	text, ordered := os.LookupEnv(serverVariable)
	if !ordered {
		return
	}
	if err := beServer(text); err != nil {
		fmt.Fprintln(os.Stderr, "server:", err)
		os.Exit(1)
	}
	os.Exit(0)
}

func beServer(text string) error {
	var o order
	if err := json.Unmarshal([]byte(text), &o); err != nil {
		return fmt.Errorf("read the order: %w", err)
	}
	t := testbed.Client(o.Endpoint, o.Plant.transport(pooled()), attemptTimeout, time.Now)
	log := slog.New(slog.NewTextHandler(os.Stderr, &slog.HandlerOptions{Level: slog.LevelError}))
	s := httptest.NewServer(o.Plant.handler(functions.Handler(t, log)))
	defer s.Close()
	if _, err := fmt.Println(s.URL); err != nil {
		return fmt.Errorf("print the address: %w", err)
	}
	_, err := io.Copy(io.Discard, os.Stdin) // ends with the process that started this one
	return err
}

// server is a process that serves the whole API over the trial's table.
type server struct {
	base  string
	cmd   *exec.Cmd
	stdin io.Closer
	log   *lastLine
}

// lastLine keeps the last line that is written to it.
type lastLine struct {
	mu   sync.Mutex
	line string
}

// Write is io.Writer.
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

func (t *trial) startServer(ctx context.Context) (*server, error) {
	program, err := os.Executable()
	if err != nil {
		return nil, fmt.Errorf("find this program: %w", err)
	}
	text, err := json.Marshal(order{t.Engine.Endpoint, t.server})
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

// kill kills the process without a warning and waits until it is gone.
func (s *server) kill() error {
	if err := s.cmd.Process.Kill(); err != nil && !errors.Is(err, os.ErrProcessDone) {
		return fmt.Errorf("kill the server: %w", err)
	}
	_ = s.cmd.Wait() // reports that it was killed
	if err := s.stdin.Close(); err != nil && !errors.Is(err, os.ErrClosed) {
		return fmt.Errorf("close the server's input: %w", err)
	}
	return nil
}

// killEngine kills the engine without a warning and waits until it is gone.
func (t *trial) killEngine(ctx context.Context) error {
	// The file is the engine package's own note of the process that serves the folder.
	text, err := os.ReadFile(filepath.Join(t.data, "engine.json"))
	if err != nil {
		return fmt.Errorf("look for the engine's process: %w", err)
	}
	var state struct{ PID int }
	if err := json.Unmarshal(text, &state); err != nil || state.PID == 0 {
		return fmt.Errorf("look for the engine's process in %q: %w", text, err)
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

// restartEngine starts a killed engine again, at the same address.
func (t *trial) restartEngine(ctx context.Context) error {
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
