package context_test

import (
	"slices"
	"strings"
	"testing"
)

// Ensure goals are listed oldest first, null last, then by id, with exactly the specified fields in their order.
func TestListGoals(t *testing.T) {
	t.Parallel()
	s := start(t)
	importLines(t, s, "brand-goal", s.CompanyID,
		`{"id":"bgl_e"}`, `{"id":"bgl_d"}`,
		`{"id":"bgl_c","createdAt":"2026-01-02T00:00:00.001Z"}`, `{"id":"bgl_b","createdAt":"2026-01-02T00:00:00Z"}`, `{"id":"bgl_a","createdAt":"2026-01-02T00:00:00Z"}`,
		`{"id":"bgl_z","name":"Reach","description":"d","metricKey":"web.visits","baselineValue":1.5,"targetValue":-2,"dueAt":"2026-06-01T00:00:00+02:00","status":"active","priority":1,"createdAt":"2026-01-02T00:30:00+01:00","updatedAt":"2026-01-03T00:00:00Z"}`)
	want := []string{"bgl_z", "bgl_a", "bgl_b", "bgl_c", "bgl_d", "bgl_e"}
	for _, limit := range []int{1, 4, 6, 200} {
		if got := walk(t, s, "list_context_goals", limit); !slices.Equal(got, want) {
			t.Errorf("limit %d: %v, want %v", limit, got, want)
		}
	}
	r := s.Call(t, s.Key(t), "list_context_goals", map[string]any{"limit": 1})
	wantBody := `{"items":[{"id":"bgl_z","companyId":"` + s.CompanyID + `","name":"Reach","description":"d","metricKey":"web.visits","baselineValue":1.5,"targetValue":-2,` +
		`"dueAt":"2026-05-31T22:00:00.000Z","status":"active","priority":1,"createdAt":"2026-01-01T23:30:00.000Z","updatedAt":"2026-01-03T00:00:00.000Z"}]}`
	if strings.TrimSpace(r.Body) != wantBody {
		t.Errorf("got %s\nwant %s", r.Body, wantBody)
	}
}
