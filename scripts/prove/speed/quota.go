//go:build linux

package main

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strconv"
	"sync"
	"syscall"
	"time"
)

// cpuMemory is the memory size that has one whole CPU; a smaller function has its share of one.
const cpuMemory = 1769

// quotaPeriod is how often the share of a CPU begins anew.
const quotaPeriod = 20 * time.Millisecond

// quota holds a process to a function's share of a CPU: by a control group where this program may make one, else by
// stopping the process for the rest of each period.
type quota struct {
	memory int // MB; 0: none
	group  string
	v2     bool
	end    chan struct{}
	wait   sync.WaitGroup
}

func newQuota(memory int) (*quota, error) {
	q := &quota{memory: memory}
	if memory == 0 || memory >= cpuMemory {
		q.memory = 0
		return q, nil
	}
	name := fmt.Sprintf("growth-bench-%d", os.Getpid())
	q.group = filepath.Join("/sys/fs/cgroup/cpu", name)
	if _, err := os.Stat("/sys/fs/cgroup/cgroup.controllers"); err == nil {
		q.group, q.v2 = filepath.Join("/sys/fs/cgroup", name), true
	}
	err := os.Mkdir(q.group, 0o755)
	switch {
	case errors.Is(err, fs.ErrPermission), errors.Is(err, fs.ErrNotExist), errors.Is(err, syscall.EROFS):
		q.group = ""
		return q, nil
	case err != nil && !errors.Is(err, fs.ErrExist):
		return nil, fmt.Errorf("make a control group: %w", err)
	}
	return q, nil
}

// How tells how the share is kept, for the report.
func (q *quota) How() string {
	switch {
	case q.memory == 0:
		return "no limit"
	case q.group != "":
		return "a control group"
	}
	return "SIGSTOP and SIGCONT"
}

func (q *quota) share() time.Duration {
	return max(time.Millisecond, quotaPeriod*time.Duration(q.memory)/cpuMemory)
}

// hold begins to limit a process; release must follow.
func (q *quota) hold(pid int) error {
	if q.memory == 0 {
		return nil
	}
	if q.group == "" {
		q.end = make(chan struct{})
		q.wait.Go(func() { q.interrupt(pid, q.end) })
		return nil
	}
	limits := [][2]string{{"cpu.cfs_period_us", micros(quotaPeriod)}, {"cpu.cfs_quota_us", micros(q.share())}}
	if q.v2 {
		limits = [][2]string{{"cpu.max", micros(q.share()) + " " + micros(quotaPeriod)}}
	}
	for _, l := range append(limits, [2]string{"cgroup.procs", strconv.Itoa(pid)}) {
		if err := os.WriteFile(filepath.Join(q.group, l[0]), []byte(l[1]), 0o644); err != nil {
			return fmt.Errorf("limit the CPU of the program: %w", err)
		}
	}
	return nil
}

func micros(d time.Duration) string { return strconv.FormatInt(d.Microseconds(), 10) }

// interrupt lets the process run for its share of each period only.
func (q *quota) interrupt(pid int, end <-chan struct{}) {
	for {
		for _, step := range []struct {
			signal syscall.Signal
			after  time.Duration
		}{{syscall.SIGCONT, q.share()}, {syscall.SIGSTOP, quotaPeriod - q.share()}} {
			if syscall.Kill(pid, step.signal) != nil {
				return // it has ended
			}
			select {
			case <-time.After(step.after):
			case <-end:
				_ = syscall.Kill(pid, syscall.SIGCONT)
				return
			}
		}
	}
}

// release ends the limit, after the process has ended.
func (q *quota) release() {
	if q.end != nil {
		close(q.end)
		q.wait.Wait()
		q.end = nil
	}
}

// Close removes the control group.
func (q *quota) Close() error {
	if q.group == "" {
		return nil
	}
	var err error
	for range 20 { // the kernel takes a moment to let go of a process that has ended
		if err = os.Remove(q.group); err == nil || errors.Is(err, fs.ErrNotExist) {
			return nil
		}
		time.Sleep(50 * time.Millisecond)
	}
	return fmt.Errorf("remove the control group: %w", err)
}
