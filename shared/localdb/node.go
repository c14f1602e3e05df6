package localdb

import (
	"context"
	"fmt"
	"strings"
)

// NodeVersion is the minimum version of Node.js that documents and error messages ask for. It is
// the oldest version that still gets security fixes.
const NodeVersion = "22"

// NodeVersionMin is the oldest version that the repository's tools run on. They accept it because
// machines still have it.
const NodeVersionMin = "20.19"

// CheckNode returns an error that names the installed version if Node.js is older than
// NodeVersionMin.
func CheckNode(ctx context.Context, node string) error {
	out, err := run(ctx, "", node, "--version")
	if err != nil {
		return fmt.Errorf("%w; install Node.js %s or later", err, NodeVersion)
	}
	var found, required [2]int
	if _, err := fmt.Sscanf(NodeVersionMin, "%d.%d", &required[0], &required[1]); err != nil {
		return fmt.Errorf("the least version %q: %w", NodeVersionMin, err)
	}
	_, err = fmt.Sscanf(strings.TrimSpace(out), "v%d.%d", &found[0], &found[1])
	if err != nil || found[0] < required[0] || found[0] == required[0] && found[1] < required[1] {
		return fmt.Errorf("node is %s: install Node.js %s or later", strings.TrimSpace(out), NodeVersion)
	}
	return nil
}
