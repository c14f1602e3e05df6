package engine

import (
	"context"
	"fmt"
	"time"
)

// followEvery is how often a sharer looks whether the owner is gone. It is
// short, so that clients which retry for a fraction of a second notice nothing.
const followEvery = 50 * time.Millisecond

// share joins an engine that another process owns.
func (h *host) share(f *folder, s state) *Engine {
	ctx, cancel := context.WithCancel(context.Background())
	e := &Engine{Name: titles[s.Name], Endpoint: s.Endpoint, Shared: true, done: make(chan struct{}), stop: cancel}
	e.following.Go(func() {
		if err := e.follow(ctx, h, f); err != nil && ctx.Err() == nil {
			e.fail(err)
		}
	})
	return e
}

// follow waits until the folder has no owner, and then becomes it: without that
// a command that ends would take the engine away from a server that joined it.
func (e *Engine) follow(ctx context.Context, h *host, f *folder) error {
	for n := 1; ; n++ {
		if err := sleep(ctx, followEvery); err != nil {
			return err
		}
		lock, err := f.tryLock()
		if err != nil {
			return err
		}
		if lock == nil {
			// Once a second is enough to see that a new owner couldn't have the
			// old address, which is rare: it fails only when that was taken.
			if n%20 == 0 {
				if s, err := f.read(); err == nil && s.PID != 0 && s.Endpoint != e.Endpoint {
					return fmt.Errorf("the engine of %s moved from %s to %s: open it again", f.dir, e.Endpoint, s.Endpoint)
				}
			}
			continue
		}
		done, err := e.succeed(ctx, h, f, lock)
		if done || err != nil {
			return err
		}
	}
}

// succeed starts the engine anew at its address, as the folder's owner. It
// releases the lock and reports false while the old engine still answers: it is
// about to end or, where the system can't end it with its parent, it stays.
func (e *Engine) succeed(ctx context.Context, h *host, f *folder, lock *fileLock) (done bool, err error) {
	defer func() {
		if !done {
			lock.release()
		}
	}()
	s, err := f.read()
	if err != nil || s.live(ctx) {
		return false, err
	}
	p, err := h.find(ctx, s.Name, false)
	if err != nil {
		return false, fmt.Errorf("the engine of %s ended and can't be started again: %w", f.dir, err)
	}
	s.Endpoint = e.Endpoint
	proc, err := h.startIn(ctx, f, p, s)
	if err != nil {
		return false, fmt.Errorf("the engine of %s ended and can't be started again: %w", f.dir, err)
	}
	if proc.endpoint != e.Endpoint {
		_ = proc.end()
		return false, fmt.Errorf("the engine of %s ended and its address %s is taken: open it again", f.dir, e.Endpoint)
	}
	e.attach(proc, f, lock)
	return true, nil
}

// sleep returns early, with ctx's error, when ctx ends.
func sleep(ctx context.Context, d time.Duration) error {
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-ctx.Done():
		return ctx.Err()
	case <-t.C:
		return nil
	}
}
