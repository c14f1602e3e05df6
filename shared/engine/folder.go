package engine

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"net/url"
	"os"
	"path/filepath"
	"strconv"
	"time"
)

// state is engine.json: which engine the folder's data belongs to, for good,
// and where it runs. PID is 0 while it doesn't.
type state struct {
	PID       int       `json:"pid"`
	Endpoint  string    `json:"endpoint"`
	Name      string    `json:"name"`
	StartedAt time.Time `json:"startedAt,omitzero"`
}

func (s state) port() int {
	u, err := url.Parse(s.Endpoint)
	if err != nil {
		return 0
	}
	n, _ := strconv.Atoi(u.Port())
	return n
}

// folder is a data folder. Its owner is whoever holds the lock on engine.lock,
// which the operating system takes back when the owner dies.
type folder struct{ dir string }

func newFolder(dir string) (*folder, error) {
	abs, err := filepath.Abs(dir)
	if err != nil {
		return nil, fmt.Errorf("data folder %s: %w", dir, err)
	}
	// Only the user may look in: the records of a company lie there.
	if err := os.MkdirAll(abs, 0o700); err != nil {
		return nil, fmt.Errorf("make the data folder: %w", err)
	}
	return &folder{abs}, nil
}

func (f *folder) path(name string) string { return filepath.Join(f.dir, name) }

func (f *folder) tryLock() (*fileLock, error) {
	l, err := tryLock(f.path("engine.lock"))
	if err != nil {
		return nil, fmt.Errorf("lock the data folder: %w", err)
	}
	return l, nil
}

// read returns the zero state when there is none. A file that isn't JSON counts
// as none, since writes are atomic and the data files tell the name.
func (f *folder) read() (state, error) {
	var s state
	b, err := os.ReadFile(f.path("engine.json"))
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return s, fmt.Errorf("read the state of the data folder: %w", err)
	}
	if json.Unmarshal(b, &s) != nil {
		s = state{}
	}
	if s.Name == "" {
		for _, kind := range []string{Dynoxide, DynamoDBLocal} {
			if _, err := os.Stat(f.path(dataFiles[kind])); err == nil {
				s.Name = kind
			}
		}
	}
	return s, nil
}

func (f *folder) write(s state) error {
	b, err := json.Marshal(s)
	if err != nil {
		return fmt.Errorf("encode the state of the data folder: %w", err)
	}
	t, err := os.CreateTemp(f.dir, ".engine.json-*")
	if err != nil {
		return fmt.Errorf("write the state of the data folder: %w", err)
	}
	_, err = t.Write(append(b, '\n'))
	err = errors.Join(err, t.Close())
	if err == nil {
		err = os.Rename(t.Name(), f.path("engine.json"))
	}
	if err != nil {
		_ = os.Remove(t.Name())
		return fmt.Errorf("write the state of the data folder: %w", err)
	}
	return nil
}

// live tells whether the engine of the state runs and answers. The process
// must live as well as the address answer: either number may by now belong to
// somebody else's process, hardly both.
func (s state) live(ctx context.Context) bool {
	return s.PID != 0 && alive(s.PID) && recognise(ctx, s.Name, s.Endpoint)
}

// kind is the engine that the folder needs: the one that wrote it, else prefer.
func (f *folder) kind(s state, prefer string) (string, error) {
	switch {
	case s.Name == "", s.Name == prefer:
		return prefer, nil
	case titles[s.Name] == "":
		return "", fmt.Errorf("the data in %s was written by an engine named %q, which this version doesn't know: choose another folder", f.dir, s.Name)
	case prefer != "":
		return "", fmt.Errorf("the data in %s was written by %s, and %s can't read it: prefer %s, or choose another folder",
			f.dir, titles[s.Name], titles[prefer], s.Name)
	}
	return s.Name, nil
}

// openFolder joins the engine that serves the folder, or becomes its owner.
func openFolder(ctx context.Context, o Options, h *host) (*Engine, error) {
	f, err := newFolder(o.Data)
	if err != nil {
		return nil, err
	}
	var p *program
	var deadline time.Time
	for {
		// Whoever holds the lock first decides. Looking at the state before the
		// lock lets a process join that could start no engine itself.
		s, err := f.read()
		if err != nil {
			return nil, err
		}
		kind, err := f.kind(s, o.Prefer)
		if err != nil {
			return nil, err
		}
		if s.live(ctx) {
			return h.share(f, s), nil
		}
		// Installing may take a minute: find before the lock, not under it.
		if p == nil || (kind != "" && p.kind != kind) {
			if p, err = h.find(ctx, kind, o.Install); err != nil {
				if s.Name != "" {
					err = fmt.Errorf("the data in %s was written by %s and no other engine can read it: %w", f.dir, titles[s.Name], err)
				}
				return nil, err
			}
			deadline = time.Now().Add(h.ownerWait)
		}
		lock, err := f.tryLock()
		if err != nil {
			return nil, err
		}
		if lock != nil {
			e, err := h.own(ctx, f, lock, p)
			if e != nil || err != nil {
				return e, err
			}
			continue // the state changed before we had the lock
		}
		if time.Now().After(deadline) {
			return nil, fmt.Errorf("another process holds %s, but its engine (pid %d) doesn't answer at %q: end that process, then try again",
				f.path("engine.lock"), s.PID, s.Endpoint)
		}
		if err := sleep(ctx, followEvery); err != nil {
			return nil, fmt.Errorf("wait for the engine of %s: %w", f.dir, err)
		}
	}
}

// own starts the folder's engine under the lock, which it keeps on success and
// releases otherwise. It returns neither engine nor error when the folder turned
// out to be served, or to belong to an engine other than p.
func (h *host) own(ctx context.Context, f *folder, lock *fileLock, p *program) (*Engine, error) {
	s, err := f.read()
	if err != nil || s.live(ctx) || (s.Name != "" && s.Name != p.kind) {
		lock.release()
		return nil, err
	}
	proc, err := h.startIn(ctx, f, p, s)
	if err != nil {
		lock.release()
		return nil, err
	}
	e := &Engine{Name: p.title, Endpoint: proc.endpoint, done: make(chan struct{})}
	e.attach(proc, f, lock)
	return e, nil
}

// startIn starts the folder's engine, at the last one's address if that is free,
// since another process may still have clients of that address. Call it with the
// folder's lock held.
func (h *host) startIn(ctx context.Context, f *folder, p *program, last state) (*process, error) {
	proc, err := h.start(ctx, p, f.dir, last.port())
	if err != nil {
		return nil, err
	}
	err = f.write(state{PID: proc.cmd.Process.Pid, Endpoint: proc.endpoint, Name: p.kind, StartedAt: time.Now().UTC()})
	if err != nil {
		return nil, errors.Join(err, proc.end())
	}
	return proc, nil
}
