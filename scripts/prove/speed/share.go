//go:build linux

package speed

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strconv"
	"time"
)

// cpuMemory is the memory size in MB that has one whole CPU. A smaller function gets a proportional share.
const cpuMemory = 1769

// sharePeriod is the period in which a function may use its share of the CPU once.
const sharePeriod = 20 * time.Millisecond

// share is a control group that limits a process to a function's share of a CPU.
type share struct {
	group  string // empty: the whole CPU
	limits [][2]string
}

// newShare creates the control group for a memory size in MB. It needs root.
func newShare(memory int) (*share, error) {
	if memory >= cpuMemory {
		return &share{}, nil
	}
	micros := func(d time.Duration) string { return strconv.FormatInt(d.Microseconds(), 10) }
	part := max(time.Millisecond, sharePeriod*time.Duration(memory)/cpuMemory)
	name := fmt.Sprintf("prove-speed-%d", os.Getpid())
	s := &share{filepath.Join("/sys/fs/cgroup/cpu", name), [][2]string{{"cpu.cfs_period_us", micros(sharePeriod)}, {"cpu.cfs_quota_us", micros(part)}}}
	if _, err := os.Stat("/sys/fs/cgroup/cgroup.controllers"); err == nil { // version 2
		s = &share{filepath.Join("/sys/fs/cgroup", name), [][2]string{{"cpu.max", micros(part) + " " + micros(sharePeriod)}}}
	}
	if err := os.Mkdir(s.group, 0o755); err != nil && !errors.Is(err, fs.ErrExist) {
		return nil, fmt.Errorf("create a control group, which needs root: %w", err)
	}
	return s, nil
}

// limit moves a process into the control group.
func (s *share) limit(pid int) error {
	if s.group == "" {
		return nil
	}
	for _, l := range append(s.limits, [2]string{"cgroup.procs", strconv.Itoa(pid)}) {
		if err := os.WriteFile(filepath.Join(s.group, l[0]), []byte(l[1]), 0o644); err != nil {
			return fmt.Errorf("limit the CPU of the program: %w", err)
		}
	}
	return nil
}

// close removes the control group. The process must have ended.
func (s *share) close() error {
	if s.group == "" {
		return nil
	}
	var err error
	for range 20 { // the kernel releases an ended process with a delay
		if err = os.Remove(s.group); err == nil || errors.Is(err, fs.ErrNotExist) {
			return nil
		}
		time.Sleep(50 * time.Millisecond)
	}
	return fmt.Errorf("remove the control group: %w", err)
}
