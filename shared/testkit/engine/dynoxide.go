package engine

import (
	"context"
	"fmt"
	"path/filepath"
	"strconv"
	"strings"
)

const dynoxideVersion = "1.2.1"

// dynoxidePackages maps GOOS/GOARCH to the npm package with the binary.
var dynoxidePackages = map[string]string{
	"linux/amd64":   "@dynoxide/linux-x64",
	"linux/arm64":   "@dynoxide/linux-arm64",
	"darwin/amd64":  "@dynoxide/darwin-x64",
	"darwin/arm64":  "@dynoxide/darwin-arm64",
	"windows/amd64": "@dynoxide/win32-x64",
}

// findDynoxide returns the pinned version, which it may install in the cache with npm. Otherwise it
// returns a binary of the same major version on PATH, which another package manager may have
// installed.
func findDynoxide(ctx context.Context, h *host, install bool) (*program, error) {
	pinned, err := findPinnedDynoxide(ctx, h, install)
	if err == nil {
		return dynoxideProgram(pinned, engineTitles[Dynoxide]), nil
	}
	path, lookErr := h.lookPath("dynoxide")
	if lookErr != nil {
		return nil, err
	}
	out, runErr := run(ctx, "", path, "--version")
	if title := strings.TrimSpace(out); runErr == nil && strings.HasPrefix(title, "dynoxide 1.") {
		return dynoxideProgram(path, "Dynoxide "+strings.TrimPrefix(title, "dynoxide ")), nil
	}
	return nil, err
}

func dynoxideProgram(path, title string) *program {
	return &program{
		kind: Dynoxide, title: title, readyMessage: "listening on",
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
	pkg := dynoxidePackages[h.goos+"/"+h.goarch]
	if pkg == "" {
		return "", fmt.Errorf("there is no build for %s/%s", h.goos, h.goarch)
	}
	binary := filepath.Join("node_modules", filepath.FromSlash(pkg), "dynoxide")
	if h.goos == "windows" {
		binary += ".exe"
	}
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
		return "", fmt.Errorf("npm is not on PATH: install Node.js %s or later, which has it", NodeVersionMin)
	}
	if !install {
		return "", errNotAllowed
	}
	node, err := h.lookPath("node")
	if err != nil {
		return "", fmt.Errorf("node is not on PATH, which npm runs on: install Node.js %s or later", NodeVersionMin)
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
