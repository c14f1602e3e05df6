package main

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"growthworkspace/functions"
)

// dataFormats lists, for each format of a data folder, all migrations of the release that introduced
// it. A release with a new migration adds a line and increments tableconn's dataFormat, so that
// earlier releases refuse the folder.
var dataFormats = []string{
	1: "",
}

// Ensure each new migration comes with a new format of the data folder.
func TestDataFormats(t *testing.T) {
	t.Parallel()
	var names []string
	for _, m := range functions.Migrations() {
		names = append(names, m.String())
	}
	if got, want := strings.Join(names, ", "), dataFormats[len(dataFormats)-1]; got != want {
		t.Errorf("the migrations are %s, and those of the data format %d are %s: see dataFormats", got, len(dataFormats)-1, want)
	}
	data := dataFolder(t)
	runJSON(t, data, "", "company", "list")
	if got := readFormat(t, data); got != float64(len(dataFormats)-1) {
		t.Errorf("a new folder has the format %v, want %d", got, len(dataFormats)-1)
	}
}

// readFormat returns the format in the folder's engine.json, or nil if there is none.
func readFormat(t *testing.T, data string) any {
	t.Helper()
	return readEngineFile(t, data)["format"]
}

func readEngineFile(t *testing.T, data string) (state map[string]any) {
	t.Helper()
	text, err := os.ReadFile(filepath.Join(data, "engine.json"))
	if err == nil {
		err = json.Unmarshal(text, &state)
	}
	if err != nil {
		t.Fatal(err)
	}
	return state
}

// setFormat changes the format in the folder's engine.json.
func setFormat(t *testing.T, data string, format any) {
	t.Helper()
	state := readEngineFile(t, data)
	state["format"] = format
	text, err := json.Marshal(state)
	if err == nil {
		err = os.WriteFile(filepath.Join(data, "engine.json"), text, 0o600)
	}
	if err != nil {
		t.Fatal(err)
	}
}

// Ensure a folder with a newer or unknown format is refused and not changed. The error must explain
// how to proceed.
func TestDataFormatRefused(t *testing.T) {
	t.Parallel()
	data := dataFolder(t)
	runJSON(t, data, "", "company", "create", "--name", "One")
	for _, format := range []any{99, "next"} {
		setFormat(t, data, format)
		before := readEngineFile(t, data)
		for _, args := range [][]string{{"company", "list"}, {"serve", "--addr", "127.0.0.1:0"}} {
			r := runCommand(t, "", append(args, "--data", data)...)
			if r.code != 1 {
				t.Errorf("%v with the format %v: exit code %d, want 1: %s", args, format, r.code, r.err)
			}
			requireContains(t, r.err, data)
			requireContains(t, r.err, "export each company with the version that wrote it, and import the files into a new folder")
		}
		if diff := cmp.Diff(before, readEngineFile(t, data)); diff != "" {
			t.Errorf("engine.json (-before, +after):\n%s", diff)
		}
	}
}
