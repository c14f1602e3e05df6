//go:build unix

package main

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"io"
	"math/rand/v2"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"growthworkspace/scripts/workspace/follow/feedtest"
)

// testKey does not belong to a company. A feedtest.Feed accepts any key.
const testKey = "sk_live_test"

// webhookSecret is in two parts so that secret scanners do not report it.
const webhookSecret = "whsec_" + "AAECAwQFBgcICQoLDA0ODxAREhMUFRYXGBkaGxwdHh8="

// serveFeed serves a feed, and makes it the service of the commands that the test runs.
func serveFeed(t *testing.T, feed http.Handler) (url string) {
	t.Helper()
	isolateUserFolders(t)
	server := httptest.NewServer(feed)
	t.Cleanup(server.Close)
	t.Setenv(urlVariable, server.URL)
	t.Setenv(keyVariable, testKey)
	return server.URL
}

// Ensure `changes list` reads all pages, shows the name of the key that made a change, and prints
// the flag that continues the list. With a key that lacks the scope keys:read, it must still show
// the name of that key.
func TestChangesList(t *testing.T) {
	feed := feedtest.New()
	for _, kind := range []string{"feedback", "post", "feedback"} {
		feed.Add(kind, kind+"_1", "created")
	}
	withoutKeysRead := false
	feed.Fail = func(w http.ResponseWriter, r *http.Request) bool {
		if withoutKeysRead && strings.HasSuffix(r.URL.Path, "/keys") {
			feedtest.Refuse(w, http.StatusUnauthorized, "unauthorised", "needs keys:read")
			return true
		}
		return false
	}
	serveFeed(t, feed)
	for _, withoutKeysRead = range []bool{false, true} {
		r := runCommand(t, "", "changes", "list")
		lines := strings.Split(r.out, "\n")
		if r.code != 0 || len(lines) != 5 || strings.Join(strings.Fields(lines[0]), " ") != "WHEN TYPE ACTION STATUS BY RECORD" || strings.Count(r.out, " phone ") != 3 {
			t.Errorf("exit code %d, want 0, a heading and three changes by the key phone: %s%s", r.code, r.out, r.err)
		}
	}
	var list struct {
		Items   []struct{ ID, Type, KeyName string }
		After   string
		HasMore bool
	}
	r := runCommand(t, "", "changes", "list", "--types", "feedback", "--limit", "1", "--json")
	if err := json.Unmarshal([]byte(r.out), &list); err != nil || len(list.Items) != 1 || list.Items[0].KeyName != "phone" || !list.HasMore {
		t.Fatalf("%v: %s%s", err, r.out, r.err)
	}
	if r := runCommand(t, "", "changes", "list", "--types", "feedback", "--limit", "1"); !strings.Contains(r.err, "--after "+list.After) {
		t.Errorf("a list that goes on does not say where: %s", r.err)
	}
	r = runCommand(t, "", "changes", "list", "--after", list.After, "--json")
	if err := json.Unmarshal([]byte(r.out), &list); err != nil || list.HasMore || list.Items[len(list.Items)-1].ID != feed.IDs()[2] {
		t.Errorf("the rest of the list: %v: %s%s", err, r.out, r.err)
	}
	if r := runCommand(t, "", "changes", "list", "--after", "unknown"); r.code != 1 || !strings.Contains(r.err, "--after: is older than 30 days") {
		t.Errorf("an unknown --after: exit code %d: %s", r.code, r.err)
	}
	feed.Fail = func(w http.ResponseWriter, r *http.Request) bool {
		if !strings.HasSuffix(r.URL.Path, "/changes") {
			return false
		}
		w.Header().Set("Service-After", r.URL.Query().Get("after"))
		w.Header().Set("Service-Has-More", "true")
		_, _ = w.Write([]byte(`{"items":[]}`))
		return true
	}
	if r := runCommand(t, "", "changes", "list", "--after", "1"); r.code != 0 || !strings.Contains(r.err, "--after 1") {
		t.Errorf("before a change that is not visible yet: exit code %d: %s%s", r.code, r.out, r.err)
	}
	feed.Fail = func(w http.ResponseWriter, _ *http.Request) bool {
		feedtest.Refuse(w, http.StatusNotImplemented, "not_implemented", "the table has no stream")
		return true
	}
	if r := runCommand(t, "", "changes", "list"); r.code != 1 || !strings.Contains(r.err, "this service has no feed of changes") {
		t.Errorf("a service without a feed: exit code %d: %s", r.code, r.err)
	}
}

// followRun is a `changes follow` command that runs in this process.
type followRun struct {
	stop   context.CancelFunc
	lines  *bufio.Scanner // the lines of its standard output
	errOut *lockedBuffer
	code   chan int
}

func startFollow(t *testing.T, args ...string) *followRun {
	t.Helper()
	ctx, stop := context.WithCancel(t.Context())
	out, in := io.Pipe()
	f := &followRun{stop, bufio.NewScanner(out), &lockedBuffer{}, make(chan int, 1)}
	go func() {
		f.code <- run(ctx, "workspace", append([]string{"changes", "follow", "--every", "1s"}, args...), strings.NewReader(""), in, f.errOut)
		_ = in.Close()
	}()
	return f
}

// end stops the command and returns its exit code.
func (f *followRun) end() int {
	f.stop()
	for f.lines.Scan() { // discard the remaining output of the program
	}
	return <-f.code
}

// Ensure `changes follow` passes each change to the program as JSON, together with the record if
// --with-record is set. If the program fails, it must run again for the same change. After a
// restart, it must not run for changes that were already delivered. Stopping the command must not
// be an error.
func TestChangesFollow(t *testing.T) {
	feed := feedtest.New()
	feed.Records["/feedback/fbk_1"] = `{"id": "fbk_1",  "rating": 1}`
	feed.Records["/broadcast/channels"] = `{"items":[{"id":"chn_0"},{"id":"chn_1","handle":"@a"}]}`
	feed.Records["/optimise/sites"] = `{"items":[{"id":"sit_0"},{"id":"sit_1"}]}`
	feed.Records["/optimise/sites/sit_1/goals/gol_1"] = `{"id":"gol_1"}`
	feed.Add("feedback", "fbk_1", "created")
	feed.Add("channel", "chn_1", "updated")
	feed.Add("site_goal", "gol_1", "updated")
	feed.Add("post", "pst_1", "deleted")
	serveFeed(t, feed)
	dir := t.TempDir()
	script := "cd " + dir + "; if [ -e tried ]; then cat; else touch tried; exit 7; fi"
	args := []string{"--since", "1h", "--with-record", "--", "sh", "-c", script}
	f := startFollow(t, args...)
	var got []string
	read := func(n int) {
		t.Helper()
		for len(got) < n && f.lines.Scan() {
			var c struct {
				ID     string
				Record json.RawMessage
			}
			if err := json.Unmarshal(f.lines.Bytes(), &c); err != nil {
				t.Errorf("%s: %v", f.lines.Text(), err)
			}
			got = append(got, string(c.Record))
		}
	}
	read(4)
	if code := f.end(); code != 0 {
		t.Errorf("exit code %d after a stop, want 0: %s", code, f.errOut)
	}
	want := []string{`{"id":"fbk_1","rating":1}`, `{"id":"chn_1","handle":"@a"}`, `{"id":"gol_1"}`, `null`}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("records (-want +got):\n%s", diff)
	}
	requireContains(t, f.errOut.String(), "following "+feedtest.CompanyID+" at http://", "the position is in ", "exit status 7; attempt 2 follows in 1s", "done at attempt 2")
	feed.Records["/feedback/fbk_2"] = `{"id":"fbk_2"}`
	feed.Add("feedback", "fbk_2", "created")
	f = startFollow(t, args...)
	read(5)
	if code := f.end(); code != 0 || got[4] != `{"id":"fbk_2"}` {
		t.Errorf("after a restart: exit code %d, %q, want the new change alone: %s", code, got[4:], f.errOut)
	}
	positionFiles, err := filepath.Glob(filepath.Join(os.Getenv("XDG_CONFIG_HOME"), "growth-workspace", "changes", "*"+feedtest.CompanyID+".json"))
	if err != nil || len(positionFiles) != 1 {
		t.Fatalf("files of positions: %q, %v, want one", positionFiles, err)
	}
	requireSecretFile(t, positionFiles[0])
}

// Ensure the command exits with code 4 if changes were lost, and says how to continue.
func TestChangesFollowBroken(t *testing.T) {
	feed := feedtest.New()
	serveFeed(t, feed)
	f := startFollow(t, "--", "cat")
	feed.Add("company", feedtest.CompanyID, "updated")
	feed.AddAt(time.Now().Add(time.Hour), "company", feedtest.CompanyID, "unknown")
	for f.lines.Scan() {
	}
	if code := <-f.code; code != 4 {
		t.Errorf("exit code %d, want 4: %s", code, f.errOut)
	}
	requireContains(t, f.errOut.String(), "has lost changes before", "start over with --since")
	f.stop()
}

// Ensure a webhook receives each change, signed with the secret, until it responds with 410 Gone.
func TestChangesFollowWebhook(t *testing.T) {
	feed := feedtest.New()
	first := feed.Add("feedback", "fbk_1", "created")
	feed.Add("feedback", "fbk_1", "updated")
	serveFeed(t, feed)
	requests := 0
	var header http.Header
	var body []byte
	hook := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if requests++; requests > 1 {
			w.WriteHeader(http.StatusGone)
			return
		}
		header = r.Header
		var err error
		if body, err = io.ReadAll(r.Body); err != nil {
			t.Error(err)
		}
	}))
	t.Cleanup(hook.Close)
	secret := writeFile(t, "secret", webhookSecret+"\n")
	follow := []string{"changes", "follow", "--since", "1h", "--webhook", hook.URL + "/in"}
	r := runCommand(t, "", append(follow, "--webhook-secret-file", secret)...)
	if r.code != 1 || requests != 2 {
		t.Errorf("exit code %d after %d requests, want 1 after 2: %s", r.code, requests, r.err)
	}
	requireContains(t, r.err, "410 Gone: it wants no more messages")
	var message struct {
		Type string
		Data struct{ ID, RecordID string }
	}
	if err := json.Unmarshal(body, &message); err != nil || message.Type != "feedback.created" || message.Data.ID != first || message.Data.RecordID != "fbk_1" || header.Get("Webhook-Id") != first || !strings.HasPrefix(header.Get("Webhook-Signature"), "v1,") {
		t.Errorf("message %s, headers %v, %v", body, header, err)
	}
	if err := os.Chmod(secret, 0o644); err != nil { //nolint:gosec // the test is about this mode
		t.Fatal(err)
	}
	r = runCommand(t, "", append(follow, "--webhook-secret-file", secret)...)
	requireUsage(t, "a secret that others can read", r)
	requireContains(t, r.err, "can be read by others")
	requireUsage(t, "no secret", runCommand(t, "", follow...))
}

// Ensure the message about an unreachable webhook does not blame the service. The message about a
// service error must say when the next attempt will be made. A command that is told to stop between
// two attempts must exit without an error, even if it has not yet read its key's record.
func TestChangesFollowOutage(t *testing.T) {
	feed := feedtest.New()
	feed.Add("feedback", "fbk_1", "created")
	url := serveFeed(t, feed)
	hook := httptest.NewServer(http.NotFoundHandler())
	hook.Close()
	t.Setenv("WORKSPACE_WEBHOOK_SECRET", webhookSecret)
	followUntil := func(want string, args ...string) string {
		t.Helper()
		f := startFollow(t, args...)
		for deadline := time.Now().Add(time.Minute); !strings.Contains(f.errOut.String(), want) && time.Now().Before(deadline); {
			time.Sleep(5 * time.Millisecond)
		}
		requireContains(t, f.errOut.String(), want)
		if code := f.end(); code != 0 {
			t.Errorf("exit code %d after a stop, want 0: %s", code, f.errOut)
		}
		return f.errOut.String()
	}
	text := followUntil("attempt 2 follows in 1s", "--since", "1h", "--webhook", hook.URL+"/secret")
	requireContains(t, text, "the webhook does not respond: ")
	if strings.Contains(text, url+" does not respond") || strings.Contains(text, "/secret") {
		t.Errorf("the report blames the service, or contains the webhook: %s", text)
	}
	feed.Fail = func(w http.ResponseWriter, _ *http.Request) bool {
		w.Header().Set("Retry-After", "600") // the client does not wait that long
		feedtest.Refuse(w, http.StatusServiceUnavailable, "unavailable", "try again")
		return true
	}
	requireContains(t, followUntil("attempt 2 follows in 10m0s", "--", "cat"), "unavailable (503)")
}

// Ensure a 404 that does not come from the service is not mistaken for a deleted record.
func TestChangesFollowForeignNotFound(t *testing.T) {
	feed := feedtest.New()
	feed.Add("feedback", "fbk_1", "created")
	feed.Fail = func(w http.ResponseWriter, r *http.Request) bool {
		if !strings.Contains(r.URL.Path, "/feedback/") {
			return false
		}
		http.Error(w, "maintenance", http.StatusNotFound)
		return true
	}
	serveFeed(t, feed)
	if r := runCommand(t, "", "changes", "follow", "--since", "1h", "--with-record", "--", "cat"); r.code != 1 || r.out != "" {
		t.Errorf("exit code %d, want 1 and no change: %s%s", r.code, r.out, r.err)
	}
}

// recipient counts the changes that it receives.
type recipient struct {
	mu        sync.Mutex
	uniqueIDs []string // the ids, in the order in which each was first received
	received  int
}

func (rec *recipient) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	var c struct {
		ID   string
		Data struct{ ID string } // set only in the message for a webhook
	}
	err := json.NewDecoder(r.Body).Decode(&c)
	if c.ID += c.Data.ID; err != nil || c.ID == "" {
		w.WriteHeader(http.StatusBadRequest) // the sender was killed in the middle of the request
		return
	}
	rec.mu.Lock()
	defer rec.mu.Unlock()
	rec.received++
	if !slices.Contains(rec.uniqueIDs, c.ID) {
		rec.uniqueIDs = append(rec.uniqueIDs, c.ID)
	}
}

func (rec *recipient) has(id string) bool {
	rec.mu.Lock()
	defer rec.mu.Unlock()
	return slices.Contains(rec.uniqueIDs, id)
}

// Ensure a receiver that ignores ids it already has gets each change exactly once, in order, no
// matter when `changes follow` is killed. With a program, it is killed before and after each
// request that it or its program sends. With a webhook, it is killed at random moments.
func TestChangesFollowThroughKills(t *testing.T) {
	isolateUserFolders(t)
	kills := 50
	if testing.Short() {
		kills = 10
	}
	feed, recv, k := feedtest.New(), &recipient{}, &killer{}
	serve := func(h http.Handler) string {
		server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) { k.serveOrKill(w, r, h) }))
		t.Cleanup(server.Close)
		return server.URL
	}
	feedURL, recvURL := serve(feed), serve(recv)
	state := filepath.Join(t.TempDir(), "position.json")
	secret := writeFile(t, "secret", webhookSecret)
	program, webhook := []string{"--", os.Args[0]}, []string{"--webhook", recvURL, "--webhook-secret-file", secret}
	last := ""
	// runOnce runs the command until it is killed, or until the receiver has the last change. A
	// command that was not killed must exit without an error when it is told to stop.
	runOnce := func(receiver []string, at killPoint, delay time.Duration) (killed bool) {
		t.Helper()
		cmd := exec.Command(os.Args[0], append([]string{"changes", "follow", "--since", "1h", "--every", "1s", "--state", state}, receiver...)...)
		cmd.Env = append(os.Environ(), asCommandVariable+"=1", asSenderVariable+"="+recvURL, keyVariable+"="+testKey, urlVariable+"="+feedURL, memoryVariable+"=")
		var text bytes.Buffer
		cmd.Stdout, cmd.Stderr = &text, &text
		k.mu.Lock()
		k.at, k.delay, k.requestCount, k.killed = at, delay, 0, false
		err := cmd.Start()
		k.process = cmd.Process
		k.mu.Unlock()
		if err != nil {
			t.Fatal(err)
		}
		exited, told := make(chan error, 1), false
		go func() { exited <- cmd.Wait() }()
		for {
			select {
			case err := <-exited:
				k.mu.Lock()
				defer k.mu.Unlock()
				k.process = nil
				if err != nil && !k.killed {
					t.Errorf("%+v: %v: %s", at, err, &text)
				}
				return k.killed
			case <-time.After(5 * time.Millisecond):
				if recv.has(last) && !told { // a second signal would end the process immediately
					told = true
					_ = cmd.Process.Signal(syscall.SIGTERM) // an error means that the process was already killed
				}
			}
		}
	}
	killCount := 0
	addAndRun := func(receiver []string, at killPoint, delay time.Duration) bool {
		for range 3 {
			last = feed.Add("feedback", "fbk_1", "updated")
		}
		wasKilled := runOnce(receiver, at, delay)
		if wasKilled {
			killCount++
		}
		return wasKilled
	}
	for n := 1; addAndRun(program, killPoint{n, false}, 0) && addAndRun(program, killPoint{n, true}, 0); n++ {
		if n > 30 {
			t.Fatal("the requests of a run have no end")
		}
	}
	for tries := 0; killCount < kills; tries++ {
		if tries > 10*kills {
			t.Fatalf("%d kills in %d runs, want %d", killCount, tries, kills)
		}
		addAndRun(webhook, killPoint{1 + rand.IntN(6), true}, time.Duration(rand.IntN(5000))*time.Microsecond)
	}
	last = feed.Add("feedback", "fbk_1", "updated")
	runOnce(program, killPoint{}, 0)
	if diff := cmp.Diff(feed.IDs(), recv.uniqueIDs); diff != "" {
		t.Errorf("received changes (-want +got):\n%s", diff)
	}
	t.Logf("%d kills; %d changes, received %d times", killCount, len(recv.uniqueIDs), recv.received)
}

// Ensure wrong usage of the commands prints a one-line error.
func TestChangesUsage(t *testing.T) {
	t.Parallel()
	for args, want := range map[string]string{
		"changes":                                          "name a command: list, follow, gap",
		"changes list --since soon":                        "--since: must be a time ago such as 7d",
		"changes list --limit 0":                           "--limit: must be 1 to 10000",
		"changes list --since 7d --after x":                "--since starts over",
		"changes follow":                                   "name the program and its arguments after --",
		"changes follow cat":                               "name the program and its arguments after --",
		"changes follow -- no-such-program-here":           "no-such-program-here",
		"changes follow --every 10ms -- cat":               "--every: must be a length of time",
		"changes follow --timeout 0s -- cat":               "--timeout: must be a length of time",
		"changes follow --since soon -- cat":               "--since: must be a time ago",
		"changes follow --webhook https://a.example -- ls": "leave one out",
		"changes follow --webhook-secret-file f -- cat":    "--webhook-secret-file needs --webhook",
		"changes follow --webhook https://a.example --webhook-secret-file no-such-file": "no-such-file",
	} {
		r := runCommand(t, "", strings.Fields(args)...)
		requireUsage(t, args, r)
		requireContains(t, r.err, want)
	}
}
