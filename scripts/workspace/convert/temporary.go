package convert

import (
	"fmt"
	"os"
)

// newTempFile creates a private temporary file. If the system allows it, newTempFile removes the
// file's name immediately, so that no file remains even if the process is killed. Otherwise
// closeTempFile removes the file.
func newTempFile() (*os.File, error) {
	f, err := os.CreateTemp("", "workspace-convert-*")
	if err != nil {
		return nil, fmt.Errorf("create a temporary file: %w", err)
	}
	_ = os.Remove(f.Name()) // fails on systems that cannot remove an open file
	return f, nil
}

// closeTempFile closes and removes a file that newTempFile created.
func closeTempFile(f *os.File) {
	_ = f.Close()           // ignore the error, because the content is no longer needed
	_ = os.Remove(f.Name()) // fails if newTempFile has already removed the name
}
