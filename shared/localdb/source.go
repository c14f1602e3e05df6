package localdb

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

	"growthworkspace/shared/filelock"
)

var engineTitles = map[string]string{
	Dynoxide:      "Dynoxide " + dynoxideVersion,
	DynamoDBLocal: "DynamoDB Local " + localVersion,
}

// dataFiles maps each engine to the file in which it keeps a folder's data.
var dataFiles = map[string]string{
	Dynoxide:      "dynoxide.db",
	DynamoDBLocal: "shared-local-instance.db",
}

// program is an installed engine, ready to be started.
type program struct {
	kind         string
	title        string
	version      string                                           // the version of Dynoxide; "" for other kinds
	argv         func(host string, port int, dir string) []string // dir is absolute; "" means in memory
	readyMessage string                                           // the message that it prints once it has the port; "" if it prints none
}

// source describes where an engine comes from. The error from find says what is missing and what to
// do, and begins in lower case.
type source struct {
	kind string
	find func(ctx context.Context, h *host, install bool) (*program, error)
}

// host is the machine as this package sees it. Tests replace parts of it.
type host struct {
	goos, goarch  string
	lookPath      func(string) (string, error)
	executable    func() (string, error) // the path of this program
	bundled       bool                   // whether this program was released with an engine in the same folder
	cacheDir      func() (string, error)
	shell         string // the path of the shell; the file may not exist in a container
	sources       []source
	log           io.Writer
	useNamespaces bool          // whether to try network namespaces
	loopback      func() string // returns a random loopback address
	startWait     time.Duration // how long an engine may take to respond
	ownerWait     time.Duration // how long another process may take to start a folder's engine
	grace         time.Duration // how long an engine may take to end
}

func newHost(log io.Writer) *host {
	if log == nil {
		log = io.Discard
	}
	return &host{
		goos: runtime.GOOS, goarch: runtime.GOARCH,
		lookPath:      exec.LookPath,
		executable:    os.Executable,
		bundled:       bundled != "",
		cacheDir:      os.UserCacheDir,
		shell:         "/bin/sh",
		sources:       []source{{Dynoxide, findDynoxide}, {DynamoDBLocal, findLocal}},
		log:           log,
		useNamespaces: namespacesSupported,
		loopback:      randomLoopback,
		startWait:     60 * time.Second,
		ownerWait:     90 * time.Second,
		grace:         5 * time.Second,
	}
}

// platform returns the platform in Go's notation, such as "linux/amd64".
func (h *host) platform() string { return h.goos + "/" + h.goarch }

func (h *host) logf(format string, args ...any) { _, _ = fmt.Fprintf(h.log, format+"\n", args...) }

// find returns the first engine that is available. If kind is not empty, only engines of that kind
// are tried.
func (h *host) find(ctx context.Context, kind string, install bool) (*program, error) {
	var reasons []string
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
		if errors.Is(err, errUnusableEngine) {
			return nil, err // falling back to another engine would hide the problem
		}
		reasons = append(reasons, "  "+engineTitles[s.kind]+": "+strings.ReplaceAll(err.Error(), "\n", "\n  "))
	}
	return nil, fmt.Errorf("%w:\n%s\n  or name a running one: --endpoint URL or AWS_ENDPOINT_URL_DYNAMODB", ErrNoEngine, strings.Join(reasons, "\n"))
}

func (h *host) cachePath(name string) (string, error) {
	dir, err := h.cacheDir()
	if err != nil {
		return "", fmt.Errorf("the user's cache folder is not known, set HOME or XDG_CACHE_HOME: %w", err)
	}
	return filepath.Join(dir, "growth-workspace", name), nil
}

// installOnce calls build to fill a new folder, and then renames that folder to final in one step.
// A lock next to final ensures that only one process installs at a time; the processes that waited
// then use its result. requiredFile is the path, relative to the folder, of a file that every
// complete installation contains. An installation without it is replaced.
func installOnce(ctx context.Context, final, requiredFile string, build func(dir string) error) error {
	if err := os.MkdirAll(filepath.Dir(final), 0o755); err != nil {
		return fmt.Errorf("make the cache folder: %w", err)
	}
	lock, err := filelock.Try(final + ".lock")
	for lock == nil && err == nil {
		if err = sleep(ctx, pollInterval); err == nil {
			lock, err = filelock.Try(final + ".lock")
		}
	}
	if err != nil {
		return fmt.Errorf("wait for another installation: %w", err)
	}
	defer lock.Close()
	if exists(filepath.Join(final, requiredFile)) {
		return nil
	}
	dir := final + ".new" // a killed installation may have left this folder behind
	if err := errors.Join(os.RemoveAll(final), os.RemoveAll(dir), os.Mkdir(dir, 0o755)); err != nil {
		return fmt.Errorf("make a folder in the cache: %w", err)
	}
	defer os.RemoveAll(dir)
	if err := build(dir); err != nil {
		return err
	}
	if !exists(filepath.Join(dir, requiredFile)) {
		return fmt.Errorf("the installation ended well but has no %s", requiredFile)
	}
	if err := os.Rename(dir, final); err != nil {
		return fmt.Errorf("put the installation into the cache: %w", err)
	}
	return nil
}

func exists(path string) bool {
	_, err := os.Stat(path)
	return err == nil
}

// errInstallNotAllowed is returned if an installation is needed but not allowed.
var errInstallNotAllowed = errors.New("not installed yet, and this command may not install it; `go run ./scripts/workspace serve` does")

// run runs an installer and returns its output. If the installer fails, the error also contains the
// output.
func run(ctx context.Context, dir, path string, args ...string) (string, error) {
	cmd := exec.CommandContext(ctx, path, args...)
	cmd.Dir = dir
	// A child process of the installer may keep the output open, which must not delay the result
	// for long.
	cmd.WaitDelay = 5 * time.Second
	out, err := cmd.CombinedOutput()
	if err != nil {
		return "", fmt.Errorf("%s failed with %w%s", filepath.Base(path), err, formatOutput(string(out)))
	}
	return string(out), nil
}
