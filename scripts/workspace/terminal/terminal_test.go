package terminal

import (
	"fmt"
	"strings"
	"testing"
	"time"
)

// Ensure a command without a terminal writes a progress line every five seconds. It must write none
// if it finishes sooner, and none with --json.
func TestProgressLines(t *testing.T) {
	t.Parallel()
	now := time.Date(2026, 8, 11, 0, 0, 0, 0, time.UTC)
	var out strings.Builder
	log := Terminal{Err: &out, Now: func() time.Time { return now }}
	script := log
	script.JSON = true
	for _, term := range []*Terminal{&log, &script} {
		records, bytes := term.RecordProgress("writing", 4000), term.ByteProgress("exporting", -1)
		for range 4 {
			now = now.Add(2 * time.Second)
			records.Add(400)
			if n, err := bytes.Write(make([]byte, 1<<20)); n != 1<<20 || err != nil {
				t.Errorf("Write returns %d, %v", n, err)
			}
		}
		records.End()
		bytes.End()
	}
	if want := "writing: 1200 of 4000 records (30 %)\nexporting: 3.1 MB\n"; out.String() != want {
		t.Errorf("Err has %q, want %q", out.String(), want)
	}
}

// Ensure progress on a terminal is one line that is redrawn ten times a second at most, and that
// nothing of it is left at the end.
func TestProgressOnTerminal(t *testing.T) {
	t.Parallel()
	now := time.Date(2026, 8, 11, 0, 0, 0, 0, time.UTC)
	var out strings.Builder
	term := &Terminal{Err: &out, Now: func() time.Time { return now }}
	p := term.newProgress("writing", 4000, progressRecordsMin, unit{"records", func(n int64) string { return fmt.Sprint(n) }}, true)
	for range 5 {
		now = now.Add(60 * time.Millisecond)
		p.Add(400)
	}
	p.End()
	if want := "\r\x1b[Kwriting: 800 of 4000 records (20 %)\r\x1b[Kwriting: 1600 of 4000 records (40 %)\r\x1b[K"; out.String() != want {
		t.Errorf("Err has %q, want %q", out.String(), want)
	}
	out.Reset()
	small := term.newProgress("writing", 10, progressRecordsMin, unit{"records", func(n int64) string { return fmt.Sprint(n) }}, true)
	now = now.Add(time.Hour)
	small.Add(5)
	small.End()
	if out.Len() > 0 {
		t.Errorf("Err has %q for a small operation, want nothing", out.String())
	}
}

// Ensure that with --json only the error is written to Err. Notes are left out, such as the note
// that the command is waiting for another command.
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

// Ensure EscapeJSON leaves no character that controls a terminal, and changes neither the value nor
// other characters.
func TestEscapeJSON(t *testing.T) {
	t.Parallel()
	text := "{\n\t\"a\": \"é \u009b2J \u202e \x7f \\u001b\"\n}"
	if got, want := string(EscapeJSON([]byte(text))), "{\n\t\"a\": \"é \\u009b2J \\u202e \\u007f \\u001b\"\n}"; got != want {
		t.Errorf("%q, want %q", got, want)
	}
}
