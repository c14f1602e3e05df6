package main

import (
	"bytes"
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
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

// startTestServer starts a server, and sets the environment variables from which commands read its
// URL and key.
func startTestServer(t *testing.T) (s *server, data string) {
	t.Helper()
	isolateUserFolders(t)
	data = dataFolder(t)
	s = startServer(t, data)
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

// firstID returns a value for the next id in the path of an operation. It is the id of the first
// record in the matching list. For example, for …/plan/boards/{boardId}/items it is the first id
// that list_plan_boards returns. args are the ids that come earlier in the path.
func firstID(t *testing.T, path string, args []string) string {
	t.Helper()
	if strings.HasSuffix(path, "/plan/items/{itemId}") { // items are listed by board
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
// of the request. It uses the ids of records that exist.
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
		if !strings.Contains(op.ID, "key") && !reflect.DeepEqual(got, body) { // every request changes the lastUsedAt of its key, so responses about keys differ
			t.Errorf("%s: %v instead of %v", op.ID, got, body)
		}
		r := runCommand(t, "", append([]string{"api", op.ID}, args...)...)
		lines := strings.Count(r.out, "\n")
		if r.code != 0 || strings.Contains(r.out, "{}") {
			t.Errorf("%s: exit code %d, or an empty object is shown: %s %s", op.ID, r.code, r.out, r.err)
		}
		if op.IsList() {
			if records := len(got["items"].([]any)); lines != records+1 {
				t.Errorf("%s: %d lines, want a heading and %d records: %s", op.ID, lines, records, r.out)
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
	if got := apiJSON(t, "", "delete_plan_item", id); got["deleted"] != true {
		t.Errorf("deleted is %v, want true", got["deleted"])
	}
	kind := apiJSON(t, "", "create_context_content_type", "--name", "Note", "--active", "false")
	if kind["active"] != false {
		t.Errorf("active is %v, want false", kind["active"])
	}
	file := filepath.Join(t.TempDir(), "points.json")
	body := `{"points":[{"metricKey":"growth.signups","ts":"2026-08-10","value":1.5}]}`
	if err := os.WriteFile(file, []byte(body), 0o600); err != nil {
		t.Fatal(err)
	}
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
	file := filepath.Join(t.TempDir(), "findings.json")
	if err := os.WriteFile(file, []byte(large), 0o600); err != nil {
		t.Fatal(err)
	}
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

// Ensure a command that deletes a record asks for confirmation at a terminal, and deletes only
// after the reply yes. It does not ask with --yes or without a terminal.
func TestAPIDeleteAsks(t *testing.T) {
	startTestServer(t)
	board := apiJSON(t, "", "list_plan_boards")["items"].([]any)[0].(map[string]any)["id"].(string)
	for _, c := range []struct {
		reply       string
		asks        bool
		flags       []string
		asked, gone bool
	}{
		{reply: "n\n", asks: true, asked: true},
		{reply: "", asks: true, asked: true},
		{reply: "Yes\n", asks: true, asked: true, gone: true},
		{asks: true, flags: []string{"--yes"}, gone: true},
		{gone: true},
	} {
		id := apiJSON(t, "", "create_plan_item", board, "--title", "Short-lived")["id"].(string)
		var out, errOut bytes.Buffer
		screen := &terminal.Terminal{In: strings.NewReader(c.reply), Out: &out, Err: &errOut, Interactive: c.asks, Now: time.Now}
		root := rootCommand(screen)
		root.SetArgs(append([]string{"api", "delete_plan_item", id}, c.flags...))
		err := root.ExecuteContext(t.Context())
		question := "Delete an item: --item-id " + id + ". This cannot be undone. Continue? [y/N]"
		if strings.Contains(errOut.String(), question) != c.asked || (err == nil) != c.gone {
			t.Errorf("%+v: error %v: %s", c, err, errOut.String())
		}
		if r := runCommand(t, "", "api", "get_plan_item", id); (r.code != 0) != c.gone {
			t.Errorf("%+v: the item afterwards: %+v", c, r)
		}
	}
	if help := runCommand(t, "", "api", "update_plan_item", "--help").out; strings.Contains(help, "--yes") {
		t.Error("an update has --yes")
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

// Ensure a command prints an error response as JSON with --json. Without --json, it prints each
// message on its own line, with a flag instead of the field's path, and the request id on the last
// line.
func TestAPIErrors(t *testing.T) {
	startTestServer(t)
	r := runCommand(t, "", "api", "create_plan_item", "brd_0", "--title", "", "--status", "live")
	lines := strings.Split(strings.TrimSpace(r.err), "\n")
	starts := []string{"workspace: bad_request (400)", "  --title: ", "  --status: ", "  request req_"}
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
		"api list_feedback --limit 1 --limit 2":                   {"is given twice"},
		"api update_plan_item itm_1":                              {"nothing to change: give at least one of --title, --summary, ", "--clear or --input"},
		"api update_company --if-match x":                         {"nothing to change: give at least one of --name, "},
		"api update_plan_item itm_1 --sort-order many":            {"must be a whole number"},
		"api update_plan_item itm_1 --sort-order 1,2":             {"must be a whole number"},
		"api create_context_content_type --name x --active maybe": {"must be true or false"},
		"api push_metric_points --points x":                       {"must be a JSON object, or an array of them"},
		"api push_metric_points --input - --points {}":            {"--input has the whole body: leave out --points"},
		"login now":                         {`too many arguments`},
		"login --base-url nowhere":          {"--base-url: must be a URL"},
		"logout now":                        {`too many arguments`},
		"doctor now":                        {`too many arguments`},
		"check":                             {"name the BASE_URL"},
		"check nowhere":                     {"BASE_URL must be a URL"},
		"check http://127.0.0.1:1 --rule x": {`no rule "x"`, "one-company", "retry-after"},
		"check http://x --rule paging":      {`no rule "paging"`},
	} {
		r := runCommand(t, "", strings.Fields(args)...)
		requireUsage(t, args, r)
		requireContains(t, r.err, parts...)
		requireContains(t, runRefused(t, 2, "", strings.Fields(args)...), parts...)
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
		help := runCommand(t, "", "api", op.ID, "--help")
		requireContains(t, help.out, op.Path, "Examples:", "workspace api "+op.ID)
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
			requireContains(t, help.out, "--"+name, strings.ReplaceAll(f.Doc, "`", ""))
			for _, value := range f.Enum {
				requireContains(t, flag.Usage, value)
			}
			if flag.DefValue != f.Default {
				t.Errorf("%s: the default of --%s is %q", op.ID, name, flag.DefValue)
			}
		}
	}
	for _, command := range []string{"api", "studio", "login", "logout", "doctor", "check"} {
		requireContains(t, runCommand(t, "", command, "--help").out, "Examples:", "workspace "+command)
	}
	points := runCommand(t, "", "api", "push_metric_points", "--help").out
	requireContains(t, points, "The fields of an object of --points:", "  metricKey  string  ", "  ts         string  ", "  value      number  in the unit of the definition; required",
		"one of day, week, month", `--points '{"metricKey":"...","ts":"...","value":0}'`)
	requireContains(t, runCommand(t, "", "api", "push_feedback", "--help").out, "  externalId   string  ", `--records '{"source":"app_store","externalId":"..."}'`)
	if all, operations := runJSON(t, t.TempDir(), "", "api")["items"].([]any), functions.Operations(nil); len(all) != len(operations) {
		t.Errorf("%d operations are listed, want %d", len(all), len(operations))
	}
}

// Ensure shell completion offers the operations and the values of enum fields.
func TestAPICompletion(t *testing.T) {
	t.Parallel()
	requireContains(t, runCommand(t, "", "__complete", "api", "list_pl").out, "list_plan_boards\t", "list_plan_items\t")
	requireContains(t, runCommand(t, "", "__complete", "api", "list_feedback", "--reply-status", "").out, "needs_review\n", "skipped\n")
	requireContains(t, runCommand(t, "", "__complete", "api", "create_context_content_type", "--active", "").out, "true\nfalse\n")
	requireContains(t, runCommand(t, "", "__complete", "api", "create_plan_item", "--tit").out, "--title")
	requireContains(t, runCommand(t, "", "__complete", "check", "http://x", "--rule", "list").out, "list-shape\n")
}

// Ensure login stores the key in a file that only the user can read. Commands send the key only to
// the service to which the user logged in, and logout removes it.
func TestLogin(t *testing.T) {
	s, _ := startTestServer(t)
	t.Setenv(keyVariable, "")
	t.Setenv(urlVariable, "")
	requireContains(t, runCommand(t, "", "api", "get_company", "--base-url", s.BaseURL).err, "no key for "+s.BaseURL, keyVariable, "workspace login")
	requireContains(t, runRefused(t, 1, "", "login", "--base-url", s.BaseURL), "no key on standard input")
	requireContains(t, runRefused(t, 1, "pk_live_x", "login", "--base-url", s.BaseURL), "publishable")
	requireContains(t, runCommand(t, "sk_live_nope", "login", "--base-url", s.BaseURL).err, "unauthorised (401)", "the key on standard input")
	r := runCommand(t, s.Key+"\n", "login", "--base-url", s.BaseURL+"/", "--json")
	var in struct{ BaseURL, CompanyID, File string }
	if err := json.Unmarshal([]byte(r.out), &in); err != nil || r.code != 0 {
		t.Fatalf("login: want exit code 0 and JSON: %v: %+v", err, r)
	}
	if in.CompanyID != s.CompanyID || in.BaseURL != s.BaseURL {
		t.Fatalf("logged in to %s at %s, want %s at %s", in.CompanyID, in.BaseURL, s.CompanyID, s.BaseURL)
	}
	if strings.Contains(r.out+r.err, s.Key) {
		t.Error("the key is printed")
	}
	requireSecretFile(t, in.File)
	if got := apiJSON(t, "", "get_company"); got["id"] != s.CompanyID {
		t.Errorf("company %v, want %s", got["id"], s.CompanyID)
	}
	seen := 0
	other := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { seen++ }))
	t.Cleanup(other.Close)
	if r := runCommand(t, "", "api", "get_company", "--base-url", other.URL); r.code != 1 || seen > 0 {
		t.Error("the key was sent to another service", r)
	}
	if err := os.Chmod(in.File, 0o644); err != nil {
		t.Fatal(err)
	}
	requireContains(t, runRefused(t, 1, "", "api", "get_company"), "can be read by others", "chmod 600")
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

// Ensure commands need no configuration to use the demo company's key with a server on this
// machine. They never use this key with any other server.
func TestDemoKeyHere(t *testing.T) {
	s, data := startTestServer(t)
	t.Setenv(keyVariable, "")
	if got := apiJSON(t, "", "get_company", "--data", data); got["id"] != s.CompanyID {
		t.Errorf("company %v, want %s", got["id"], s.CompanyID)
	}
	requireContains(t, runRefused(t, 1, "", "api", "get_company", "--data", data, "--base-url", "http://service.example"), "no key for http://service.example")
}

// Ensure commands work with a key that lacks the scope company:read, because the key contains its
// company's id. For a key in a different format, they request the company from the service.
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
	board := apiJSON(t, "", "list_plan_boards")["items"].([]any)[0].(map[string]any)["id"].(string)
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
