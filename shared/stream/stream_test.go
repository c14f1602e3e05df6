package stream_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"

	"github.com/aws/aws-sdk-go-v2/credentials"
	"github.com/google/go-cmp/cmp"

	"growthworkspace/shared/change"
	"growthworkspace/shared/stream"
	"growthworkspace/shared/table"
)

// fakeStreams serves a stream with a shard, its two children and a grandchild. An iterator contains
// a shard's id and the index of the next record. A page has two records.
type fakeStreams struct {
	shards             []fakeShard
	expired            map[string]bool // iterators that have expired
	requestedIterators []string        // the iterators that were requested
}

type fakeShard struct {
	id, parent string
	records    []string // the sequence numbers
	isOpen     bool
}

func (f *fakeStreams) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	var in struct{ ShardId, ShardIterator, ShardIteratorType, SequenceNumber, ExclusiveStartShardId string }
	if err := json.NewDecoder(r.Body).Decode(&in); err != nil {
		panic(err)
	}
	_, call, _ := strings.Cut(r.Header.Get("X-Amz-Target"), ".")
	var out any
	switch call {
	case "ListStreams":
		out = map[string]any{"Streams": []any{map[string]any{"StreamArn": strings.Repeat("arn:", 20)}}}
	case "DescribeStream": // one shard on each page
		n := 1 + slices.IndexFunc(f.shards, func(s fakeShard) bool { return s.id == in.ExclusiveStartShardId })
		description := map[string]any{"Shards": []any{map[string]any{"ShardId": f.shards[n].id, "ParentShardId": f.shards[n].parent}}}
		if n+1 < len(f.shards) {
			description["LastEvaluatedShardId"] = f.shards[n].id
		}
		out = map[string]any{"StreamDescription": description}
	case "GetShardIterator":
		n := 0
		if in.SequenceNumber != "" && !slices.Contains(f.shard(in.ShardId).records, in.SequenceNumber) {
			w.WriteHeader(http.StatusBadRequest)
			fmt.Fprint(w, `{"__type":"com.amazonaws.dynamodb.v20120810#TrimmedDataAccessException"}`)
			return
		}
		if in.ShardIteratorType == "AFTER_SEQUENCE_NUMBER" {
			n = 1 + slices.Index(f.shard(in.ShardId).records, in.SequenceNumber)
		}
		f.requestedIterators = append(f.requestedIterators, fmt.Sprint(in.ShardId, " ", n))
		out = map[string]any{"ShardIterator": fmt.Sprint(in.ShardId, " ", n)}
	case "GetRecords":
		if f.expired[in.ShardIterator] {
			delete(f.expired, in.ShardIterator)
			w.WriteHeader(http.StatusBadRequest)
			fmt.Fprint(w, `{"__type":"com.amazonaws.dynamodb.v20120810#ExpiredIteratorException"}`)
			return
		}
		var id string
		var n int
		if _, err := fmt.Sscan(in.ShardIterator, &id, &n); err != nil {
			panic(err)
		}
		out = f.page(f.shard(id), n)
	}
	if err := json.NewEncoder(w).Encode(out); err != nil {
		panic(err)
	}
}

func (f *fakeStreams) shard(id string) fakeShard {
	return f.shards[slices.IndexFunc(f.shards, func(s fakeShard) bool { return s.id == id })]
}

func (f *fakeStreams) page(s fakeShard, n int) any {
	records := []any{}
	end := min(n+2, len(s.records))
	for _, sequence := range s.records[n:end] {
		records = append(records, map[string]any{"dynamodb": map[string]any{
			"SequenceNumber": sequence, "ApproximateCreationDateTime": 1786440600,
			"Keys":     map[string]any{"pk": map[string]any{"S": "co_1#plan"}, "sk": map[string]any{"S": "item#" + sequence}},
			"NewImage": map[string]any{"list": map[string]any{"L": []any{map[string]any{"BOOL": true}, map[string]any{"N": "1"}}}},
		}})
	}
	out := map[string]any{"Records": records}
	if s.isOpen || end < len(s.records) {
		out["NextShardIterator"] = fmt.Sprint(s.id, " ", end)
	}
	return out
}

func newReader(t *testing.T, f *fakeStreams) *stream.Reader {
	t.Helper()
	server := httptest.NewServer(f)
	t.Cleanup(server.Close)
	return stream.New(table.Options{
		Name: "t", Region: "eu-central-1", Endpoint: server.URL, Credentials: credentials.NewStaticCredentialsProvider("local", "local", ""),
	})
}

// Ensure each shard is delivered in order and after its parent. After an error, the batch is
// delivered again. An expired iterator is replaced by one at the same place.
func TestReader(t *testing.T) {
	t.Parallel()
	f := &fakeStreams{shards: []fakeShard{
		{id: "grandchild", parent: "child", records: []string{"7"}, isOpen: true},
		{id: "child", parent: "first"},
		{id: "other", parent: "first", records: []string{"5", "6"}, isOpen: true},
		{id: "first", parent: "trimmed", records: []string{"1", "2", "3", "4"}},
	}, expired: map[string]bool{"first 2": true}}
	r := newReader(t, f)
	var got []string
	failures := 1
	consume := func(_ context.Context, shardID string, records []change.StreamRecord) error {
		if shardID == "other" && failures > 0 {
			failures--
			return errors.New("not now")
		}
		for _, record := range records {
			got = append(got, shardID+" "+record.SequenceNumber)
			if record.Key != (table.Key{PK: "co_1#plan", SK: "item#" + record.SequenceNumber}) || record.Old != nil || len(record.New) != 1 || record.WrittenAt.Unix() != 1786440600 {
				t.Errorf("the record is %+v", record)
			}
		}
		return nil
	}
	failed := 0
	for polls := 0; polls < 12; polls++ {
		if _, err := r.Poll(t.Context(), consume); err != nil {
			failed++
		}
	}
	if failed != 2 {
		t.Errorf("%d polls failed, want 2: one with an expired iterator, one whose batch was not consumed", failed)
	}
	for shard, want := range map[string][]string{"first": {"first 1", "first 2", "first 3", "first 4"}, "other": {"other 5", "other 6"}, "grandchild": {"grandchild 7"}} {
		own := slices.DeleteFunc(slices.Clone(got), func(s string) bool { return !strings.HasPrefix(s, shard+" ") })
		if diff := cmp.Diff(want, own); diff != "" {
			t.Errorf("the records of %s (-want +got):\n%s", shard, diff)
		}
	}
	if len(got) != 7 || slices.Index(got, "first 4") > slices.Index(got, "other 5") || slices.Index(got, "first 4") > slices.Index(got, "grandchild 7") {
		t.Errorf("the order is %v, want a shard after its parents", got)
	}
	if diff := cmp.Diff([]string{"first 0", "first 2", "other 0", "child 0", "grandchild 0"}, sortByOrder(f.requestedIterators, []string{"first 0", "first 2", "other 0", "child 0", "grandchild 0"})); diff != "" {
		t.Errorf("the iterators (-want +got):\n%s", diff)
	}
}

// Ensure a reader continues after a pause in which the stream dropped one shard that the reader had
// read, and the last records that it had read from another shard.
func TestReaderAfterTrim(t *testing.T) {
	t.Parallel()
	f := &fakeStreams{shards: []fakeShard{{id: "first", records: []string{"1"}, isOpen: true}, {id: "other", records: []string{"2"}, isOpen: true}}}
	r := newReader(t, f)
	var got []string
	consume := func(_ context.Context, shardID string, records []change.StreamRecord) error {
		for _, record := range records {
			got = append(got, shardID+" "+record.SequenceNumber)
		}
		return nil
	}
	if err := r.Drain(t.Context(), consume); err != nil {
		t.Fatal(err)
	}
	f.shards = []fakeShard{{id: "other", records: []string{"3"}, isOpen: true}, {id: "child", parent: "first", records: []string{"4"}, isOpen: true}}
	f.expired = map[string]bool{"other 1": true}
	if _, err := r.Poll(t.Context(), consume); err == nil {
		t.Error("the iterator has not expired")
	}
	if err := r.Drain(t.Context(), consume); err != nil {
		t.Error(err)
	}
	if diff := cmp.Diff([]string{"other 3", "child 4"}, sortByOrder(got[2:], []string{"other 3", "child 4"})); diff != "" {
		t.Errorf("the records (-want +got):\n%s", diff)
	}
}

// sortByOrder returns the texts in the order in which they appear in `order`. Texts that are not in
// `order` come first.
func sortByOrder(texts, order []string) []string {
	out := slices.Clone(texts)
	slices.SortStableFunc(out, func(a, b string) int { return slices.Index(order, a) - slices.Index(order, b) })
	return out
}

// Ensure Drain stops when no records are left, and returns ErrNoStream for a table without a
// stream.
func TestDrain(t *testing.T) {
	t.Parallel()
	r := newReader(t, &fakeStreams{shards: []fakeShard{{id: "first", records: []string{"1", "2", "3"}, isOpen: true}}})
	n := 0
	if err := r.Drain(t.Context(), func(_ context.Context, _ string, records []change.StreamRecord) error { n += len(records); return nil }); err != nil || n != 3 {
		t.Errorf("%d records, want 3: %v", n, err)
	}
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { fmt.Fprint(w, `{"Streams":[]}`) }))
	defer server.Close()
	reader := stream.New(table.Options{Name: "t", Region: "eu-central-1", Endpoint: server.URL, Credentials: credentials.NewStaticCredentialsProvider("local", "local", "")})
	if err := reader.Drain(t.Context(), nil); !errors.Is(err, stream.ErrNoStream) {
		t.Errorf("without a stream: %v", err)
	}
}
