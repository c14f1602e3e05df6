package main

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"testing"
)

// Ensure a page from a different server is reported as an error, even with --json, and is never
// printed as a command's output.
func TestPageOfAnotherServer(t *testing.T) {
	isolateUserFolders(t)
	t.Setenv(keyVariable, "sk_live_x")
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		fmt.Fprint(w, "<!doctype html><title>Welcome</title>")
	}))
	t.Cleanup(s.Close)
	for _, args := range [][]string{{"list_plan_boards"}, {"list_plan_boards", "--all"}, {"get_plan_board", "brd_1"}, {"delete_plan_board", "brd_1", "--yes"}} {
		args = append([]string{"api", "--base-url", s.URL, "--company", "co_1"}, args...)
		requireContains(t, runRefused(t, 1, "", args...), s.URL+" responds with something that is not JSON", "workspace doctor --base-url "+s.URL)
		if r := runCommand(t, "", args...); r.code != 1 || r.out != "" {
			t.Errorf("%v: %+v, want exit code 1 and no output", args, r)
		}
	}
}
