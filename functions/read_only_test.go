package functions_test

import (
	"log/slog"
	"net/http"
	"testing"
	"time"

	"growthworkspace/functions"
	"growthworkspace/shared/api"
)

// Ensure a read-only service serves every read, and refuses every other operation without a write.
func TestReadOnlyService(t *testing.T) {
	t.Parallel()
	calls := &callRecorder{}
	s := start(t, calls)
	key := s.IssueKey(t)
	config := s.Config(slog.New(slog.DiscardHandler))
	config.ReadOnly = true
	s.Handler = functions.Handler(s.ServingTable, config)
	calls.reset()
	for _, op := range functions.Operations(nil) {
		s.Clock.Advance(time.Minute) // so that no rate limit is reached
		r := s.Call(t, key, op.ID, fixtureArguments[op.ID])
		if op.Effect == api.Read {
			if r.Status != http.StatusOK {
				t.Errorf("%s: %d %s", op.ID, r.Status, r.Body)
			}
			continue
		}
		if !isUnavailable(t, r) || r.Header.Get("Retry-After") != "30" {
			t.Errorf("%s: %d %s, Retry-After %q", op.ID, r.Status, r.Body, r.Header.Get("Retry-After"))
		}
	}
	if writes, _ := calls.writes(); len(writes) > 0 {
		t.Errorf("a read-only service writes %q", writes)
	}
}
