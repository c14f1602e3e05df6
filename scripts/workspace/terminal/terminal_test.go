package terminal

import (
	"strings"
	"testing"
)

// Ensure that with --json only the error is written to Err. Notes are left out, such as the one
// that says that the command waits for another one.
func TestNotes(t *testing.T) {
	t.Parallel()
	var out strings.Builder
	people, program := Terminal{Err: &out}, Terminal{Err: &out, JSON: true}
	program.Note("waiting for %s", "a program")
	people.Note("waiting for %s", "a person")
	if want := "waiting for a person\n"; out.String() != want {
		t.Errorf("Err has %q, want %q", out.String(), want)
	}
	if notes := people.Notes(); notes != people.Err {
		t.Errorf("Notes returns %v without JSON, want Err", notes)
	}
	if notes := program.Notes(); notes != nil {
		t.Errorf("Notes returns %v with JSON, want nil", notes)
	}
}
