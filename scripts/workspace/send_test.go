//go:build unix

package main

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"os"
	"os/exec"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"growthworkspace/scripts/workspace/terminal"
)

// startServerWithRecords starts a server with a company that has the records in lines. key is a key
// of that company that can only send.
func startServerWithRecords(t *testing.T, lines ...string) (s *server, data, companyID, key string) {
	t.Helper()
	data = dataFolder(t)
	s = startServer(t, data, "--demo=false")
	companyID = companyWith(t, data, lines...)
	key = runJSON(t, data, "", "key", "issue", "--company", companyID, "--scopes", "company:read,broadcast:send,feedback:send")["key"].(string)
	return s, data, companyID, key
}

// duePostOn returns the import line of a post that is due.
func duePostOn(platform, id string) string {
	return fmt.Sprintf(`{"type":"post","record":{"id":%q,"platform":%q,"body":"B","status":"scheduled","scheduledFor":"2020-01-01T00:00:00Z"}}`, id, platform)
}

// statusesOf returns the status of each record of a type in an export.
func statusesOf(t *testing.T, data, companyID, kind, property string) map[string]string {
	t.Helper()
	r := runCommand(t, "", "export", "--company", companyID, "--data", data)
	if r.code != 0 {
		t.Fatalf("export: exit code %d: %s", r.code, r.err)
	}
	out := map[string]string{}
	for line := range strings.Lines(r.out) {
		var entry struct {
			Type   string
			Record map[string]any
		}
		if err := json.Unmarshal([]byte(line), &entry); err != nil {
			t.Fatal(err)
		}
		if entry.Type == kind {
			out[entry.Record["id"].(string)], _ = entry.Record[property].(string)
		}
	}
	return out
}

// Ensure the program's exit code and output decide what `due run` reports. Posts for other platforms
// must not be claimed.
func TestDueRun(t *testing.T) {
	isolateUserFolders(t)
	endings := []struct{ id, script, want, status string }{
		{"pst_ok", `echo '{"externalId":"1790","externalUrl":"https://x.example/1790"}'`, "pst_ok sent 1790 https://x.example/1790", "published"},
		{"pst_empty", `echo '{}'`, "pst_empty sent", "published"},
		{"pst_time", `echo '{"publishedAt":"2026-08-11t09:30:00z"}'`, "pst_time sent", "published"},
		{"pst_failed", `echo '{"outcome":"failed","failureReason":"the account is locked"}'`, "pst_failed failed: the account is locked", "failed"},
		{"pst_long", `printf '{"outcome":"failed","failureReason":"%03000d"}' 7`, "pst_long failed: 000", "failed"},
		{"pst_later", `exit 75`, "pst_later retry", "scheduled"},
		{"pst_exit", `echo '{}'; exit 1`, "pst_exit unknown: exit status 1; the claim clm_", "publishing"},
		{"pst_killed", `kill -9 $$`, "pst_killed unknown: signal: killed; the claim clm_", "publishing"},
		{"pst_silent", `:`, "pst_silent unknown: it printed no outcome: EOF; the claim clm_", "publishing"},
		{"pst_garbled", `echo '{"id":7}'`, `pst_garbled unknown: it printed no outcome: json: unknown field "id"; the claim clm_`, "publishing"},
		{"pst_two", `echo '{} {}'`, "pst_two unknown: it printed no outcome: want one JSON object and nothing else; the claim clm_", "publishing"},
		{"pst_blank", `echo '{"outcome":""}'`, `pst_blank unknown: it printed no outcome: no outcome ""; the claim clm_`, "publishing"},
		{"pst_printed", `echo '{"externalId":"17'; exit 75`, "pst_printed unknown: it ended with 75 after it had printed something; the claim clm_", "publishing"},
		{"pst_both", `echo '{"outcome":"failed","failureReason":"locked","externalId":"1790"}'`, "pst_both unknown: it printed no outcome: the outcome is failed, but there is an externalId", "publishing"},
		{"pst_unnamed", `echo '{"failureReason":"locked"}'`, "pst_unnamed unknown: it printed no outcome: a failureReason needs the outcome failed; the claim clm_", "publishing"},
		{"pst_url", `echo '{"externalUrl":"ftp://x"}'`, "pst_url unknown ftp://x: sent, but the report was not accepted:", "publishing"},
		{"pst_reason", `echo '{"outcome":"failed"}'`, "pst_reason unknown: failed, but the report was not accepted:", "publishing"},
	}
	var lines []string
	script := "read -r record; case $record in\n"
	want := map[string]string{"pst_other": "scheduled", "pst_slow": "publishing"}
	for _, e := range endings {
		lines = append(lines, duePostOn("x", e.id))
		script += fmt.Sprintf("*'\"id\":%q'*claimId*) %s ;;\n", e.id, e.script)
		want[e.id] = e.status
	}
	script += "esac\n"
	lines = append(lines, duePostOn("push", "pst_other"), duePostOn("instagram", "pst_slow"))
	s, data, companyID, key := startServerWithRecords(t, lines...)
	useKey(t, s, key)
	args := []string{"due", "run", "--parallel", "4"}
	r := runCommand(t, "", append(args, "--platform", "instagram", "--timeout", "10ms", "--", "sh", "-c", "sleep 600 & wait")...)
	if r.code != 1 {
		t.Errorf("exit code %d, want 1, because the program did not end: %s", r.code, r.err)
	}
	requireContains(t, r.out, "pst_slow unknown: it ran longer than 10ms; the claim clm_")
	requireContains(t, r.err, "nobody knows what happened to 1 of the posts")
	r = runCommand(t, "", append(args, "--platform", "x", "--timeout", "10m", "--", "sh", "-c", script)...)
	if r.code != 1 {
		t.Errorf("exit code %d, want 1, because some outcomes are unknown: %s", r.code, r.err)
	}
	requireContains(t, r.err, "using the API at "+s.BaseURL, "nobody knows what happened to 11 of the posts", "due stuck --older 0s")
	for _, e := range endings {
		requireContains(t, r.out, e.want)
	}
	if n := strings.Count(r.out, "\n"); n != len(endings) {
		t.Errorf("%d lines, want one for each of %d posts: %s", n, len(endings), r.out)
	}
	if diff := cmp.Diff(want, statusesOf(t, data, companyID, "post", "status")); diff != "" {
		t.Errorf("statuses (-want +got):\n%s", diff)
	}
}

// Ensure a worker can send a post and post a reply with commands only: list, claim, report. A claim
// or report that the record's state does not allow ends with exit code 3.
func TestDue(t *testing.T) {
	isolateUserFolders(t)
	s, data, companyID, key := startServerWithRecords(t, duePostOn("x", "pst_1"), duePostOn("push", "pst_2"),
		`{"type":"post","record":{"id":"pst_3","platform":"x","body":"B","status":"scheduled","scheduledFor":"2999-01-01T00:00:00Z"}}`,
		`{"type":"feedback","record":{"id":"fbk_1","externalId":"1","source":"reddit","replyBody":"Thanks","replyStatus":"approved"}}`)
	useKey(t, s, key)
	due := callJSON(t, "due", "list")
	if diff := cmp.Diff([]string{"pst_2", "pst_1"}, resultIDs(t, due)); diff != "" || due["hasMore"] != false {
		t.Errorf("more %v, due posts (-want +got):\n%s", due["hasMore"], diff)
	}
	requireContains(t, runCommand(t, "", "due", "list").out, "SCHEDULED FOR", "pst_1", companyID, "2020-01-01T00:00:00.000Z")
	if list := callJSON(t, "due", "list", "--limit", "1"); len(resultIDs(t, list)) != 1 || list["hasMore"] != true {
		t.Errorf("a list with one post: %v, want one and more to come", list)
	}
	claimed := callJSON(t, "due", "claim", "pst_1")
	claimID, _ := claimed["claimId"].(string)
	if diff := objectDifference(map[string]any{"id": "pst_1", "status": "publishing", "body": "B"}, claimed); diff != "" || !strings.HasPrefix(claimID, "clm_") {
		t.Errorf("the claim is %q, claimed post (-want +got):\n%s", claimID, diff)
	}
	stuck := callJSON(t, "due", "stuck", "--older", "0s")
	if diff := cmp.Diff(stuck["items"].([]any)[0], any(claimed)); diff != "" {
		t.Errorf("the claimed post (-stuck +claim):\n%s", diff)
	}
	if stuck := callJSON(t, "due", "stuck"); len(resultIDs(t, stuck)) != 0 {
		t.Errorf("stuck posts %v, want none: the claim is new", stuck)
	}
	requireContains(t, runCommand(t, "", "due", "stuck", "--older", "0s").out, "CLAIMED", "pst_1", claimID)
	requireContains(t, runRefused(t, 3, "", "due", "claim", "pst_1"), "post pst_1: the post is publishing")
	requireContains(t, runRefused(t, 3, "", "due", "claim", "pst_3"), "not due before 2999-01-01")
	requireContains(t, runRefused(t, 3, "", "due", "retry", "pst_2", "--claim", claimID), "the post is scheduled")
	requireContains(t, runRefused(t, 1, "", "due", "claim", "pst_9"), "post pst_9: no such record")
	if post := callJSON(t, "due", "failed", "pst_1", "--claim", claimID, "--reason", "locked"); post["status"] != "failed" {
		t.Errorf("the post is %v, want failed", post["status"])
	}
	claimID = callJSON(t, "due", "claim", "pst_1")["claimId"].(string)
	if post := callJSON(t, "due", "published", "pst_1", "--claim", claimID, "--external-id", "7", "--published-at", "2026-08-11T09:30:00Z"); post["status"] != "published" || post["externalId"] != "7" || post["publishedAt"] != "2026-08-11T09:30:00.000Z" {
		t.Errorf("the post is %v, want published at 09:30", post)
	}
	requireContains(t, runRefused(t, 2, "", "approved", "claim", "fbk_1"), "--confirmed-by: name the person")
	requireContains(t, runCommand(t, "", "approved", "list").out, "ADDRESS", "fbk_1", "reddit")
	reply := callJSON(t, "approved", "claim", "fbk_1", "--confirmed-by", "the support lead")
	if diff := objectDifference(map[string]any{"replyStatus": "posting", "replyBody": "Thanks", "confirmedBy": "the support lead"}, reply); diff != "" {
		t.Errorf("claimed reply (-want +got):\n%s", diff)
	}
	requireContains(t, runRefused(t, 3, "", "approved", "claim", "fbk_1", "--confirmed-by", "another"), "feedback fbk_1: the reply is posting")
	if len(resultIDs(t, callJSON(t, "approved", "stuck", "--older", "0s"))) != 1 {
		t.Error("the claimed reply is not stuck")
	}
	if r := callJSON(t, "approved", "posted", "fbk_1", "--claim", reply["claimId"].(string)); r["replyStatus"] != "posted" {
		t.Errorf("the reply is %v, want posted", r["replyStatus"])
	}
	if r := runCommand(t, "", "due", "list", "--company", "co_00000000000000000000000000"); r.code != 1 || !strings.Contains(r.err, "not_found") {
		t.Errorf("another company: exit code %d, want 1 and not_found: %s", r.code, r.err)
	}
	t.Setenv(keyVariable, runJSON(t, data, "", "key", "issue", "--company", companyID, "--scopes", "broadcast:write")["key"].(string))
	if r := runCommand(t, "", "due", "list"); r.code != 1 || !strings.Contains(r.err, "broadcast:send") {
		t.Errorf("a key that cannot send: exit code %d, want 1 and the scope: %s", r.code, r.err)
	}
}

// Ensure `due stuck --older 0s` lists every claim on a machine whose clock is behind the service's.
func TestStuckWithSlowClock(t *testing.T) {
	isolateUserFolders(t)
	s, _, _, key := startServerWithRecords(t, duePostOn("x", "pst_1"))
	useKey(t, s, key)
	if r := runCommand(t, "", "due", "claim", "pst_1"); r.code != 0 {
		t.Fatalf("claim: exit code %d: %s", r.code, r.err)
	}
	var out bytes.Buffer
	behind := func() time.Time { return time.Now().Add(-time.Hour) }
	root := rootCommand(&terminal.Terminal{In: strings.NewReader(""), Out: &out, Err: t.Output(), Now: behind})
	root.SetArgs([]string{"due", "stuck", "--older", "0s"})
	if err := root.ExecuteContext(t.Context()); err != nil || !strings.Contains(out.String(), "pst_1") {
		t.Errorf("claims of any age: %v, %q, want pst_1", err, &out)
	}
}

// Ensure `due` with several profiles lists and sends the posts of each profile's company. A command on
// one record needs one profile, and suggests commands with it.
func TestDueOfSeveralCompanies(t *testing.T) {
	isolateUserFolders(t)
	s, data, first, key := startServerWithRecords(t, duePostOn("x", "pst_1"), duePostOn("x", "pst_3"))
	second := companyWith(t, data, duePostOn("x", "pst_2"))
	secondKey := runJSON(t, data, "", "key", "issue", "--company", second, "--scopes", "company:read,broadcast:send")["key"].(string)
	for profile, key := range map[string]string{"client-1": key, "client-2": secondKey} {
		if r := runCommand(t, key, "login", "--as", profile, "--base-url", s.BaseURL); r.code != 0 {
			t.Fatalf("login: exit code %d: %s", r.code, r.err)
		}
	}
	list := callJSON(t, "due", "list", "--profile", "client-1,client-2", "--limit", "1")
	if diff := cmp.Diff([]string{"pst_3", "pst_2"}, resultIDs(t, list)); diff != "" || list["hasMore"] != true {
		t.Errorf("more %v, due posts (-want +got):\n%s", list["hasMore"], diff)
	}
	r := runCommand(t, "", "due", "claim", "pst_3", "--profile", "client-1")
	requireContains(t, r.out, "workspace due published pst_3 --claim clm_", " --profile client-1")
	r = runCommand(t, "", "due", "run", "--platform", "x", "--profile", "client-1", "--profile", "client-2", "--", "sh", "-c", "echo '{}'")
	if r.code != 0 || r.out != "pst_1 sent\npst_2 sent\n" {
		t.Errorf("exit code %d, want 0 and both posts sent: %s%s", r.code, r.out, r.err)
	}
	requireContains(t, r.err, "using the API at "+s.BaseURL+" with the key of the profile client-1", "with the key of the profile client-2")
	requireContains(t, runCommand(t, "", "due", "stuck", "--older", "0s", "--profile", "client-2,client-1").out, "pst_3", first)
	requireContains(t, runRefused(t, 2, "", "due", "claim", "pst_3", "--profile", "client-1,client-2"), "--profile: name one profile")
	requireContains(t, runRefused(t, 2, "", "due", "list", "--profile", "client-1,client-2", "--company", first), "--company: cannot be combined with several profiles")
	requireContains(t, runRefused(t, 2, "", "due", "list", "--profile", "client-1,client-1"), "names client-1 twice")
}

// Ensure `approved run` posts only what a person has confirmed: it refuses to run if there is
// neither a terminal nor --confirmed-by, stores the name with the claim, and posts the reply that
// was claimed.
func TestApprovedRun(t *testing.T) {
	isolateUserFolders(t)
	approvedReply := func(id, source string) string {
		return fmt.Sprintf(`{"type":"feedback","record":{"id":%q,"externalId":%q,"source":%q,"title":"Slow","body":"It is slow.","replyBody":"Thanks","replyStatus":"approved"}}`, id, id, source)
	}
	s, data, companyID, key := startServerWithRecords(t, approvedReply("fbk_1", "google_play"), approvedReply("fbk_2", "google_play"), approvedReply("fbk_3", "reddit"))
	useKey(t, s, key)
	run := []string{"approved", "run", "--source", "google_play"}
	program := []string{"--", "sh", "-c", `read -r record; case $record in *'"id":"fbk_1"'*Thanks*confirmedBy*lead*) echo '{}';; *) echo '{"outcome":"failed"}';; esac`}
	requireContains(t, runRefused(t, 2, "", append(run, program...)...), "a person confirms each text")
	r := runCommand(t, "", append(append(run, "--confirmed-by", "the support lead"), program...)...)
	if r.code != 0 {
		t.Errorf("exit code %d: %s", r.code, r.err)
	}
	requireContains(t, r.err, "the texts are confirmed by the support lead")
	want := map[string]string{"fbk_1": "posted", "fbk_2": "failed", "fbk_3": "approved"}
	if diff := cmp.Diff(want, statusesOf(t, data, companyID, "feedback", "replyStatus")); diff != "" {
		t.Errorf("statuses (-want +got):\n%s", diff)
	}
}

// Ensure `approved run` at a terminal shows each review with its reply, and posts only those that
// the person confirms. The others stay approved.
func TestApprovedRunAsks(t *testing.T) {
	isolateUserFolders(t)
	var lines []string
	for n := range 3 {
		lines = append(lines, fmt.Sprintf(`{"type":"feedback","record":{"id":"fbk_%d","externalId":"%d","source":"reddit","priority":%d,"body":"Review %d","replyBody":"Reply %d","replyStatus":"approved"}}`, n, n, n, n, n))
	}
	s, data, companyID, key := startServerWithRecords(t, lines...)
	useKey(t, s, key)
	var out, errOut bytes.Buffer
	root := rootCommand(&terminal.Terminal{In: strings.NewReader("n\ny\nno\n"), Out: &out, Err: &errOut, Interactive: true, Now: time.Now})
	root.SetArgs([]string{"approved", "run", "--source", "reddit", "--", "sh", "-c", "echo '{}'"})
	if err := root.ExecuteContext(t.Context()); err != nil {
		t.Error(err)
	}
	if out.String() != "fbk_1 sent\n" {
		t.Errorf("output %q, want that fbk_1 is sent", &out)
	}
	for n := range 3 {
		requireContains(t, errOut.String(), fmt.Sprintf("Review %d", n), fmt.Sprintf("Reply %d\n\nPost this reply? [y/N] ", n))
	}
	want := map[string]string{"fbk_0": "approved", "fbk_1": "posted", "fbk_2": "approved"}
	if diff := cmp.Diff(want, statusesOf(t, data, companyID, "feedback", "replyStatus")); diff != "" {
		t.Errorf("statuses (-want +got):\n%s", diff)
	}
}

// Ensure `approved run --on-unknown retry` at a terminal posts a reply again only if the person
// confirms it.
func TestApprovedRunAsksAgain(t *testing.T) {
	isolateUserFolders(t)
	s, data, companyID, key := startServerWithRecords(t,
		`{"type":"feedback","record":{"id":"fbk_1","externalId":"1","source":"reddit","replyBody":"Thanks","replyStatus":"approved"}}`)
	useKey(t, s, key)
	callJSON(t, "approved", "claim", "fbk_1", "--confirmed-by", "the support lead")
	for _, c := range []struct{ reply, want, status string }{{"n\n", "", "posting"}, {"y\n", "fbk_1 sent\n", "posted"}} {
		var out, errOut bytes.Buffer
		later := func() time.Time { return time.Now().Add(time.Hour) }
		root := rootCommand(&terminal.Terminal{In: strings.NewReader(c.reply), Out: &out, Err: &errOut, Interactive: true, Now: later})
		root.SetArgs([]string{"approved", "run", "--source", "reddit", "--on-unknown", "retry", "--", "sh", "-c", "echo '{}'"})
		if err := root.ExecuteContext(t.Context()); err != nil {
			t.Error(err)
		}
		requireContains(t, errOut.String(), "Nobody knows whether this reply was posted.", "Thanks\n\nPost this reply? [y/N] ")
		if out.String() != c.want {
			t.Errorf("reply %q: output %q, want %q", c.reply, &out, c.want)
		}
		if diff := cmp.Diff(map[string]string{"fbk_1": c.status}, statusesOf(t, data, companyID, "feedback", "replyStatus")); diff != "" {
			t.Errorf("reply %q: statuses (-want +got):\n%s", c.reply, diff)
		}
	}
}

// killPoint is when a test kills a process: at the n-th request, either before the request reaches
// its server or after the server has responded.
type killPoint struct {
	n     int
	after bool
}

// killer kills a process at a kill point.
type killer struct {
	mu           sync.Mutex
	at           killPoint
	delay        time.Duration // if not zero, the response is sent, and the process is killed this long after the kill point
	requestCount int
	process      *os.Process
	killed       bool
}

// serveOrKill calls the handler. At the kill point, it kills the process before or after the call.
// If the process is killed before the call, the request does not reach the handler. If it is killed
// after the call, the response does not reach the process.
func (k *killer) serveOrKill(w http.ResponseWriter, r *http.Request, handler http.Handler) {
	k.mu.Lock()
	k.requestCount++
	atKillPoint := k.process != nil && k.requestCount == k.at.n
	k.mu.Unlock()
	if atKillPoint && !k.at.after {
		k.kill()
		panic(http.ErrAbortHandler)
	}
	response := httptest.NewRecorder()
	handler.ServeHTTP(response, r)
	if atKillPoint && k.delay > 0 {
		time.AfterFunc(k.delay, k.kill)
	} else if atKillPoint {
		k.kill()
		panic(http.ErrAbortHandler)
	}
	maps.Copy(w.Header(), response.Header())
	w.WriteHeader(response.Code)
	_, _ = w.Write(response.Body.Bytes()) // an error means that the process is dead
}

func (k *killer) kill() {
	k.mu.Lock()
	defer k.mu.Unlock()
	if k.process == nil {
		return // the process has exited
	}
	k.killed = true
	_ = k.process.Kill() // an error means that the process has exited
}

// Ensure each platform receives each post at most once, no matter when `due run` is killed. Each
// post must end up published, or be listed by `due stuck` until a person reports its outcome. The
// processes are killed before and after each request to the API and to the platform.
func TestDueRunThroughKills(t *testing.T) {
	isolateUserFolders(t)
	s, data, companyID, key := startServerWithRecords(t)
	service, err := url.Parse(s.BaseURL)
	if err != nil {
		t.Fatal(err)
	}
	k := &killer{}
	received := map[string]int{}
	platform := http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		var post struct{ ID, ClaimID string }
		if err := json.NewDecoder(r.Body).Decode(&post); err != nil || post.ID == "" || post.ClaimID == "" {
			t.Errorf("the platform received no post with a claim: %v", err)
		}
		k.mu.Lock()
		received[post.ID]++
		k.mu.Unlock()
		fmt.Fprintf(w, `{"externalId":%q}`, "at-"+post.ID)
	})
	serve := func(h http.Handler) string {
		server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) { k.serveOrKill(w, r, h) }))
		t.Cleanup(server.Close)
		return server.URL
	}
	proxyURL, platformURL := serve(httputil.NewSingleHostReverseProxy(service)), serve(platform)
	runOnce := func(at killPoint) (killed bool, out string) {
		t.Helper()
		cmd := exec.Command(os.Args[0], "due", "run", "--platform", "x", "--", os.Args[0])
		cmd.Env = append(os.Environ(), asCommandVariable+"=1", asSenderVariable+"="+platformURL, keyVariable+"="+key, urlVariable+"="+proxyURL, memoryVariable+"=")
		var text bytes.Buffer
		cmd.Stdout, cmd.Stderr = &text, &text
		k.mu.Lock()
		k.at, k.requestCount, k.killed = at, 0, false
		err := cmd.Start()
		k.process = cmd.Process
		k.mu.Unlock()
		if err != nil {
			t.Fatal(err)
		}
		err = cmd.Wait()
		k.mu.Lock()
		defer k.mu.Unlock()
		k.process = nil
		if err != nil && !k.killed {
			t.Errorf("%+v: %v: %s", at, err, &text)
		}
		return k.killed, text.String()
	}
	posts := 0
	for n, survived := 1, 0; survived < 2; n++ {
		survived = 0
		for _, after := range []bool{false, true} {
			posts++
			if r := runCommand(t, duePostOn("x", fmt.Sprintf("pst_%d", posts)), "import", "--company", companyID, "-", "--data", data); r.code != 0 {
				t.Fatalf("import: %s", r.err)
			}
			if killed, _ := runOnce(killPoint{n, after}); !killed {
				survived++
			}
		}
		if n > 30 {
			t.Fatal("the requests of a run have no end")
		}
	}
	runOnce(killPoint{}) // sends the posts that no killed process had claimed
	useKey(t, s, key)
	stuck := resultIDs(t, callJSON(t, "due", "stuck", "--older", "0s"))
	for id, status := range statusesOf(t, data, companyID, "post", "status") {
		switch k.mu.Lock(); {
		case received[id] > 1:
			t.Errorf("%s was received %d times", id, received[id])
		case status == "published" && received[id] != 1, status == "publishing" && !slices.Contains(stuck, id), status != "published" && status != "publishing":
			t.Errorf("%s is %s and was received %d times; want it published after one, or stuck: %q", id, status, received[id], stuck)
		}
		k.mu.Unlock()
	}
	if len(stuck) < 3 || len(stuck) >= posts {
		t.Errorf("%d of %d posts are stuck, want some: the kills missed their moments", len(stuck), posts)
	}
}

// Ensure a signal to stop does not interrupt a claim that has begun. `due run` sends the post that
// it has claimed, claims nothing more, and exits without an error.
func TestDueRunStopsDuringClaim(t *testing.T) {
	isolateUserFolders(t)
	s, data, companyID, key := startServerWithRecords(t, duePostOn("x", "pst_1"), duePostOn("x", "pst_2"))
	service, err := url.Parse(s.BaseURL)
	if err != nil {
		t.Fatal(err)
	}
	ctx, stop := context.WithCancel(t.Context())
	defer stop()
	proxy := httputil.NewSingleHostReverseProxy(service)
	proxy.ModifyResponse = func(r *http.Response) error { // for a claim, stop after the service has made it and before the command gets the response
		if strings.HasSuffix(r.Request.URL.Path, "/claim") {
			stop()
		}
		return nil
	}
	proxyServer := httptest.NewServer(proxy)
	t.Cleanup(proxyServer.Close)
	t.Setenv(keyVariable, key)
	t.Setenv(urlVariable, proxyServer.URL)
	var out bytes.Buffer
	root := rootCommand(&terminal.Terminal{In: strings.NewReader(""), Out: &out, Err: t.Output(), Now: time.Now})
	root.SetArgs([]string{"due", "run", "--platform", "x", "--", "sh", "-c", "echo '{}'"})
	if err := root.ExecuteContext(ctx); err != nil {
		t.Errorf("a run that is told to stop: %v", err)
	}
	statuses := slices.Sorted(maps.Values(statusesOf(t, data, companyID, "post", "status")))
	if diff := cmp.Diff([]string{"published", "scheduled"}, statuses); diff != "" || strings.Count(out.String(), " sent\n") != 1 {
		t.Errorf("statuses (-want +got), and output %q:\n%s", &out, diff)
	}
}

// Ensure `due run` repeats a report whose response is lost, so that a post that was sent ends up
// published. If the response to a claim is lost, `due run` sends nothing, and says that the post
// may be claimed.
func TestDueRunWithoutResponse(t *testing.T) {
	isolateUserFolders(t)
	s, data, companyID, key := startServerWithRecords(t, duePostOn("x", "pst_1"))
	service, err := url.Parse(s.BaseURL)
	if err != nil {
		t.Fatal(err)
	}
	lost, requests := "", map[string]int{} // lost is the suffix of the paths whose first response is lost
	proxy := httputil.NewSingleHostReverseProxy(service)
	proxy.ModifyResponse = func(r *http.Response) error {
		end := path.Base(r.Request.URL.Path)
		if requests[end]++; end == lost && requests[end] == 1 {
			r.Body = io.NopCloser(strings.NewReader("cut off"))
			r.ContentLength = int64(len("cut off"))
			r.Header.Set("Content-Length", fmt.Sprint(r.ContentLength))
		}
		return nil
	}
	proxyServer := httptest.NewServer(proxy)
	t.Cleanup(proxyServer.Close)
	t.Setenv(keyVariable, key)
	t.Setenv(urlVariable, proxyServer.URL)
	run := []string{"due", "run", "--platform", "x", "--", "sh", "-c", `echo '{"externalId":"1790"}'`}
	lost = "report"
	r := runCommand(t, "", run...)
	if r.code != 0 || r.out != "pst_1 sent 1790\n" || requests["report"] != 2 {
		t.Errorf("exit code %d after %d reports, want 0 after 2: %s%s", r.code, requests["report"], r.out, r.err)
	}
	if r := runCommand(t, duePostOn("x", "pst_2"), "import", "--company", companyID, "-", "--data", data); r.code != 0 {
		t.Fatalf("import: %s", r.err)
	}
	lost, requests = "claim", map[string]int{}
	r = runCommand(t, "", run...)
	if r.code != 1 || r.out != "" {
		t.Errorf("without a response to the claim: exit code %d, want 1 and nothing sent: %s", r.code, r.out)
	}
	requireContains(t, r.err, "post pst_2: ", "if it is claimed, nothing sends it, and `", "due stuck --older 0s` lists it")
	if diff := cmp.Diff(map[string]string{"pst_1": "published", "pst_2": "publishing"}, statusesOf(t, data, companyID, "post", "status")); diff != "" {
		t.Errorf("statuses (-want +got):\n%s", diff)
	}
}

// Ensure `--on-unknown retry` runs the program again with the same claim once the claim is old
// enough, and not before. The claim stays unless the program says that it has sent the post.
func TestDueRunRetriesUnknown(t *testing.T) {
	isolateUserFolders(t)
	s, data, companyID, key := startServerWithRecords(t, duePostOn("x", "pst_1"))
	useKey(t, s, key)
	records := filepath.Join(t.TempDir(), "records")
	run := func(after time.Duration, script string) (out string, err error) {
		var text bytes.Buffer
		root := rootCommand(&terminal.Terminal{In: strings.NewReader(""), Out: &text, Err: t.Output(), Now: func() time.Time { return time.Now().Add(after) }})
		root.SetArgs([]string{"due", "run", "--platform", "x", "--on-unknown", "retry", "--timeout", "30m", "--", "sh", "-c", "cat >> " + records + "; " + script})
		err = root.ExecuteContext(t.Context())
		return text.String(), err
	}
	if _, err := run(0, "exit 1"); err == nil {
		t.Error("an unknown outcome is no failure")
	}
	if out, err := run(time.Minute, "echo '{}'"); err != nil || out != "" {
		t.Errorf("the program of a claim may still run, and was started again: %v, %s", err, out)
	}
	if out, err := run(time.Hour, "exit 75"); err == nil || !strings.Contains(out, "pst_1 unknown: it sent nothing now, but may have before") {
		t.Errorf("a retry that sends nothing: %v, %s, want that the claim stays", err, out)
	}
	if out, err := run(time.Hour, `echo '{"outcome":"failed","failureReason":"token expired"}'`); err == nil || !strings.Contains(out, "pst_1 unknown: it failed now, but may have been sent before: token expired") {
		t.Errorf("a retry that fails: %v, %s, want that the claim stays", err, out)
	}
	if _, err := run(time.Hour, "echo '{}'"); err != nil {
		t.Errorf("a retry with the same claim: %v", err)
	}
	text, err := os.ReadFile(records)
	if err != nil {
		t.Fatal(err)
	}
	claims := map[string]int{}
	for line := range strings.Lines(string(text)) {
		var post struct{ ClaimID string }
		if err := json.Unmarshal([]byte(line), &post); err != nil {
			t.Fatal(err)
		}
		claims[post.ClaimID]++
	}
	if len(claims) != 1 || slices.Collect(maps.Values(claims))[0] != 4 {
		t.Errorf("claims %v of the four attempts, want the same", claims)
	}
	if diff := cmp.Diff(map[string]string{"pst_1": "published"}, statusesOf(t, data, companyID, "post", "status")); diff != "" {
		t.Errorf("statuses (-want +got):\n%s", diff)
	}
}

// Ensure wrong usage of the commands that run a program prints a one-line error and claims nothing.
func TestRunUsage(t *testing.T) {
	t.Parallel()
	for args, want := range map[string]string{
		"due run":                                              "--platform: must be one of x, instagram",
		"due run --platform fax -- true":                       "--platform: must be one of x, instagram",
		"due run --platform x":                                 "name the program and its arguments after --",
		"due run --platform x true":                            "name the program and its arguments after --",
		"due run --platform x -- no-such-program-here":         "no-such-program-here",
		"due run --platform x --every soon -- true":            "--every: must be a length of time",
		"due run --platform x --timeout 0s -- true":            "--timeout: must be a length of time",
		"due run --platform x --parallel 0 -- true":            "--parallel: must be 1 to 64",
		"due run --platform x --on-unknown hope -- true":       "--on-unknown: must be keep or retry",
		"approved run --source x -- true":                      "--source: must be one of app_store, google_play, reddit",
		"approved run --source reddit -- true":                 "a person confirms each text",
		"approved run --source reddit --every 1m -- true":      "unknown flag: --every",
		"due run --platform x --confirmed-by somebody -- true": "unknown flag: --confirmed-by",
	} {
		r := runCommand(t, "", strings.Fields(args)...)
		requireUsage(t, args, r)
		requireContains(t, r.err, want)
	}
}
