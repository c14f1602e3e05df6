package main

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
)

// workspace runs the real command over a data folder of its own.
type workspace struct{ binary, data string }

func newWorkspace(ctx context.Context, binary, dir string) (*workspace, error) {
	if binary == "" {
		binary = filepath.Join(dir, "workspace")
		// Built, not `go run`: a signal then reaches the program, and not only `go`.
		if out, err := exec.CommandContext(ctx, "go", "build", "-o", binary, "growthworkspace/scripts/workspace").CombinedOutput(); err != nil {
			return nil, fmt.Errorf("build ./scripts/workspace: %w\n%s", err, out)
		}
	}
	return &workspace{binary, filepath.Join(dir, "data")}, nil
}

// command runs a command with --json and decodes its answer.
func (w *workspace) command(ctx context.Context, into any, args ...string) error {
	cmd := exec.CommandContext(ctx, w.binary, append(args, "--json", "--data", w.data)...)
	var out, errOut bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &errOut
	if err := cmd.Run(); err != nil {
		return fmt.Errorf("workspace %s: %w\n%s", strings.Join(args, " "), err, errOut.Bytes())
	}
	if err := json.Unmarshal(out.Bytes(), into); err != nil {
		return fmt.Errorf("workspace %s: not one JSON object: %w: %s", strings.Join(args, " "), err, out.Bytes())
	}
	return nil
}

func (w *workspace) createCompany(ctx context.Context) (string, error) {
	var created struct{ CompanyID string }
	err := w.command(ctx, &created, "company", "create", "--name", "Round trip")
	return created.CompanyID, err
}

func (w *workspace) importFile(ctx context.Context, companyID, file string) (n int, err error) {
	var result struct{ Imported map[string]int }
	err = w.command(ctx, &result, "import", "--company", companyID, file)
	for _, count := range result.Imported {
		n += count
	}
	return n, err
}

func (w *workspace) exportFile(ctx context.Context, companyID, file string) error {
	var result struct{ File string }
	return w.command(ctx, &result, "export", "--company", companyID, file)
}

// serve starts the server and returns a client with a key that may read as often as it likes. stop ends the server and
// returns what was wrong with its end.
func (w *workspace) serve(ctx context.Context, companyID string) (c *client, stop func() error, err error) {
	cmd := exec.CommandContext(ctx, w.binary, "serve", "--addr", "127.0.0.1:0", "--json", "--data", w.data)
	cmd.Cancel = func() error { return cmd.Process.Signal(syscall.SIGTERM) }
	cmd.WaitDelay = 30 * time.Second
	// A file, not a buffer: nobody has to read it while the server writes.
	log, err := os.Create(filepath.Join(w.data, "serve.log"))
	if err != nil {
		return nil, nil, err
	}
	cmd.Stderr = log
	out, err := cmd.StdoutPipe()
	if err != nil {
		return nil, nil, errors.Join(err, log.Close())
	}
	if err := cmd.Start(); err != nil {
		return nil, nil, errors.Join(err, log.Close())
	}
	stop = func() error {
		_ = cmd.Process.Signal(syscall.SIGTERM) // one that has ended is seen by Wait
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
		return nil, nil, errors.Join(fmt.Errorf("serve said no address: %w", err), stop())
	}
	var key struct{ ID, Key string }
	err = w.command(ctx, &key, "key", "issue", "--company", companyID, "--scopes", "all")
	if err == nil {
		var quota struct{ Limit int }
		err = w.command(ctx, &quota, "key", "quota", key.ID, "--company", companyID, "--class", "read", "--limit", "1000000")
	}
	if err != nil {
		return nil, nil, errors.Join(err, stop())
	}
	return newClient(started.BaseURL, companyID, key.Key), stop, nil
}
