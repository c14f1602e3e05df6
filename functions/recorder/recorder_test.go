package recorder_test

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"strconv"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"growthworkspace/functions/changes"
	"growthworkspace/functions/recorder"
	"growthworkspace/shared/change"
	"growthworkspace/shared/id"
	"growthworkspace/shared/table"
	"growthworkspace/shared/testkit/apitest"
)

func start(t *testing.T) *apitest.Service {
	t.Helper()
	s := apitest.New(t, changes.Operations)
	if err := s.Table.Transact(t.Context(), change.WriteCounter(s.Table, s.CompanyID)); err != nil {
		t.Fatal(err)
	}
	return s
}

// newRecorder returns a recorder. The records that it parks are appended to *parked.
func newRecorder(t *table.Client, parked *[]recorder.ParkedRecord) *recorder.Recorder {
	return recorder.New(t, func(_ context.Context, p recorder.ParkedRecord) error {
		*parked = append(*parked, p)
		return nil
	})
}

// withSequenceNumbers assigns sequence numbers to the records.
func withSequenceNumbers(records ...change.StreamRecord) []change.StreamRecord {
	for n := range records {
		records[n].SequenceNumber = strconv.Itoa(n + 1)
	}
	return records
}

// recordedChanges returns the changes of the company, as "type action record status key".
func recordedChanges(t *testing.T, s *apitest.Service) (out []string) {
	t.Helper()
	for _, item := range s.Call(t, s.IssueKey(t), "list_changes", map[string]any{"limit": 200}).Items(t) {
		text := item["type"].(string) + " " + item["action"].(string) + " " + item["recordId"].(string)
		for _, name := range []string{"status", "keyId"} {
			if value, ok := item[name].(string); ok {
				text += " " + value
			}
		}
		out = append(out, text)
	}
	return out
}

// Ensure a write becomes a change if it changes a record, and only then.
func TestWhatIsAChange(t *testing.T) {
	t.Parallel()
	s := start(t)
	key := table.Key{PK: table.Partition(s.CompanyID, "plan"), SK: "item#itm_1"}
	old, renewed := image(key, "itm_1", 1, ""), image(key, "itm_1", 2, "key_9")
	counted := image(key, "itm_1", 2, "key_9")
	counted["children"] = table.Number(1)
	imported := image(key, "itm_1", 3, table.ImportWriter)
	keyIn := func(area, sk string, moreParts ...string) table.Key {
		return table.Key{PK: table.Partition(s.CompanyID, area, moreParts...), SK: sk}
	}
	newItemRecord := func(key table.Key) change.StreamRecord {
		return change.StreamRecord{Key: key, New: image(key, "x_1", 1, "")}
	}
	var parked []recorder.ParkedRecord
	err := newRecorder(s.Table, &parked).Record(t.Context(), "shard-1", withSequenceNumbers(
		change.StreamRecord{Key: key, New: old},
		change.StreamRecord{Key: key, Old: old, New: renewed},
		change.StreamRecord{Key: key, Old: renewed, New: counted},
		change.StreamRecord{Key: key, Old: counted, New: imported},
		newItemRecord(keyIn("plan", "slug#brd_1#a")),
		newItemRecord(keyIn("plan", "item#itm_1", "board")),
		newItemRecord(keyIn("plan", "removed#board#brd_1")),
		newItemRecord(keyIn("keys", "key#key_1")),
		newItemRecord(keyIn("changes", "counter")),
		newItemRecord(keyIn("optimise", "0#1", "findings", "aud_1")),
		newItemRecord(table.Key{PK: "nothing", SK: "item#itm_1"}),
		change.StreamRecord{Key: key, Old: imported},
	))
	if err != nil || len(parked) > 0 {
		t.Fatal(err, parked)
	}
	want := []string{"item created itm_1 s1", "item updated itm_1 s2 key_9", "item deleted itm_1"}
	if diff := cmp.Diff(want, recordedChanges(t, s)); diff != "" {
		t.Errorf("the changes (-want +got):\n%s", diff)
	}
}

// Ensure a publish is one change, which contains the version, and that other writes to a board are
// changes to the board.
func TestPublish(t *testing.T) {
	t.Parallel()
	s := start(t)
	key := table.Key{PK: table.Partition(s.CompanyID, "plan"), SK: "board#brd_1"}
	board := func(revision int, version int64) table.Item {
		item := image(key, "brd_1", revision, "")
		delete(item, "status")
		if version > 0 {
			item["publishedVersion"] = table.Number(version)
		}
		return item
	}
	var parked []recorder.ParkedRecord
	err := newRecorder(s.Table, &parked).Record(t.Context(), "shard-1", withSequenceNumbers(
		change.StreamRecord{Key: key, New: board(1, 0)},
		change.StreamRecord{Key: key, Old: board(1, 0), New: board(2, 1)},
		change.StreamRecord{Key: key, Old: board(2, 1), New: board(3, 1)},
		change.StreamRecord{Key: key, Old: board(3, 1), New: board(4, 2)},
		change.StreamRecord{Key: key, Old: board(4, 2)},
	))
	if err != nil || len(parked) > 0 {
		t.Fatal(err, parked)
	}
	want := []string{"board created brd_1", "publish updated brd_1 1", "board updated brd_1", "publish updated brd_1 2", "board deleted brd_1"}
	if diff := cmp.Diff(want, recordedChanges(t, s)); diff != "" {
		t.Errorf("the changes (-want +got):\n%s", diff)
	}
}

// Ensure an unreadable record is parked, is reported as an unknown change, and does not hold up
// other records. If it cannot be parked, the batch fails.
func TestUnreadableRecord(t *testing.T) {
	t.Parallel()
	s := start(t)
	key := table.Key{PK: table.Partition(s.CompanyID, "broadcast"), SK: "post#pst_1"}
	poison := image(key, "pst_1", 1, "key_9")
	poison["status"] = table.Number(5)
	batch := withSequenceNumbers(change.StreamRecord{Key: key, New: poison}, change.StreamRecord{Key: key, Old: poison, New: image(key, "pst_1", 2, "key_9")})
	errQueueFull := errors.New("the queue is full")
	failing := recorder.New(s.Table, func(context.Context, recorder.ParkedRecord) error { return errQueueFull })
	if err := failing.Record(t.Context(), "shard-1", batch); !errors.Is(err, errQueueFull) {
		t.Errorf("the error is %v, want that of the queue", err)
	}
	if got := recordedChanges(t, s); len(got) > 0 {
		t.Errorf("recorded before it is parked: %v", got)
	}
	var parked []recorder.ParkedRecord
	if err := newRecorder(s.Table, &parked).Record(t.Context(), "shard-1", batch); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff([]string{"post unknown pst_1 key_9", "post updated pst_1 s2 key_9"}, recordedChanges(t, s)); diff != "" {
		t.Errorf("the changes (-want +got):\n%s", diff)
	}
	want := []recorder.ParkedRecord{{ShardID: "shard-1", SequenceNumber: "1", PK: key.PK, SK: key.SK, Reason: "unreadable record: the attribute status is not a string"}}
	if diff := cmp.Diff(want, parked); diff != "" {
		t.Errorf("what is parked (-want +got):\n%s", diff)
	}
}

// Ensure a deletion names no API key, even if some points of the record remain.
func TestDeletionOfSomePoints(t *testing.T) {
	t.Parallel()
	s := start(t)
	key := table.Key{PK: table.Partition(s.CompanyID, "metrics"), SK: "pt#a#day#2026#s"}
	old := table.Item{"pk": table.String(key.PK), "sk": table.String(key.SK), "metricKey": table.String("a"), "definitionId": table.String("mdf_1")}
	left := maps.Clone(old)
	left[table.WriterAttr], left[table.WriteIDAttr], left["deletedBy"] = table.String("key_9"), table.String("del_1"), table.String("del_1")
	var parked []recorder.ParkedRecord
	if err := newRecorder(s.Table, &parked).Record(t.Context(), "shard-1", withSequenceNumbers(change.StreamRecord{Key: key, Old: old, New: left})); err != nil || len(parked) > 0 {
		t.Fatal(err, parked)
	}
	if diff := cmp.Diff([]string{"metric_points deleted mdf_1"}, recordedChanges(t, s)); diff != "" {
		t.Errorf("the changes (-want +got):\n%s", diff)
	}
}

// Ensure records that are too large for a packet are parked, and do not hold up other records.
func TestHugeEvents(t *testing.T) {
	t.Parallel()
	s := start(t)
	var batch []change.StreamRecord
	var want []string
	for n := range change.PacketChangesMax {
		id := fmt.Sprintf("pst_%02d", n) + strings.Repeat("%", 1000) // the longest sort key, of characters that are escaped
		key := table.Key{PK: table.Partition(s.CompanyID, "broadcast"), SK: "post#" + id}
		huge := image(key, id, 1, "key_9")
		huge["status"] = table.String(strings.Repeat("x", 300_000))
		batch = append(batch, change.StreamRecord{Key: key, New: huge})
		want = append(want, "post unknown "+id+" key_9")
	}
	var parked []recorder.ParkedRecord
	if err := newRecorder(s.Table, &parked).Record(t.Context(), "shard-1", withSequenceNumbers(batch...)); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(want, recordedChanges(t, s)); diff != "" || len(parked) != len(batch) {
		t.Errorf("%d parked; the changes (-want +got):\n%s", len(parked), diff)
	}
}

// Ensure a batch without a shard id is an error, because the recorder could not recognise it when
// it is delivered again.
func TestNoShard(t *testing.T) {
	t.Parallel()
	s := start(t)
	var parked []recorder.ParkedRecord
	if err := newRecorder(s.Table, &parked).Record(t.Context(), "", nil); err == nil {
		t.Error("it is recorded")
	}
}

// Ensure a batch with records of several companies can be delivered again after a crash at any
// call. Each change is then in its feed exactly once, even if some feeds already had their packet.
func TestBatchThroughCrashes(t *testing.T) {
	t.Parallel()
	s := start(t)
	other := *s
	other.CompanyID = s.Table.NewID(id.CompanyPrefix)
	if err := s.Table.Transact(t.Context(), change.WriteCounter(s.Table, other.CompanyID)); err != nil {
		t.Fatal(err)
	}
	sequence := 0
	nextRecord := func(companyID string) change.StreamRecord {
		sequence++
		recordID := "itm_" + strconv.Itoa(sequence)
		key := table.Key{PK: table.Partition(companyID, "plan"), SK: "item#" + recordID}
		return change.StreamRecord{Key: key, New: image(key, recordID, 1, ""), SequenceNumber: strconv.Itoa(sequence)}
	}
	var parked []recorder.ParkedRecord
	for calls, died := 0, true; died; calls++ {
		died = false
		for _, duringCall := range []bool{false, true} {
			transport := &apitest.CrashingTransport{}
			transport.CrashAfter(calls, duringCall)
			crashing := newRecorder(table.New(apitest.Options(t, s.Clock.Now, transport)).AsOperator(), &parked)
			batch := []change.StreamRecord{nextRecord(s.CompanyID), nextRecord(other.CompanyID), nextRecord(s.CompanyID)}
			err := crashing.Record(t.Context(), "shard-1", batch)
			if died = died || transport.Crashed(); transport.Crashed() == (err == nil) {
				t.Errorf("after %d calls, during another: %t: error %v", calls, duringCall, err)
			}
			if err := newRecorder(s.Table, &parked).Record(t.Context(), "shard-1", batch); err != nil {
				t.Fatal(err)
			}
		}
	}
	var want, wantOther []string
	for n := 1; n <= sequence; n += 3 {
		want = append(want, "item created itm_"+strconv.Itoa(n)+" s1", "item created itm_"+strconv.Itoa(n+2)+" s1")
		wantOther = append(wantOther, "item created itm_"+strconv.Itoa(n+1)+" s1")
	}
	if diff := cmp.Diff(want, recordedChanges(t, s)); diff != "" {
		t.Errorf("the changes (-want +got):\n%s", diff)
	}
	if diff := cmp.Diff(wantOther, recordedChanges(t, &other)); diff != "" {
		t.Errorf("the changes of the other company (-want +got):\n%s", diff)
	}
}
