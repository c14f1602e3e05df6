package engine

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"time"
)

var titles = map[string]string{
	Dynoxide:      "Dynoxide " + dynoxideVersion,
	DynamoDBLocal: "DynamoDB Local " + localVersion,
}

// dataFiles are the files in which each engine keeps a folder's data.
var dataFiles = map[string]string{
	Dynoxide:      "dynoxide.db",
	DynamoDBLocal: "shared-local-instance.db",
}

// program is an installed engine, ready to be started.
type program struct {
	kind      string
	title     string
	argv      func(port int, dir string) []string // dir is absolute; "" means in memory
	announces string                              // what the output has once the port is its own; "" if nothing tells
	polite    bool                                // must be asked to end, even when we die: a client that ends something elsewhere
}

// source knows where one engine comes from. Its error says what is missing and
// what to do, beginning in lower case.
type source struct {
	kind string
	find func(ctx context.Context, h *host, install bool) (*program, error)
}

// host is the machine as this package sees it; tests put their own in its place.
type host struct {
	goos, goarch string
	lookPath     func(string) (string, error)
	cacheDir     func() (string, error)
	sources      []source
	log          io.Writer
	startWait    time.Duration // how long an engine may take to answer
	ownerWait    time.Duration // how long a folder's owner may take to have its engine answer
}

func newHost(log io.Writer) *host {
	if log == nil {
		log = io.Discard
	}
	return &host{
		goos: runtime.GOOS, goarch: runtime.GOARCH,
		lookPath:  exec.LookPath,
		cacheDir:  os.UserCacheDir,
		sources:   []source{{Dynoxide, findDynoxide}, {DynamoDBLocal, findLocal}},
		log:       log,
		startWait: 60 * time.Second,
		ownerWait: 90 * time.Second,
	}
}

func (h *host) logf(format string, args ...any) { _, _ = fmt.Fprintf(h.log, format+"\n", args...) }

// find returns the first engine that can be had, or only one of the kind.
func (h *host) find(ctx context.Context, kind string, install bool) (*program, error) {
	var missing []string
	for _, s := range h.sources {
		if kind != "" && kind != s.kind {
			continue
		}
		p, err := s.find(ctx, h, install)
		if err == nil {
			return p, nil
		}
		if ctx.Err() != nil {
			return nil, fmt.Errorf("find an engine: %w", ctx.Err())
		}
		missing = append(missing, "  "+titles[s.kind]+": "+strings.ReplaceAll(err.Error(), "\n", "\n  "))
	}
	return nil, fmt.Errorf("%w:\n%s\n  or name a running one: --endpoint URL or AWS_ENDPOINT_URL_DYNAMODB", ErrNone, strings.Join(missing, "\n"))
}

// cached is where an installation lies in the user's cache.
func (h *host) cached(name string) (string, error) {
	dir, err := h.cacheDir()
	if err != nil {
		return "", fmt.Errorf("the user's cache folder is not known, set HOME or XDG_CACHE_HOME: %w", err)
	}
	return filepath.Join(dir, "growth-workspace", name), nil
}

// installOnce lets build fill a new folder and then gives it the name final, in
// one step: a kill leaves nothing half done, and of two processes that install
// at once the second takes what the first made. whole is a file, relative to
// the folder, without which an installation counts as damaged and is replaced.
func installOnce(final, whole string, build func(dir string) error) error {
	parent := filepath.Dir(final)
	if err := os.MkdirAll(parent, 0o755); err != nil {
		return fmt.Errorf("make the cache folder: %w", err)
	}
	sweep(parent)
	tmp, err := os.MkdirTemp(parent, installing+"*")
	if err != nil {
		return fmt.Errorf("make a folder in the cache: %w", err)
	}
	defer os.RemoveAll(tmp)
	dir := filepath.Join(tmp, "new")
	if err := os.Mkdir(dir, 0o755); err != nil {
		return fmt.Errorf("make a folder in the cache: %w", err)
	}
	if err := build(dir); err != nil {
		return err
	}
	if !exists(filepath.Join(dir, whole)) {
		return fmt.Errorf("the installation ended well but has no %s", whole)
	}
	return place(dir, final, whole, filepath.Join(tmp, "damaged"))
}

// place gives dir the name final, unless a whole installation has it. A damaged one is moved aside by whoever holds the
// lock inside it: without one, a second process could take what a first has just put there for the damaged one.
func place(dir, final, whole, aside string) error {
	const pause, tries = 5 * time.Millisecond, 2000
	var failed error
	for range tries {
		failed = os.Rename(dir, final) // which fails on a folder that is there
		if failed == nil || exists(filepath.Join(final, whole)) {
			return nil
		}
		lock, err := tryLock(filepath.Join(final, ".lock"))
		switch {
		case err != nil && !errors.Is(err, os.ErrNotExist): // not there: somebody is just replacing it
			return fmt.Errorf("put the installation into the cache: %w", errors.Join(failed, err))
		case lock == nil:
			time.Sleep(pause)
			continue
		}
		if !exists(filepath.Join(final, whole)) {
			_ = os.Rename(final, aside) // when it fails, so does the next turn, which says why
		}
		lock.release()
	}
	return fmt.Errorf("put the installation into the cache: %w", failed)
}

const installing = ".installing-"

// sweep removes what killed installations left. An hour is longer than any takes.
func sweep(parent string) {
	old, _ := filepath.Glob(filepath.Join(parent, installing+"*"))
	for _, dir := range old {
		if st, err := os.Stat(dir); err == nil && time.Since(st.ModTime()) > time.Hour {
			_ = os.RemoveAll(dir)
		}
	}
}

func exists(path string) bool {
	_, err := os.Stat(path)
	return err == nil
}

// errNotAllowed is the answer where an installation would be needed.
var errNotAllowed = errors.New("not installed yet, and this command may not install it; `go run ./scripts/workspace serve` does")

// run runs an installer in silence. Its output is shown only when it fails.
func run(ctx context.Context, dir, path string, args ...string) (string, error) {
	cmd := exec.CommandContext(ctx, path, args...)
	cmd.Dir = dir
	// The installers start processes of their own, which may hold the output open.
	cmd.WaitDelay = 5 * time.Second
	out, err := cmd.CombinedOutput()
	if err != nil {
		return "", fmt.Errorf("%s failed with %w%s", filepath.Base(path), err, quote(string(out)))
	}
	return string(out), nil
}
