package stand

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
	"os"
	"os/exec"
	"sync"
	"sync/atomic"
	"time"

	"growthworkspace/functions"
	"growthworkspace/scripts/prove/faults/wire"
)

// serverVariable makes this program a server: its value is the order.
const serverVariable = "GROWTH_FAULT_SERVER"

// order is what a server process is told.
type order struct {
	Endpoint string
	Plant    Plant
}

// Plant names a planted fault of a server.
type Plant string

// The planted faults that a server can have; none when empty.
const (
	PlantNone          Plant = ""
	PlantBehind        Plant = "behind"        // wire.Behind
	PlantUnconditional Plant = "unconditional" // wire.Unconditional
	PlantHasty         Plant = "hasty"         // a Retry-After that is always one second
	PlantStingy        Plant = "stingy"        // refuses three of four requests that it has admitted
)

func (p Plant) transport(next http.RoundTripper) http.RoundTripper {
	switch p {
	case PlantBehind:
		return wire.Behind(next)
	case PlantUnconditional:
		return wire.Unconditional(next)
	}
	return next
}

func (p Plant) handler(next http.Handler) http.Handler {
	switch p {
	case PlantHasty:
		return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			next.ServeHTTP(altered{w, func(status int) int {
				if w.Header().Get("Retry-After") != "" {
					w.Header().Set("Retry-After", "1")
				}
				return status
			}}, r)
		})
	case PlantStingy:
		var requests atomic.Int64
		return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			next.ServeHTTP(altered{w, func(status int) int {
				if requests.Add(1)%4 == 0 {
					return status
				}
				w.Header().Set("Retry-After", "1")
				return http.StatusTooManyRequests
			}}, r)
		})
	}
	return next
}

// altered answers with another status, or with other headers.
type altered struct {
	http.ResponseWriter
	alter func(status int) int
}

func (a altered) WriteHeader(status int) { a.ResponseWriter.WriteHeader(a.alter(status)) }

// BeServer makes this process a server when it was started as one, and then never returns. A program that starts
// servers, and each test binary, calls it first of all.
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
	t := newClient(o.Endpoint, o.Plant.transport(wire.Pooled()), attemptTimeout)
	log := slog.New(slog.NewTextHandler(os.Stderr, &slog.HandlerOptions{Level: slog.LevelError}))
	base, stop, err := Serve(o.Plant.handler(functions.Handler(t, log)))
	if err != nil {
		return err
	}
	defer stop()
	if _, err := fmt.Println(base); err != nil {
		return fmt.Errorf("say the address: %w", err)
	}
	_, err = io.Copy(io.Discard, os.Stdin) // ends with the process that started this one
	return err
}

// Serve serves a handler on a free port of this process.
func Serve(handler http.Handler) (base string, stop func(), err error) {
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return "", nil, fmt.Errorf("listen: %w", err)
	}
	server := &http.Server{Handler: handler, ReadHeaderTimeout: 10 * time.Second}
	go func() { _ = server.Serve(listener) }() // returns when it is closed
	return "http://" + listener.Addr().String(), func() { _ = server.Close() }, nil
}

// Server is a process that serves the whole API over the stand's table.
type Server struct {
	Base string

	cmd   *exec.Cmd
	stdin io.Closer
	said  *last
}

// last keeps the last line that is written to it.
type last struct {
	mu   sync.Mutex
	line string
}

func (l *last) Write(text []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.line = string(text)
	return len(text), nil
}

// Failure is the last error that the server has logged.
func (s *Server) Failure() string {
	s.said.mu.Lock()
	defer s.said.mu.Unlock()
	return s.said.line
}

// StartServer starts one.
func (s *Stand) StartServer(ctx context.Context, plant Plant) (*Server, error) {
	program, err := os.Executable()
	if err != nil {
		return nil, fmt.Errorf("find this program: %w", err)
	}
	text, err := json.Marshal(order{s.engine.Endpoint, plant})
	if err != nil {
		return nil, fmt.Errorf("write an order: %w", err)
	}
	cmd := exec.CommandContext(ctx, program)
	cmd.Env = append(os.Environ(), serverVariable+"="+string(text))
	said := &last{}
	cmd.Stderr = said
	in, err := cmd.StdinPipe()
	if err != nil {
		return nil, fmt.Errorf("start a server: %w", err)
	}
	out, err := cmd.StdoutPipe()
	if err != nil {
		return nil, fmt.Errorf("start a server: %w", err)
	}
	if err := cmd.Start(); err != nil {
		return nil, fmt.Errorf("start a server: %w", err)
	}
	server := &Server{cmd: cmd, stdin: in, said: said}
	line, err := bufio.NewReader(out).ReadString('\n')
	if err != nil || len(line) < 2 {
		return nil, errors.Join(fmt.Errorf("a server said no address, but %q: %w", server.Failure(), err), server.Kill())
	}
	server.Base = line[:len(line)-1]
	return server, nil
}

// Kill kills the process with no warning and waits until it is gone.
func (s *Server) Kill() error {
	if err := s.cmd.Process.Kill(); err != nil && !errors.Is(err, os.ErrProcessDone) {
		return fmt.Errorf("kill the server: %w", err)
	}
	_ = s.cmd.Wait() // says that it was killed
	if err := s.stdin.Close(); err != nil && !errors.Is(err, os.ErrClosed) {
		return fmt.Errorf("close the server's input: %w", err)
	}
	return nil
}
