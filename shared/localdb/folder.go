package localdb

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"

	"growthworkspace/shared/filelock"
)

// pollInterval is the interval at which a process checks whether a folder's engine has started or
// ended.
const pollInterval = 50 * time.Millisecond

// stateFile is the name of the file that contains a folder's state.
const stateFile = "engine.json"

// state is the content of engine.json: the kind of engine that wrote the folder's data, and where
// the engine is running. PID is 0 until the engine responds.
type state struct {
	PID      int    `json:"pid"`
	Endpoint string `json:"endpoint"`
	Name     string `json:"name"`
	Version  string `json:"version,omitempty"` // the newest version of Dynoxide that has written the data
	Shared   bool   `json:"shared"`

	// Format is the number of the records' format. It is absent if no program that uses such
	// numbers has opened the folder.
	Format json.RawMessage `json:"format,omitempty"`
}

// format returns the format of the records, or 0 if there is none. ok is false if it is not a
// positive number.
func (s state) format() (n int, ok bool) {
	if len(s.Format) == 0 {
		return 0, true
	}
	err := json.Unmarshal(s.Format, &n)
	return n, err == nil && n > 0
}

// folder is a data folder. The process of its engine holds the lock on engine.lock, so a process
// that gets the lock knows that no engine is running.
type folder struct{ dir string }

func newFolder(dir string) (*folder, error) {
	abs, err := filepath.Abs(dir)
	if err != nil {
		return nil, fmt.Errorf("data folder %s: %w", dir, err)
	}
	// The folder contains the records of companies, so no other user may read it.
	err = os.MkdirAll(abs, 0o700)
	if err == nil {
		var probe *os.File
		if probe, err = os.CreateTemp(abs, ".writable-*"); err == nil {
			err = errors.Join(probe.Close(), os.Remove(probe.Name()))
		}
	}
	if err != nil {
		return nil, fmt.Errorf("the data folder %s cannot be written by this user (id %d): make it theirs, such as with "+
			"`chown -R %d %s`, mount the volume writable, or choose another folder: %w", abs, os.Getuid(), os.Getuid(), abs, err)
	}
	return &folder{abs}, nil
}

func (f *folder) addressOf(s state) address {
	if s.Endpoint == socketEndpoint {
		return address{s.Endpoint, f.path(socketFile)}
	}
	return address{endpoint: s.Endpoint}
}

func (f *folder) path(name string) string { return filepath.Join(f.dir, name) }

// read returns the content of engine.json. It is not an error if the file is missing or isn't JSON,
// because the data files also show the kind of engine.
func (f *folder) read() (state, error) {
	var s state
	b, err := os.ReadFile(f.path(stateFile))
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return s, fmt.Errorf("read the state of the data folder: %w", err)
	}
	if json.Unmarshal(b, &s) != nil {
		s = state{}
	}
	if s.Name == "" {
		for _, kind := range []string{Dynoxide, DynamoDBLocal} {
			// An engine that did not start may have left an empty file.
			if st, err := os.Stat(f.path(dataFiles[kind])); err == nil && st.Size() > 0 {
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
	if err := f.create(stateFile, append(b, '\n')); err != nil {
		return fmt.Errorf("write the state of the data folder: %w", err)
	}
	return nil
}

// engineKind returns the engine that the folder needs: the one that wrote its data, or the
// preferred one if the folder has no data yet.
func (f *folder) engineKind(s state, prefer string) (string, error) {
	switch {
	case s.Name == "", s.Name == prefer:
		return prefer, nil
	case engineTitles[s.Name] == "":
		return "", fmt.Errorf("the data in %s was written by an engine named %q, which this version doesn't know: choose another folder", f.dir, s.Name)
	case prefer != "":
		return "", fmt.Errorf("the data in %s was written by %s, and %s can't read it: prefer %s, or choose another folder",
			f.dir, engineTitles[s.Name], engineTitles[prefer], s.Name)
	}
	return s.Name, nil
}

// checkFormat returns an error if the caller cannot use the folder's records.
func (f *folder) checkFormat(s state, newest int) error {
	if n, ok := s.format(); newest == 0 || ok && n <= newest {
		return nil
	}
	return fmt.Errorf("the data in %s has the format %s, and this version can use formats up to %d: use the version that wrote it. To move to this version, "+
		"export each company with the version that wrote it, and import the files into a new folder with this one (`workspace export`, `workspace import`)",
		f.dir, s.Format, newest)
}

// checkVersion returns an error if a newer version of the engine has written the folder's data. An
// older version may not be able to read the data.
func (f *folder) checkVersion(s state, p *program) error {
	if slices.Compare(versionNumbers(s.Version), versionNumbers(p.version)) <= 0 {
		return nil
	}
	return fmt.Errorf("the data in %s was written by %s, which is newer than %s: use the version of this program that wrote it, "+
		"or choose another folder", f.dir, "Dynoxide "+s.Version, p.title)
}

func versionNumbers(version string) (numbers []int) {
	for part := range strings.SplitSeq(version, ".") {
		n, _ := strconv.Atoi(part) // 0 for anything that is not a number
		numbers = append(numbers, n)
	}
	return numbers
}

func openFolder(ctx context.Context, o Options, h *host) (*Engine, error) {
	f, err := newFolder(o.Data)
	if err != nil {
		return nil, err
	}
	s, proc, err := f.joinEngine(ctx, h, o)
	if err != nil {
		return nil, err
	}
	e := &Engine{Name: engineTitles[s.Name], Endpoint: s.Endpoint, Socket: f.addressOf(s).socket, Shared: proc == nil, folder: f}
	if proc == nil {
		e.watch(func(ctx context.Context) error { return f.waitForOwner(ctx, s) }, leaveRunning)
	} else {
		e.Name = proc.program.title
		e.watch(proc.waitExit, proc.stop)
	}
	return e, nil
}

// lockAndRead returns the state of the folder, the kind of engine that it needs, and the folder's
// lock. If an engine holds the lock, the returned lock is nil. Otherwise the caller must close it.
func (f *folder) lockAndRead(prefer string) (lock *os.File, s state, kind string, err error) {
	lock, err = filelock.Try(f.path("engine.lock"))
	if err != nil {
		return nil, s, "", fmt.Errorf("lock the data folder: %w", err)
	}
	if s, err = f.read(); err == nil {
		kind, err = f.engineKind(s, prefer)
	}
	if err != nil && lock != nil {
		_ = lock.Close()
		lock = nil
	}
	return lock, s, kind, err
}

// joinEngine returns the folder's state once its engine responds, and the engine's process if this
// call started it. It waits while another process uses the folder without sharing its engine.
func (f *folder) joinEngine(ctx context.Context, h *host, o Options) (state, *process, error) {
	var p *program
	awaitedPID := 0 // the PID of the engine that this call is waiting for
	deadline := time.Now().Add(h.ownerWait)
	for {
		lock, s, kind, err := f.lockAndRead(o.Prefer)
		if err == nil {
			if err = f.checkFormat(s, o.Format); err != nil && lock != nil {
				_ = lock.Close()
			}
		}
		switch {
		case err != nil:
			return s, nil, err
		case lock == nil && s.PID != 0 && !s.Shared:
			if awaitedPID != s.PID {
				h.logf("waiting for another command that uses %s (its engine is process %d)", f.dir, s.PID)
			}
			awaitedPID, deadline = s.PID, time.Now().Add(h.ownerWait)
			if err := sleep(ctx, pollInterval); err != nil {
				return s, nil, fmt.Errorf("wait for the command that uses %s: %w", f.dir, err)
			}
		case lock == nil && s.PID != 0 && isEngine(ctx, s.Name, f.addressOf(s)):
			return s, nil, nil
		case lock == nil && time.Now().After(deadline):
			return s, nil, fmt.Errorf("another process holds %s, but its engine (pid %d) doesn't answer at %q: end that process, then try again",
				f.path("engine.lock"), s.PID, s.Endpoint)
		case lock == nil:
			if err := sleep(ctx, pollInterval); err != nil {
				return s, nil, fmt.Errorf("wait for the engine of %s: %w", f.dir, err)
			}
		case p == nil || kind != "" && kind != p.kind:
			_ = lock.Close() // released, because an installation may take minutes
			if p, err = h.find(ctx, kind, o.Install); err != nil {
				if s.Name != "" {
					err = fmt.Errorf("the data in %s was written by %s and no other engine can read it: %w", f.dir, engineTitles[s.Name], err)
				}
				return s, nil, err
			}
			deadline = time.Now().Add(h.ownerWait)
		default:
			if o.Format > 0 {
				s.Format = json.RawMessage(strconv.Itoa(o.Format))
			}
			return f.start(ctx, h, p, s, o.Share || !guardSupported, lock)
		}
	}
}

// start starts the folder's engine, at the previous engine's address if that is free. The engine
// inherits the lock, so the lock shows whether an engine is running even if the process that
// started it was killed. start closes the caller's copy of the lock.
func (f *folder) start(ctx context.Context, h *host, p *program, last state, shared bool, lock *os.File) (state, *process, error) {
	defer lock.Close()
	if err := f.checkVersion(last, p); err != nil {
		return last, nil, err
	}
	if last.PID != 0 { // no process may join an engine that has ended
		if err := f.write(state{Endpoint: last.Endpoint, Name: last.Name, Version: last.Version, Format: last.Format}); err != nil {
			return last, nil, err
		}
	}
	if err := f.prepareData(p.kind); err != nil {
		return last, nil, err
	}
	proc, err := h.start(ctx, p, f.dir, last.Endpoint, lock)
	if err != nil {
		return last, nil, err
	}
	s := state{PID: proc.cmd.Process.Pid, Endpoint: proc.address.endpoint, Name: p.kind, Version: p.version, Shared: shared, Format: last.Format}
	if err := f.write(s); err != nil {
		return s, nil, errors.Join(err, proc.stop())
	}
	return s, proc, nil
}

// prepareData creates the engine's database if there is none. It returns an error if the folder has
// lost its database, because a new one would lack everybody's records and keys. It makes the
// engine's files readable only by this user, even in a folder that others may read: SQLite creates
// the other files with the same mode as the database.
func (f *folder) prepareData(kind string) error {
	data := f.path(dataFiles[kind])
	st, err := os.Stat(data)
	if err == nil && st.Size() == 0 {
		err = fs.ErrNotExist
	}
	if errors.Is(err, fs.ErrNotExist) {
		if exists(f.path(stateFile)) { // written only after an engine has started with its database
			return fmt.Errorf("the data in %s is lost: %s is missing or empty: restore a copy of it, or choose another folder", f.dir, dataFiles[kind])
		}
		err = f.create(dataFiles[kind], emptyDatabase(kind))
	}
	for _, suffix := range []string{"", "-wal", "-shm", "-journal"} {
		if exists(data + suffix) { // the database may have been copied here with another mode
			err = errors.Join(err, os.Chmod(data+suffix, 0o600))
		}
	}
	if err != nil {
		return fmt.Errorf("prepare the data file for you only: %w", err)
	}
	return nil
}

// create creates a file whole, or not at all. Only the process that holds the lock may call it.
func (f *folder) create(name string, content []byte) error {
	tmpFile := f.path("." + name)
	err := os.WriteFile(tmpFile, content, 0o600)
	if err == nil {
		err = os.Rename(tmpFile, f.path(name))
	}
	return err
}

// waitForOwner waits until an engine that another process started has ended, and returns an error
// that says so. It returns nil if ctx is done first.
func (f *folder) waitForOwner(ctx context.Context, joined state) error {
	for {
		if sleep(ctx, pollInterval) != nil {
			return nil
		}
		lock, s, _, err := f.lockAndRead(joined.Name)
		if err != nil {
			return err
		}
		if lock != nil {
			_ = lock.Close()
		}
		if lock != nil || s.PID != joined.PID {
			return fmt.Errorf("the process that had started the engine of %s has ended, and the engine with it: run this command again", f.dir)
		}
	}
}

// sleep waits for d. If ctx is done first, it returns the error of ctx.
func sleep(ctx context.Context, d time.Duration) error {
	select {
	case <-ctx.Done():
		return ctx.Err()
	case <-time.After(d):
		return nil
	}
}
