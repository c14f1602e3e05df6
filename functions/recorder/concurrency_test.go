package recorder_test

import (
	"context"
	"crypto/rand"
	"encoding/json"
	"fmt"
	mathrand "math/rand/v2"
	"net/http/httptest"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"growthworkspace/functions/changes"
	"growthworkspace/functions/recorder"
	"growthworkspace/shared/auth"
	"growthworkspace/shared/change"
	"growthworkspace/shared/id"
	"growthworkspace/shared/keys"
	"growthworkspace/shared/table"
	"growthworkspace/shared/testkit/apitest"
)

// image returns the stored form of a revision of a record.
func image(key table.Key, recordID string, revision int, writer string) table.Item {
	item := table.Item{
		"pk": table.String(key.PK), "sk": table.String(key.SK), "id": table.String(recordID), "status": table.String("s" + strconv.Itoa(revision)),
		"rev": table.Number(int64(revision)), "writeId": table.String(fmt.Sprint("w_", recordID, revision)),
	}
	if writer != "" {
		item[table.WriterAttr] = table.String(writer)
	}
	return item
}

// testItem is an item that a writer of TestConcurrency changes. Its kind consists of the area and
// the first part of the sort key.
type testItem struct {
	companyID, recordID string
	kind                [2]string
	revision            int // 0 if it does not exist
}

var itemKinds = [][2]string{{"plan", "item"}, {"broadcast", "idea"}, {"broadcast", "post"}, {"context", "goal"}}

func (i *testItem) key() table.Key {
	return table.Key{PK: table.Partition(i.companyID, i.kind[0]), SK: table.JoinKey(i.kind[1], i.recordID)}
}

// change returns the stream record for the next write to the item.
func (i *testItem) change(now time.Time) change.StreamRecord {
	key := i.key()
	r := change.StreamRecord{Key: key, WrittenAt: writtenAt(now)}
	if i.revision > 0 {
		r.Old = image(key, i.recordID, i.revision, "key_1")
	}
	i.revision++
	r.New = image(key, i.recordID, i.revision, "key_1")
	return r
}

// countUpdate returns the stream record of a write that leaves the revision unchanged, such as an
// update to a parent's count.
func (i *testItem) countUpdate(now time.Time) change.StreamRecord {
	key := i.key()
	return change.StreamRecord{Key: key, WrittenAt: writtenAt(now), Old: image(key, i.recordID, max(1, i.revision), ""), New: image(key, i.recordID, max(1, i.revision), "")}
}

// feedReader reads the feed of one company over the API, page by page, with pages of any size.
type feedReader struct {
	service *apitest.Service
	key     string
	types   string
	after   string
	found   []change.Change
}

// read reads one page. hasMore reports whether more follows.
func (r *feedReader) read(ctx context.Context) (hasMore bool, err error) {
	r.service.Clock.Advance(200 * time.Millisecond) // so that no rate limit is reached
	query := url.Values{"limit": {strconv.Itoa(1 + mathrand.IntN(200))}}
	if r.after != "" {
		query.Set("after", r.after)
	}
	if r.types != "" {
		query.Set("types", r.types)
	}
	request := httptest.NewRequestWithContext(ctx, "GET", "/v1/companies/"+r.service.CompanyID+"/changes?"+query.Encode(), nil)
	request.Header.Set("Authorization", "Bearer "+r.key)
	response := r.service.Do(request)
	var page struct{ Items []change.Change }
	if err := json.Unmarshal([]byte(response.Body), &page); err != nil || response.Status != 200 {
		return false, fmt.Errorf("status %d: %s", response.Status, response.Body)
	}
	r.found, r.after = append(r.found, page.Items...), response.Header.Get("Service-After")
	return response.Header.Get("Service-Has-More") == "true", nil
}

// Ensure a feed contains each change exactly once, and that all readers see the changes in the same
// order. The changes to one record must be in the order of its writes. Meanwhile, eight writers
// write, readers read, and the shards of the stream are split. Four consumers crash, each either at
// some call to the table or before it stores its progress. Batches are delivered again with
// different bounds, and by two consumers at once.
func TestConcurrency(t *testing.T) {
	t.Parallel()
	total := 10_000
	if testing.Short() {
		total = 300
	}
	s := apitest.New(t, changes.Operations)
	feed := newShardedStream(6)
	companies := []string{s.CompanyID, s.Table.NewID(id.CompanyPrefix), s.Table.NewID(id.CompanyPrefix)}
	erased := companies[2] // has no counter
	for _, companyID := range companies[:2] {
		if err := s.Table.Transact(t.Context(), change.WriteCounter(s.Table, companyID)); err != nil {
			t.Fatal(err)
		}
	}

	var readers []*feedReader
	for _, companyID := range companies[:2] {
		for _, types := range []string{"", "", "idea,post"} {
			service := *s
			service.CompanyID = companyID
			_, key, err := s.Keys.Issue(t.Context(), companyID, keys.Grant{Name: "reader", Scopes: auth.Scopes()}, rand.Reader)
			if err != nil {
				t.Fatal(err)
			}
			readers = append(readers, &feedReader{service: &service, key: key, types: types})
		}
	}

	var writers, consumers, readerGroup sync.WaitGroup
	var deaths, repeats atomic.Int64
	for w := range 8 {
		writers.Go(func() {
			var items []*testItem
			for n := range total / 80 {
				items = append(items, &testItem{companyID: companies[n%3], recordID: fmt.Sprintf("rec_%d%04d", w, n), kind: itemKinds[mathrand.IntN(len(itemKinds))]})
			}
			for range total / 8 {
				i := items[mathrand.IntN(len(items))]
				feed.write(i.change(s.Clock.Now()))
				switch mathrand.IntN(200) {
				case 0:
					feed.split()
				case 1, 2, 3, 4:
					feed.write(i.countUpdate(s.Clock.Now()))
				}
			}
		})
	}
	for range 4 {
		consumers.Go(func() {
			transport := &apitest.CrashingTransport{}
			rec := recorder.New(table.New(apitest.Options(t, s.Clock.Now, transport)).AsOperator(), func(context.Context, recorder.ParkedRecord) error { return nil })
			for {
				shard, batch, ok := feed.lease()
				if !ok {
					return
				}
				transport.StopCrashing()
				switch {
				case deaths.Load() == 0: // at least one consumer must have crashed
					transport.CrashAfter(0, mathrand.IntN(2) == 0)
				case mathrand.IntN(2) == 0:
					transport.CrashAfter(mathrand.IntN(6), mathrand.IntN(2) == 0)
				}
				var twin sync.WaitGroup // a consumer that is considered dead but still runs
				if mathrand.IntN(5) == 0 {
					twin.Go(func() { _ = rec.Record(t.Context(), shard.id, batch[:1+mathrand.IntN(len(batch))]) }) // its result is lost
				}
				err := rec.Record(t.Context(), shard.id, batch)
				consumed := len(batch)
				switch {
				case err != nil:
					deaths.Add(1)
					consumed = 0
				case repeats.Load() == 0 || mathrand.IntN(4) == 0: // the consumer crashes before it stores its progress
					repeats.Add(1)
					consumed = mathrand.IntN(len(batch))
				}
				feed.release(shard, consumed)
				twin.Wait()
			}
		})
	}
	for _, r := range readers {
		readerGroup.Go(func() {
			for seen, isDone := 0, false; !isDone; {
				seen, isDone = feed.waitForRelease(seen)
				for hasMore := true; hasMore; {
					var err error
					if hasMore, err = r.read(t.Context()); err != nil {
						t.Error(err)
						return
					}
				}
			}
		})
	}
	writers.Wait()
	feed.end()
	consumers.Wait()
	readerGroup.Wait()

	t.Logf("%d records of %d shards, %d deaths, %d batches repeated", len(feed.records()), len(feed.shards), deaths.Load(), repeats.Load())
	if deaths.Load() == 0 || repeats.Load() == 0 {
		t.Errorf("%d deaths and %d repeated batches, want some", deaths.Load(), repeats.Load())
	}
	for n, companyID := range companies[:2] {
		checkReaders(t, readers[3*n:3*n+3], wantedChanges(feed, companyID))
	}
	if items, err := table.ReadAll[struct {
		SK string `store:"sk"`
	}](t.Context(), s.Table, table.Collection{Partition: table.Partition(erased, change.Area)}); err != nil || len(items) > 0 {
		t.Errorf("the feed of a company without a counter has %d items: %v", len(items), err)
	}
}

// wantedChanges returns the expected statuses of the changes to each record of a company, in order.
func wantedChanges(feed *shardedStream, companyID string) map[string][]string {
	out := map[string][]string{}
	for _, r := range feed.records() {
		if strings.HasPrefix(r.Key.PK, companyID+"#") && !table.IsSameRevision(r.Old, r.New) {
			recordID := r.Key.SK[strings.Index(r.Key.SK, "#")+1:]
			out[recordID] = append(out[recordID], "s"+strconv.Itoa(len(out[recordID])+1))
		}
	}
	return out
}

// checkReaders checks the changes seen by three readers: two that follow all types, and one that
// follows only ideas and posts.
func checkReaders(t *testing.T, readers []*feedReader, want map[string][]string) {
	t.Helper()
	all := readers[0].found
	got := map[string][]string{}
	seen := map[string]bool{}
	var ideasAndPosts []change.Change
	for _, c := range all {
		if seen[c.ID] {
			t.Errorf("the change %s came twice", c.ID)
		}
		seen[c.ID] = true
		got[c.RecordID] = append(got[c.RecordID], *c.Status)
		if slices.Contains([]change.Type{"idea", "post"}, c.Type) {
			ideasAndPosts = append(ideasAndPosts, c)
		}
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("the changes of each record (-want +got):\n%s", diff)
	}
	if diff := cmp.Diff(all, readers[1].found); diff != "" {
		t.Errorf("a second reader found others, or in another order (-first +second):\n%s", diff)
	}
	if diff := cmp.Diff(ideasAndPosts, readers[2].found); diff != "" {
		t.Errorf("a reader of some types found others, or in another order (-want +got):\n%s", diff)
	}
}
