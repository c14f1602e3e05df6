//go:build linux

package speed

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb"

	"growthworkspace/scripts/prove/testbed"
	"growthworkspace/shared/parallel"
	"growthworkspace/shared/table"
)

// measureMerge compares the speed of `workspace import --from google-play` into an empty company
// with that of a bare loop of conditional PutItems. The loop writes the same items with the same
// number of concurrent calls. measureMerge also measures a second import of the same file, which
// writes nothing.
func (b *bench) measureMerge(ctx context.Context) ([]goal, error) {
	dir, err := os.MkdirTemp("", "speed-*")
	if err != nil {
		return nil, fmt.Errorf("create a folder for the imports: %w", err)
	}
	defer os.RemoveAll(dir)
	w, err := testbed.BuildWorkspace(ctx, dir)
	if err != nil {
		return nil, err
	}
	m := &transferRunner{Workspace: w, dir: dir}
	n := int(importFeedbackCount * b.Scale)
	company, err := m.CreateCompany(ctx)
	if err != nil {
		return nil, err
	}
	report := filepath.Join(dir, "reviews.csv")
	if err := writePlayReport(report, n); err != nil {
		return nil, err
	}
	var runs [2]runUsage
	for i := range runs {
		if runs[i], err = m.run(ctx, "import", "--company", company, "--from", "google-play", report); err != nil {
			return nil, err
		}
	}
	item, err := m.importedItems(ctx, n, table.Partition(company, "feedback"))
	if err != nil {
		return nil, err
	}
	baseline, err := b.measurePuts(ctx, filepath.Join(dir, "bare"), n, item)
	if err != nil {
		return nil, err
	}
	fmt.Fprintf(b.log, "%d reviews of a report: import %.1f s, again %.1f s, bare %.1f s; memory %.0f MiB\n", n,
		runs[0].took.Seconds(), runs[1].took.Seconds(), baseline.Seconds(), max(runs[0].residentMiB, runs[1].residentMiB))
	return []goal{
		{"time of an import of a Play Console report, to a bare loop of conditional PutItems", runs[0].took.Seconds() / baseline.Seconds(), 2.5},
		{"memory of an import of a Play Console report, to 100 MiB", max(runs[0].residentMiB, runs[1].residentMiB) / 100, 1},
	}, nil
}

// writePlayReport writes a monthly report of the Play Console with n reviews. Every fourth review
// has a reply.
func writePlayReport(name string, n int) error {
	f, err := os.Create(name)
	if err != nil {
		return fmt.Errorf("create a report: %w", err)
	}
	out := bufio.NewWriter(f)
	fmt.Fprintln(out, "Package Name,App Version Code,App Version Name,Reviewer Language,Device,Review Submit Date and Time,Review Submit Millis Since Epoch,"+
		"Review Last Update Date and Time,Review Last Update Millis Since Epoch,Star Rating,Review Title,Review Text,Developer Reply Date and Time,"+
		"Developer Reply Millis Since Epoch,Developer Reply Text,Review Link")
	at := time.Date(2026, time.August, 1, 0, 0, 0, 0, time.UTC)
	for i := range n {
		millis, reply := at.Add(-time.Duration(i)*time.Minute).UnixMilli(), ""
		if i%4 == 0 {
			reply = "Thank you for writing. It is fixed in the next version."
		}
		fmt.Fprintf(out, "app.notes,430,4.3.0,en,pixel,,%d,,%d,%d,,\"Two phones, two different lists, and the train has no network. It is review %d of this report.\",,,%s,"+
			"https://play.google.com/console/developers/1/app/2/user-feedback/review-details?reviewId=gp%%3AAOqp-%d&corpus=PUBLIC_REVIEWS\n", millis, millis, 1+i%5, i, reply, i)
	}
	return errors.Join(out.Flush(), f.Close())
}

// measurePuts writes n items to a new engine, each with a conditional PutItem, and returns how long
// that took.
func (b *bench) measurePuts(ctx context.Context, data string, n int, item func(n int) table.Item) (took time.Duration, err error) {
	bed, err := testbed.Open(ctx, testbed.Options{Data: data, Log: b.log})
	if err != nil {
		return 0, err
	}
	defer func() { err = errors.Join(err, bed.Close()) }()
	const lanes = 8 // the number of concurrent batches in an import
	db, name, condition := dynamoClient(bed.Engine), testbed.TableName, "attribute_not_exists(pk)"
	begin := time.Now()
	err = parallel.Do(n, lanes, func(i int) error {
		_, err := db.PutItem(ctx, &dynamodb.PutItemInput{TableName: &name, Item: item(i), ConditionExpression: &condition})
		if err != nil {
			return fmt.Errorf("put an item: %w", err)
		}
		return nil
	})
	return time.Since(begin), err
}
