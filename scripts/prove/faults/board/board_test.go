package board_test

import (
	"net/http"
	"testing"

	"growthworkspace/scripts/prove/faults/board"
	"growthworkspace/scripts/prove/faults/stand"
)

// Ensure every edit of a board of any size is a change for its next publish, and that both states are known: without
// that the gates would compare a state with itself.
func TestEdits(t *testing.T) {
	t.Parallel()
	s, err := stand.Open(t.Context(), t.TempDir(), t.Output())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := s.Close(); err != nil {
			t.Error(err)
		}
	})
	base, stop, err := s.Service(s.Transport)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(stop)
	for _, size := range []int{1, 3, 204} {
		b, err := board.New(t.Context(), s, size)
		if err != nil {
			t.Fatal(err)
		}
		for generation := range 10 {
			if err := b.Edit(t.Context()); err != nil {
				t.Fatal(err)
			}
			if before, err := b.Look(t.Context(), false); err != nil || before.Published || len(before.Wrong) > 0 {
				t.Errorf("%d items, generation %d, before its publish: %+v: %v", size, generation, before, err)
			}
			answer, err := stand.NewClient(base, b.Company).Call(t.Context(), http.MethodPost, b.Path(), nil)
			if err != nil || answer.Status != http.StatusOK {
				t.Fatalf("%d %s: %v", answer.Status, answer.Body, err)
			}
			if after, err := b.Look(t.Context(), true); err != nil || !after.Published || len(after.Wrong) > 0 {
				t.Errorf("%d items, generation %d, after its publish: %+v: %v", size, generation, after, err)
			}
		}
	}
}
