package main

import (
	"os"
	"time"

	"github.com/schollz/progressbar/v3"
	"golang.org/x/term"
)

// From what size on an import shows how far it is.
const (
	largeBytes   = 4 << 20
	largeRecords = 2000
)

// bar shows progress on a terminal; elsewhere, and for what is done in a moment, it does nothing.
type bar struct{ shown *progressbar.ProgressBar }

// bar makes a bar that ends at size, or never when size is -1.
func (a *app) bar(what string, size, large int64) *bar {
	f, ok := a.errOut.(*os.File)
	if !ok || !term.IsTerminal(int(f.Fd())) || (size >= 0 && size < large) {
		return &bar{}
	}
	options := []progressbar.Option{
		progressbar.OptionSetWriter(f), progressbar.OptionSetDescription(what), progressbar.OptionThrottle(100 * time.Millisecond),
		progressbar.OptionSetWidth(30), progressbar.OptionShowCount(), progressbar.OptionClearOnFinish(),
	}
	if large == largeBytes {
		options = append(options, progressbar.OptionShowBytes(true))
	}
	return &bar{progressbar.NewOptions64(size, options...)}
}

func (b *bar) add(n int) {
	if b.shown != nil {
		_ = b.shown.Add(n) // a bar that cannot be drawn must not end the import
	}
}

// Write counts the bytes that pass by.
func (b *bar) Write(p []byte) (int, error) {
	b.add(len(p))
	return len(p), nil
}

func (b *bar) finish() {
	if b.shown != nil {
		_ = b.shown.Finish()
		_ = b.shown.Exit()
	}
}
