package localdb

import (
	"context"
	"fmt"
	"path/filepath"
	"strconv"
	"strings"
)

const dynoxideVersion = "1.2.1"

// Package is the npm package that contains Dynoxide's binary for one platform.
type Package struct {
	Name string
	// Integrity is the digest of the package's tarball in npm's notation. SHA256 is the digest of
	// the binary in it, in hexadecimal. Both are empty if the registry did not have the package
	// when the version was pinned. A release cannot then contain the engine.
	Integrity, SHA256 string
}

// dynoxidePackages maps GOOS/GOARCH to the package for that platform.
var dynoxidePackages = map[string]Package{
	"linux/amd64": {
		"@dynoxide/linux-x64",
		"sha512-sBHqlxJ9ANkLluFkYRfd5r8Y0ApFew4FhOrlhgRAgD4XzEoFOukEo1nuBTQ1+jTtofqwn4NWQ2k0Tn5mNTjgUg==",
		"be909b7910d3fb552e85db10ef3c8ebae4bd35fee0f26dffdb6dfa5cc656426e",
	},
	"linux/arm64":   {Name: "@dynoxide/linux-arm64"},
	"darwin/amd64":  {Name: "@dynoxide/darwin-x64"},
	"darwin/arm64":  {Name: "@dynoxide/darwin-arm64"},
	"windows/amd64": {Name: "@dynoxide/win32-x64"},
}

// PackageFor returns the package for a platform, such as "linux/amd64", and its version. If there
// is none, p.Name is empty.
func PackageFor(platform string) (p Package, version string) {
	return dynoxidePackages[platform], dynoxideVersion
}

// findDynoxide looks for Dynoxide's binary in three places, in this order: this program's folder,
// which contains it after a release's archive was unpacked; the cache, in which findDynoxide may
// install the pinned version with npm; and PATH, where another package manager may have installed a
// binary with the same major version.
func findDynoxide(ctx context.Context, h *host, install bool) (*program, error) {
	bundledProgram, err := findBundled(ctx, h)
	if bundledProgram != nil || err != nil {
		return bundledProgram, err
	}
	pinned, err := findPinnedDynoxide(ctx, h, install)
	if err == nil {
		return dynoxideProgram(pinned, dynoxideVersion), nil
	}
	path, lookErr := h.lookPath("dynoxide")
	if lookErr != nil {
		return nil, err
	}
	version, runErr := versionOf(ctx, path)
	if runErr != nil {
		return nil, err
	}
	return dynoxideProgram(path, version), nil
}

// versionOf runs a binary and returns its version. It returns an error unless the binary is
// Dynoxide with the pinned major version.
func versionOf(ctx context.Context, path string) (string, error) {
	out, err := run(ctx, "", path, "--version")
	if err != nil {
		return "", err
	}
	version, ok := strings.CutPrefix(strings.TrimSpace(out), "dynoxide ")
	if !ok || !strings.HasPrefix(version, "1.") {
		return "", fmt.Errorf("it is not Dynoxide 1: it printed %q", out)
	}
	return version, nil
}

func dynoxideProgram(path, version string) *program {
	return &program{
		kind: Dynoxide, title: "Dynoxide " + version, version: version, readyMessage: "listening on",
		argv: func(host string, port int, dir string) []string {
			argv := []string{path, "--host", host, "--port", strconv.Itoa(port)}
			if dir != "" {
				argv = append(argv, "--db-path", filepath.Join(dir, dataFiles[Dynoxide]))
			}
			return argv
		},
	}
}

func findPinnedDynoxide(ctx context.Context, h *host, install bool) (string, error) {
	pkg := dynoxidePackages[h.platform()].Name
	if pkg == "" {
		return "", fmt.Errorf("there is no build for %s", h.platform())
	}
	binary := filepath.Join("node_modules", filepath.FromSlash(pkg), BinaryName(h.goos))
	final, err := h.cachePath("dynoxide-" + dynoxideVersion)
	if err != nil {
		return "", err
	}
	path := filepath.Join(final, binary)
	if exists(path) {
		return path, nil
	}
	npm, err := h.lookPath("npm")
	if err != nil {
		return "", fmt.Errorf("%snpm is not on PATH: install Node.js %s or later, which has it", h.missingBundledText(), NodeVersion)
	}
	if !install {
		return "", errInstallNotAllowed
	}
	node, err := h.lookPath("node")
	if err != nil {
		return "", fmt.Errorf("node is not on PATH, which npm runs on: install Node.js %s or later", NodeVersion)
	}
	if err := CheckNode(ctx, node); err != nil {
		return "", err
	}
	h.logf("installing %s with npm, once, into %s", engineTitles[Dynoxide], final)
	err = installOnce(ctx, final, binary, func(dir string) error {
		_, err := run(ctx, dir, npm, "install", "--prefix", dir, "--no-save", "--no-package-lock", "--ignore-scripts",
			"--no-audit", "--no-fund", "--loglevel=error", pkg+"@"+dynoxideVersion)
		if err != nil {
			return err
		}
		// A binary that can't run here must not get into the cache.
		if !exists(filepath.Join(dir, binary)) {
			return nil
		}
		_, err = run(ctx, dir, filepath.Join(dir, binary), "--version")
		return err
	})
	return path, err
}
