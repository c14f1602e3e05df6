package engine

import (
	"context"
	"fmt"
	"strings"
)

// NodeVersionMin is the oldest version of Node.js that the repository's tools run on. The
// documentation names it, too.
const NodeVersionMin = "20.19"

// CheckNode returns an error that names the installed version if Node.js is older than
// NodeVersionMin.
func CheckNode(ctx context.Context, node string) error {
	out, err := run(ctx, "", node, "--version")
	if err != nil {
		return fmt.Errorf("%w; install Node.js %s or later", err, NodeVersionMin)
	}
	var found, least [2]int
	if _, err := fmt.Sscanf(NodeVersionMin, "%d.%d", &least[0], &least[1]); err != nil {
		return fmt.Errorf("the least version %q: %w", NodeVersionMin, err)
	}
	_, err = fmt.Sscanf(strings.TrimSpace(out), "v%d.%d", &found[0], &found[1])
	if err != nil || found[0] < least[0] || found[0] == least[0] && found[1] < least[1] {
		return fmt.Errorf("node is %s: install Node.js %s or later", strings.TrimSpace(out), NodeVersionMin)
	}
	return nil
}
