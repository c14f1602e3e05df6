package main

import (
	"context"
	"fmt"
	"maps"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"slices"
	"strings"
	"testing"
	"time"

	"growthworkspace/scripts/workspace/tableconn"
	"growthworkspace/scripts/workspace/terminal"
	"growthworkspace/shared/change"
	"growthworkspace/shared/client"
	"growthworkspace/shared/localdb"
	"growthworkspace/shared/testkit/apitest"
)

// feed follows the changes of a server's company that have one type.
type feed struct {
	changeType string
	after      client.Optional[string]
	seen       map[string]int // the number of changes, by record
}

// read reads the feed to its end.
func (f *feed) read(t *testing.T, s *server) {
	t.Helper()
	for more := true; more; {
		page, err := s.client(t).ListChanges(t.Context(), client.ListChangesInput{After: f.after, Types: client.Value(f.changeType), Limit: client.Value(200)})
		if err != nil {
			t.Fatal(err)
		}
		for _, change := range page.Items {
			f.seen[change.RecordID]++
		}
		f.after, more = client.Value(page.After), page.HasMore
	}
}

// wait reads the feed until each record has a change. It fails after a minute.
func (f *feed) wait(t *testing.T, s *server, ids ...string) {
	t.Helper()
	for deadline := time.Now().Add(time.Minute); slices.ContainsFunc(ids, func(id string) bool { return f.seen[id] == 0 }); f.read(t, s) {
		if time.Now().After(deadline) {
			t.Fatalf("changes of %v, want %v: %s", slices.Sorted(maps.Keys(f.seen)), ids, s.logs)
		}
	}
}

func (s *server) client(t *testing.T) *client.Client {
	t.Helper()
	c, err := client.New(s.BaseURL, s.Key)
	if err != nil {
		t.Fatal(err)
	}
	return c
}

func (s *server) createBoard(t *testing.T, name string) string {
	t.Helper()
	board, err := s.client(t).CreatePlanBoard(t.Context(), client.CreatePlanBoardInput{Name: name})
	if err != nil {
		t.Fatal(err)
	}
	return board.ID
}

// Ensure `serve` records each change exactly once, including those that it had not recorded before
// a restart.
func TestServeRecordsChanges(t *testing.T) {
	t.Parallel()
	data := dataFolder(t)
	s := startServer(t, data)
	f := &feed{changeType: "board", seen: map[string]int{}}
	first := s.createBoard(t, "First")
	f.wait(t, s, first)
	second := s.createBoard(t, "Second") // the server may stop before it records this change
	s.stop(t)
	again := startServer(t, data)
	third := again.createBoard(t, "Third")
	f.wait(t, again, first, second, third)
	f.read(t, again)
	for id, n := range f.seen {
		if n != 1 {
			t.Errorf("%d changes of the board %s, want 1", n, id)
		}
	}
	if logs := s.logs.String() + again.logs.String(); strings.Contains(logs, "ERROR") {
		t.Errorf("the servers logged an error: %s", logs)
	}
}

// removeQuota gives a company's first key quotas that no test uses up.
func removeQuota(t *testing.T, data, companyID string, classes ...string) {
	t.Helper()
	keys := runJSON(t, data, "", "key", "list", "--company", companyID)["items"].([]any)
	for _, class := range classes {
		runJSON(t, data, "", "key", "quota", keys[0].(map[string]any)["id"].(string), "--company", companyID, "--class", class, "--limit", "1000000")
	}
}

// Ensure the stream in the data folder does not grow with the number of requests. Reads must leave
// nothing in it, and changes must leave it once they are in the feed.
func TestServeKeepsTheStreamSmall(t *testing.T) {
	t.Parallel()
	apitest.SkipIfShort(t)
	data := dataFolder(t)
	s := startServer(t, data)
	removeQuota(t, data, s.CompanyID, "read")
	session, err := tableconn.Open(t.Context(), &terminal.Terminal{Out: t.Output(), Err: t.Output(), Now: time.Now}, tableconn.Flags{Data: data}, time.Minute, true)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = session.Close() })
	streamLength := func() (n int) {
		reader, err := session.EnableStream(t.Context())
		if err == nil {
			err = reader.Drain(t.Context(), func(_ context.Context, _ string, records []change.StreamRecord) error { n += len(records); return nil })
		}
		if err != nil {
			t.Fatal(err)
		}
		return n
	}
	before := streamLength()
	const reads = 300
	for range reads {
		if _, err := s.client(t).GetCompany(t.Context()); err != nil {
			t.Fatal(err)
		}
	}
	if after := streamLength(); after != before {
		t.Errorf("the stream has %d records, and %d after %d reads", before, after, reads)
	}
	const pushes, pushed = 12, 100
	for n := range pushes {
		in := client.PushFeedbackInput{Records: make([]client.PushFeedbackRecord, pushed)}
		for i := range in.Records {
			in.Records[i] = client.PushFeedbackRecord{Source: "reddit", ExternalID: fmt.Sprint(n*pushed + i)}
		}
		if _, err := s.client(t).PushFeedback(t.Context(), in); err != nil {
			t.Fatal(err)
		}
	}
	for deadline := time.Now().Add(waitMax); ; time.Sleep(50 * time.Millisecond) {
		n := streamLength()
		if n < pushes*pushed/2 {
			break
		}
		if time.Now().After(deadline) {
			t.Fatalf("the stream has %d records after %d changes: %s", n, pushes*pushed, s.logs)
		}
	}
}

// Ensure `serve` works with an engine that has no streams. A request for changes must get status
// 501.
func TestServeWithoutStreams(t *testing.T) {
	t.Parallel()
	dataFolder(t) // skips the test if no engine is installed
	e, err := localdb.Open(t.Context(), localdb.Options{})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = e.Close() })
	target, err := url.Parse(e.Endpoint)
	if err != nil {
		t.Fatal(err)
	}
	proxy := &httputil.ReverseProxy{Rewrite: func(r *httputil.ProxyRequest) { r.SetURL(target) }}
	withoutStreams := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if strings.HasPrefix(r.Header.Get("X-Amz-Target"), "DynamoDBStreams_") {
			w.Header().Set("Content-Type", "application/x-amz-json-1.0")
			w.WriteHeader(http.StatusBadRequest)
			_, _ = w.Write([]byte(`{"__type":"com.amazonaws.dynamodb.v20120810#UnknownOperationException","message":"no streams"}`))
			return
		}
		proxy.ServeHTTP(w, r)
	}))
	t.Cleanup(withoutStreams.Close)
	s := startServerWith(t, "--endpoint", withoutStreams.URL, "--demo")
	status, body := get(t, s.Key, s.BaseURL+"/v1/companies/"+s.CompanyID+"/changes")
	if status != http.StatusNotImplemented || !strings.Contains(s.logs.String(), "no feed of changes: the engine has no streams") {
		t.Errorf("status %d, want 501: %v, %s", status, body, s.logs)
	}
	if id := s.createBoard(t, "Board"); id == "" {
		t.Error("no board is created")
	}
}
