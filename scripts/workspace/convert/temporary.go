package convert

import (
	"fmt"
	"os"
	"strings"
)

const temporaryPrefix = "workspace-convert-"

// newTemporary returns a new private file without a name where the system allows that, so that
// nothing remains however the process ends. Elsewhere closeTemporary removes it.
func newTemporary() (*os.File, error) {
	f, err := os.CreateTemp("", temporaryPrefix+"*")
	if err != nil {
		return nil, fmt.Errorf("create a temporary file: %w", err)
	}
	_ = os.Remove(f.Name()) // fails on systems where an open file has to have a name
	return f, nil
}

// closeTemporary closes a file, and removes it if newTemporary created it.
func closeTemporary(f *os.File) {
	_ = f.Close() // what was written has been read
	if strings.Contains(f.Name(), temporaryPrefix) {
		_ = os.Remove(f.Name()) // it has been removed already where the system allows that
	}
}
