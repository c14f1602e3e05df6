package main

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"
)

// tool is a program that can be built from the Go module proxy.
type tool struct{ module, version, pkg string }

// The pinned tools of a release. scripts/check/external/dependencies uses goLicenses, too.
var (
	cyclonedx  = tool{"github.com/CycloneDX/cyclonedx-gomod", "v1.7.0", "/cmd/cyclonedx-gomod"}
	goLicenses = tool{"github.com/google/go-licenses/v2", "v2.0.1", ""}
)

// install returns the path of a tool in the user's cache. If the cache lacks the tool, install
// builds it in a temporary module, because `go run module@version` also requests the list of the
// module's versions, which some proxies refuse.
func (t tool) install(ctx context.Context) (string, error) {
	cache, err := os.UserCacheDir()
	if err != nil {
		return "", fmt.Errorf("the user's cache folder is not known, set HOME or XDG_CACHE_HOME: %w", err)
	}
	name := filepath.Base(strings.TrimSuffix(t.module, "/v2"))
	program := filepath.Join(cache, "growth-workspace", "tools", name+"-"+t.version)
	if _, err := os.Stat(program); err == nil {
		return program, nil
	}
	dir, err := os.MkdirTemp("", "tool-")
	if err != nil {
		return "", err
	}
	defer os.RemoveAll(dir)
	module := fmt.Sprintf("module tool\n\ngo 1.26\n\nrequire %s %s\n", t.module, t.version)
	if err := os.WriteFile(filepath.Join(dir, "go.mod"), []byte(module), 0o644); err != nil {
		return "", err
	}
	if err := os.MkdirAll(filepath.Dir(program), 0o755); err != nil {
		return "", err
	}
	part := fmt.Sprintf("%s.%d", program, os.Getpid()) // install renames this file when it is complete
	if _, err := outputIn(ctx, dir, []string{"GOFLAGS=-trimpath"}, "go", "build", "-mod=mod", "-o", part, t.module+t.pkg); err != nil {
		return "", err
	}
	return program, os.Rename(part, program)
}
