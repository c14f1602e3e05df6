package localauth

import (
	"fmt"
	"html"
	"os"
	"path/filepath"
)

// RedirectFile writes an HTML file that redirects to the URL, and returns the file's path. Only the
// file's owner can read it. Start the browser with this path and not with the URL. The URL contains
// the token, and every user of the machine can see the arguments of a process. remove deletes the
// file.
func (g *Guard) RedirectFile() (path string, remove func(), err error) {
	// Some browsers cannot read the folder for temporary files, but can read the cache folder in
	// the user's home.
	parent, err := os.UserCacheDir()
	if err == nil {
		parent = filepath.Join(parent, "growth-workspace")
		err = os.MkdirAll(parent, 0o700)
	}
	if err != nil {
		parent = ""
	}
	dir, err := os.MkdirTemp(parent, "studio-") // only its owner can read the folder
	if err != nil {
		return "", nil, fmt.Errorf("create the file that opens the browser: %w", err)
	}
	remove = func() { _ = os.RemoveAll(dir) } // ignore the error, because nothing depends on the removal
	path = filepath.Join(dir, "open.html")
	text := `<!doctype html><html lang="en"><meta charset="utf-8"><title>Studio</title><meta http-equiv="refresh" content="0; url=` +
		html.EscapeString(g.URL()) + `"></html>` + "\n"
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		remove()
		return "", nil, fmt.Errorf("write the file that opens the browser: %w", err)
	}
	return path, remove, nil
}
