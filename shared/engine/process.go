package engine

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"time"
)

// process is an engine that we started. Its output goes straight to a file: a
// pipe to us would break with our end.
type process struct {
	program  *program
	cmd      *exec.Cmd
	endpoint string
	grace    time.Duration // before the process is killed at its end
	log      *os.File      // what it printed; open until end
	tmpLog   string        // a log that nobody needs after the end
	exited   chan struct{} // closed after err is set
	err      error
}

const portTries = 3

// start runs the program on the wanted port, or on any free one, and returns
// when it responds. The process inherits the lock, if any. A port can't be
// reserved for a child: when another process takes it first, start tries another.
func (h *host) start(ctx context.Context, p *program, dir string, wantPort int, lock *os.File) (*process, error) {
	for try := 1; ; try++ {
		port, err := freePort(ctx, wantPort)
		if err != nil {
			return nil, fmt.Errorf("find a free port: %w", err)
		}
		proc, err := h.launch(p, dir, port, lock)
		if err != nil {
			return nil, err
		}
		err = proc.ready(ctx, h.startWait)
		if err == nil {
			return proc, nil
		}
		taken := proc.lostPort(ctx, port)
		_ = proc.end()
		if !taken || try == portTries {
			return nil, err
		}
		wantPort = 0
	}
}

// freePort returns want if nobody listens there, else a port that the system chooses.
func freePort(ctx context.Context, want int) (int, error) {
	var lc net.ListenConfig
	l, err := lc.Listen(ctx, "tcp", net.JoinHostPort("127.0.0.1", strconv.Itoa(want)))
	if err != nil && want != 0 {
		l, err = lc.Listen(ctx, "tcp", "127.0.0.1:0")
	}
	if err != nil {
		return 0, err
	}
	port := l.Addr().(*net.TCPAddr).Port
	return port, l.Close()
}

func (h *host) launch(p *program, dir string, port int, lock *os.File) (*process, error) {
	proc := &process{
		program:  p,
		endpoint: "http://" + net.JoinHostPort("127.0.0.1", strconv.Itoa(port)),
		grace:    h.grace,
		exited:   make(chan struct{}),
	}
	if err := proc.openLog(dir); err != nil {
		return nil, fmt.Errorf("open the log of %s: %w", p.title, err)
	}
	argv := p.argv(port, dir)
	// Not CommandContext: the engine outlives the context of its opening.
	proc.cmd = exec.Command(argv[0], argv[1:]...)
	proc.cmd.Dir = dir
	proc.cmd.Stdout, proc.cmd.Stderr = proc.log, proc.log
	detach(proc.cmd, lock)
	if err := proc.cmd.Start(); err != nil {
		proc.forget()
		return nil, fmt.Errorf("start %s: %w", p.title, err)
	}
	release, err := guard(proc.cmd.Process.Pid)
	go func() {
		proc.err = proc.cmd.Wait()
		release()
		close(proc.exited)
	}()
	if err != nil {
		return nil, errors.Join(fmt.Errorf("guard %s: %w", p.title, err), proc.end())
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
		// Where an open file can be removed, no log stays behind if we are killed.
		_ = os.Remove(p.tmpLog)
	}
	return err
}

// forget closes the log; tail is empty from then on.
func (p *process) forget() {
	_ = p.log.Close()
	if p.tmpLog != "" {
		_ = os.Remove(p.tmpLog)
	}
}

// ready waits until the engine responds.
func (p *process) ready(ctx context.Context, wait time.Duration) error {
	for begin := time.Now(); ; {
		ok := recognise(ctx, p.program.kind, p.endpoint)
		select {
		case <-p.exited:
			return p.ended("ended at its start")
		default:
		}
		// The response may come from another process that won the port; an engine
		// that announces itself does so only once the port is its own.
		if ok && strings.Contains(p.tail(), p.program.announces) {
			return nil
		}
		if time.Since(begin) > wait {
			return fmt.Errorf("%s didn't answer at %s within %s%s", p.program.title, p.endpoint, wait, quote(p.tail()))
		}
		if err := sleep(ctx, 10*time.Millisecond); err != nil {
			return fmt.Errorf("wait for %s: %w", p.program.title, err)
		}
	}
}

// lostPort reports whether the engine ended because its port was taken.
func (p *process) lostPort(ctx context.Context, port int) bool {
	select {
	case <-p.exited:
	default:
		return false
	}
	free, err := freePort(ctx, port)
	return err == nil && free != port || strings.Contains(strings.ToLower(p.tail()), "already in use")
}

// end ends the process and waits for it. It does nothing to one that has ended.
func (p *process) end() error {
	defer p.forget()
	select {
	case <-p.exited:
		return nil
	default:
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

// ended returns the error of a process that ended without a call of end.
func (p *process) ended(how string) error {
	why := "with exit status 0"
	if p.err != nil {
		why = "with " + p.err.Error()
	}
	return fmt.Errorf("%s %s, %s%s", p.program.title, how, why, quote(p.tail()))
}

// tail returns the end of what the process printed.
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

// quote formats a program's last output for the end of an error.
func quote(output string) string {
	if output = strings.TrimSpace(output); output == "" {
		return "; it printed nothing"
	}
	if n := len(output) - tailBytes; n > 0 {
		output = "… " + output[n:]
	}
	return "; its last output:\n  " + strings.ReplaceAll(output, "\n", "\n  ")
}

// probe uses no proxy and keeps no connection: an engine that ends would wait for
// an open one.
var probe = &http.Client{
	Timeout:   time.Second,
	Transport: &http.Transport{DisableKeepAlives: true},
}

// recognise reports whether an engine of the kind responds at the endpoint. The
// response to a plain GET shows the kind, so no credentials are needed.
func recognise(ctx context.Context, kind, endpoint string) bool {
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, endpoint, http.NoBody)
	if err != nil {
		return false
	}
	res, err := probe.Do(req)
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
