package follow

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"

	"growthworkspace/scripts/workspace/secretfile"
	"growthworkspace/shared/filelock"
)

// Origin is the feed to which a position belongs.
type Origin struct {
	BaseURL   string `json:"baseUrl"`
	CompanyID string `json:"companyId"`
	KeyID     string `json:"keyId"`
}

// Position is how far a follower has read the feed, as stored in its file.
type Position struct {
	Origin

	Types   string `json:"types"`   // the types that it delivers; empty for all
	Since   string `json:"since"`   // the --since with which it started; empty for only the changes since the start
	Started string `json:"started"` // when it started, by the service's clock

	// From is the time from which the follower reads changes. It applies until After is set.
	From string `json:"from"`
	// After is the Service-After of the last page whose changes were all delivered.
	After string `json:"after,omitempty"`
	// Delivered contains the ids of the changes after the position After that were already
	// delivered.
	Delivered []string `json:"delivered,omitempty"`
	// Broken is the reason why the follower cannot continue from this position. It is empty if the
	// follower can continue.
	Broken string `json:"broken,omitempty"`
}

// File is the file of a position, which this process has locked.
type File struct {
	path string
	lock *os.File
}

// ErrLocked means that another follower uses the file.
var ErrLocked = errors.New("another follower uses this file")

// OpenFile locks the file of a position, and creates its folder if it does not exist. The file
// itself need not exist. The lock is a separate file beside it, because every write replaces the
// file.
func OpenFile(path string) (*File, error) {
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		return nil, fmt.Errorf("create the folder: %w", err)
	}
	lock, err := filelock.Try(path + ".lock")
	if err != nil {
		return nil, fmt.Errorf("lock the file: %w", err)
	}
	if lock == nil {
		return nil, fmt.Errorf("%s: %w", path, ErrLocked)
	}
	return &File{path, lock}, nil
}

// Close releases the lock.
func (f *File) Close() error { return f.lock.Close() }

// read returns the stored position. found is false if there is none.
func (f *File) read() (p Position, found bool, err error) {
	text, err := os.ReadFile(f.path)
	if errors.Is(err, fs.ErrNotExist) {
		return p, false, nil
	}
	if err != nil {
		return p, false, fmt.Errorf("read the position: %w", err)
	}
	if err := json.Unmarshal(text, &p); err != nil || p.Origin == (Origin{}) || p.From == "" {
		return p, false, fmt.Errorf("%s is not the file of a position, or is damaged", f.path)
	}
	return p, true, nil
}

// write replaces the file atomically. If the process is killed, the file contains either the old
// position or the new one.
func (f *File) write(p Position) error {
	err := secretfile.Create(f.path, func(w io.Writer) error { return json.NewEncoder(w).Encode(p) })
	if err != nil {
		return fmt.Errorf("store the position: %w", err)
	}
	return nil
}
