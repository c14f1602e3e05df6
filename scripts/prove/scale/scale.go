// Package scale computes what limits the service first when requests, companies or records grow. It
// measures units and sizes on a local engine and compares them with AWS's limits. It simulates what
// it cannot calculate: requests that all use one key, and a table with hot partitions.
package scale

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"math"
	"net/http/httptest"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb"

	"growthworkspace/functions"
	"growthworkspace/scripts/prove/testbed"
	"growthworkspace/scripts/workspace/demo"
	"growthworkspace/shared/api"
	"growthworkspace/shared/client"
	"growthworkspace/shared/table"
)

// roundTrip is the average simulated duration of one table call.
const roundTrip = 5 * time.Millisecond

// Run prints the tables of scripts/docs/explanation/scale.md. seed is the seed for the simulations'
// random numbers.
func Run(ctx context.Context, seed uint64, out, log io.Writer) (err error) {
	bed, err := testbed.Open(ctx, testbed.Options{Log: log})
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, bed.Close()) }()
	if err := demo.Seed(ctx, bed.Table, time.Now()); err != nil {
		return err
	}
	units, err := measureUnits(ctx, bed)
	if err != nil {
		return err
	}
	size, err := measureSize(ctx, bed.Table)
	if err != nil {
		return err
	}
	printLimits(out, units)
	printRecords(out, size)
	printKeys(out, seed)
	printPartitions(out, units, seed)
	return nil
}

// Units are the DynamoDB capacity units that three typical requests use.
type Units struct{ get, list, update testbed.TableUse }

// meanReads and meanWrites return the read and write units of an average request. A fifth of the
// requests are updates, and the rest are gets and lists in equal parts.
func (u Units) meanReads() float64 {
	return (1-writeShare)/2*(u.get.ReadUnits+u.list.ReadUnits) + writeShare*u.update.ReadUnits
}

func (u Units) meanWrites() float64 {
	return (1-writeShare)/2*(u.get.WriteUnits+u.list.WriteUnits) + writeShare*u.update.WriteUnits
}

// measureUnits sends requests for the demo company and returns the units that they use.
func measureUnits(ctx context.Context, bed *testbed.Testbed) (u Units, err error) {
	key, err := bed.NewKey(ctx, demo.CompanyID, 0)
	if err != nil {
		return u, err
	}
	use := &testbed.UseRecorder{}
	server := httptest.NewServer(functions.Handler(bed.ServingTable, api.NewConfig(bed.ServingTable, slog.New(use))))
	defer server.Close()
	c, err := client.New(server.URL, key.Key)
	if err != nil {
		return u, err
	}
	page, err := c.ListFeedback(ctx, client.ListFeedbackInput{})
	if err != nil {
		return u, err
	}
	u.list = use.Last()
	open := slices.IndexFunc(page.Items, func(f client.Feedback) bool { return f.ReplyBody.Or("") == "" })
	if open < 0 {
		return u, errors.New("the demo company has no review without a reply on its first page")
	}
	feedbackID := page.Items[open].ID
	if _, err := c.GetFeedback(ctx, client.GetFeedbackInput{FeedbackID: feedbackID}); err != nil {
		return u, err
	}
	u.get = use.Last()
	_, err = c.UpdateFeedbackReply(ctx, client.UpdateFeedbackReplyInput{FeedbackID: feedbackID, ReplyBody: client.Value("Thank you!")})
	u.update = use.Last()
	return u, err
}

// Size is the average size of a stored review.
type Size struct {
	Bytes  float64 // including the attribute names
	Copies float64 // the number of copies in the indexes
}

// measureSize measures the demo company's reviews.
func measureSize(ctx context.Context, t *table.Client) (s Size, err error) {
	reviews := 0.0
	in := &dynamodb.ScanInput{}
	for {
		page, err := t.Scan(ctx, in)
		if err != nil {
			return s, err
		}
		for _, item := range page.Items {
			if !strings.HasPrefix(table.KeyOf(item).SK, "feedback#") {
				continue
			}
			reviews++
			s.Bytes += float64(testbed.ItemBytes(item))
			for _, index := range table.Indexes() {
				if item[index.PK()] != nil {
					s.Copies++
				}
			}
		}
		if in.ExclusiveStartKey = page.LastEvaluatedKey; in.ExclusiveStartKey == nil {
			break
		}
	}
	return Size{s.Bytes / reviews, s.Copies / reviews}, nil
}

// rates are the numbers of requests per second for which the page has a column.
var rates = []float64{1_000, 10_000, 100_000}

// printLimits prints how much of each limit the load uses at each of the rates.
func printLimits(out io.Writer, u Units) {
	columns := make([][]Limit, len(rates))
	for n, rps := range rates {
		columns[n] = limitsOf(rps, u)
	}
	fmt.Fprintln(out, "| Limit | At first | 1,000 a second | 10,000 a second | 100,000 a second | Raise it with |")
	fmt.Fprintln(out, "|---|---|---|---|---|---|")
	for row, first := range columns[0] {
		fmt.Fprintf(out, "| %s | %s |", first.Name, formatNumber(first.Have))
		for _, column := range columns {
			need := formatNumber(column[row].Need)
			if column[row].Need > column[row].Have {
				need = "**" + need + "**"
			}
			fmt.Fprintf(out, " %s |", need)
		}
		fmt.Fprintf(out, " %s |\n", first.RaiseWith)
	}
	fmt.Fprintf(out, "\nAn average request: %.1f read units and %.1f write units.\n\n", u.meanReads(), u.meanWrites())
}

// printRecords prints the size of different numbers of reviews, and the cost of storing and
// indexing them.
func printRecords(out io.Writer, s Size) {
	fmt.Fprintln(out, "| Reviews | Stored | Storage and backup, a month | A new index over all | … at 40,000 write units a second |")
	fmt.Fprintln(out, "|---|---|---|---|---|")
	for _, n := range []float64{1e6, 1e8, 1e9} {
		gigabytes, indexes := n*s.Bytes/1e9, n*s.Bytes*s.Copies/1e9
		units := n * math.Ceil(s.Bytes/1024)
		fmt.Fprintf(out, "| %s | %s GB, %s GB in indexes | $%s | $%s | %s |\n", formatNumber(n), formatNumber(gigabytes), formatNumber(indexes),
			formatNumber((gigabytes+indexes)*storagePrice+gigabytes*backupPrice), formatNumber(units/1e6*writePrice), formatDuration(units/tableUnits))
	}
	fmt.Fprintf(out, "\nAn average review: %.0f bytes, with %.1f copies in indexes.\n\n", s.Bytes, s.Copies)
}

// AWS's list prices in us-east-1, in US dollars. infra/RUNBOOK.md#costs gives their date and
// sources.
const (
	storagePrice = 0.25 // per GB and month
	backupPrice  = 0.20 // per GB and month
	writePrice   = 0.625
)

// printKeys prints the outcome of requests that all use one key.
func printKeys(out io.Writer, seed uint64) {
	fmt.Fprintln(out, "| Quota of the key | Sent | Instances | 200 | 429 | 503 | Write units | Delay of the key's check |")
	fmt.Fprintln(out, "|---|---|---|---|---|---|---|---|")
	for _, l := range []KeyLoad{
		{Quota: 600, RPS: 20, Processes: 4},
		{Quota: 6_000, RPS: 200, Processes: 16},
		{Quota: 30_000, RPS: 500, Processes: 64},
		{Quota: 60_000, RPS: 900, Processes: 64},
		{Quota: 60_000, RPS: 1_500, Processes: 128},
		{Quota: 600_000, RPS: 3_000, Processes: 256},
	} {
		l.Length = 2 * time.Minute
		o := SimulateKey(l, seed)
		fmt.Fprintf(out, "| %s a minute | %s a second | %d | %s | %s | %s | %s | %v |\n", formatNumber(float64(l.Quota)), formatNumber(l.RPS), l.Processes,
			formatNumber(o.AdmittedPerS), formatNumber(o.RefusedPerS), formatNumber(o.UnavailablePerS), formatNumber(o.UnitsPerS), o.Delay)
	}
	fmt.Fprintln(out)
}

// printPartitions prints what share of the writes is throttled in a table that had no load before.
func printPartitions(out io.Writer, u Units, seed uint64) {
	fmt.Fprintln(out, "| Requests | Warm write units | Companies | Throttled in the first minute | …, splits after 1 min | … after 5 min | Partitions at the end |")
	fmt.Fprintln(out, "|---|---|---|---|---|---|---|")
	for _, rps := range rates {
		for _, warm := range []int{newTableWriteUnits, int(math.Ceil(2*rps*u.meanWrites()/partitionWriteUnits)) * partitionWriteUnits} {
			load := TableLoad{UnitsPerS: rps * u.meanWrites(), Companies: 10_000, Skew: 1, Partitions: warm / partitionWriteUnits, Length: 30 * time.Minute, SplitAfter: time.Minute}
			fastSplits := SimulateTable(load, seed)
			load.SplitAfter = 5 * time.Minute
			slowSplits := SimulateTable(load, seed)
			fmt.Fprintf(out, "| %s a second | %s | %s | %.0f %% | %.1f %% | %.1f %% | %d |\n", formatNumber(rps), formatNumber(float64(warm)), formatNumber(float64(load.Companies)),
				100*slowSplits.FirstMinute, 100*fastSplits.LastMinute, 100*slowSplits.LastMinute, fastSplits.Partitions)
		}
	}
	fmt.Fprintln(out)
}

// formatNumber formats a number without decimals and with commas between the thousands.
func formatNumber(n float64) string {
	digits := strconv.FormatFloat(math.Round(n), 'f', 0, 64)
	for i := len(digits) - 3; i > 0; i -= 3 {
		digits = digits[:i] + "," + digits[i:]
	}
	return digits
}

// formatDuration formats a number of seconds.
func formatDuration(seconds float64) string {
	switch {
	case seconds < 120:
		return formatNumber(seconds) + " s"
	case seconds < 2*3600:
		return formatNumber(seconds/60) + " min"
	}
	return formatNumber(seconds/3600) + " h"
}
