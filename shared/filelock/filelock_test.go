package filelock

import (
	"path/filepath"
	"testing"
)

// Ensure that only one caller at a time gets the lock, and that the file can be locked again after
// its release.
func TestTry(t *testing.T) {
	t.Parallel()
	file := filepath.Join(t.TempDir(), "lock")
	first, err := Try(file)
	if err != nil || first == nil {
		t.Fatalf("the first lock: %v, %v", first, err)
	}
	if second, err := Try(file); second != nil || err != nil {
		t.Errorf("a lock that is held: %v, %v, want nil and no error", second, err)
	}
	if err := first.Close(); err != nil {
		t.Fatal(err)
	}
	again, err := Try(file)
	if err != nil || again == nil {
		t.Fatalf("a lock that was released: %v, %v", again, err)
	}
	if err := again.Close(); err != nil {
		t.Error(err)
	}
	if _, err := Try(filepath.Join(file, "lock")); err == nil {
		t.Error("a lock in a folder that does not exist is no error")
	}
}
