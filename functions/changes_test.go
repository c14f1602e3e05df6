package functions_test

import (
	"context"
	"fmt"
	"log/slog"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"growthworkspace/functions"
	"growthworkspace/functions/recorder"
	"growthworkspace/shared/api"
	"growthworkspace/shared/change"
	"growthworkspace/shared/stream"
	"growthworkspace/shared/table"
	"growthworkspace/shared/testkit/apitest"
)

// feedService is a service with its own table, which has a stream.
type feedService struct {
	*apitest.Service

	reader   *stream.Reader
	recorder *recorder.Recorder
	parked   []recorder.ParkedRecord
}

// startWithFeed is like start, but the service's company has a feed.
func startWithFeed(t *testing.T) *feedService {
	t.Helper()
	s := &feedService{}
	var o table.Options
	s.Service, o = newServiceWithOwnTable(t)
	if err := s.Table.EnableStream(t.Context()); err != nil {
		t.Fatal(err)
	}
	s.Handler = functions.Handler(s.ServingTable, api.NewConfig(s.ServingTable, slog.New(slog.DiscardHandler)))
	s.reader = stream.New(o)
	s.recorder = recorder.New(s.Table, func(_ context.Context, p recorder.ParkedRecord) error {
		s.parked = append(s.parked, p)
		return nil
	})
	if err := s.Table.Transact(t.Context(), change.WriteCounter(s.Table, s.CompanyID)); err != nil {
		t.Fatal(err)
	}
	importFixture(t, s.Service)
	issueSpareKeys(t, s.Service)
	return s
}

// recordChanges waits until the feed contains every write so far. The stream may lag behind the
// table, so recordChanges writes an item and reads the stream until that item arrives. It fails the
// test after a minute.
func (s *feedService) recordChanges(t *testing.T) {
	t.Helper()
	last := table.Key{PK: table.Partition(s.CompanyID, "test"), SK: s.Table.NewID("last")}
	if err := s.Table.Insert(t.Context(), table.Keys{Key: last}, struct{}{}); err != nil {
		t.Fatal(err)
	}
	found := false
	for deadline := time.Now().Add(time.Minute); !found; {
		_, err := s.reader.Poll(t.Context(), func(ctx context.Context, shardID string, records []change.StreamRecord) error {
			found = found || slices.ContainsFunc(records, func(r change.StreamRecord) bool { return r.Key == last })
			return s.recorder.Record(ctx, shardID, records)
		})
		if err != nil {
			t.Fatal(err)
		}
		if time.Now().After(deadline) {
			t.Fatal("the stream lacks a write after a minute")
		}
	}
}

// Ensure each operation makes only changes of the types that it declares. An operation that writes
// must make at least one change of the first declared type.
func TestOperationsDeclareTheirChanges(t *testing.T) {
	t.Parallel()
	s := startWithFeed(t)
	key := s.IssueKey(t)
	s.recordChanges(t)
	after := ""
	next := func() []change.Change {
		s.recordChanges(t)
		arguments := map[string]any{"limit": 200}
		if after != "" {
			arguments["after"] = after
		}
		r := s.Call(t, key, "list_changes", arguments)
		var page struct{ Items []change.Change }
		r.Decode(t, &page)
		after = r.Header.Get("Service-After")
		if r.Status != 200 || after == "" || r.Header.Get("Service-Has-More") != "false" {
			t.Fatalf("list_changes: status %d, Service-After %q, Service-Has-More %q: %s", r.Status, after, r.Header.Get("Service-Has-More"), r.Body)
		}
		return page.Items
	}
	next()
	for _, op := range functions.Operations(nil) {
		if op.Effect == api.Read != (len(op.Changes) == 0) {
			t.Errorf("%s: declares the changes %v; an operation that writes declares at least one in its Spec, and no other does", op.ID, op.Changes)
		}
		if r := s.Call(t, key, op.ID, fixtureArguments[op.ID]); r.Status != 200 {
			t.Errorf("%s: status %d: %s", op.ID, r.Status, r.Body)
			continue
		}
		var made []change.Type
		for _, c := range next() {
			made = append(made, c.Type)
			if !slices.Contains(op.Changes, c.Type) {
				t.Errorf("%s: made an undeclared change %+v", op.ID, c)
			}
			if c.Action != change.Deleted && c.KeyID == nil {
				t.Errorf("%s: the change %+v names no key", op.ID, c)
			}
		}
		if len(op.Changes) > 0 && !slices.Contains(made, op.Changes[0]) {
			t.Errorf("%s: made changes of the types %v, want %s", op.ID, made, op.Changes[0])
		}
	}
	if len(s.parked) > 0 {
		t.Errorf("records that are not readable: %+v", s.parked)
	}
}

// Ensure a tool result ends early if its list of changes is too long for a model. The next call
// must continue where that result ended. At the end of the list, the result must also say where to
// continue later.
func TestToolChanges(t *testing.T) {
	t.Parallel()
	s := start(t, nil)
	key := s.IssueKey(t)
	var occurrences []change.Occurrence
	var want []string
	for n := range 200 {
		recordID := fmt.Sprintf("fbk_%03d%s", n, strings.Repeat("x", 200))
		occurrences = append(occurrences, change.Occurrence{
			Event: change.Event{RecordID: recordID, Action: change.Updated, Status: "approved"}, Type: "feedback", OccurredAt: s.Clock.Now(), SequenceNumber: strconv.Itoa(10 + n),
		})
		want = append(want, recordID)
	}
	listChanges := func(arguments map[string]any) (records []string, after string, hasMore bool) {
		t.Helper()
		r := callTool(t, s, key, "list_changes", arguments)
		var frame struct {
			Result struct {
				Meta struct {
					After   string
					HasMore bool
				} `json:"_meta"`
			}
		}
		r.http.Decode(t, &frame)
		after, hasMore = frame.Result.Meta.After, frame.Result.Meta.HasMore
		line := r.Content[len(r.Content)-1].Text
		if wantLine := map[bool]string{true: "There is more: ", false: "That is all for now. "}[hasMore]; after == "" || !strings.HasPrefix(line, wantLine) || !strings.Contains(line, strconv.Quote(after)) {
			t.Fatalf("after %q, has more: %t, the last line is %q", after, hasMore, line)
		}
		for _, item := range (apitest.Response{Status: 200, Body: r.Content[0].Text}).Items(t) {
			records = append(records, item["recordId"].(string))
		}
		return records, after, hasMore
	}
	_, position, hasMore := listChanges(nil)
	if hasMore {
		t.Fatal("the fixture does not fit")
	}
	if err := change.Append(t.Context(), s.Table, s.CompanyID, "shard-1", occurrences); err != nil {
		t.Fatal(err)
	}
	var got []string
	pages := 0
	for hasMore = true; hasMore; pages++ {
		var records []string
		records, position, hasMore = listChanges(map[string]any{"after": position, "limit": 200})
		got = append(got, records...)
	}
	if pages < 2 || !slices.Equal(got, want) {
		t.Errorf("%d records in %d pages, want %d in several", len(got), pages, len(want))
	}
	if records, _, hasMore := listChanges(map[string]any{"after": position}); len(records) > 0 || hasMore {
		t.Errorf("after the end: %v, has more: %t", records, hasMore)
	}
}
