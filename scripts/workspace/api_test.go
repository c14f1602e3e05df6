package main

import (
	"bytes"
	"encoding/csv"
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"reflect"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"growthworkspace/functions"
	"growthworkspace/scripts/workspace/terminal"
	"growthworkspace/shared/api"
	"growthworkspace/shared/schema"
)

// startTestServer returns the shared server, and sets the environment variables from which commands
// read its URL and key.
func startTestServer(t *testing.T) (s *server, data string) {
	t.Helper()
	isolateUserFolders(t)
	s, data = useServer(t)
	t.Setenv(urlVariable, s.BaseURL)
	t.Setenv(keyVariable, s.Key)
	return s, data
}

// apiJSON calls an operation of the API from the command line with --json, and decodes the output.
func apiJSON(t *testing.T, in string, args ...string) map[string]any {
	t.Helper()
	r := runCommand(t, in, append([]string{"api", "--json"}, args...)...)
	var object map[string]any
	if err := json.Unmarshal([]byte(r.out), &object); err != nil || r.code != 0 {
		t.Fatalf("%v: exit code %d, %v: %s %s", args, r.code, err, r.out, r.err)
	}
	return object
}

// firstID returns an existing id for the next placeholder in the path of an operation: the id of
// the first record in the matching list. For example, for …/plan/boards/{boardId}/items it returns
// the first id in the response to list_plan_boards. args are the ids for the earlier placeholders.
func firstID(t *testing.T, path string, args []string) string {
	t.Helper()
	if strings.HasSuffix(path, "/plan/items/{itemId}") { // items can be listed only for one board at a time
		path = strings.Replace(path, "items", "boards/{boardId}/items", 1)
		args = []string{firstID(t, path, nil)}
	}
	for _, op := range functions.Operations(nil) {
		if op.IsList() && strings.HasPrefix(path, op.Path+"/{") && strings.Count(op.Path, "{") == len(args)+1 {
			return apiJSON(t, "", append([]string{op.ID}, args...)...)["items"].([]any)[0].(map[string]any)["id"].(string)
		}
	}
	t.Fatalf("no list has the records of %s", path)
	return ""
}

// readArguments returns the arguments that the command of a read operation requires, and the path
// of the request. It fills in the ids of existing records.
func readArguments(t *testing.T, op api.Operation) (args []string, path string) {
	t.Helper()
	path = op.Path
	for _, f := range op.Input {
		switch {
		case f.In == schema.InPath:
			args = append(args, firstID(t, op.Path, args))
			path = strings.Replace(path, "{"+f.Name+"}", args[len(args)-1], 1)
		case f.Required && f.Name == "metricKey":
			args = append(args, "--metricKey", "growth.signups")
			path += "?metricKey=growth.signups"
		case f.Required:
			t.Fatalf("%s: the test has no value for %s", op.ID, f.Name)
		}
	}
	return args, path
}

// Ensure every read operation is a command. With --json it prints the service's response; otherwise
// it prints a line for each record or field.
func TestAPIReads(t *testing.T) {
	s, _ := startTestServer(t)
	for _, op := range functions.Operations(nil) {
		if op.Method != http.MethodGet {
			continue
		}
		args, path := readArguments(t, op)
		got := apiJSON(t, "", append([]string{op.ID}, args...)...)
		_, body := get(t, s.Key, s.BaseURL+strings.ReplaceAll(path, "{companyId}", s.CompanyID))
		delete(got, "asOf") // the time of the request
		delete(body, "asOf")
		if !strings.Contains(op.ID, "key") && !reflect.DeepEqual(got, body) { // every request updates its key's lastUsedAt, so two responses about keys differ
			t.Errorf("%s: %v instead of %v", op.ID, got, body)
		}
		r := runCommand(t, "", append([]string{"api", op.ID}, args...)...)
		lines := strings.Count(r.out, "\n")
		if r.code != 0 || strings.Contains(r.out, "{}") {
			t.Errorf("%s: exit code %d, or an empty object is shown: %s %s", op.ID, r.code, r.out, r.err)
		}
		if op.IsList() {
			if records := len(got["items"].([]any)); lines != records+1 && (records > 0 || lines > 0) {
				t.Errorf("%s: %d lines, want a heading and %d records, or nothing: %s", op.ID, lines, records, r.out)
			}
		} else if lines < len(got) {
			t.Errorf("%s: %d lines, want one for each of %d fields: %s", op.ID, lines, len(got), r.out)
		}
	}
}

// Ensure commands that create, update or delete a record send each kind of field with its JSON
// type.
func TestAPIWrites(t *testing.T) {
	startTestServer(t)
	board := apiJSON(t, "", "list_plan_boards")["items"].([]any)[0].(map[string]any)["id"].(string)
	item := apiJSON(t, "", "create_plan_item", "--board-id", board, "--title", "From the shell", "--category-ids", "a,b", "--categoryIds", `["c","d"]`, "--sort-order", "0", "--summary", "12")
	if diff := objectDifference(map[string]any{"categoryIds": []any{"a,b", "c", "d"}, "sortOrder": 0.0, "summary": "12"}, item); diff != "" {
		t.Errorf("created item (-want +got):\n%s", diff)
	}
	id := item["id"].(string)
	got := apiJSON(t, "", "update-plan-item", id, "--category-ids", "[]", "--status", "published")
	if diff := objectDifference(map[string]any{"categoryIds": []any{}, "status": "published"}, got); diff != "" {
		t.Errorf("updated item (-want +got):\n%s", diff)
	}
	got = apiJSON(t, "", "update_plan_item", id, "--title", "Cleared", "--clear", "summary,sort-order", "--clear", "categoryIds")
	cleared := map[string]any{"title": "Cleared", "summary": nil, "sortOrder": nil, "categoryIds": nil, "status": "published"}
	if diff := objectDifference(cleared, got); diff != "" {
		t.Errorf("cleared item (-want +got):\n%s", diff)
	}
	for want, args := range map[string][]string{
		`--clear: "title" cannot be cleared; these can: summary, column-id`: {"--clear", "title"},
		"--clear: --summary also has a value":                               {"--clear", "summary", "--summary", "x"},
		"--input has the whole body: leave out --clear":                     {"--clear", "summary", "--input", "-"},
	} {
		if r := runCommand(t, "{}", append([]string{"api", "update_plan_item", id}, args...)...); r.code != 2 || !strings.Contains(r.err, want) {
			t.Errorf("%v: %+v, want exit code 2 and %s", args, r, want)
		}
	}
	if r := runCommand(t, "", "api", "update_plan_item", id, "--title", "x", "--if-match", `"stale"`); r.code != 1 || !strings.Contains(r.err, "precondition_failed (412)") || !strings.Contains(r.err, "--if-match: ") {
		t.Errorf("%+v, want exit code 1, precondition_failed (412) and --if-match", r)
	}
	if got := apiJSON(t, "", "delete_plan_item", id, "--yes"); got["deleted"] != true {
		t.Errorf("deleted is %v, want true", got["deleted"])
	}
	kind := apiJSON(t, "", "create_context_content_type", "--name", "Note", "--active", "false")
	if kind["active"] != false {
		t.Errorf("active is %v, want false", kind["active"])
	}
	body := `{"points":[{"metricKey":"growth.signups","ts":"2026-08-10","value":1.5}]}`
	file := writeFile(t, "points.json", body)
	for in, args := range map[string][]string{
		"": {"--input", file}, " ": {"--input", "@" + file}, body: {"--input", "-"},
		"  ":  {"--points", `{"metricKey":"growth.signups","ts":"2026-08-10","value":1}`, "--points", `{"metricKey":"growth.signups","ts":"2026-08-11","value":2}`},
		"   ": {"--points", `[{"metricKey":"growth.signups","ts":"2026-08-10","value":1,"dims":{"a":"b"}}]`},
		`[{"metricKey":"growth.signups","ts":"2026-08-10","value":1}]`: {"--points", "-"},
	} {
		if got := apiJSON(t, in, append([]string{"push_metric_points"}, args...)...); got["accepted"].(float64) < 1 {
			t.Errorf("%v: %v points were accepted, want one at least", args, got["accepted"])
		}
	}
	first := apiJSON(t, "", "create_broadcast_post", "--platform", "x", "--body", "-", "--hashtags", "a", "--idempotency-key", "once")
	if again := apiJSON(t, "", "create_broadcast_post", "--platform", "x", "--body", "-", "--hashtags", "a", "--idempotency-key", "once"); again["id"] != first["id"] || first["body"] != "-" {
		t.Errorf("a retry created %v, want the first post with the body -: %v", again, first)
	}
	if secret := apiJSON(t, "", "create_key", "--name", "CI", "--scopes", "plan:read", "--scopes", "feedback:read")["secret"]; secret == nil {
		t.Error("no secret")
	}
}

// Ensure a command can read the findings of an audit from a file or standard input, because they
// can be too long for an argument.
func TestAPILargeValue(t *testing.T) {
	startTestServer(t)
	large := `["` + strings.Repeat("x", 1<<20) + `",{"a":[null,1.5]}]`
	file := writeFile(t, "findings.json", large)
	for in, value := range map[string]string{"": "@" + file, large: "-", " ": `{"a":1}`} {
		audit := apiJSON(t, in, "create_optimise_audit", "--root-url", "https://example.com", "--findings", value)
		want := large
		if strings.HasPrefix(value, "{") {
			want = value
		}
		got, err := json.Marshal(apiJSON(t, "", "get_optimise_audit", audit["id"].(string))["findings"])
		if err != nil || string(got) != want {
			t.Errorf("%s: %d bytes, want %d as they were sent: %v", value, len(got), len(want), err)
		}
	}
	for text, message := range map[string]string{"@nowhere.json": "--findings: ", "-": "must be a JSON value"} {
		if r := runCommand(t, "{", "api", "create_optimise_audit", "--root-url", "https://example.com", "--findings", text); r.code == 0 || !strings.Contains(r.err, message) {
			t.Errorf("--findings %s: %+v, want a failure with %s", text, r, message)
		}
	}
}

// Ensure a command that deletes a record asks for confirmation at a terminal, and deletes only if
// the reply is yes. With --yes it does not ask. Without a terminal it requires --yes.
func TestAPIDeleteAsks(t *testing.T) {
	s, _ := startTestServer(t)
	board := apiJSON(t, "", "list_plan_boards")["items"].([]any)[0].(map[string]any)["id"].(string)
	for _, c := range []struct {
		reply                     string
		interactive               bool
		flags                     []string
		wantQuestion, wantDeleted bool
	}{
		{reply: "n\n", interactive: true, wantQuestion: true},
		{reply: "", interactive: true, wantQuestion: true},
		{reply: "Yes\n", interactive: true, wantQuestion: true, wantDeleted: true},
		{interactive: true, flags: []string{"--yes"}, wantDeleted: true},
		{flags: []string{"--yes"}, wantDeleted: true},
		{},
	} {
		id := apiJSON(t, "", "create_plan_item", board, "--title", "Short-lived")["id"].(string)
		var out, errOut bytes.Buffer
		screen := &terminal.Terminal{In: strings.NewReader(c.reply), Out: &out, Err: &errOut, Interactive: c.interactive, Now: time.Now}
		root := rootCommand(screen)
		root.SetArgs(append([]string{"api", "delete_plan_item", id}, c.flags...))
		err := root.ExecuteContext(t.Context())
		question := "Delete an item: --item-id " + id + ", at " + s.BaseURL + " with the key of WORKSPACE_KEY. This cannot be undone. Continue? [y/N]"
		if strings.Contains(errOut.String(), question) != c.wantQuestion || (err == nil) != c.wantDeleted {
			t.Errorf("%+v: error %v: %s", c, err, errOut.String())
		}
		if r := runCommand(t, "", "api", "get_plan_item", id); (r.code != 0) != c.wantDeleted {
			t.Errorf("%+v: the item afterwards: %+v", c, r)
		}
	}
	if help := runCommand(t, "", "api", "update_plan_item", "--help").out; strings.Contains(help, "--yes") {
		t.Error("an update has --yes")
	}
}

// runAtTerminal runs a command as a person at a terminal who replies yes to every question.
func runAtTerminal(t *testing.T, args ...string) commandResult {
	t.Helper()
	var out, errOut bytes.Buffer
	screen := &terminal.Terminal{In: strings.NewReader("yes\n"), Out: &out, Err: &errOut, Interactive: true, Now: time.Now}
	root := rootCommand(screen)
	root.SetArgs(args)
	if err := root.ExecuteContext(t.Context()); err != nil {
		return commandResult{screen.Fail(err), out.String(), errOut.String()}
	}
	return commandResult{0, out.String(), errOut.String()}
}

// runUndo runs the undo command that a write has printed.
func runUndo(t *testing.T, r commandResult) {
	t.Helper()
	_, line, found := strings.Cut(r.err, "To undo: workspace ")
	if !found || r.code != 0 {
		t.Fatalf("%+v, want exit code 0 and a command that undoes the write", r)
	}
	words, err := exec.Command("sh", "-c", `printf '%s\0' `+line).Output()
	if err != nil {
		t.Fatal(err)
	}
	if undo := runAtTerminal(t, strings.Split(strings.TrimSuffix(string(words), "\x00"), "\x00")...); undo.code != 0 {
		t.Fatalf("%s: %+v", line, undo)
	}
}

// Ensure a write at a terminal prints a command that undoes it, including the flags that select the
// connection. If a program runs the write, no such command is printed.
func TestAPIUndo(t *testing.T) {
	s, _ := startTestServer(t)
	t.Setenv(urlVariable, "http://127.0.0.1:1")
	baseURLFlag := []string{"--base-url", s.BaseURL}
	list := func(args ...string) []any {
		t.Helper()
		return apiJSON(t, "", append(args, baseURLFlag...)...)["items"].([]any)
	}
	board := list("list_plan_boards")[0].(map[string]any)["id"].(string)
	site := list("list_optimise_sites")[0].(map[string]any)["id"].(string)
	for _, c := range []struct {
		list   []string
		create []string
	}{
		{[]string{"list_plan_items", board, "--all"}, []string{"create_plan_item", board, "--title", "x"}},
		{[]string{"list_optimise_goals", site}, []string{"create_optimise_goal", site, "--name", "x", "--kind", "path", "--match-type", "prefix", "--pattern", "/x"}},
		{[]string{"list_context_goals"}, []string{"create_context_goal", "--name", "x"}},
	} {
		before := list(c.list...)
		created := runAtTerminal(t, append(append([]string{"api"}, c.create...), baseURLFlag...)...)
		if after := list(c.list...); len(after) != len(before)+1 {
			t.Errorf("%v: %d records, want one more than %d: %+v", c.create, len(after), len(before), created)
		}
		runUndo(t, created)
		if diff := cmp.Diff(before, list(c.list...)); diff != "" {
			t.Errorf("%v and its undo (-want +got):\n%s", c.create, diff)
		}
	}
	id := apiJSON(t, "", append([]string{"create_plan_item", board, "--title", "It's \"quoted\"\n$HOME", "--category-ids", "a b", "--sort-order", "3"}, baseURLFlag...)...)["id"].(string)
	before := apiJSON(t, "", append([]string{"get_plan_item", id}, baseURLFlag...)...)
	runUndo(t, runAtTerminal(t, append([]string{"api", "update_plan_item", id, "--title", "y", "--summary", "new", "--column-id", "now", "--clear", "category-ids,sort-order"}, baseURLFlag...)...))
	after := apiJSON(t, "", append([]string{"get_plan_item", id}, baseURLFlag...)...)
	before["updatedAt"], after["updatedAt"] = nil, nil
	if diff := cmp.Diff(before, after); diff != "" {
		t.Errorf("an update and its undo (-want +got):\n%s", diff)
	}
	requireContains(t, runAtTerminal(t, append([]string{"api", "delete_plan_item", id}, baseURLFlag...)...).err, "An operator can import the record from an earlier export.")
	requireContains(t, runAtTerminal(t, append([]string{"api", "push_metric_points", "--points", `{"metricKey":"growth.signups","ts":"2026-08-10","value":1}`}, baseURLFlag...)...).err, "delete_metric_points deletes new points")
	for _, args := range [][]string{{"--json"}, {"--csv"}, {"--jq", ".id"}, {"--include"}} {
		if r := runAtTerminal(t, append(append([]string{"api", "create_plan_item", board, "--title", "x"}, args...), baseURLFlag...)...); r.code != 0 || strings.Contains(r.err, "undo") {
			t.Errorf("%v: %+v, want exit code 0 and no hint", args, r)
		}
	}
	requireContains(t, runRefused(t, 1, "", append([]string{"api", "create_plan_item", board, "--title", "x", "--jq", "error"}, baseURLFlag...)...), "the change was made", "--jq: error")
	if r := runCommand(t, "", append([]string{"api", "create_plan_item", board, "--title", "x"}, baseURLFlag...)...); strings.Contains(r.err, "undo") {
		t.Errorf("%+v, want no hint without a terminal", r)
	}
}

// Ensure --all fetches the whole list, no matter how large its pages are. Without --all, a note
// says that there are more records.
func TestAPIAll(t *testing.T) {
	startTestServer(t)
	whole := apiJSON(t, "", "list_feedback", "--limit", "200")["items"].([]any)
	if len(whole) < 20 {
		t.Fatalf("%d records, want 20 at least", len(whole))
	}
	if got := apiJSON(t, "", "list_feedback", "--limit", "7", "--all")["items"].([]any); !reflect.DeepEqual(got, whole) {
		t.Errorf("%d records instead of %d", len(got), len(whole))
	}
	r := runCommand(t, "", "api", "list_feedback", "--limit", "7")
	requireContains(t, r.err, "--all fetches every page", "--cursor ")
	if lines := strings.Count(r.out, "\n"); lines != 8 {
		t.Errorf("%d lines, want a heading and 7 records: %s", lines, r.out)
	}
	if r := runCommand(t, "", "api", "list_feedback", "--limit", "7", "--json"); r.err != "" {
		t.Errorf("with --json a note is on standard error: %s", r.err)
	}
}

// Ensure --fields, --csv and --jq print parts of a response, both for a single page and for all
// pages.
func TestAPIFormats(t *testing.T) {
	startTestServer(t)
	all := apiJSON(t, "", "list_feedback", "--all")["items"].([]any)
	first := all[0].(map[string]any)
	id := first["id"].(string)
	board := apiJSON(t, "", "create_plan_board", "--name", "Empty")["id"].(string)
	for _, c := range []struct {
		args, want string
	}{
		{"list_feedback --limit 1 --fields id,rating", fmt.Sprintf("ID"+strings.Repeat(" ", len(id))+"RATING\n"+id+"  %v\n", first["rating"])},
		{"list_feedback --limit 1 --fields rating,id --json", fmt.Sprintf(`{"items":[{"rating":%v,"id":"%s"}]}`+"\n", first["rating"], id)},
		{"list_feedback --limit 1 --fields id --fields app-version --csv", fmt.Sprintf("id,appVersion\n%s,%s\n", id, first["appVersion"])},
		{"list_feedback --all --jq .items|length", fmt.Sprintln(len(all))},
		{"list_feedback --limit 1 --jq .items[0]|.id,{rating}", fmt.Sprintf("%s\n{\"rating\":%v}\n", id, first["rating"])},
		{"get_feedback " + id + " --fields id", "id  " + id + "\n"},
		{"get_feedback " + id + " --fields id --json", fmt.Sprintf(`{"id":"%s"}`+"\n", id)},
		{"get_feedback " + id + " --fields id,source --csv", fmt.Sprintf("id,source\n%s,%s\n", id, first["source"])},
		{"get_feedback " + id + " --jq .id", id + "\n"},
		{"list_plan_items " + board + " --fields id --csv", "id\n"},
		{"get_feedback " + id + " --jq halt", ""},
	} {
		if r := runCommand(t, "", append([]string{"api"}, strings.Fields(c.args)...)...); r.out != c.want || r.code != 0 {
			t.Errorf("%s: %+v, want %q", c.args, r, c.want)
		}
	}
	csvAll := runCommand(t, "", "api", "list_feedback", "--all", "--csv")
	lines, err := csv.NewReader(strings.NewReader(csvAll.out)).ReadAll()
	if err != nil || len(lines) != len(all)+1 || len(lines[0]) != len(first) {
		t.Errorf("--csv: %d lines of %d values, want a heading and %d records of %d fields: %v", len(lines), len(lines[0]), len(all), len(first), err)
	}
	requireContains(t, runRefused(t, 1, "", "api", "get_feedback", id, "--jq", ".id.x"), "--jq: expected an object but got: string")
}

// Ensure --include prints the whole response: the status, the headers, the cursor of the next page
// and the body. With it, a script can read all pages of a list and publish what it previewed.
func TestAPIInclude(t *testing.T) {
	startTestServer(t)
	var ids []string
	cursor := []string{}
	for {
		page := apiJSON(t, "", append([]string{"list_feedback", "--limit", "7", "--include"}, cursor...)...)
		for _, record := range page["body"].(map[string]any)["items"].([]any) {
			ids = append(ids, record.(map[string]any)["id"].(string))
		}
		if page["nextCursor"] == nil {
			break
		}
		cursor = []string{"--cursor", page["nextCursor"].(string)}
	}
	if all := apiJSON(t, "", "list_feedback", "--all")["items"].([]any); len(ids) != len(all) || ids[len(ids)-1] != all[len(all)-1].(map[string]any)["id"] {
		t.Errorf("%d records with --cursor, want %d", len(ids), len(all))
	}
	board := apiJSON(t, "", "create_plan_board", "--name", "Included")["id"].(string)
	preview := runCommand(t, "", "api", "preview_plan_publish", board, "--include")
	var got struct {
		Status  int
		Headers map[string]string
		Body    map[string]any
	}
	if err := json.Unmarshal([]byte(preview.out), &got); err != nil || got.Status != http.StatusOK || got.Body["boardId"] != board || preview.err != "" {
		t.Fatalf("the preview is %+v, want the response: %v", preview, err)
	}
	tag := runCommand(t, "", "api", "preview_plan_publish", board, "--include", "--jq", ".headers.etag").out
	if tag != got.Headers["etag"]+"\n" || !strings.HasPrefix(tag, `"`) {
		t.Errorf("the entity tag is %q with --jq, and %q without", tag, got.Headers["etag"])
	}
	if r := runCommand(t, "", "api", "publish_plan_board", board, "--if-match", strings.TrimSpace(tag), "--include", "--jq", ".status"); r.out != "200\n" {
		t.Errorf("publish with the preview's ETag: %+v, want 200", r)
	}
}

// Ensure a command prints an error response as JSON with --json. Without --json, it prints each
// message on its own line, naming a flag instead of the field's path, and then a line with the
// request id.
func TestAPIErrors(t *testing.T) {
	startTestServer(t)
	r := runCommand(t, "", "api", "create_plan_item", "brd_0", "--title", "", "--status", "live")
	lines := strings.Split(strings.TrimSpace(r.err), "\n")
	starts := []string{"workspace: bad_request (400)", "  --title: ", "  --status: ", "  request "}
	if r.code != 1 || lines[0] != starts[0] || !slices.EqualFunc(lines, starts, strings.HasPrefix) {
		t.Errorf("exit code %d, want 1; lines %q, want them to begin with %q", r.code, lines, starts)
	}
	r = runCommand(t, "", "api", "create_plan_item", "brd_0", "--title", "", "--json")
	var refused struct {
		Error, Code, RequestID string
		Status                 int
		Messages               []string
	}
	if err := json.Unmarshal([]byte(r.err), &refused); err != nil || r.out != "" {
		t.Errorf("want JSON on standard error only: %v: %+v", err, r)
	}
	if refused.Code != "bad_request" || refused.Status != 400 {
		t.Errorf("code %s and status %d, want bad_request and 400", refused.Code, refused.Status)
	}
	if len(refused.Messages) != 1 || refused.RequestID == "" {
		t.Errorf("messages %q and request id %q, want one of each", refused.Messages, refused.RequestID)
	}
	requireContains(t, runCommand(t, "", "api", "push_metric_points", "--points", `{"metricKey":"a","ts":"2026-08-10"}`).err, "--points[0].value: is required")
	// With --input, messages name a field by its path in the body, not by a flag.
	requireContains(t, runCommand(t, `{"points":[{"metricKey":"a","ts":"2026-08-10"}]}`, "api", "push_metric_points", "--input", "-").err, "body.points[0].value: is required")
	requireContains(t, runCommand(t, "", "api", "push_metric_points", "--input", "nowhere.json").err, "--input: ", "nowhere.json")
	t.Setenv(keyVariable, "sk_live_nope")
	requireContains(t, runCommand(t, "", "api", "get_company", "--company", "co_1").err, "unauthorised (401)", "the key of WORKSPACE_KEY was sent to", "workspace doctor")
	requireContains(t, runCommand(t, "", "api", "get_company", "--base-url", "http://127.0.0.1:1", "--company", "co_1").err, "http://127.0.0.1:1 does not respond: connection refused; start the service there with `workspace serve --addr 127.0.0.1:1`")
	requireContains(t, runCommand(t, "", "api", "get_company", "--base-url", "nowhere").err, "the base URL must be like")
}

// Ensure a usage error is one line, with exit code 2. The command fails before it sends a request.
func TestAPIUsage(t *testing.T) {
	isolateUserFolders(t)
	for args, parts := range map[string][]string{
		"api list_fedback":                                        {`no operation "list_fedback"`, "did you mean list_feedback"},
		"api bananas --title x":                                   {`no operation "bananas"`, "`workspace api` lists them"},
		"api create_plan_item":                                    {"--board-id: is required"},
		"api create_plan_item brd_1":                              {"--title: is required"},
		"api get_plan_item ..":                                    {"--item-id: must be an id"},
		"api get_plan_item itm_1 itm_2":                           {`too many arguments, starting with "itm_2"`},
		"api get_plan_item --item-id itm_1 itm_2":                 {`too many arguments, starting with "itm_2"`},
		"api list_feedback --reply-statu x":                       {"unknown flag: --reply-statu", "did you mean --reply-status?"},
		"api list_feedback --all --cursor x":                      {"--all starts at the first page"},
		"api list_feedback --fields=":                             {"--fields: name at least one of id, companyId, "},
		"api list_feedback --fields id,stars":                     {`--fields: no field "stars"; the fields are id, companyId, `},
		"api list_feedback --jq .items[":                          {"--jq: "},
		"api list_feedback --fields id,rating --fields rating":    {"--fields: rating is named twice"},
		"api list_feedback --columns id":                          {"did you mean --fields?"},
		"api list_feedback --jq nope":                             {"--jq: function not defined: nope/0"},
		"api get_plan_item itm_1 --csv --jq .id":                  {"--csv cannot be combined with --json, --jq or --include"},
		"api list_feedback --all --include":                       {"--all joins the bodies of several responses: leave out --include"},
		"api delete_plan_item itm_1":                              {"without a terminal to ask at, --yes is needed"},
		"api revoke_key key_1":                                    {"without a terminal to ask at, --yes is needed"},
		"api --include":                                           {"name an operation: --fields, --csv, --jq and --include are for its response"},
		"api list_feedback --limit 1 --limit 2":                   {"is given twice"},
		"api update_plan_item itm_1":                              {"nothing to change: give at least one of --title, --summary, ", "--clear or --input"},
		"api update_company --if-match x":                         {"nothing to change: give at least one of --name, "},
		"api update_plan_item itm_1 --sort-order many":            {"must be a whole number"},
		"api update_plan_item itm_1 --sort-order 1,2":             {"must be a whole number"},
		"api create_context_content_type --name x --active maybe": {"must be true or false"},
		"api push_metric_points --points x":                       {"must be a JSON object, or an array of them"},
		"api push_metric_points --input - --points {}":            {"--input has the whole body: leave out --points"},
		"login now":                {`too many arguments`},
		"login --base-url nowhere": {"--base-url: must be a URL"},
		"logout now":               {`too many arguments`},
		"doctor now":               {`too many arguments`},
		"check --write":            {"--write: name the service"},
		"check http://127.0.0.1:1 --base-url http://127.0.0.1:1": {"BASE_URL is the same as --base-url"},
		"check nowhere":                     {"BASE_URL must be a URL"},
		"check http://127.0.0.1:1 --rule x": {`no rule "x"`, "document", "headers"},
	} {
		r := runCommand(t, "", strings.Fields(args)...)
		requireUsage(t, args, r)
		requireContains(t, r.err, parts...)
	}
}

// Ensure every operation is a command with a documented flag for each field. None of these flags
// has the name of a flag that all commands share.
func TestAPICommands(t *testing.T) {
	t.Parallel()
	root := rootCommand(&terminal.Terminal{})
	shared := map[string]bool{"help": true, "all": true, "input": true, "yes": true, "clear": true}
	add := func(f *pflag.Flag) { shared[f.Name] = true }
	root.PersistentFlags().VisitAll(add)
	var group *cobra.Command
	for _, c := range root.Commands() {
		if c.Name() == "api" {
			group = c
			c.PersistentFlags().VisitAll(add)
		}
	}
	list := runCommand(t, "", "api")
	for _, op := range functions.Operations(nil) {
		requireContains(t, list.out, "  "+op.ID+" ", op.Summary)
		i := slices.IndexFunc(group.Commands(), func(c *cobra.Command) bool { return c.Name() == op.ID })
		if i < 0 {
			t.Errorf("no command %s", op.ID)
			continue
		}
		var help bytes.Buffer
		group.Commands()[i].SetOut(&help)
		if err := group.Commands()[i].Help(); err != nil {
			t.Fatal(err)
		}
		requireContains(t, help.String(), op.Path, "Examples:", "workspace api "+op.ID)
		for _, f := range op.Input {
			name := strings.ToLower(regexp.MustCompile(`(\p{Ll})(\p{Lu})`).ReplaceAllString(f.Name, "$1-$2"))
			if shared[name] {
				t.Errorf("%s: --%s is a flag that all commands share", op.ID, name)
			}
			flag := group.Commands()[i].Flags().Lookup(name)
			if flag == nil {
				t.Errorf("%s: no flag --%s", op.ID, name)
				continue
			}
			requireContains(t, help.String(), "--"+name, strings.ReplaceAll(f.Doc, "`", ""))
			for _, value := range f.Enum {
				requireContains(t, flag.Usage, value)
			}
			if flag.DefValue != f.Default {
				t.Errorf("%s: the default of --%s is %q", op.ID, name, flag.DefValue)
			}
		}
	}
	points := runCommand(t, "", "api", "push_metric_points", "--help").out
	requireContains(t, points, "The fields of an object of --points:", "  metricKey  string  ", "  ts         string  ", "  value      number  in the unit of the definition; required",
		"one of day, week, month", `--points '{"metricKey":"...","ts":"...","value":0}'`)
	requireContains(t, runCommand(t, "", "api", "push_feedback", "--help").out, "  externalId   string  ", `--records '{"source":"app_store","externalId":"..."}'`)
	if all, operations := runJSON(t, t.TempDir(), "", "api")["items"].([]any), functions.Operations(nil); len(all) != len(operations) {
		t.Errorf("%d operations are listed, want %d", len(all), len(operations))
	}
}

// Ensure shell completion offers the operations, the values of enum fields and the names of fields.
func TestAPICompletion(t *testing.T) {
	t.Parallel()
	requireContains(t, runCommand(t, "", "__complete", "api", "list_pl").out, "list_plan_boards\t", "list_plan_items\t")
	requireContains(t, runCommand(t, "", "__complete", "api", "list_feedback", "--reply-status", "").out, "needs_review\n", "skipped\n")
	requireContains(t, runCommand(t, "", "__complete", "api", "create_context_content_type", "--active", "").out, "true\nfalse\n")
	requireContains(t, runCommand(t, "", "__complete", "api", "create_plan_item", "--tit").out, "--title")
	requireContains(t, runCommand(t, "", "__complete", "check", "http://x", "--rule", "li").out, "limits\n")
	requireContains(t, runCommand(t, "", "__complete", "api", "list_feedback", "--fields", "id,post").out, "id,postedAt\n")
	requireContains(t, runCommand(t, "", "__complete", "api", "update_plan_item", "--clear", "").out, "column-id\n")
}

// Ensure completion offers the ids of records with their titles for arguments and flags. For an
// item, it must offer the items of all boards. If there is no service, completion must write
// nothing to standard error.
func TestAPICompletionOfIDs(t *testing.T) {
	startTestServer(t)
	complete := func(args ...string) string {
		t.Helper()
		r := runCommand(t, "", append([]string{"__complete", "api"}, args...)...)
		if r.code != 0 || strings.Contains(r.err, "workspace:") {
			t.Errorf("%v: %+v, want exit code 0 and no error", args, r)
		}
		return r.out
	}
	// requireOffer retries, because a completion that takes longer than two seconds offers nothing,
	// and a busy machine may be that slow.
	requireOffer := func(want string, args ...string) {
		t.Helper()
		deadline := time.Now().Add(waitMax)
		for out := complete(args...); !strings.Contains(out, want); out = complete(args...) {
			if time.Now().After(deadline) {
				t.Fatalf("%v: %q, want %q in it", args, out, want)
			}
		}
	}
	boards := apiJSON(t, "", "list_plan_boards")["items"].([]any)
	board := boards[0].(map[string]any)
	item := apiJSON(t, "", "create_plan_item", board["id"].(string), "--title", "Two\tcolumns")
	boardLine, itemLine := fmt.Sprintf("%s\t%s\n", board["id"], board["name"]), fmt.Sprintf("%s\t%s\n", item["id"], `Two\tcolumns`)
	requireOffer(boardLine, "create_plan_item", "")
	requireOffer(boardLine, "create_plan_item", "--board-id", "brd_")
	requireOffer(itemLine, "get_plan_item", item["id"].(string)[:10])
	requireOffer("growth.signups\t", "list_metric_points", "--metric-key", "growth.sign")
	site := apiJSON(t, "", "list_optimise_sites")["items"].([]any)[0].(map[string]any)
	requireOffer(fmt.Sprintf("%s\t%s\n", site["id"], site["name"]), "list_optimise_audits", "--site-id", "")
	goal := apiJSON(t, "", "list_optimise_goals", site["id"].(string))["items"].([]any)[0].(map[string]any)
	requireOffer(fmt.Sprintf("%s\t%s\n", goal["id"], goal["name"]), "get_optimise_goal", site["id"].(string), "")
	for name, args := range map[string][]string{
		"an id that does not exist":  {"get_plan_item", "itm_none"},
		"more ids than the path has": {"get_plan_item", item["id"].(string), ""},
		"no server":                  {"get_plan_item", "--base-url", "http://127.0.0.1:1", ""},
		"a key without encryption":   {"get_plan_item", "--base-url", "http://service.example", ""},
	} {
		if out := complete(args...); strings.Contains(out, "\t") || !strings.HasPrefix(out, ":") {
			t.Errorf("%s: %q, want no completion", name, out)
		}
	}
}

// Ensure `login` stores the key in a file that only the user can read. Commands must send the key
// only to the service to which the user logged in, and `logout` must remove it.
func TestLogin(t *testing.T) {
	s, _ := startTestServer(t)
	t.Setenv(keyVariable, "")
	t.Setenv(urlVariable, "")
	requireContains(t, runCommand(t, "", "api", "get_company", "--base-url", s.BaseURL).err, "no key for "+s.BaseURL, keyVariable, "workspace login")
	requireContains(t, runRefused(t, 1, "", "login", "--base-url", s.BaseURL), "no key on standard input")
	requireContains(t, runRefused(t, 1, "pk_live_x", "login", "--base-url", s.BaseURL), "publishable")
	requireContains(t, runCommand(t, "sk_live_nope", "login", "--base-url", s.BaseURL).err, "unauthorised (401)", "the key on standard input")
	r := runCommand(t, s.Key+"\n", "login", "--base-url", s.BaseURL+"/", "--json")
	var login struct{ BaseURL, CompanyID, File string }
	if err := json.Unmarshal([]byte(r.out), &login); err != nil || r.code != 0 {
		t.Fatalf("login: want exit code 0 and JSON: %v: %+v", err, r)
	}
	if login.CompanyID != s.CompanyID || login.BaseURL != s.BaseURL {
		t.Fatalf("logged in to %s at %s, want %s at %s", login.CompanyID, login.BaseURL, s.CompanyID, s.BaseURL)
	}
	if strings.Contains(r.out+r.err, s.Key) {
		t.Error("the key is printed")
	}
	requireSecretFile(t, login.File)
	if got := apiJSON(t, "", "get_company"); got["id"] != s.CompanyID {
		t.Errorf("company %v, want %s", got["id"], s.CompanyID)
	}
	seen := 0
	other := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { seen++ }))
	t.Cleanup(other.Close)
	if r := runCommand(t, "", "api", "get_company", "--base-url", other.URL); r.code != 1 || seen > 0 {
		t.Error("the key was sent to another service", r)
	} else {
		requireContains(t, r.err, "workspace login --as NAME --base-url "+other.URL) // a login with --as keeps the stored key
	}
	if r := runCommand(t, s.Key, "login"); r.code != 0 || !strings.Contains(r.out, "service  "+s.BaseURL+"\n") {
		t.Errorf("a second login without --base-url: %+v, want the service of the first", r)
	}
	if err := os.Chmod(login.File, 0o644); err != nil {
		t.Fatal(err)
	}
	requireContains(t, runRefused(t, 1, "", "api", "get_company"), "can be read by others", "chmod 600", "workspace login --base-url URL")
	requireContains(t, runRefused(t, 2, s.Key, "login"), "--base-url: is required", "can be read by others")
	t.Setenv(keyVariable, s.Key) // the service of the login is unknown, so this key is not sent either
	requireContains(t, runRefused(t, 1, "", "api", "get_company"), "can be read by others")
	t.Setenv(keyVariable, "")
	requireFindings(t, runDoctor(t, 1, "--base-url", s.BaseURL), "service", "ok", "key's form", "fail", "key", "skip")
	t.Setenv(keyVariable, s.Key)
	if got := apiJSON(t, "", "get_company", "--base-url", s.BaseURL); got["id"] != s.CompanyID {
		t.Errorf("company %v, want %s", got["id"], s.CompanyID)
	}
	if r := runCommand(t, "", "logout"); r.code != 0 || !strings.Contains(r.out, "removed") {
		t.Errorf("logout: %+v, want exit code 0 and that the key is removed", r)
	}
	requireContains(t, runCommand(t, "", "logout").out, "no key is stored")
}

// Ensure commands need no configuration to use the demo company's key with the server that stores
// its data in the same folder, at whatever address it listens. They never use this key with any
// other server, such as another program on this machine.
func TestDemoKeyHere(t *testing.T) {
	s, data := startTestServer(t)
	t.Setenv(keyVariable, "")
	t.Setenv(urlVariable, "")
	sentKeys := make(chan string, 100)
	stranger := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		if len(r.Header["Authorization"]) > 0 {
			sentKeys <- r.URL.Path
		}
	}))
	t.Cleanup(stranger.Close)
	for _, base := range []string{stranger.URL, strings.Replace(s.BaseURL, "127.0.0.1", "localhost", 1)} {
		refused := runRefused(t, 1, "", "api", "get_company", "--data", data, "--base-url", base)
		requireContains(t, refused, "no key for "+base, "the demo company's key is only for", s.BaseURL)
	}
	t.Setenv(urlVariable, stranger.URL)
	for _, command := range [][]string{{"status"}, {"report"}, {"doctor"}, {"api", "list_feedback"}, {"mcp", "tools"}} {
		if r := runCommand(t, "", append(command, "--data", data)...); r.code == 0 {
			t.Errorf("%s: exit code 0: %s", command, r.out)
		}
	}
	file := filepath.Join(data, "demo-key.json")
	stored, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	old := strings.Replace(string(stored), s.BaseURL, "", 1) // as an earlier version wrote it
	if err := os.WriteFile(file, []byte(old), 0o600); err != nil || old == string(stored) {
		t.Fatal(err, old)
	}
	requireContains(t, runRefused(t, 1, "", "api", "get_company", "--data", data), "which is not known")
	if err := os.WriteFile(file, stored, 0o600); err != nil {
		t.Fatal(err)
	}
	if len(sentKeys) > 0 {
		t.Errorf("the stranger got the key with %s", <-sentKeys)
	}
	t.Setenv(urlVariable, "")
	if got := apiJSON(t, "", "get_company", "--data", data); got["id"] != s.CompanyID {
		t.Errorf("company %v, want %s", got["id"], s.CompanyID)
	}
	requireContains(t, runRefused(t, 1, "", "api", "get_company", "--data", data, "--base-url", "http://service.example"), "no key for http://service.example")
}

// Ensure commands work with a key that lacks the scope company:read. They take the company's id
// from the key itself. If the key has a different format, they request the company from the
// service.
func TestCompanyOfKey(t *testing.T) {
	s, data := startTestServer(t)
	t.Setenv(keyVariable, runJSON(t, data, "", "key", "issue", "--company", s.CompanyID, "--scopes", "plan:read")["key"].(string))
	if got := apiJSON(t, "", "list_plan_boards")["items"].([]any); len(got) == 0 {
		t.Error("no board is listed, want those of the key's company")
	}
	var paths []string
	other := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		paths = append(paths, r.URL.Path)
		fmt.Fprint(w, `{"items":[{"id":"co_7"}]}`)
	}))
	t.Cleanup(other.Close)
	t.Setenv(keyVariable, "another-kind-of-key")
	apiJSON(t, "", "list_plan_boards", "--base-url", other.URL)
	if diff := cmp.Diff([]string{"/v1/companies", "/v1/companies/co_7/plan/boards"}, paths); diff != "" {
		t.Errorf("paths (-want +got):\n%s", diff)
	}
}

// Ensure a preview prints the entity tag for --if-match, and a publish with a different tag fails.
func TestAPIShowsEntityTags(t *testing.T) {
	startTestServer(t)
	board := apiJSON(t, "", "create_plan_board", "--name", "Tagged")["id"].(string)
	preview := runCommand(t, "", "api", "preview_plan_publish", board)
	_, tag, found := strings.Cut(preview.err, "ETag ")
	tag, _, _ = strings.Cut(tag, ",")
	if !found || !strings.HasPrefix(tag, `"`) {
		t.Fatalf("the preview prints no ETag: %s %s", preview.out, preview.err)
	}
	stale := runCommand(t, "", "api", "publish_plan_board", board, "--if-match", `"other"`)
	if requireContains(t, stale.err, "preview again"); stale.code != 1 {
		t.Errorf("another tag: %d %s", stale.code, stale.out)
	}
	if r := runCommand(t, "", "api", "publish_plan_board", board, "--if-match", tag); r.code != 0 {
		t.Errorf("publish with the preview's ETag: exit code %d, want 0: %s %s", r.code, r.out, r.err)
	}
}
