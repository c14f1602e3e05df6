package main

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"growthworkspace/functions"
	"growthworkspace/scripts/workspace/demo"
)

// Ensure an export is identical to the file that was imported, for a company with records of every
// type.
func TestIdentity(t *testing.T) {
	t.Parallel()
	data := dataFolder(t)
	s := startServer(t, data)
	first := exportOf(t, data, s.CompanyID)
	for _, kind := range functions.Transfers(nil) {
		if !strings.Contains(first, `{"type":"`+kind.Name+`"`) {
			t.Errorf("the demo company has no %s", kind.Name)
		}
	}
	id := newCompany(t, data)
	runJSON(t, data, first, "import", "--company", id, "-")
	if second := exportOf(t, data, id); second != first {
		for i, line := range strings.Split(first, "\n") {
			if other := strings.Split(second, "\n"); i >= len(other) || other[i] != line {
				t.Fatalf("line %d differs: %s", i+1, line)
			}
		}
		t.Fatal("the second export has more lines")
	}
}

// Ensure an export creates a file that only the file's owner can read. A failed export leaves no
// file behind.
func TestExportToFile(t *testing.T) {
	t.Parallel()
	data := dataFolder(t)
	id := newCompany(t, data)
	file := filepath.Join(t.TempDir(), "out.jsonl")
	got := runJSON(t, data, "", "export", "--company", id, file)
	if got["file"] != file || got["exported"].(map[string]any)["company"] != 1.0 {
		t.Errorf("summary %v, want 1 company in %s", got, file)
	}
	text, err := os.ReadFile(file)
	if err != nil || !strings.HasPrefix(string(text), `{"type":"company","record":{`) {
		t.Errorf("%v: the file does not begin with the company: %s", err, text)
	}
	requireSecretFile(t, file)
	missing := filepath.Join(t.TempDir(), "no", "out.jsonl")
	requireContains(t, runRefused(t, 1, "", "export", "--company", id, missing, "--data", data), "there is no folder "+filepath.Dir(missing))
	requireContains(t, runRefused(t, 1, "", "export", "--company", id, t.TempDir(), "--data", data), "it is a folder; name a file in it")
	entries, err := os.ReadDir(filepath.Dir(file))
	if err != nil || len(entries) != 1 {
		t.Errorf("%v: files %v, want one", err, entries)
	}
	// Without a file name, `export` writes the records to standard output and the summary to
	// standard error.
	r := runCommand(t, "", "export", "--company", id, "--json", "--data", data)
	var summary map[string]any
	if r.out != string(text) || json.Unmarshal([]byte(r.err), &summary) != nil || summary["file"] != nil {
		t.Errorf("standard output %q, want %q; standard error %q, want a summary without a file", r.out, text, r.err)
	}
	if demo.CompanyID == id {
		t.Error("a new company has the demo company's id")
	}
}
