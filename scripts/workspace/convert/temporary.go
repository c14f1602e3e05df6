package convert

import (
	"fmt"
	"os"
)

// newTemporary returns a new private file without a name where the system allows that, so that
// nothing remains however the process ends. Elsewhere closeTemporary removes it.
func newTemporary() (*os.File, error) {
	f, err := os.CreateTemp("", "workspace-convert-*")
	if err != nil {
		return nil, fmt.Errorf("create a temporary file: %w", err)
	}
	_ = os.Remove(f.Name()) // fails on systems where an open file has to have a name
	return f, nil
}

// closeTemporary closes and removes a file of newTemporary.
func closeTemporary(f *os.File) {
	_ = f.Close()           // what was written has been read
	_ = os.Remove(f.Name()) // it has been removed already where the system allows that
}
