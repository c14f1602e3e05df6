package localdb

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
)

// bundled is set by the linker if this program is released with an engine in the same folder
// (scripts/release). It only affects the error message on a machine without an engine.
var bundled string

// BinaryName returns the file name of Dynoxide's binary on an operating system.
func BinaryName(goos string) string {
	if goos == "windows" {
		return "dynoxide.exe"
	}
	return "dynoxide"
}

// errUnusableEngine is wrapped by the error that is returned if the engine in this program's folder
// cannot be used.
var errUnusableEngine = errors.New("unpack the whole archive again, or remove that file to use another engine")

// findBundled returns the engine in this program's folder, or nil if there is none. It recognises
// the pinned binary by its digest, and also accepts other versions with the same major version.
func findBundled(ctx context.Context, h *host) (*program, error) {
	path, err := h.bundledPath()
	if err != nil {
		return nil, err
	}
	f, err := os.Open(path)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	unusableError := func(format string, args ...any) error {
		return fmt.Errorf("the engine beside this program, %s, %s: %w", path, fmt.Sprintf(format, args...), errUnusableEngine)
	}
	if err != nil {
		return nil, unusableError("cannot be read (%s)", err)
	}
	defer f.Close()
	info, err := f.Stat()
	if err != nil {
		return nil, unusableError("cannot be read (%s)", err)
	}
	if h.goos != "windows" && info.Mode().Perm()&0o111 == 0 {
		return nil, unusableError("is not executable: run chmod +x on it")
	}
	sum := sha256.New()
	if _, err := io.Copy(sum, f); err != nil {
		return nil, unusableError("cannot be read (%s)", err)
	}
	got, want := hex.EncodeToString(sum.Sum(nil)), dynoxidePackages[h.platform()].SHA256
	if got == want {
		return dynoxideProgram(path, dynoxideVersion), nil
	}
	// The user may have installed a different Dynoxide in the same folder.
	version, err := versionOf(ctx, path)
	switch {
	case err == nil && (want == "" || version != dynoxideVersion):
		return dynoxideProgram(path, version), nil
	case want == "":
		return nil, unusableError("does not run (%s)", err)
	}
	return nil, unusableError("is damaged, or for another system than %s: its SHA-256 is %s, and that of %s is %s", h.platform(), got, engineTitles[Dynoxide], want)
}

// Describe returns a description, for the user, of the engine that this program would start and
// where that engine comes from.
func Describe(ctx context.Context) string {
	p, err := findBundled(ctx, newHost(nil))
	switch {
	case err != nil:
		return err.Error()
	case p != nil:
		return p.title + ", beside this program"
	}
	return engineTitles[Dynoxide] + ", from npm when a command needs it"
}

// bundledPath returns the path of the engine in this program's folder. If the program was started
// through a symbolic link, its folder is the folder of the link's target.
func (h *host) bundledPath() (string, error) {
	self, err := h.executable()
	if err == nil {
		self, err = filepath.EvalSymlinks(self)
	}
	if err != nil {
		return "", fmt.Errorf("find the folder of this program: %w", err)
	}
	return filepath.Join(filepath.Dir(self), BinaryName(h.goos)), nil
}

// missingBundledText returns the beginning of the error message if this program was released with
// an engine but its folder does not contain one. Otherwise it returns "".
func (h *host) missingBundledText() string {
	path, err := h.bundledPath()
	if !h.bundled || err != nil {
		return ""
	}
	return path + " is missing: keep it in the folder of this program, or unpack the whole archive again; otherwise, "
}
