// Package feed measures the feed of changes: what a packet costs, and how long a change takes to
// appear on a local engine. In a simulation of many shards, it also measures how the feed copes
// with a company that writes a lot.
package feed

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net/http/httptest"
	"slices"
	"strconv"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"growthworkspace/functions"
	"growthworkspace/scripts/prove/testbed"
	"growthworkspace/scripts/prove/timeline"
	"growthworkspace/shared/api"
	"growthworkspace/shared/change"
	"growthworkspace/shared/client"
	"growthworkspace/shared/table"
	"growthworkspace/shared/testkit/engine"
)

// Options are the sizes of a run.
type Options struct {
	Writes int // the number of writes in the measurement on the local engine
	Seed   uint64
}

// Run measures the feed and prints one line for each figure.
func Run(ctx context.Context, o Options, out, log io.Writer) (err error) {
	bed, err := testbed.Open(ctx, testbed.Options{Prefer: engine.Dynoxide, Log: log})
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, bed.Close()) }()
	if err := bed.Table.EnableStream(ctx); err != nil {
		return err
	}
	sizes, err := measureSizes(ctx, bed, out)
	if err != nil {
		return err
	}
	if err := measureLag(ctx, bed, o.Writes, out); err != nil {
		return err
	}
	for _, load := range Loads() {
		fmt.Fprintf(out, "simulation  %5d writes/s of one company, %2d shards: %s\n", load.LoudPerS, load.Shards, Simulate(load, sizes, o.Seed))
	}
	return nil
}

// Loads returns the loads of the simulation. In each load, the stream has between 1 and 64 shards.
// The loud company writes 0 to 3,000 records a second, and the quiet company writes one.
func Loads() (loads []Load) {
	for _, l := range []struct{ loud, shards int }{{0, 4}, {100, 4}, {1000, 1}, {1000, 4}, {1000, 16}, {1000, 64}, {3000, 4}} {
		loads = append(loads, Load{Shards: l.shards, LoudPerS: l.loud, QuietPerS: 1, Length: 5 * time.Minute})
	}
	return loads
}

// measureSizes appends packets to a feed, prints the units that they cost, and returns the sizes of
// the items.
func measureSizes(ctx context.Context, bed *testbed.Testbed, out io.Writer) (s Sizes, err error) {
	companyID := bed.Table.NewID("co")
	if _, err := change.EnsureCounter(ctx, bed.Table, companyID); err != nil {
		return s, err
	}
	var packets []int
	serial := 0
	for _, n := range []int{1, change.PacketChangesMax} {
		var batch []change.Occurrence
		for range n {
			serial++
			batch = append(batch, change.Occurrence{
				Event: change.Event{RecordID: bed.Table.NewID("fbk"), Action: change.Updated, Status: "needs_review"}, Type: change.Feedback,
				KeyID: bed.Table.NewID("key"), OccurredAt: time.Now(), SequenceNumber: strconv.Itoa(100_000_000_000_000_000 + serial),
			})
			batch[len(batch)-1].KeyID = batch[0].KeyID
		}
		request := table.NewRequest()
		request.SettlePermit(nil)
		if err := change.Append(table.WithRequest(ctx, request), bed.Table, companyID, "shardId-00000001795425850605-0123abcd", batch); err != nil {
			return s, err
		}
		packet, err := lastPacketBytes(ctx, bed, companyID)
		if err != nil {
			return s, err
		}
		packets = append(packets, packet)
		usage := request.Usage()
		fmt.Fprintf(out, "packet      of %3d changes: %d bytes; %d calls, %v read and %v write units\n", n, packet, usage.Calls, usage.Read, usage.Write)
	}
	counter, err := table.GetItem(ctx, bed.Table, change.CounterKey(companyID))
	if err != nil {
		return s, err
	}
	s.Change = (packets[1] - packets[0]) / (change.PacketChangesMax - 1)
	s.Packet = packets[0] - s.Change
	s.Counter = testbed.ItemBytes(counter)
	s.CounterShard = len(stringValue(counter["shards"])) // the size of one shard
	fmt.Fprintf(out, "counter     with one shard: %d bytes, %d more for each further shard\n", s.Counter, s.CounterShard)
	return s, nil
}

// lastPacketBytes returns the size of the newest packet of a feed.
func lastPacketBytes(ctx context.Context, bed *testbed.Testbed, companyID string) (int, error) {
	counter, err := table.GetItem(ctx, bed.Table, change.CounterKey(companyID))
	if err != nil {
		return 0, err
	}
	number, _ := counter["last"].(*types.AttributeValueMemberN)
	if number == nil {
		return 0, errors.New("the feed has no packet")
	}
	position, err := strconv.ParseInt(number.Value, 10, 64)
	if err != nil {
		return 0, err
	}
	packet, err := table.GetItem(ctx, bed.Table, change.PacketKey(companyID, position))
	return testbed.ItemBytes(packet), err
}

func stringValue(value types.AttributeValue) string {
	s, _ := value.(*types.AttributeValueMemberS)
	if s == nil {
		return ""
	}
	return s.Value
}

// measureLag writes records one after the other, and measures how long each change takes until
// list_changes returns it.
func measureLag(ctx context.Context, bed *testbed.Testbed, writes int, out io.Writer) error {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	company, err := bed.NewCompany(ctx, testbed.UnlimitedQuota)
	if err != nil {
		return err
	}
	if _, err := change.EnsureCounter(ctx, bed.Table, company.ID); err != nil {
		return err
	}
	server := httptest.NewServer(functions.Handler(bed.ServingTable, api.NewConfig(bed.ServingTable, slog.New(slog.DiscardHandler))))
	defer server.Close()
	go testbed.RecordChanges(ctx, bed.Table, testbed.Stream(bed.Engine.Endpoint, testbed.Transport(bed.Engine.Socket)), func(err error) { fmt.Fprintln(out, "recorder:", err) })
	reader, err := client.New(server.URL, company.Key)
	if err != nil {
		return err
	}
	var lags []time.Duration
	after := client.Optional[string]{}
	for n := range writes {
		plan, err := reader.CreateBroadcastPlan(ctx, client.CreateBroadcastPlanInput{Name: fmt.Sprint("Plan ", n)})
		if err != nil {
			return err
		}
		begin := time.Now()
		for seen := false; !seen; {
			page, err := reader.ListChanges(ctx, client.ListChangesInput{After: after})
			if err != nil {
				return err
			}
			after = client.Value(page.After)
			seen = slices.ContainsFunc(page.Items, func(c client.Change) bool { return c.RecordID == plan.ID })
		}
		lags = append(lags, time.Since(begin))
	}
	fmt.Fprintf(out, "lag         of %d writes on the local engine, read without a pause: %s\n", writes, timeline.Summarise(lags))
	return nil
}
