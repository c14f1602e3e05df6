package main

import (
	"context"
	"errors"
	"fmt"
	"os/exec"

	"growthworkspace/shared/testkit/engine"
)

// checkTools returns an error that lists all missing tools and how to install them.
func checkTools(ctx context.Context) error {
	var missing []error
	for name, advice := range map[string]string{
		"go":   "install Go 1.26 or later: https://go.dev/dl",
		"node": fmt.Sprintf("install Node.js %s or later: https://nodejs.org (the CDK runs on it)", engine.NodeVersion),
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
	return engine.CheckNode(ctx, "node")
}
