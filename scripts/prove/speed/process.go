//go:build linux

package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"
	"syscall"
	"time"
)

// target is a program under test.
type target struct {
	name   string
	binary string
	env    []string
	event  []byte // what it is asked, each time
	status int    // that its answers must have
}

// measure is what one process did.
type measure struct {
	init, first, cold time.Duration
	coldCPU           time.Duration // of all threads, to the first answer
	warm              []time.Duration
	warmCPU           time.Duration // for one invocation
	resident          float64       // MiB
	calls             map[string]int
	dials             int // to the first answer
}

// processTimeout bounds the life of one process.
const processTimeout = 5 * time.Minute

// think is the pause before each warm invocation, longer than a period of the quota: spaced requests begin with a fresh
// share of the CPU, as they do in Lambda.
const think = 25 * time.Millisecond

// warmUp is how many invocations are not counted.
const warmUp = 20

// run starts the program, asks it once at once, as a cold start is asked, and then warm times.
func (t target) run(ctx context.Context, r *relay, memory, warm int) (m measure, err error) {
	ctx, cancel := context.WithTimeout(ctx, processTimeout)
	defer cancel()
	api, err := newRuntimeAPI()
	if err != nil {
		return m, err
	}
	defer api.Close()
	q, err := newQuota(memory)
	if err != nil {
		return m, err
	}
	calls, dials := r.counted()
	var output bytes.Buffer
	cmd := exec.Command(t.binary)
	cmd.Dir, cmd.Stdout, cmd.Stderr = filepath.Dir(t.binary), &output, &output
	cmd.Env = append([]string{
		"PATH=" + os.Getenv("PATH"), "HOME=" + os.TempDir(), "TZ=:UTC", "AWS_LAMBDA_RUNTIME_API=" + api.Address, "_HANDLER=bootstrap",
		"AWS_REGION=" + region, "AWS_DEFAULT_REGION=" + region, "AWS_ACCESS_KEY_ID=bench", "AWS_SECRET_ACCESS_KEY=bench", "AWS_SESSION_TOKEN=bench",
		"AWS_LAMBDA_FUNCTION_NAME=bench", "AWS_LAMBDA_FUNCTION_VERSION=1", "AWS_LAMBDA_FUNCTION_MEMORY_SIZE=" + strconv.Itoa(memory), "AWS_EC2_METADATA_DISABLED=true",
	}, t.env...)
	begin := time.Now()
	if err := cmd.Start(); err != nil {
		return m, fmt.Errorf("start %s: %w", t.name, err)
	}
	pid := cmd.Process.Pid
	defer func() {
		q.release()
		_ = cmd.Process.Kill() // it never ends by itself
		_ = cmd.Wait()
		err = errors.Join(err, q.Close())
		if err != nil {
			err = fmt.Errorf("%s: %w\n%s", t.name, err, tail(output.String()))
		}
	}()
	events, err := api.ready(ctx)
	if err != nil {
		return m, err
	}
	m.init = time.Since(begin)
	if err := q.hold(pid); err != nil { // Lambda, too, throttles after the init
		return m, err
	}
	ask := func() (took time.Duration, err error) {
		var body []byte
		if took, body, events, err = api.invoke(ctx, events, t.event); err != nil {
			return 0, err
		}
		return took, t.check(body)
	}
	if m.first, err = ask(); err != nil {
		return m, err
	}
	m.cold = m.init + m.first
	if m.coldCPU, err = cpuTime(pid); err != nil {
		return m, err
	}
	_, now := r.counted()
	m.dials = now - dials
	var before time.Duration
	for n := range warmUp + warm {
		if n == warmUp {
			if before, err = cpuTime(pid); err != nil {
				return m, err
			}
			calls, _ = r.counted()
		}
		time.Sleep(think)
		took, err := ask()
		if err != nil {
			return m, err
		}
		if n >= warmUp {
			m.warm = append(m.warm, took)
		}
	}
	if warm > 0 {
		after, err := cpuTime(pid)
		if err != nil {
			return m, err
		}
		m.warmCPU = (after - before) / time.Duration(warm)
		m.calls = map[string]int{}
		all, _ := r.counted()
		for name, n := range all {
			if n -= calls[name]; n > 0 {
				m.calls[name] = n
			}
		}
	}
	m.resident, err = residentMiB(pid)
	return m, err
}

func (t target) check(body []byte) error {
	var got struct{ StatusCode int }
	if err := json.Unmarshal(body, &got); err != nil || got.StatusCode != t.status {
		return fmt.Errorf("answered %.300s, want the status %d", body, t.status)
	}
	return nil
}

func tail(text string) string { return text[max(0, len(text)-2000):] }

// cpuTime is what all threads of a process have used of the CPU.
func cpuTime(pid int) (time.Duration, error) {
	threads, err := filepath.Glob(fmt.Sprintf("/proc/%d/task/*/schedstat", pid))
	if err != nil || len(threads) == 0 {
		return 0, fmt.Errorf("the CPU time of process %d is not told (%v)", pid, err)
	}
	var total time.Duration
	for _, name := range threads {
		text, err := os.ReadFile(name)
		if err != nil {
			continue // a thread that has just ended
		}
		first, _, _ := strings.Cut(string(text), " ")
		n, err := strconv.ParseInt(first, 10, 64)
		if err != nil {
			return 0, fmt.Errorf("%s: %w", name, err)
		}
		total += time.Duration(n)
	}
	return total, nil
}

// residentMiB is the most memory that a process has had.
func residentMiB(pid int) (float64, error) {
	text, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", pid))
	if err != nil {
		return 0, fmt.Errorf("the memory of the program: %w", err)
	}
	for line := range strings.SplitSeq(string(text), "\n") {
		if fields := strings.Fields(line); len(fields) > 1 && fields[0] == "VmHWM:" {
			kib, err := strconv.ParseFloat(fields[1], 64)
			return kib / 1024, err
		}
	}
	return 0, fmt.Errorf("process %d does not tell its memory", pid)
}

// useHosts puts a file in the place of /etc/hosts for the programs that the calling goroutine starts from now on, and for
// nobody else: some of them cannot be told another endpoint than DynamoDB's own name. It needs root.
func useHosts(hosts string) error {
	runtime.LockOSThread() // a mount namespace is a thread's
	if err := syscall.Unshare(syscall.CLONE_NEWNS); err != nil {
		return fmt.Errorf("a mount namespace of its own (needs root): %w", err)
	}
	if err := syscall.Mount("none", "/", "", syscall.MS_REC|syscall.MS_PRIVATE, ""); err != nil {
		return fmt.Errorf("keep the mount to ourselves: %w", err)
	}
	if err := syscall.Mount(hosts, "/etc/hosts", "", syscall.MS_BIND, ""); err != nil {
		return fmt.Errorf("mount a hosts file of its own: %w", err)
	}
	return nil
}

// forgetHosts undoes useHosts.
func forgetHosts() error {
	if err := syscall.Unmount("/etc/hosts", syscall.MNT_DETACH); err != nil {
		return fmt.Errorf("unmount the hosts file: %w", err)
	}
	return nil
}
