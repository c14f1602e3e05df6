package functions_test

import (
	"log/slog"
	"net/http"
	"slices"
	"testing"

	"growthworkspace/functions"
	"growthworkspace/functions/mcp"
	"growthworkspace/shared/service"
	"growthworkspace/shared/table"
)

// Ensure every function has something to rehearse, and that it goes well: a rehearsal that fails early warms nothing,
// and nobody would notice.
func TestRehearsals(t *testing.T) {
	t.Parallel()
	for _, area := range functions.All() {
		handler := func(c *table.Client, log *slog.Logger) http.Handler { return service.New(c, area.Operations(c), log) }
		statuses := service.Rehearse(handler, service.Rehearsed(area.Operations(nil))...)
		if !slices.Contains(statuses, http.StatusOK) {
			t.Errorf("%s: %v", area.Name, statuses)
		}
		t.Logf("%s: %v", area.Name, statuses)
	}
	if statuses := service.Rehearse(mcp.Handler, mcp.Rehearsal); !slices.Equal(statuses, []int{http.StatusOK}) {
		t.Errorf("mcp: %v", statuses)
	}
}
