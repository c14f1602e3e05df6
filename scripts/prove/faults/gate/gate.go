// Package gate says what a gate of the harness is: a claim about the service, and a run that can refute it.
package gate

import (
	"context"
	"fmt"
	"io"
	"strings"
	"sync"
)

// Gate is one claim.
type Gate struct {
	Name string
	Run  func(ctx context.Context, s Setting) (*Report, error)
}

// Setting is what a run is given.
type Setting struct {
	Long bool   // the full numbers instead of those of CI
	Seed uint64 // of every random decision
	Dir  string // of the gate's own, empty, removed by the caller
	Log  io.Writer
}

// Pick returns the number for the bounded run or for the long one.
func (s Setting) Pick(bounded, long int) int {
	if s.Long {
		return long
	}
	return bounded
}

// Report is what a run found. A run that has violations refutes the claim; a run that could not be made is an error
// instead. Safe for concurrent use.
type Report struct {
	mu         sync.Mutex
	figures    []string
	violations []string
	count      int
}

// violationsMax bounds how many violations are kept; all are counted.
const violationsMax = 20

// Figure adds a figure of the report's line.
func (r *Report) Figure(format string, values ...any) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.figures = append(r.figures, fmt.Sprintf(format, values...))
}

// Violate notes that the claim does not hold.
func (r *Report) Violate(format string, values ...any) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.count++; len(r.violations) < violationsMax {
		r.violations = append(r.violations, fmt.Sprintf(format, values...))
	}
}

// Require notes a violation unless ok.
func (r *Report) Require(ok bool, format string, values ...any) {
	if !ok {
		r.Violate(format, values...)
	}
}

// Violations returns how many there were, and the first of them.
func (r *Report) Violations() (count int, first []string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.count, r.violations
}

// String is the figures in one line.
func (r *Report) String() string {
	r.mu.Lock()
	defer r.mu.Unlock()
	return strings.Join(r.figures, ", ")
}
