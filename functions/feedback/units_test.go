package feedback_test

import (
	"fmt"
	"strings"
	"testing"

	"growthworkspace/functions/feedback"
	"growthworkspace/shared/table"
	"growthworkspace/shared/testkit/apitest"
)

// For each value of a filter, the percentage of the records that have it.
var (
	sourceShares      = map[feedback.Source]int{"app_store": 50, "google_play": 40, "reddit": 10}
	sentimentShares   = map[feedback.Sentiment]int{"positive": 50, "negative": 30, "neutral": 15, "": 5}
	replyStatusShares = map[feedback.ReplyStatus]int{"none": 60, "posted": 25, "needs_review": 5, "draft": 4, "approved": 2, "failed": 1, "skipped": 1, "": 2}
)

// pickByShare returns the filter value for the n-th record. Each value occurs in its share of the
// records. Different strides make the filters independent of each other.
func pickByShare[T interface {
	~string
	Values() []string
}](shares map[T]int, n, stride int) *T {
	at := n * stride % 100
	var enum T
	for _, v := range append(enum.Values(), "") {
		if at -= shares[T(v)]; at < 0 {
			if v == "" {
				return nil
			}
			return new(T(v))
		}
	}
	panic("the shares do not sum to 100")
}

// manyRecords returns n records whose sources, sentiments and reply statuses occur in the given
// shares. A record has about 650 bytes including its keys. Three records (a page of two, and one
// more that shows whether there is a next page) therefore cost half a read unit.
func manyRecords(n int) (records []feedback.Feedback) {
	for i := range n {
		f := newReview(i)
		f.Source, f.Sentiment, f.ReplyStatus = pickByShare(sourceShares, i, 1), pickByShare(sentimentShares, i/10, 37), pickByShare(replyStatusShares, i/7, 61)
		f.Priority, f.PostedAt = new(int64(i*7%100)), new("2026-03-01T00:00:00.000Z")
		records = append(records, f)
	}
	return records
}

// Ensure the cost of a list does not grow with the number of records: for every combination of
// filters, a page must take the same number of read units and table calls with ten times as many
// records.
func TestListUnitsAreFlat(t *testing.T) {
	t.Parallel()
	apitest.SkipIfShort(t)
	const n, limit = 30, 2
	small, large := start(t, manyRecords(n)...), start(t, manyRecords(10*n)...)
	eachCombination(func(source *feedback.Source, sentiment *feedback.Sentiment, status *feedback.ReplyStatus) {
		f := feedback.Filter{Source: source, Sentiment: sentiment, ReplyStatus: status}
		want := table.Usage{Calls: partitionCount(f), Read: 0.5 * float64(partitionCount(f))}
		if few, many := unitsUsed(t, small, f, limit), unitsUsed(t, large, f, limit); few != want || many != want {
			t.Errorf("%s: %+v at N, %+v at 10 N, want %+v", describeFilter(f), few, many, want)
		}
	})
}

// Ensure a list with a filter that matches few or no records does not read other records.
func TestListUnitsOfRareValues(t *testing.T) {
	t.Parallel()
	apitest.SkipIfShort(t)
	s := start(t)
	var records []feedback.Feedback
	for n := range 300 {
		f := newReview(n)
		f.Source, f.Sentiment, f.ReplyStatus = new(feedback.Source("app_store")), new(feedback.Sentiment("positive")), new(feedback.ReplyStatusPosted)
		records = append(records, f)
	}
	records[299].ReplyStatus = new(feedback.ReplyStatusSkipped)
	importRecords(t, s, records...)
	eachCombination(func(source *feedback.Source, sentiment *feedback.Sentiment, status *feedback.ReplyStatus) {
		f := feedback.Filter{Source: source, Sentiment: sentiment, ReplyStatus: status}
		want := table.Usage{Calls: partitionCount(f), Read: 0.5 * float64(partitionCount(f))}
		if got := unitsUsed(t, s, f, 2); got != want {
			t.Errorf("%s: %+v, want %+v", describeFilter(f), got, want)
		}
	})
}

// partitionCount returns how many index partitions a list merges. If only one of source and
// sentiment is set, there are four: one for each of the other filter's three values, and one for
// null.
func partitionCount(f feedback.Filter) int {
	n := 1
	if f.Source == nil && f.Sentiment == nil {
		return n
	}
	if f.Source == nil {
		n *= 4
	}
	if f.Sentiment == nil {
		n *= 4
	}
	return n
}

func unitsUsed(t *testing.T, s *apitest.Service, f feedback.Filter, limit int) table.Usage {
	t.Helper()
	ctx, m := apitest.NewRequest(t)
	if _, err := feedback.NewStore(s.Table).List(ctx, s.CompanyID, f, "", limit); err != nil {
		t.Fatal(err)
	}
	return m.Usage()
}

func describeFilter(f feedback.Filter) string {
	return fmt.Sprintf("source=%s sentiment=%s replyStatus=%s", valueOrNull(f.Source, ""), valueOrNull(f.Sentiment, ""), valueOrNull(f.ReplyStatus, ""))
}

// Ensure no list costs more than 30 read units at its default limit, with records of typical size
// (about 1.6 kB including their keys), whatever their filter values. A list may be merged from
// several partitions. If all records of a page come from one of them, the list needs a second round
// trip, but no additional units.
func TestDefaultListUnits(t *testing.T) {
	t.Parallel()
	apitest.SkipIfShort(t)
	const limit, most = 50, 30
	withTypicalFields := func(records []feedback.Feedback) []feedback.Feedback {
		for i := range records {
			f := &records[i]
			f.Kind, f.ExternalID, f.AuthorName, f.Title = new(feedback.Kind("review")), fmt.Sprintf("app_store-%08d", i), new("trailrunner_42"), new("Who can see my locations?")
			f.Body, f.ReplyBody = new(strings.Repeat("A sentence of some forty characters here", 10)), new(strings.Repeat("An answer to it of forty characters, too", 4))
			f.AppVersion, f.Territory, f.Locale, f.FetchedAt, f.Rating = new("4.1.0"), new("PT"), new("pt-PT"), new("2026-09-02T10:15:32.700Z"), new(int64(2))
			f.Flags = []feedback.Flag{"legal", "safety"}
		}
		return records
	}
	alone := manyRecords(150)
	for i := range alone {
		alone[i].Source, alone[i].Sentiment, alone[i].ReplyStatus = new(feedback.Source("reddit")), new(feedback.Sentiment("negative")), new(feedback.ReplyStatusNeedsReview)
	}
	lopsided := manyRecords(1500)
	for i := range lopsided {
		if i%8 != 0 { // most records are in one partition, but every partition has enough records for a full first read
			lopsided[i].Source, lopsided[i].Sentiment = new(feedback.Source("app_store")), new(feedback.Sentiment("positive"))
		}
	}
	for name, records := range map[string][]feedback.Feedback{"as usual": manyRecords(900), "lopsided": lopsided, "all alike": alone} {
		s := start(t, withTypicalFields(records)...)
		maxRead := 0.0
		eachCombination(func(source *feedback.Source, sentiment *feedback.Sentiment, status *feedback.ReplyStatus) {
			f := feedback.Filter{Source: source, Sentiment: sentiment, ReplyStatus: status}
			got := unitsUsed(t, s, f, limit)
			if maxRead = max(maxRead, got.Read); got.Read > most {
				t.Errorf("%s, %s: %+v, want at most %d units", name, describeFilter(f), got, most)
			}
		})
		t.Logf("%s: at most %.1f units", name, maxRead)
		daysUnits := unitsUsed(t, s, feedback.Filter{Posted: &feedback.DayRange{From: "2026-03-01"}}, limit)
		if daysUnits.Read > most {
			t.Errorf("%s, posted days: %+v", name, daysUnits)
		}
		queueUnits := unitsUsed(t, s, feedback.Filter{ReplyStatus: new(feedback.ReplyStatusNeedsReview), Posted: &feedback.DayRange{From: "2026-03-01"}}, limit)
		t.Logf("%s, posted days: %+v, with needs_review %+v", name, daysUnits, queueUnits)
	}
}
