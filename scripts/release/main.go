// Command release writes all files of a version: go run ./scripts/release v1.2.3.
//
// For each platform it writes an archive with the command-line program and the local engine. It
// also writes an image, the Lambda functions with a template, and the OpenAPI document. Each
// program has a bill of materials. Release notes list the files. SHA256SUMS contains their digests,
// and is signed if a key is given.
//
// Builds are reproducible: the same commit and the same version of Go give the same bytes. So the
// files contain nothing that depends on the machine, and all times in them are the time of the
// commit.
//
// Reading order: main.go (the order of the work), build.go (programs), engine.go, notices.go
// (licences), archive.go, image.go, lambda.go, sbom.go, notes.go, sign.go, tools.go.
package main

import (
	"context"
	_ "embed"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"time"
)

// platforms are the platforms of a release, in Go's notation. Only the first one is tested.
var platforms = []string{"linux/amd64", "linux/arm64", "darwin/amd64", "darwin/arm64", "windows/amd64"}

const usage = `usage: go run ./scripts/release VERSION [flags]

Writes the files of a version, such as v1.2.3, into release/VERSION. The commit must have no
changes. Needs Go, npm (for the engine), git, and ssh-keygen if --sign is given. The tools are fetched
at pinned versions through the Go module proxy.

`

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	code, err := run(ctx, os.Args[1:], os.Stdout)
	stop()
	if err != nil {
		fmt.Fprintln(os.Stderr, "release:", err)
	}
	os.Exit(code)
}

// release is one run of the command.
type release struct {
	version    string
	commit     string
	time       time.Time // the time of the commit
	out        string    // the folder that the files are written to
	tmp        string
	signingKey string // the path of a private key; "" for no signature
	log        io.Writer

	files []file // in the order in which the notes list them
}

type file struct{ name, description string }

// installer is a script for people who have only a shell.
//
//go:embed install.sh
var installer []byte

var versionPattern = regexp.MustCompile(`^v[0-9]+\.[0-9]+\.[0-9]+(-[0-9A-Za-z.-]+)?$`)

// run returns the exit code: 2 for a wrong command line, and 1 for any other error.
func run(ctx context.Context, args []string, stdout io.Writer) (code int, err error) {
	flags := flag.NewFlagSet("release", flag.ContinueOnError)
	flags.Usage = func() { fmt.Fprint(flags.Output(), usage); flags.PrintDefaults() }
	out := flags.String("out", "release", "write into the folder VERSION of this `folder`")
	platformList := flags.String("platforms", strings.Join(platforms, ","), "make the archives of these `platforms`")
	lambda := flags.Bool("lambda", true, "make the functions for Lambda")
	image := flags.Bool("image", true, "make the image of each Linux platform that has an engine")
	sign := flags.String("sign", "", "sign the digests with this private `key` of ssh-keygen")
	allowChanges := flags.Bool("allow-changes", false, "accept uncommitted changes; such files are for tests")
	var version string
	if len(args) > 0 && !strings.HasPrefix(args[0], "-") {
		version, args = args[0], args[1:]
	}
	if err := flags.Parse(args); err != nil {
		if errors.Is(err, flag.ErrHelp) {
			return 0, nil
		}
		return 2, nil // flags.Parse has already printed the error
	}
	chosen := strings.Split(*platformList, ",")
	switch {
	case flags.NArg() > 0:
		return 2, fmt.Errorf("unknown argument %q", flags.Arg(0))
	case !versionPattern.MatchString(version):
		return 2, fmt.Errorf("the version must be like v1.2.3, not %q", version)
	}
	for _, p := range chosen {
		if !slices.Contains(platforms, p) {
			return 2, fmt.Errorf("--platforms: %q is not one of %s", p, strings.Join(platforms, ", "))
		}
	}
	tmp, err := os.MkdirTemp("", "release-")
	if err != nil {
		return 1, err
	}
	defer os.RemoveAll(tmp)
	r := &release{version: version, out: filepath.Join(*out, version), tmp: tmp, signingKey: *sign, log: stdout}
	if err := r.readCommit(ctx, *allowChanges); err != nil {
		return 1, err
	}
	if err := errors.Join(os.RemoveAll(r.out), os.MkdirAll(r.out, 0o755)); err != nil {
		return 1, err
	}
	if err := r.writeFiles(ctx, chosen, *lambda, *image); err != nil {
		return 1, err
	}
	return 0, nil
}

func (r *release) writeFiles(ctx context.Context, chosen []string, lambda, image bool) error {
	begin := time.Now()
	for _, platform := range chosen {
		if err := r.writePlatform(ctx, platform, image); err != nil {
			return fmt.Errorf("%s: %w", platform, err)
		}
	}
	if lambda {
		if err := r.writeLambda(ctx); err != nil {
			return fmt.Errorf("the functions: %w", err)
		}
	}
	if err := r.copyFile("functions/openapi/openapi.json", "openapi.json", "the document of the API"); err != nil {
		return err
	}
	if err := r.write("install.sh", "checks and unpacks an archive on Linux and macOS", installer); err != nil {
		return err
	}
	if err := r.writeNotes(ctx, chosen); err != nil {
		return err
	}
	if err := r.writeSums(ctx); err != nil {
		return err
	}
	fmt.Fprintf(r.log, "%s in %.1f s\n", r.out, time.Since(begin).Seconds())
	return nil
}

// readCommit reads the hash and the time of the commit. It returns an error if any file differs
// from the commit, because nobody could reproduce such a release. If allowChanges is set, it allows
// such differences.
func (r *release) readCommit(ctx context.Context, allowChanges bool) error {
	status, err := output(ctx, "git", "status", "--porcelain")
	if err != nil {
		return err
	}
	commit, err := output(ctx, "git", "log", "-1", "--format=%H %ct")
	if err != nil {
		return err
	}
	var at string
	r.commit, at, _ = strings.Cut(strings.TrimSpace(commit), " ")
	seconds, err := strconv.ParseInt(at, 10, 64)
	if err != nil {
		return fmt.Errorf("the time of the commit: %w", err)
	}
	r.time = time.Unix(seconds, 0).UTC()
	if status != "" {
		if !allowChanges {
			return fmt.Errorf("these files differ from the commit, so the release could not be built again: commit them first\n%s", status)
		}
		r.commit += "-changed"
	}
	return nil
}

// output runs a command and returns its standard output. A returned error includes the standard
// error.
func output(ctx context.Context, name string, args ...string) (string, error) {
	return outputIn(ctx, "", nil, name, args...)
}

// outputIn is like output, but runs the command in dir and with additional environment variables.
func outputIn(ctx context.Context, dir string, env []string, name string, args ...string) (string, error) {
	cmd := exec.CommandContext(ctx, name, args...)
	var out, errOut strings.Builder
	cmd.Dir, cmd.Env, cmd.Stdout, cmd.Stderr = dir, append(os.Environ(), env...), &out, &errOut
	err := cmd.Run()
	if errors.Is(err, exec.ErrNotFound) {
		return "", fmt.Errorf("%s is not on PATH: install it", name)
	}
	if err != nil {
		return "", fmt.Errorf("%s %s: %w\n%s%s", name, strings.Join(args, " "), err, errOut.String(), out.String())
	}
	return out.String(), nil
}

// write writes a file of the release and adds it to the list for the notes.
func (r *release) write(name, about string, text []byte) error {
	if err := os.WriteFile(filepath.Join(r.out, name), text, 0o644); err != nil {
		return err
	}
	r.files = append(r.files, file{name, about})
	fmt.Fprintf(r.log, "%10s  %s\n", formatSize(int64(len(text))), name)
	return nil
}

func (r *release) copyFile(from, name, about string) error {
	text, err := os.ReadFile(from)
	if err != nil {
		return err
	}
	return r.write(name, about, text)
}

// formatSize formats a number of bytes for human readers.
func formatSize(bytes int64) string {
	if bytes < 1e6 {
		return fmt.Sprintf("%.0f kB", float64(bytes)/1e3)
	}
	return fmt.Sprintf("%.1f MB", float64(bytes)/1e6)
}
