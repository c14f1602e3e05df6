package localdb

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"time"
)

// process is an engine that the current program started. Its output goes directly to a file,
// because a pipe would break when the program ends.
type process struct {
	program *program
	cmd     *exec.Cmd
	address address
	grace   time.Duration // how long stop waits for the process to exit before it kills it
	log     *os.File      // the process's output; closed by stop
	tmpLog  string        // path of a log that is removed when the process has ended
	exited  chan struct{} // closed after err is set
	err     error
}

const portTries = 3

// start runs the program and returns when it responds. With a data folder, the program runs in a
// network namespace if the system permits it. Otherwise it listens at the previous engine's
// endpoint, which is in `lastEndpoint`, or at a free one if that is taken. The process inherits the
// lock, if any.
func (h *host) start(ctx context.Context, p *program, dir, lastEndpoint string, lock *os.File) (*process, error) {
	if dir != "" && h.useNamespaces {
		proc, err := h.startInNetns(ctx, p, dir, lock)
		if proc != nil || err != nil {
			return proc, err
		}
	}
	// A port can't be reserved for a child process, so another process may take it first.
	for try := 1; ; try++ {
		freeAddr, err := h.freePort(ctx, lastEndpoint)
		if err != nil {
			return nil, fmt.Errorf("find a free port: %w", err)
		}
		addr := address{endpoint: "http://" + freeAddr.String()}
		proc, err := h.launch(p, dir, addr, freeAddr, lock)
		if err != nil {
			return nil, err
		}
		err = proc.waitReady(ctx, h.startWait)
		if err == nil {
			return proc, nil
		}
		taken := proc.portTaken(ctx, freeAddr)
		_ = proc.stop()
		if !taken || try == portTries {
			return nil, err
		}
		lastEndpoint = ""
	}
}

// startInNetns starts the program in its own network namespace. It returns nil without an error if
// the system refuses a namespace.
func (h *host) startInNetns(ctx context.Context, p *program, dir string, lock *os.File) (*process, error) {
	addr := address{socketEndpoint, filepath.Join(dir, socketFile)}
	proc, err := h.launch(p, dir, addr, &net.TCPAddr{IP: net.IPv4(127, 0, 0, 1), Port: enginePort}, lock)
	if errors.Is(err, syscall.EPERM) || errors.Is(err, syscall.EINVAL) || errors.Is(err, syscall.ENOSPC) || errors.Is(err, syscall.EACCES) {
		return nil, nil // the system refused to create the namespace
	}
	if err != nil {
		return nil, err
	}
	if err := proc.waitReady(ctx, h.startWait); err != nil {
		refused := proc.hasExited() && proc.cmd.ProcessState.ExitCode() == exitRefused
		_ = proc.stop()
		if refused {
			return nil, nil
		}
		return nil, err
	}
	return proc, nil
}

// freePort returns the address of the endpoint if it is free. Otherwise it returns a free port on a
// random loopback address or, if the system has only one, on 127.0.0.1.
func (h *host) freePort(ctx context.Context, endpoint string) (*net.TCPAddr, error) {
	tries := []string{net.JoinHostPort(h.loopback(), "0"), "127.0.0.1:0"}
	if u, err := url.Parse(endpoint); err == nil && u.Port() != "" {
		tries = append([]string{u.Host}, tries...)
	}
	var errs []error
	for _, try := range tries {
		l, err := (&net.ListenConfig{}).Listen(ctx, "tcp", try)
		if err == nil {
			return l.Addr().(*net.TCPAddr), l.Close()
		}
		errs = append(errs, err)
	}
	return nil, errors.Join(errs...)
}

// launch runs the program. The parameter listen is the address on which the program listens, and
// `addr` is the address at which clients reach it.
func (h *host) launch(p *program, dir string, addr address, listen *net.TCPAddr, lock *os.File) (*process, error) {
	proc := &process{program: p, address: addr, grace: h.grace, exited: make(chan struct{})}
	if err := proc.openLog(dir); err != nil {
		return nil, fmt.Errorf("open the log of %s: %w", p.title, err)
	}
	argv := p.argv(listen.IP.String(), listen.Port, dir)
	// Not CommandContext, because the engine outlives the context in which it is opened.
	proc.cmd = exec.Command(argv[0], argv[1:]...)
	proc.cmd.Dir = dir
	proc.cmd.Stdout, proc.cmd.Stderr = proc.log, proc.log
	detach(proc.cmd, lock)
	if addr.socket != "" {
		runInNetns(proc.cmd)
	}
	if err := proc.cmd.Start(); err != nil {
		proc.closeLog()
		return nil, fmt.Errorf("start %s: %w", p.title, err)
	}
	release, err := killWithParent(proc.cmd.Process.Pid, h.shell)
	go func() {
		proc.err = proc.cmd.Wait()
		release()
		close(proc.exited)
	}()
	if err != nil {
		return nil, errors.Join(fmt.Errorf("guard %s: %w", p.title, err), proc.stop())
	}
	return proc, nil
}

func (p *process) openLog(dir string) (err error) {
	if dir != "" {
		p.log, err = os.OpenFile(filepath.Join(dir, "engine.log"), os.O_CREATE|os.O_TRUNC|os.O_RDWR|os.O_APPEND, 0o600)
		return err
	}
	if p.log, err = os.CreateTemp("", "engine-*.log"); err == nil {
		p.tmpLog = p.log.Name()
		// If the system can remove an open file, no log is left even if this process is killed.
		_ = os.Remove(p.tmpLog)
	}
	return err
}

// closeLog closes the log. After that, tail returns an empty string.
func (p *process) closeLog() {
	_ = p.log.Close()
	if p.tmpLog != "" {
		_ = os.Remove(p.tmpLog)
	}
}

func (p *process) waitReady(ctx context.Context, wait time.Duration) error {
	for begin := time.Now(); ; {
		ok := isEngine(ctx, p.program.kind, p.address)
		if p.hasExited() {
			return p.exitError("ended at its start")
		}
		// The response may come from another process that took the port first. If the engine prints
		// a message when it is ready, it does so only once it has the port.
		if ok && strings.Contains(p.tail(), p.program.readyMessage) {
			return nil
		}
		if time.Since(begin) > wait {
			return fmt.Errorf("%s didn't answer at %s within %s%s", p.program.title, p.address.endpoint, wait, formatOutput(p.tail()))
		}
		if err := sleep(ctx, 10*time.Millisecond); err != nil {
			return fmt.Errorf("wait for %s: %w", p.program.title, err)
		}
	}
}

// waitExit waits until the process exits on its own, and returns an error that says so. It returns
// nil if ctx is done first.
func (p *process) waitExit(ctx context.Context) error {
	select {
	case <-p.exited:
		return p.exitError("ended by itself")
	case <-ctx.Done():
		return nil
	}
}

func (p *process) hasExited() bool {
	select {
	case <-p.exited:
		return true
	default:
		return false
	}
}

// portTaken reports whether the engine exited because its port was taken.
func (p *process) portTaken(ctx context.Context, listen *net.TCPAddr) bool {
	if !p.hasExited() {
		return false
	}
	l, err := (&net.ListenConfig{}).Listen(ctx, "tcp", listen.String())
	if err == nil {
		err = l.Close()
	}
	return err != nil || strings.Contains(strings.ToLower(p.tail()), "already in use")
}

// stop stops the process and waits until it has ended. It does nothing if the process has already
// ended.
func (p *process) stop() error {
	defer p.closeLog()
	if p.hasExited() {
		return nil
	}
	_ = terminate(p.cmd.Process)
	select {
	case <-p.exited:
		return nil
	case <-time.After(p.grace):
	}
	if err := p.cmd.Process.Kill(); err != nil && !errors.Is(err, os.ErrProcessDone) {
		return fmt.Errorf("end %s (pid %d): %w", p.program.title, p.cmd.Process.Pid, err)
	}
	<-p.exited
	return nil
}

// exitError returns the error for a process that exited on its own.
func (p *process) exitError(ending string) error {
	status := "with exit status 0"
	if p.err != nil {
		status = "with " + p.err.Error()
	}
	return fmt.Errorf("%s %s, %s%s", p.program.title, ending, status, formatOutput(p.tail()))
}

// tail returns the last part of the process's output.
func (p *process) tail() string {
	st, err := p.log.Stat()
	if err != nil {
		return ""
	}
	from := max(0, st.Size()-tailBytes)
	b, _ := io.ReadAll(io.NewSectionReader(p.log, from, tailBytes))
	return string(bytes.TrimSpace(b))
}

const tailBytes = 2048

// formatOutput formats the last part of a program's output for the end of an error message.
func formatOutput(output string) string {
	if output = strings.TrimSpace(output); output == "" {
		return "; it printed nothing"
	}
	if n := len(output) - tailBytes; n > 0 {
		output = "… " + output[n:]
	}
	return "; its last output:\n  " + strings.ReplaceAll(output, "\n", "\n  ")
}

// isEngine reports whether an engine of the given kind responds at the address. The response to a
// plain GET shows the kind, so no credentials are needed.
func isEngine(ctx context.Context, kind string, addr address) bool {
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, addr.endpoint, http.NoBody)
	if err != nil {
		return false
	}
	res, err := addr.probeClient().Do(req)
	if err != nil {
		return false
	}
	defer res.Body.Close()
	body, err := io.ReadAll(io.LimitReader(res.Body, 4096))
	if err != nil {
		return false
	}
	if kind == Dynoxide {
		return res.StatusCode == http.StatusOK && strings.HasPrefix(res.Header.Get("Server"), "Dynoxide/")
	}
	return res.StatusCode == http.StatusBadRequest && bytes.Contains(body, []byte("MissingAuthenticationToken"))
}
