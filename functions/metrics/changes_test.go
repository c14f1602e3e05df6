package metrics_test

import (
	"fmt"
	"maps"
	"net/http"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"

	"growthworkspace/functions/metrics"
	"growthworkspace/shared/change"
	"growthworkspace/shared/table"
	"growthworkspace/shared/testkit/apitest"
)

// storedItems returns all items of the area's partition, by sort key.
func storedItems(t *testing.T, s *apitest.Service) map[string]table.Item {
	t.Helper()
	out := map[string]table.Item{}
	in := &dynamodb.QueryInput{
		KeyConditionExpression: aws.String("pk = :pk"), ConsistentRead: aws.Bool(true),
		ExpressionAttributeValues: table.Item{":pk": table.String(table.Partition(s.CompanyID, "metrics"))},
	}
	for {
		page, err := s.Table.Query(t.Context(), in)
		if err != nil {
			t.Fatal(err)
		}
		for _, item := range page.Items {
			out[table.KeyOf(item).SK] = item
		}
		if in.ExclusiveStartKey = page.LastEvaluatedKey; len(in.ExclusiveStartKey) == 0 {
			return out
		}
	}
}

// changesOf calls `do` and returns the changes that it makes, as "type action record". If grouped
// is true, changes of the same group are one change, as if all writes were in one stream batch.
// Otherwise the changes are as the sources return them.
func changesOf(t *testing.T, s *apitest.Service, grouped bool, do func()) (out []string) {
	t.Helper()
	before := storedItems(t, s)
	do()
	after := storedItems(t, s)
	all := maps.Clone(before)
	maps.Copy(all, after)
	groups := map[change.Event]bool{}
	for sk := range all {
		old, item := before[sk], after[sk]
		if reflect.DeepEqual(old, item) || table.IsSameRevision(old, item) {
			continue
		}
		w := change.Write{CompanyID: s.CompanyID, Area: "metrics", SK: sk, Old: old, New: item}
		for _, source := range metrics.Changes() {
			e, ok, err := source.Recognise(w)
			if err != nil {
				t.Fatalf("%s: %v", sk, err)
			}
			if !ok || grouped && groups[e] {
				continue
			}
			groups[e] = e.Group != ""
			out = append(out, fmt.Sprintf("%s %s %s", source.Type, e.Action, e.RecordID))
		}
	}
	slices.Sort(out)
	return out
}

// definitionIDs returns the id of each metric definition, by the metric's key.
func definitionIDs(t *testing.T, s *apitest.Service) map[string]string {
	t.Helper()
	out := map[string]string{}
	for _, d := range s.Send(t, s.IssueKey(t), "GET", definitionsPath+"?limit=200", "").Items(t) {
		out[d["key"].(string)] = d["id"].(string)
	}
	return out
}

// seriesPoints returns one point for each of n series of a metric. Each series has its own record.
func seriesPoints(key string, n int) (points []string) {
	for i := range n {
		points = append(points, fmt.Sprintf(`{"metricKey":%q,"ts":"2026-08-01","value":%d,"dims":{"n":"%d"}}`, key, i, i))
	}
	return points
}

// Ensure a push makes one change for each metric, no matter how many records it writes, and one for
// each definition that it creates. The changes that different transactions report for one metric
// have the same group.
func TestPushChanges(t *testing.T) {
	t.Parallel()
	for _, series := range []int{1, 3, 70} {
		t.Run(fmt.Sprint(series), func(t *testing.T) {
			t.Parallel()
			s, _ := start(t)
			key := s.IssueKey(t)
			grouped := series > 24
			got := changesOf(t, s, grouped, func() {
				mustPush(t, s, key, append(seriesPoints("custom.a", series), seriesPoints("custom.b", series)...)...)
			})
			ids := definitionIDs(t, s)
			requireEqual(t, "first push", got, []string{
				"metric_definition created " + min(ids["custom.a"], ids["custom.b"]), "metric_definition created " + max(ids["custom.a"], ids["custom.b"]),
				"metric_points updated " + min(ids["custom.a"], ids["custom.b"]), "metric_points updated " + max(ids["custom.a"], ids["custom.b"]),
			})
			for range 2 {
				got = changesOf(t, s, grouped, func() { mustPush(t, s, key, seriesPoints("custom.a", series)...) })
				requireEqual(t, "push again", got, []string{"metric_points updated " + ids["custom.a"]})
			}
			got = changesOf(t, s, grouped, func() { mustPush(t, s, key, seriesPoints("custom.b", series+1)...) })
			requireEqual(t, "push of stored and new series", got, []string{"metric_points updated " + ids["custom.b"]})
		})
	}
}

// Ensure that if a push fails after some of its transactions have succeeded, it still reports a
// change, whichever transaction failed.
func TestChangesOfPartialPush(t *testing.T) {
	t.Parallel()
	refusedText := "nothing"
	s := apitest.NewWithTransport(t, metrics.Operations, apitest.Intercept(func(c apitest.Call) (*http.Response, error) {
		if apitest.IsTransaction(c) && strings.Contains(c.Body, refusedText) {
			return c.Refuse()
		}
		return c.Send()
	}))
	key := s.IssueKey(t)
	points := seriesPoints("custom.a", 60) // transactions of 24, 24 and 12 records
	mustPush(t, s, key, points...)
	id := definitionIDs(t, s)["custom.a"]
	for _, series := range []string{"0", "30", "59"} {
		refusedText = `"S":"[` + series + `,` // the start of the encoded point of this series
		got := changesOf(t, s, true, func() {
			if r := push(t, s, key, points...); r.Status != 500 {
				t.Errorf("status %d of a push whose series %s fails, want 500: %s", r.Status, series, r.Body)
			}
		})
		requireEqual(t, "series "+series+" fails", got, []string{"metric_points updated " + id})
	}
}

// Ensure a deletion of points is one change to the metric within a stream batch, whether it removes
// whole records or some of their points. The deletion of the definition is a separate change.
func TestDeletionChanges(t *testing.T) {
	t.Parallel()
	s, _ := start(t)
	key := s.IssueKey(t)
	mustPush(t, s, key, append(seriesPoints("custom.a", 3), pointOnDay("custom.a", "2026-08-01", 1), pointOnDay("custom.a", "2026-08-02", 2))...)
	definitionID := definitionIDs(t, s)["custom.a"]
	got := changesOf(t, s, true, func() { mustDeletePoints(t, s, key, "custom.a", "2026-08-01", "2026-08-01") })
	requireEqual(t, "a delete", got, []string{"metric_points deleted " + definitionID})
	got = changesOf(t, s, true, func() { mustDeletePoints(t, s, key, "custom.a", "2026-07-01", "2026-07-31") })
	requireEqual(t, "a delete of nothing", got, []string(nil))
	got = changesOf(t, s, true, func() { mustDeletePoints(t, s, key, "custom.a", "2026-08-01", "2026-08-31") })
	requireEqual(t, "a delete of the rest", got, []string{"metric_points deleted " + definitionID})
	got = changesOf(t, s, true, func() { s.Send(t, key, "DELETE", definitionsPath+"/"+definitionID, "") })
	requireEqual(t, "a delete of the definition", got, []string{"metric_definition deleted " + definitionID})
}

// Ensure imported points are stored with the id of their definition, and that their deletion
// reports that id.
func TestImportedPointsKnowTheirDefinition(t *testing.T) {
	t.Parallel()
	s, _ := start(t)
	importLines(t, s, s.CompanyID, "metric-definition", definitionJSON(1, "a", ""))
	got := changesOf(t, s, true, func() {
		importLines(t, s, s.CompanyID, "metric-point", pointOnDay("a", "2026-08-01T00:00:00Z", 1), pointOnDay("b", "2026-08-01T00:00:00Z", 1))
	})
	ids := definitionIDs(t, s)
	want := []string{"metric_definition created " + ids["b"], "metric_points updated " + ids["a"], "metric_points updated " + ids["b"]}
	slices.Sort(want)
	requireEqual(t, "an import", got, want)
	got = changesOf(t, s, true, func() { mustDeletePoints(t, s, s.IssueKey(t), "b", "2026-08-01", "2026-08-01") })
	requireEqual(t, "a delete", got, []string{"metric_points deleted " + ids["b"]})
}
