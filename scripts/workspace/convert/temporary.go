package convert

import (
	"fmt"
	"os"
)

// newTemporary creates a private temporary file. If the system allows it, newTemporary removes the
// file's name immediately, so that no file remains even if the process is killed. Otherwise
// closeTemporary removes the file.
func newTemporary() (*os.File, error) {
	f, err := os.CreateTemp("", "workspace-convert-*")
	if err != nil {
		return nil, fmt.Errorf("create a temporary file: %w", err)
	}
	_ = os.Remove(f.Name()) // fails on systems that cannot remove an open file
	return f, nil
}

// closeTemporary closes and removes a file that newTemporary created.
func closeTemporary(f *os.File) {
	_ = f.Close()           // ignore the error, because the content is no longer needed
	_ = os.Remove(f.Name()) // fails if newTemporary has already removed the name
}
