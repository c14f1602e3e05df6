package studio_test

import (
	"os"
	"regexp"
	"testing"
)

// Ensure the script contains no address that begins at the root of the host. A server with a prefix
// rewrites the addresses in pages, but not those in the script.
func TestScriptHasNoRootAddress(t *testing.T) {
	t.Parallel()
	script, err := os.ReadFile("static/studio.js")
	if err != nil {
		t.Fatal(err)
	}
	for _, found := range regexp.MustCompile("(=>? ?|fetch\\()[\"'`]/[a-z].*").FindAllString(string(script), -1) {
		t.Errorf("%s: want `${root}…`", found)
	}
}
