package change_test

import (
	"context"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/google/go-cmp/cmp"

	"growthworkspace/shared/api"
	"growthworkspace/shared/change"
	"growthworkspace/shared/table"
	"growthworkspace/shared/testkit/apitest"
)

// startWithFeed returns a service that has no operations but whose company has a feed.
func startWithFeed(t *testing.T) *apitest.Service {
	t.Helper()
	s := apitest.New(t, func(*table.Client) []api.Operation { return nil })
	if err := s.Table.Transact(t.Context(), change.WriteCounter(s.Table, s.CompanyID)); err != nil {
		t.Fatal(err)
	}
	return s
}

// occurrences returns one occurrence for each sequence number, which is also the record's id.
func occurrences(s *apitest.Service, sequence ...int) (out []change.Occurrence) {
	for _, n := range sequence {
		out = append(out, change.Occurrence{
			Event: change.Event{RecordID: strconv.Itoa(n), Action: change.Created}, Type: "item", OccurredAt: s.Clock.Now(), SequenceNumber: strconv.Itoa(n),
		})
	}
	return out
}

func appendTo(t *testing.T, s *apitest.Service, shardID string, batch []change.Occurrence) {
	t.Helper()
	if err := change.Append(t.Context(), s.Table, s.CompanyID, shardID, batch); err != nil {
		t.Fatal(err)
	}
}

// packetsOf returns the packets of the company's feed, and checks that each contains the position
// of the previous one.
func packetsOf(t *testing.T, s *apitest.Service) (out []change.Packet) {
	t.Helper()
	first, last := change.PacketKey(s.CompanyID, 0), change.LastPacketKey(s.CompanyID)
	found, err := s.Table.Query(t.Context(), &dynamodb.QueryInput{
		KeyConditionExpression:    aws.String("pk = :pk AND sk BETWEEN :first AND :last"),
		ExpressionAttributeValues: table.Item{":pk": table.String(first.PK), ":first": table.String(first.SK), ":last": table.String(last.SK)},
		ConsistentRead:            aws.Bool(true),
	})
	if err != nil {
		t.Fatal(err)
	}
	previous := int64(0)
	for _, item := range found.Items {
		p, err := change.DecodePacket(s.CompanyID, item, s.Clock.Now())
		if err != nil {
			t.Fatal(err)
		}
		if p.Previous != previous || len(p.Changes) == 0 || len(p.Changes) > change.PacketChangesMax {
			t.Errorf("the packet %d has %d changes and names %d before it, want %d", p.Position, len(p.Changes), p.Previous, previous)
		}
		previous = p.Position
		out = append(out, p)
	}
	return out
}

func recordsOf(packets []change.Packet) (out []string) {
	for _, p := range packets {
		for _, c := range p.Changes {
			out = append(out, c.RecordID)
		}
	}
	return out
}

// Ensure that occurrences that are already recorded are recognised, wherever a batch begins and
// ends, and that sequence numbers are compared as numbers.
func TestAppendRecognisesWhatItRecorded(t *testing.T) {
	t.Parallel()
	s := startWithFeed(t)
	for _, batch := range [][]int{{8, 9}, {8, 9}, {9}, {8, 9, 10, 11}, {10}, {9, 10, 11}, {99, 100}, {100, 101}} {
		appendTo(t, s, "shard-1", occurrences(s, batch...))
	}
	appendTo(t, s, "shard-2", occurrences(s, 10)) // the same number in another shard
	appendTo(t, s, "shard-1", nil)
	packets := packetsOf(t, s)
	if diff := cmp.Diff([]string{"8", "9", "10", "11", "99", "100", "101", "10"}, recordsOf(packets)); diff != "" {
		t.Errorf("the records (-want +got):\n%s", diff)
	}
	ids := map[string]bool{}
	for _, p := range packets {
		for _, c := range p.Changes {
			ids[c.ID] = true
		}
	}
	if len(ids) != 8 {
		t.Errorf("%d ids of 8 changes", len(ids))
	}
}

// Ensure each gap is added, even if the clock was ahead when the previous one was added.
func TestGapsAfterClockGoesBack(t *testing.T) {
	t.Parallel()
	s := startWithFeed(t)
	for n := range 3 {
		if err := change.AppendGap(t.Context(), s.Table, s.CompanyID); err != nil {
			t.Fatal(err)
		}
		if got := len(recordsOf(packetsOf(t, s))); got != (n+1)*len(change.Types()) {
			t.Errorf("%d changes after %d gaps", got, n+1)
		}
		s.Clock.Advance(-time.Hour)
	}
}

// Ensure a large batch becomes several packets. Their positions are times that never repeat, even
// if the clock stands still or goes back.
func TestPositions(t *testing.T) {
	t.Parallel()
	s := startWithFeed(t)
	var sequence []int
	for n := range 2*change.PacketChangesMax + 1 {
		sequence = append(sequence, n+1)
	}
	appendTo(t, s, "shard-1", occurrences(s, sequence...))
	s.Clock.Advance(-time.Hour)
	appendTo(t, s, "shard-1", occurrences(s, 1000))
	s.Clock.Advance(2 * time.Hour)
	appendTo(t, s, "shard-1", occurrences(s, 1001))
	var got []int64
	for _, p := range packetsOf(t, s) {
		got = append(got, p.Position-apitest.Epoch.UnixMicro())
	}
	if diff := cmp.Diff([]int64{0, 1, 2, 3, time.Hour.Microseconds()}, got); diff != "" {
		t.Errorf("the positions (-want +got):\n%s", diff)
	}
}

// Ensure occurrences in one batch that have the same group and record become one change.
func TestGroups(t *testing.T) {
	t.Parallel()
	s := startWithFeed(t)
	batch := occurrences(s, 1, 2, 3, 4, 5)
	for n, group := range []string{"a", "a", "b", "", ""} {
		batch[n].RecordID, batch[n].Group = "mdf_1", group
	}
	batch = append(batch, occurrences(s, 6)...)
	batch[5].Group = "a" // an occurrence of another record
	appendTo(t, s, "shard-1", batch)
	appendTo(t, s, "shard-1", batch[1:2])
	if diff := cmp.Diff([]string{"mdf_1", "mdf_1", "mdf_1", "mdf_1", "6"}, recordsOf(packetsOf(t, s))); diff != "" {
		t.Errorf("the records (-want +got):\n%s", diff)
	}
}

// Ensure that shards that append at the same time all succeed, and that their packets form one
// chain.
func TestConcurrentAppends(t *testing.T) {
	t.Parallel()
	s := startWithFeed(t)
	var wait sync.WaitGroup
	for shard := range 8 {
		wait.Go(func() {
			for n := range 5 {
				if err := change.Append(t.Context(), s.Table, s.CompanyID, fmt.Sprint("shard-", shard), occurrences(s, 10*shard+n+1)); err != nil {
					t.Error(err)
				}
			}
		})
	}
	wait.Wait()
	got := recordsOf(packetsOf(t, s))
	slices.Sort(got)
	if len(slices.Compact(got)) != 40 {
		t.Errorf("%d records, want 40: %v", len(got), got)
	}
}

// Ensure the counter forgets a shard a day after the shard's last packet, so that the counter does
// not grow forever.
func TestOldShardsAreForgotten(t *testing.T) {
	t.Parallel()
	s := startWithFeed(t)
	for n := range 30 {
		appendTo(t, s, fmt.Sprint("shard-", n), occurrences(s, 1))
		s.Clock.Advance(time.Hour)
	}
	counter, err := table.GetItem(t.Context(), s.Table, change.CounterKey(s.CompanyID))
	if err != nil {
		t.Fatal(err)
	}
	var stored struct {
		Shards string `store:"shards"`
	}
	if err := table.Decode(counter, &stored); err != nil {
		t.Fatal(err)
	}
	if n := strings.Count(stored.Shards, "shard-"); n != 26 {
		t.Errorf("the counter has %d shards, want 26: %s", n, stored.Shards)
	}
}

// Ensure nothing is recorded for a company without a counter, such as one that is being erased.
func TestNoCounter(t *testing.T) {
	t.Parallel()
	s := startWithFeed(t)
	appendTo(t, s, "shard-1", occurrences(s, 1))
	if err := change.RemoveCounter(t.Context(), s.Table, s.CompanyID); err != nil {
		t.Fatal(err)
	}
	appendTo(t, s, "shard-1", occurrences(s, 2))
	if got := recordsOf(packetsOf(t, s)); !slices.Equal(got, []string{"1"}) {
		t.Errorf("the records are %v, want only the first", got)
	}
}

// Ensure an append that crashes before or during any of its calls to the table can be repeated, and
// that each change is then recorded exactly once.
func TestAppendThroughCrashes(t *testing.T) {
	t.Parallel()
	s := startWithFeed(t)
	sequence := 0
	var want []string
	for calls := 0; ; calls++ {
		crashed := false
		for _, during := range []bool{false, true} {
			transport := &apitest.CrashingTransport{}
			transport.CrashAfter(calls, during)
			crashingTable := table.New(apitest.Options(t, s.Clock.Now, transport)).AsOperator()
			batch := occurrences(s, sequence+1, sequence+2, sequence+3)
			want = append(want, strconv.Itoa(sequence+1), strconv.Itoa(sequence+2), strconv.Itoa(sequence+3))
			sequence += 3
			err := change.Append(context.WithoutCancel(t.Context()), crashingTable, s.CompanyID, "shard-1", batch)
			if crashed = crashed || transport.Crashed(); transport.Crashed() == (err == nil) {
				t.Errorf("after %d calls, during another: %t: error %v", calls, during, err)
			}
			appendTo(t, s, "shard-1", batch[:2])
			appendTo(t, s, "shard-1", batch)
		}
		if !crashed {
			break
		}
		if calls == 20 {
			t.Fatal("the calls have no end")
		}
	}
	if diff := cmp.Diff(want, recordsOf(packetsOf(t, s))); diff != "" {
		t.Errorf("the records (-want +got):\n%s", diff)
	}
}

// Ensure a packet costs the units that infra/RUNBOOK.md states: one read, and a transaction of two
// writes.
func TestUnitsOfAppend(t *testing.T) {
	t.Parallel()
	apitest.SkipIfShort(t) // DynamoDB Local reports too few units for a transaction of small items
	s := startWithFeed(t)
	for _, c := range []struct {
		n    int // later sequence numbers with each case
		want float64
	}{{1, 4}, {change.PacketChangesMax, 18}} {
		n, want := c.n, c.want
		var batch []change.Occurrence
		keyID := s.Table.NewID("key")
		for range n {
			batch = append(batch, change.Occurrence{
				Event: change.Event{RecordID: s.Table.NewID("fbk"), Action: change.Updated, Status: "needs_review"}, Type: "feedback",
				KeyID: keyID, OccurredAt: s.Clock.Now(), SequenceNumber: strconv.Itoa(100_000_000_000_000_000 + 1000*n + len(batch)),
			})
		}
		request := table.NewRequest()
		request.SettlePermit(nil)
		if err := change.Append(table.WithRequest(t.Context(), request), s.Table, s.CompanyID, "shardId-00000001795425850605-0123abcd", batch); err != nil {
			t.Fatal(err)
		}
		if used := request.Usage(); used.Read != 1 || used.Write != want {
			t.Errorf("a packet of %d changes costs %v read and %v write units, want 1 and %v", n, used.Read, used.Write, want)
		}
	}
}
