package main

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// Ensure commands can list and read the published versions of a board, and roll back to one. The
// versions contain only public fields.
func TestSnapshot(t *testing.T) {
	isolateUserFolders(t)
	s, data, id, _ := startServerWithRecords(t,
		`{"type":"board","record":{"id":"brd_1","name":"Roadmap"}}`,
		`{"type":"item","record":{"id":"itm_1","roadmapId":"brd_1","slug":"a","title":"A","status":"published"}}`,
		`{"type":"item","record":{"id":"itm_2","roadmapId":"brd_1","slug":"b","title":"B","status":"draft"}}`)
	key := runJSON(t, data, "", "key", "issue", "--company", id, "--scopes", "plan:read,plan:publish")["key"].(string)
	useKey(t, s, key)
	board := []string{"--board", "brd_1"}
	boardFlags := append(board, "--company", id)
	do := func(args ...string) map[string]any {
		t.Helper()
		return runJSON(t, data, "", append(append([]string{"snapshot"}, args...), boardFlags...)...)
	}
	call := func(args ...string) map[string]any {
		t.Helper()
		return callJSON(t, append(append([]string{"snapshot"}, args...), board...)...)
	}
	doRefused := func(args ...string) string {
		t.Helper()
		return runRefused(t, 1, "", append(append(append([]string{"snapshot"}, args...), boardFlags...), "--data", data)...)
	}
	for _, args := range [][]string{{}, {"rollback", "--version", "1"}} {
		requireContains(t, doRefused(args...), "board brd_1: the board was never published")
	}
	publish := func(title string) {
		t.Helper()
		line := `{"type":"item","record":{"id":"itm_1","roadmapId":"brd_1","slug":"a","title":"` + title + `","status":"published"}}`
		if r := runCommand(t, line, "import", "--company", id, "-", "--data", data); r.code != 0 {
			t.Fatalf("import: exit code %d: %s", r.code, r.err)
		}
		callJSON(t, "api", "publish_plan_board", "brd_1")
	}
	publish("A")
	publish("A2")

	live := do()
	items := live["items"].([]any)
	if diff := objectDifference(map[string]any{"boardId": "brd_1", "version": 2.0, "live": true}, live); diff != "" {
		t.Errorf("snapshot (-want +got):\n%s", diff)
	}
	if live["publishedAt"] == nil || len(live) != 5 || len(items) != 1 {
		t.Errorf("snapshot %v, want 5 fields with its time and one item", live)
	}
	if item := items[0].(map[string]any); item["title"] != "A2" || item["status"] != nil || len(item) != 8 {
		t.Errorf("item %v, want 8 fields with the title A2 and no status", item)
	}
	file := filepath.Join(t.TempDir(), "roadmap.html")
	if diff := objectDifference(map[string]any{"file": file, "version": 2.0, "itemCount": 1.0}, do("render", "--html", file)); diff != "" {
		t.Errorf("rendered page (-want +got):\n%s", diff)
	}
	page, err := os.ReadFile(file)
	if err != nil || !strings.Contains(string(page), "<h3>A2</h3>") || !strings.Contains(string(page), "<h1>Roadmap</h1>") {
		t.Errorf("%v: the page lacks the board's name or the item: %s", err, page)
	}
	if info, err := os.Stat(file); err != nil {
		t.Error(err)
	} else if perm := info.Mode().Perm(); perm != 0o644 {
		t.Errorf("the page's permissions are %o, want 644", perm)
	}
	old := runCommand(t, "", append([]string{"snapshot", "render", "--html", "-", "--version", "1", "--data", data}, boardFlags...)...)
	if old.code != 0 || !strings.Contains(old.out, "<h3>A</h3>") {
		t.Errorf("version 1: %+v, want exit code 0 and the item A", old)
	}
	requireContains(t, runRefused(t, 2, "", append([]string{"snapshot", "render", "--data", data}, boardFlags...)...), "--html FILE")
	requireContains(t, doRefused("render", "--html", filepath.Join(file, "below")), "not a directory")
	first := do("--version", "1")
	if first["live"] != false || first["items"].([]any)[0].(map[string]any)["title"] != "A" {
		t.Errorf("version 1 is %v, want it not live and with the item A", first)
	}
	r := runCommand(t, "", append([]string{"snapshot", "--data", data}, boardFlags...)...)
	var plain map[string]any
	if err := json.Unmarshal([]byte(r.out), &plain); err != nil || plain["version"] != 2.0 {
		t.Errorf("version %v, want 2: %v: %s", plain["version"], err, r.out)
	}
	requireContains(t, doRefused("--version", "3"), "no version 3")
	requireContains(t, doRefused("rollback", "--version", "3"), "no version 3")

	if done := call("rollback", "--version", "1"); done["changed"] != true || done["publishedVersion"] != 3.0 || len(done["updated"].([]any)) != 1 {
		t.Errorf("rollback %v, want a change of 1 item in version 3", done)
	}
	if done := call("rollback", "--version", "1"); done["changed"] != false || done["publishedVersion"] != 3.0 {
		t.Errorf("a second rollback %v, want no change of version 3", done)
	}
	requireContains(t, runCommand(t, "", append([]string{"snapshot", "rollback", "--version", "2"}, board...)...).out, "live in version 4 with the content of version 2")
	versions := call("list")["items"].([]any)
	if len(versions) != 4 {
		t.Fatalf("%d versions, want 4: %v", len(versions), versions)
	}
	newest := map[string]any{"version": 4.0, "restores": 2.0, "live": true, "itemCount": 1.0}
	if diff := objectDifference(newest, versions[0].(map[string]any)); diff != "" {
		t.Errorf("newest version (-want +got):\n%s", diff)
	}
	requireContains(t, runCommand(t, "", append([]string{"snapshot", "list"}, board...)...).out, "VERSION", "live  content of version 2", "content of version 1")
}
