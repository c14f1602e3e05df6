package main

import (
	"context"
	"errors"
	"fmt"
	"os/exec"
	"strconv"
	"strings"
)

// nodeLeast is the oldest major version of Node.js that the CDK's command line supports.
const nodeLeast = 20

// tools returns an error that lists all missing tools and how to install them.
func tools(ctx context.Context) error {
	var missing []error
	for name, advice := range map[string]string{
		"go":   "install Go 1.26 or later: https://go.dev/dl",
		"node": fmt.Sprintf("install Node.js %d or later: https://nodejs.org (the CDK runs on it)", nodeLeast),
		"npm":  "install npm, which comes with Node.js: https://nodejs.org",
		"bash": "install bash (scripts/build is a bash script)",
	} {
		if _, err := exec.LookPath(name); err != nil {
			missing = append(missing, fmt.Errorf("%s is not on PATH: %s", name, advice))
		}
	}
	if len(missing) > 0 {
		return errors.Join(missing...)
	}
	out, err := exec.CommandContext(ctx, "node", "--version").Output()
	if err != nil {
		return fmt.Errorf("node --version fails: %w: install Node.js %d or later", err, nodeLeast)
	}
	text, _, _ := strings.Cut(strings.TrimPrefix(strings.TrimSpace(string(out)), "v"), ".")
	if major, err := strconv.Atoi(text); err != nil || major < nodeLeast {
		return fmt.Errorf("node is %s: install Node.js %d or later", strings.TrimSpace(string(out)), nodeLeast)
	}
	return nil
}
