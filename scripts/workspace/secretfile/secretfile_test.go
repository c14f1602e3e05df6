package secretfile_test

import (
	"os"
	"path/filepath"
	"testing"

	"growthworkspace/scripts/workspace/secretfile"
)

// Ensure SecretSaver writes a secret to a file that only the file's owner can read. The file must
// be below the folder, no matter what the key id contains.
func TestSecretSaver(t *testing.T) {
	t.Parallel()
	dir := filepath.Join(t.TempDir(), "data")
	save := secretfile.SecretSaver(dir)
	for range 2 {
		file, err := save("key_1", "the secret")
		if err != nil || file != filepath.Join(dir, "secrets", "key_1") {
			t.Fatalf("file %s: %v; want key_1 in the folder secrets", file, err)
		}
		info, err := os.Stat(file)
		if err != nil {
			t.Fatal(err)
		}
		if perm := info.Mode().Perm(); perm != 0o600 {
			t.Errorf("permissions %o, want 600", perm)
		}
		if text, err := os.ReadFile(file); err != nil || string(text) != "the secret\n" {
			t.Errorf("the file has %q: %v; want the secret and the end of the line", text, err)
		}
	}
	for _, id := range []string{"../key_1", "a/b", "..", "", "/tmp/x", "."} {
		if file, err := save(id, "x"); err == nil {
			t.Errorf("%q is written to %s", id, file)
		}
	}
}
