package main

import (
	"maps"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"slices"
	"strings"
	"testing"
	"time"

	"growthworkspace/shared/client"
	"growthworkspace/shared/testkit/engine"
)

// boardFeed follows the changes of the boards of a server's company.
type boardFeed struct {
	after client.Optional[string]
	seen  map[string]int // the number of changes, by board
}

// read reads the feed to its end.
func (f *boardFeed) read(t *testing.T, s *server) {
	t.Helper()
	for more := true; more; {
		page, err := s.client(t).ListChanges(t.Context(), client.ListChangesInput{After: f.after, Types: client.Value("board")})
		if err != nil {
			t.Fatal(err)
		}
		for _, change := range page.Items {
			f.seen[change.RecordID]++
		}
		f.after, more = client.Value(page.After), page.HasMore
	}
}

// wait reads the feed until each board has a change. It fails after a minute.
func (f *boardFeed) wait(t *testing.T, s *server, boards ...string) {
	t.Helper()
	for deadline := time.Now().Add(time.Minute); slices.ContainsFunc(boards, func(id string) bool { return f.seen[id] == 0 }); f.read(t, s) {
		if time.Now().After(deadline) {
			t.Fatalf("changes of %v, want %v: %s", slices.Sorted(maps.Keys(f.seen)), boards, s.logs)
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
	feed := &boardFeed{seen: map[string]int{}}
	first := s.createBoard(t, "First")
	feed.wait(t, s, first)
	second := s.createBoard(t, "Second") // the server may stop before it records this change
	s.stop(t)
	again := startServer(t, data)
	third := again.createBoard(t, "Third")
	feed.wait(t, again, first, second, third)
	feed.read(t, again)
	for id, n := range feed.seen {
		if n != 1 {
			t.Errorf("%d changes of the board %s, want 1", n, id)
		}
	}
	if logs := s.logs.String() + again.logs.String(); strings.Contains(logs, "ERROR") {
		t.Errorf("the servers logged an error: %s", logs)
	}
}

// Ensure `serve` works with an engine that has no streams. A request for changes must get status
// 501.
func TestServeWithoutStreams(t *testing.T) {
	t.Parallel()
	dataFolder(t) // skips the test if no engine is installed
	e, err := engine.Open(t.Context(), engine.Options{})
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
