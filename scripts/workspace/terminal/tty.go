package terminal

import (
	"errors"
	"fmt"
	"io"
	"os"
	"strings"
	"sync"
	"time"

	"golang.org/x/term"
)

// widthDefault is the width of a terminal that does not report its width.
const widthDefault = 80

// Width returns the width of w if it is a terminal, otherwise 0.
func Width(w io.Writer) int {
	f, ok := w.(*os.File)
	if !ok || !term.IsTerminal(int(f.Fd())) {
		return 0
	}
	width, _, err := term.GetSize(int(f.Fd()))
	if err != nil {
		return widthDefault
	}
	return width
}

// IsTerminal reports whether in is a terminal.
func IsTerminal(in io.Reader) bool {
	f, ok := in.(*os.File)
	return ok && term.IsTerminal(int(f.Fd()))
}

// Confirm asks the user at a terminal for confirmation, and returns an error for any reply except
// "y" or "yes". A command that needs a confirmation must have a flag that replaces the question,
// and must require the flag if the input is not a terminal.
func (t *Terminal) Confirm(format string, args ...any) error {
	yes, err := t.Ask(format, args...)
	if err == nil && !yes {
		err = errors.New("nothing was done")
	}
	return err
}

// Ask asks a yes-or-no question at the terminal. The result is true if the reply was "y" or "yes".
func (t *Terminal) Ask(format string, args ...any) (yes bool, err error) {
	fmt.Fprintf(t.Err, format+" [y/N] ", args...)
	reply, err := t.readLine()
	if err != nil {
		return false, fmt.Errorf("read the reply: %w", err)
	}
	reply = strings.ToLower(strings.TrimSpace(reply))
	return reply == "y" || reply == "yes", nil
}

// readLine reads one line. It reads one byte at a time, because the bytes after the line may be the
// reply to the next question.
func (t *Terminal) readLine() (string, error) {
	var line []byte
	for one := make([]byte, 1); ; {
		n, err := t.In.Read(one)
		if n > 0 && one[0] == '\n' || errors.Is(err, io.EOF) {
			return string(line), nil
		}
		if err != nil {
			return "", err
		}
		line = append(line, one[:n]...)
	}
}

// secretBytesMax is the maximum number of bytes that ReadSecret reads. No key is this long.
const secretBytesMax = 1000

// ReadSecret reads a key from standard input, without echo at a terminal. No command accepts a key
// as an argument, because arguments appear in the shell's history and in process lists.
func (t *Terminal) ReadSecret() (string, error) {
	var text []byte
	var err error
	if f, ok := t.In.(*os.File); ok && t.Interactive {
		fmt.Fprint(t.Err, "Key: ")
		text, err = term.ReadPassword(int(f.Fd()))
		fmt.Fprintln(t.Err)
	} else {
		text, err = io.ReadAll(io.LimitReader(t.In, secretBytesMax))
	}
	if err != nil {
		return "", fmt.Errorf("read the key from standard input: %w", err)
	}
	return strings.TrimSpace(string(text)), nil
}

// The minimum sizes of an operation for which a terminal shows a progress bar.
const (
	progressBytesMin   = 4 << 20
	progressRecordsMin = 2000
)

// Progress shows the progress of an operation. On a terminal it is one line that is redrawn, for
// large operations only. Without a terminal it is a line every few seconds, so that a log shows that
// the command is still working. With --json it shows nothing.
type Progress struct{ lines *progressLines }

// ByteProgress returns the Progress of an operation on size bytes. A size of -1 means that the size
// is unknown.
func (t *Terminal) ByteProgress(what string, size int64) Progress {
	return t.progress(what, size, progressBytesMin, unit{"MB", func(n int64) string { return fmt.Sprintf("%.1f", float64(n)/1e6) }})
}

// RecordProgress returns the Progress of an operation on count records.
func (t *Terminal) RecordProgress(what string, count int) Progress {
	return t.progress(what, int64(count), progressRecordsMin, unit{"records", func(n int64) string { return fmt.Sprint(n) }})
}

func (t *Terminal) progress(what string, size, redrawnSizeMin int64, u unit) Progress {
	return t.newProgress(what, size, redrawnSizeMin, u, Width(t.Err) > 0)
}

func (t *Terminal) newProgress(what string, size, redrawnSizeMin int64, u unit, isRedrawn bool) Progress {
	if t.JSON || isRedrawn && size >= 0 && size < redrawnSizeMin {
		return Progress{}
	}
	l := &progressLines{t: t, what: what, size: size, unit: u, isRedrawn: isRedrawn, interval: lineInterval}
	if isRedrawn {
		l.interval = redrawInterval
	}
	l.next = t.Now().Add(l.interval)
	return Progress{l}
}

// Add advances the progress by n. It may be called concurrently.
func (p Progress) Add(n int) {
	if p.lines != nil {
		p.lines.add(n)
	}
}

// Write advances the progress by len(b).
func (p Progress) Write(b []byte) (int, error) {
	p.Add(len(b))
	return len(b), nil
}

// End removes the line from a terminal.
func (p Progress) End() {
	if p.lines != nil && p.lines.isRedrawn {
		fmt.Fprint(p.lines.t.Err, clearLine)
	}
}

// clearLine moves the cursor to the beginning of the line and clears the line.
const clearLine = "\r\x1b[K"

// The times before the first line of progress, and between two lines.
const (
	lineInterval   = 5 * time.Second
	redrawInterval = 100 * time.Millisecond // on a terminal
)

// unit is the unit of the numbers in progress lines.
type unit struct {
	name   string
	format func(n int64) string
}

// progressLines writes progress as lines.
type progressLines struct {
	t    *Terminal
	what string
	size int64 // -1 if it is unknown
	unit unit

	isRedrawn bool // whether each line replaces the one before
	interval  time.Duration

	mu   sync.Mutex
	done int64
	next time.Time // when the next line is due
}

// add advances the progress by n, and writes a line if one is due.
func (l *progressLines) add(n int) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.done += int64(n)
	now := l.t.Now()
	if now.Before(l.next) {
		return
	}
	l.next = now.Add(l.interval)
	text := fmt.Sprintf("%s: %s %s", l.what, l.unit.format(l.done), l.unit.name)
	if l.size > 0 {
		text = fmt.Sprintf("%s: %s of %s %s (%d %%)", l.what, l.unit.format(l.done), l.unit.format(l.size), l.unit.name, 100*l.done/l.size)
	}
	if l.isRedrawn {
		fmt.Fprint(l.t.Err, clearLine+text)
		return
	}
	l.t.Note("%s", text)
}
