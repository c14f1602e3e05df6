package main

import "testing"

// Ensure the upgrade command runs without anything to do, and refuses --check with flags that make
// changes. The tests in scripts/workspace/operator cover what it does.
func TestUpgrade(t *testing.T) {
	t.Parallel()
	data := dataFolder(t)
	company, _ := runJSON(t, data, "", "company", "create", "--name", "One")["companyId"].(string)
	for _, args := range [][]string{{"upgrade"}, {"upgrade", "--again"}, {"upgrade", "--company", company}} {
		if got := runJSON(t, data, "", args...); got["companies"] != 1.0 || got["filled"] != 0.0 {
			t.Errorf("%v: %v, want one company and nothing filled", args, got)
		}
	}
	requireContains(t, runCommand(t, "", "upgrade", "--check", "--data", data).err, "no index needs an upgrade")
	if r := runCommand(t, "", "upgrade", "--check", "--again", "--data", data); r.code != 2 {
		t.Errorf("--check with --again: exit code %d, want 2: %s", r.code, r.err)
	}
}
