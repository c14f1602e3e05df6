// Package parallel makes calls concurrently, so that together they take one round trip. It returns
// a panic in a call as the error of that call.
package parallel

import (
	"errors"
	"fmt"
	"runtime/debug"
	"sync"
	"sync/atomic"
)

// Both makes two calls in parallel, so that they take one round trip. It always makes both calls,
// and joins their errors in the order of the parameters.
func Both(a, b func() error) error {
	return Do(2, 2, func(n int) error {
		if n == 0 {
			return a()
		}
		return b()
	})
}

// Recover turns a panic into the error that the deferring function returns, with the stack for the
// log. Otherwise, a panic on a goroutine would crash the process, including every other request.
func Recover(err *error) {
	if p := recover(); p != nil {
		*err = fmt.Errorf("panic: %v\n%s", p, debug.Stack())
	}
}

// Do runs call with each number from 0 to n-1, at most width calls at once, and joins their errors
// in order. It always starts the first width calls. After a failure, it starts no further calls and
// waits for those that are running.
func Do(n, width int, call func(n int) error) error {
	errs := make([]error, n)
	slots := make(chan struct{}, width)
	var failed atomic.Bool
	var wait sync.WaitGroup
	for i := range n {
		slots <- struct{}{}
		if i >= width && failed.Load() {
			break
		}
		wait.Go(func() {
			defer func() {
				failed.CompareAndSwap(false, errs[i] != nil)
				<-slots
			}()
			defer Recover(&errs[i])
			errs[i] = call(i)
		})
	}
	wait.Wait()
	return errors.Join(errs...)
}
