package testbed

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"time"

	"growthworkspace/shared/auth"
)

// Workspace is a compiled workspace program with its own data folder.
type Workspace struct{ Program, Data string }

// BuildWorkspace builds the program into dir. Its data folder is dir/data. `go run` would not work
// here, because signals would reach `go` and not the program.
func BuildWorkspace(ctx context.Context, dir string) (Workspace, error) {
	w := Workspace{filepath.Join(dir, "workspace"), filepath.Join(dir, "data")}
	out, err := exec.CommandContext(ctx, "go", "build", "-o", w.Program, "growthworkspace/scripts/workspace").CombinedOutput()
	if err != nil {
		return w, fmt.Errorf("build the workspace command: %w\n%s", err, out)
	}
	return w, nil
}

// Start starts a command with --json. It writes the command's output to out. The output is complete
// when WaitCommand returns.
func (w Workspace) Start(ctx context.Context, out *bytes.Buffer, args ...string) (*exec.Cmd, error) {
	cmd := exec.CommandContext(ctx, w.Program, append(args, "--json", "--data", w.Data)...)
	cmd.Stdout, cmd.Stderr = out, &bytes.Buffer{}
	return cmd, cmd.Start()
}

// WaitCommand waits for a command that Start has started. Unless result is nil, it decodes the
// command's output into result.
func WaitCommand(cmd *exec.Cmd, out *bytes.Buffer, result any) error {
	name := "workspace " + strings.Join(cmd.Args[1:], " ")
	if err := cmd.Wait(); err != nil {
		return fmt.Errorf("%s: %w\n%s", name, err, cmd.Stderr)
	}
	if result == nil {
		return nil
	}
	if err := json.Unmarshal(out.Bytes(), result); err != nil {
		return fmt.Errorf("%s: not one JSON object: %w: %s", name, err, out)
	}
	return nil
}

// Run runs a command. Unless result is nil, it decodes the command's output into result.
func (w Workspace) Run(ctx context.Context, result any, args ...string) error {
	var out bytes.Buffer
	cmd, err := w.Start(ctx, &out, args...)
	if err != nil {
		return fmt.Errorf("start the workspace command: %w", err)
	}
	return WaitCommand(cmd, &out, result)
}

// CreateCompany creates a company without records.
func (w Workspace) CreateCompany(ctx context.Context) (id string, err error) {
	var created struct{ CompanyID string }
	err = w.Run(ctx, &created, "company", "create", "--name", "Prove")
	return created.CompanyID, err
}

// IssueKey issues a key with every scope and with a read quota that no proof uses up.
func (w Workspace) IssueKey(ctx context.Context, companyID string) (secret string, err error) {
	var key struct{ ID, Key string }
	err = w.Run(ctx, &key, "key", "issue", "--company", companyID, "--scopes", "all")
	if err == nil {
		err = w.Run(ctx, nil, "key", "quota", key.ID, "--company", companyID, "--class", string(auth.ClassRead), "--limit", "1000000")
	}
	return key.Key, err
}

// Serve runs `workspace serve` and returns the server's address. The returned stop function stops
// the server, and returns an error unless the server stopped cleanly.
func (w Workspace) Serve(ctx context.Context) (base string, stop func() error, err error) {
	cmd := exec.CommandContext(ctx, w.Program, "serve", "--addr", "127.0.0.1:0", "--json", "--data", w.Data)
	cmd.Cancel = func() error { return cmd.Process.Signal(syscall.SIGTERM) }
	cmd.WaitDelay = 30 * time.Second
	// The log is a file and not a buffer, because the server writes to it while the proof runs.
	log, err := os.Create(filepath.Join(w.Data, "serve.log"))
	if err != nil {
		return "", nil, err
	}
	cmd.Stderr = log
	out, err := cmd.StdoutPipe()
	if err == nil {
		err = cmd.Start()
	}
	if err != nil {
		return "", nil, errors.Join(fmt.Errorf("start serve: %w", err), log.Close())
	}
	stop = func() error {
		_ = cmd.Process.Signal(syscall.SIGTERM) // ignore the error: if the process has already exited, cmd.Wait returns why
		err := cmd.Wait()
		if err != nil {
			err = fmt.Errorf("serve ended with %w; see %s", err, log.Name())
		}
		return errors.Join(err, log.Close())
	}
	line, err := bufio.NewReader(out).ReadBytes('\n')
	var started struct{ BaseURL string }
	if err == nil {
		err = json.Unmarshal(line, &started)
	}
	if err != nil {
		return "", nil, errors.Join(fmt.Errorf("serve printed no address: %w", err), stop())
	}
	return started.BaseURL, stop, nil
}
