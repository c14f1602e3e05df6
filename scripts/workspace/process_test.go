//go:build unix

package main

import (
	"bufio"
	"encoding/json"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"syscall"
	"testing"
	"time"

	"growthworkspace/scripts/workspace/serve"
)

// Ensure a server process ends with exit code 0 on SIGTERM and SIGINT, and leaves no engine behind.
func TestSignals(t *testing.T) {
	t.Parallel()
	data := folder(t)
	for _, signal := range []syscall.Signal{syscall.SIGTERM, syscall.SIGINT} {
		cmd := exec.Command(os.Args[0], "serve", "--json", "--addr", "127.0.0.1:0", "--data", data)
		cmd.Env = append(os.Environ(), asCommand+"=1")
		cmd.Stderr = t.Output()
		out, err := cmd.StdoutPipe()
		if err != nil {
			t.Fatal(err)
		}
		if err := cmd.Start(); err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { _ = cmd.Process.Kill() }) // no effect on a process that has ended
		line, err := bufio.NewReader(out).ReadBytes('\n')
		if err != nil {
			t.Fatal(err)
		}
		var a serve.Announcement
		if err := json.Unmarshal(line, &a); err != nil || a.BaseURL == "" || a.Key == "" {
			t.Fatalf("%v: %s", err, line)
		}
		pid := enginePID(t, data)
		if got, _ := get(t, a.Key, a.BaseURL+"/v1/companies"); got != 200 {
			t.Error(got)
		}
		if err := cmd.Process.Signal(signal); err != nil {
			t.Fatal(err)
		}
		if err := cmd.Wait(); err != nil {
			t.Errorf("%v: %v", signal, err)
		}
		for deadline := time.Now().Add(5 * time.Second); ; time.Sleep(20 * time.Millisecond) {
			if errors.Is(syscall.Kill(pid, 0), syscall.ESRCH) {
				break
			}
			if time.Now().After(deadline) {
				t.Fatalf("%v left the engine, process %d", signal, pid)
			}
		}
	}
}

func enginePID(t *testing.T, data string) int {
	t.Helper()
	text, err := os.ReadFile(filepath.Join(data, "engine.json"))
	if err != nil {
		t.Fatal(err)
	}
	var state struct{ PID int }
	if err := json.Unmarshal(text, &state); err != nil || state.PID == 0 {
		t.Fatalf("%v: %s", err, text)
	}
	return state.PID
}
