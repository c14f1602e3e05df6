// Package terminal handles the input and output of every command, such as results as text or JSON,
// notes, progress bars, and errors with exit codes.
package terminal

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"strconv"
	"strings"
	"text/tabwriter"
	"time"
	"unicode"

	"growthworkspace/shared/schema"
)

// Terminal holds the input and output of one run of the program.
type Terminal struct {
	In          io.Reader
	Out         io.Writer // for the result; exactly one object if JSON is set
	Err         io.Writer // for notes, progress, logs and errors
	JSON        bool      // the flag --json
	Interactive bool      // whether In is a terminal, where a user can reply to a question
	Now         func() time.Time

	Program string // the result of ProgramCommand; "" means workspace
}

// Print writes the result of a command, as JSON or as text for people.
func (t *Terminal) Print(result any, format string, args ...any) error {
	if t.JSON {
		return PrintJSON(t.Out, result)
	}
	return t.Write(strings.TrimSuffix(fmt.Sprintf(format, args...), "\n") + "\n")
}

// Write writes a result unchanged.
func (t *Terminal) Write(text string) error {
	if _, err := io.WriteString(t.Out, text); err != nil {
		return fmt.Errorf("print the result: %w", err)
	}
	return nil
}

// PrintJSON writes one JSON object and a newline.
func PrintJSON(w io.Writer, result any) error {
	text, err := schema.Encode(result)
	if err == nil {
		if Width(w) > 0 {
			text = EscapeJSON(text)
		}
		_, err = w.Write(append(text, '\n'))
	}
	if err != nil {
		return fmt.Errorf("print the result: %w", err)
	}
	return nil
}

// ItemList is the JSON of a list.
type ItemList[T any] struct {
	Items []T `json:"items"`
}

// PrintList writes a list. With JSON it writes result. Without JSON it writes a table with a row
// for each item. If there are no items, it writes emptyNote as a note instead. header contains the
// names of the columns, separated by tabs.
func PrintList[T any](t *Terminal, result any, items []T, emptyNote, header string, row func(T) []string) error {
	if t.JSON {
		return PrintJSON(t.Out, result)
	}
	if len(items) == 0 {
		t.Note("%s", emptyNote)
		return nil
	}
	lines := []string{header}
	for _, item := range items {
		lines = append(lines, strings.Join(row(item), "\t"))
	}
	return t.Write(AlignColumns(lines))
}

// AlignColumns aligns lines whose cells are separated by tabs.
func AlignColumns(lines []string) string {
	var out strings.Builder
	w := tabwriter.NewWriter(&out, 0, 0, 2, ' ', 0)
	for _, line := range lines {
		fmt.Fprintln(w, line)
	}
	_ = w.Flush() // writing to a strings.Builder cannot fail
	return out.String()
}

// Note writes a message to Err. With JSON it does nothing.
func (t *Terminal) Note(format string, args ...any) {
	if notes := t.Notes(); notes != nil {
		fmt.Fprintf(notes, format+"\n", args...)
	}
}

// Notes returns the writer for messages, which is Err. With JSON it returns nil, because a failed
// command then writes exactly one object to Err.
func (t *Terminal) Notes() io.Writer {
	if t.JSON {
		return nil
	}
	return t.Err
}

// quietWait is the longest wait for which Wait writes no note.
const quietWait = 2 * time.Second

// Wait waits before a request is retried. It writes a note if the wait is long. It returns the
// context's error if the context is done first.
func (t *Terminal) Wait(ctx context.Context, d time.Duration) error {
	if d > quietWait {
		t.Note("waiting %d s before the next attempt", int(d/time.Second))
	}
	return Sleep(ctx, d)
}

// Sleep waits, or returns the context's error if the context is done first.
func Sleep(ctx context.Context, d time.Duration) error {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-ctx.Done():
		return ctx.Err()
	case <-timer.C:
		return nil
	}
}

// EscapeControls replaces control characters with escape sequences such as \n. Much of the output
// is third-party text, and its control characters could move the cursor or break a row.
func EscapeControls(text string) string {
	quoted := strconv.QuoteToGraphic(text)
	return strings.ReplaceAll(quoted[1:len(quoted)-1], `\"`, `"`)
}

// EscapeJSON escapes characters that JSON allows in strings, but that control a terminal or reverse
// the order of the text after them. The result decodes to the same value.
func EscapeJSON(text []byte) []byte {
	var out bytes.Buffer
	for _, c := range string(text) {
		if unicode.IsControl(c) && c > '\x7e' || unicode.Is(unicode.Bidi_Control, c) {
			fmt.Fprintf(&out, `\u%04x`, c)
			continue
		}
		out.WriteRune(c)
	}
	return out.Bytes()
}

// FormatText returns *s with control characters escaped, or a dash if s is nil.
func FormatText[S ~string](s *S) string {
	if s == nil {
		return "-"
	}
	return EscapeControls(string(*s))
}

// exitError is an error with an exit code.
type exitError struct {
	code int
	err  error
}

func (e *exitError) Error() string { return e.err.Error() }

func (e *exitError) Unwrap() error { return e.err }

// Exit codes. The code for any other error is 1.
const (
	codeFinding  = 1
	codeUsage    = 2
	codeConflict = 3
	codeUnknown  = 4
)

// ErrFinding ends a command with exit code 1 and no message. The command's output already says what
// it found.
var ErrFinding error = &exitError{codeFinding, errors.New("the output says what was found")}

// NewUnknownError returns err with the exit code 4. This code means that the command could not find
// out whether there is something to report, so a script can distinguish that from ErrFinding. If
// err already has an exit code, as a usage error does, it keeps that code.
func NewUnknownError(err error) error {
	var exit *exitError
	if errors.As(err, &exit) {
		return err
	}
	return &exitError{codeUnknown, err}
}

// NewUsageError returns an error for a wrong command line, with exit code 2.
func NewUsageError(format string, args ...any) error {
	return &exitError{codeUsage, fmt.Errorf(format, args...)}
}

// NewConflictError returns an error for a record whose state does not allow the change. Its exit
// code is 3, so that a script can distinguish a lost race from a failure.
func NewConflictError(format string, args ...any) error {
	return &exitError{codeConflict, fmt.Errorf(format, args...)}
}

// Fail prints an error and returns the exit code.
func (t *Terminal) Fail(err error) int {
	if errors.Is(err, ErrFinding) {
		return codeFinding
	}
	if t.JSON {
		var result any = map[string]string{"error": err.Error()}
		var known interface{ Detail() any } // an error that has more to report than its text
		if errors.As(err, &known) {
			result = known.Detail()
		}
		_ = PrintJSON(t.Err, result) // ignore the error: there is no other place to report it
	} else {
		fmt.Fprintf(t.Err, "workspace: %s\n", err)
	}
	var exit *exitError
	if errors.As(err, &exit) {
		return exit.code
	}
	return 1
}
