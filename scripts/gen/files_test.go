package main

import (
	"os"
	"reflect"
	"slices"
	"testing"
)

// Ensure every generated file in the repository is up to date, and two runs generate the same
// bytes.
func TestGeneratedFilesAreCurrent(t *testing.T) {
	t.Chdir("../..")
	first, err := generatedFiles()
	if err != nil {
		t.Fatal(err)
	}
	second, err := generatedFiles()
	if err != nil || !reflect.DeepEqual(first, second) {
		t.Errorf("a second run generates different files, %v", err)
	}
	if err := run(true, "", false); err != nil {
		t.Error(err)
	}
}

// Ensure gen removes the files of an operation or area that no longer exists.
func TestAddRemovals(t *testing.T) {
	t.Chdir(t.TempDir())
	for _, name := range []string{"kept.json", "gone.json", "other.txt"} {
		if err := os.WriteFile(name, nil, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	got, err := addRemovals([]generatedFile{{"kept.json", []byte("{}")}}, "*.json")
	if err != nil || !reflect.DeepEqual(got, []generatedFile{{path: "gone.json"}, {"kept.json", []byte("{}")}}) {
		t.Errorf("files %v, want kept.json and the removal of gone.json: %v", got, err)
	}
	for _, g := range got {
		if err := g.write(); err != nil {
			t.Fatal(err)
		}
	}
	entries, err := os.ReadDir(".")
	names := []string{}
	for _, e := range entries {
		names = append(names, e.Name())
	}
	if err != nil || !slices.Equal(names, []string{"kept.json", "other.txt"}) {
		t.Errorf("files %q, want kept.json and other.txt: %v", names, err)
	}
}
