package table

import (
	"errors"
	"fmt"
	"runtime/debug"
	"sync"
	"sync/atomic"
)

// Both runs two calls at the same time, so that they are one round trip, and returns what failed, the first one first. Both are
// always called.
func Both(a, b func() error) error {
	return Parallel(2, 2, func(n int) error {
		if n == 0 {
			return a()
		}
		return b()
	})
}

// Recover, deferred, turns a panic into the error of its function, with the stack for the log. On a goroutine a panic would end the
// process, and with it every other request.
func Recover(err *error) {
	if p := recover(); p != nil {
		*err = fmt.Errorf("panic: %v\n%s", p, debug.Stack())
	}
}

// Parallel calls do for 0 to n-1, at most width at once, and returns what failed, in their order. After a failure it starts no
// other call, and waits for those that run; the first width calls are always started.
func Parallel(n, width int, do func(n int) error) error {
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
			errs[i] = do(i)
		})
	}
	wait.Wait()
	return errors.Join(errs...)
}
