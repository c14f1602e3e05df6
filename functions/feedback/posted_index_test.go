package feedback_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"growthworkspace/functions/feedback"
	"growthworkspace/shared/testkit/apitest"
)

// postedTimes contains null, and times close to the first and last instant of a day.
var postedTimes = []*string{
	nil, new("2026-02-28T23:59:59.999Z"), new("2026-03-01T00:00:00.000Z"), new("2026-03-01T00:00:00.000Z"), new("2026-03-01T12:00:00.000Z"), new("2026-03-01T23:59:59.999Z"),
	new("2026-03-02T00:00:00.000Z"), new("2026-03-05T08:00:00.000Z"), new("1969-12-31T23:59:59.999Z"), new("9999-12-31T23:59:59.999Z"), new("0001-01-01T00:00:00.000Z"),
}

// postedRecords returns a record for every combination of posting time and reply status. The other
// fields vary.
func postedRecords() (records []feedback.Feedback) {
	sources, sentiments := nullableValues[feedback.Source](), nullableValues[feedback.Sentiment]()
	for i, status := range nullableValues[feedback.ReplyStatus]() {
		for n, at := range postedTimes {
			f := newReview(i*len(postedTimes) + n)
			f.PostedAt, f.ReplyStatus, f.Priority = at, status, new(int64(n%3))
			f.Source, f.Sentiment = sources[(i+n)%len(sources)], sentiments[n%len(sentiments)]
			records = append(records, f)
		}
	}
	return records
}

// expectedNewestFirst returns the ids of the records in a range of days that match the other
// filters, newest first.
func expectedNewestFirst(records []feedback.Feedback, from, to string, f feedback.Filter) (ids []string) {
	matching := slices.DeleteFunc(slices.Clone(records), func(r feedback.Feedback) bool {
		return r.PostedAt == nil || from != "" && *r.PostedAt < from || to != "" && (*r.PostedAt)[:len("2006-01-02")] > to ||
			!matchesValue(f.Source, r.Source) || !matchesValue(f.Sentiment, r.Sentiment) || !matchesValue(f.ReplyStatus, r.ReplyStatus)
	})
	slices.SortFunc(matching, func(a, b feedback.Feedback) int {
		if n := strings.Compare(*b.PostedAt, *a.PostedAt); n != 0 {
			return n
		}
		return strings.Compare(a.ID, b.ID)
	})
	for _, r := range matching {
		ids = append(ids, r.ID)
	}
	return ids
}

// Ensure listing by posted day returns exactly the records posted on those days that match the
// other filters, newest first. This includes records posted at the first or last instant of a day,
// but none without postedAt. It must hold for any limit.
func TestListPosted(t *testing.T) {
	t.Parallel()
	apitest.SkipIfShort(t)
	records := postedRecords()
	s := start(t, records...)
	key := rotatingKeys(t, s)
	for _, days := range [][2]string{{"2026-03-01", "2026-03-01"}, {"2026-03-01", ""}, {"", "2026-03-01"}, {"2026-02-28", "2026-03-02"}, {"0001-01-01", "9999-12-31"}, {"2026-04-01", "2026-04-02"}} {
		eachCombination(func(source *feedback.Source, sentiment *feedback.Sentiment, status *feedback.ReplyStatus) {
			args, isOneDay := filterArguments(source, sentiment, status), days[0] == "2026-03-01" && days[1] == days[0]
			if !isOneDay && len(args) > 0 {
				return
			}
			if days[0] != "" {
				args["postedFrom"] = days[0]
			}
			if days[1] != "" {
				args["postedTo"] = days[1]
			}
			limit := 7
			if isOneDay {
				limit = 200
			}
			want := expectedNewestFirst(records, days[0], days[1], feedback.Filter{Source: source, Sentiment: sentiment, ReplyStatus: status})
			if got := listAll(t, s, key(), limit, args); !slices.Equal(got, want) {
				t.Errorf("%v:\n got %v\nwant %v", args, got, want)
			}
		})
	}
}

// Ensure the from and to parameters are validated and mean days in UTC. A cursor must work only
// with the range that it was returned for.
func TestListPostedInput(t *testing.T) {
	t.Parallel()
	records := postedRecords()
	s := start(t, records...)
	key := s.IssueKey(t)
	first := s.Call(t, key, "list_feedback", map[string]any{"postedFrom": "2026-03-01", "limit": 2})
	cursor, _ := first.NextCursor(t)
	ids := func(r apitest.Response) (out []string) {
		for _, item := range r.Items(t) {
			out = append(out, item["id"].(string))
		}
		return out
	}
	day := expectedNewestFirst(records, "2026-03-01", "2026-03-01", feedback.Filter{})
	s.Run(t, []apitest.Scenario{
		{Name: "a time is cut to its day in UTC", Op: "list_feedback", Args: map[string]any{"postedFrom": "2026-03-02T00:30:00+02:00", "postedTo": "2026-03-01T23:59:59Z", "limit": 200}, Check: func(t *testing.T, r apitest.Response) {
			if got := ids(r); !slices.Equal(got, day) {
				t.Errorf("got %v\nwant %v", got, day)
			}
		}},
		{Name: "no day", Op: "list_feedback", Args: map[string]any{"postedFrom": "yesterday", "postedTo": "2026-02-30"}, Want: 400,
			WantMessage: "query.postedFrom: must be a day, for example 2026-08-11\nquery.postedTo: must be a day, for example 2026-08-11"},
		{Name: "from after to", Op: "list_feedback", Args: map[string]any{"postedFrom": "2026-03-02", "postedTo": "2026-03-01"}, Want: 400, WantMessage: "query.postedFrom: must not be after postedTo"},
		{Name: "cursor of other days", Op: "list_feedback", Args: map[string]any{"postedFrom": "2026-03-02", "cursor": cursor}, Want: 400, WantMessage: "query.cursor: "},
		{Name: "cursor without days", Op: "list_feedback", Args: map[string]any{"cursor": cursor}, Want: 400, WantMessage: "query.cursor: "},
		{Name: "cursor of another filter", Op: "list_feedback", Args: map[string]any{"postedFrom": "2026-03-01", "source": "reddit", "cursor": cursor}, Want: 400, WantMessage: "query.cursor: "},
		{Name: "its cursor", Op: "list_feedback", Args: map[string]any{"postedFrom": "2026-03-01", "cursor": cursor, "limit": 2}, Check: func(t *testing.T, r apitest.Response) {
			if got, want := ids(r), expectedNewestFirst(records, "2026-03-01", "", feedback.Filter{})[2:4]; !slices.Equal(got, want) {
				t.Errorf("got %v\nwant %v", got, want)
			}
		}},
	})
}

// Ensure the read units of a list by posted day do not grow with the number of records on other
// days. Without further filters, the list must read only the records that it returns.
func TestListPostedUnits(t *testing.T) {
	t.Parallel()
	apitest.SkipIfShort(t)
	const n, limit = 30, 2
	startCompany := func(outside int) *apitest.Service {
		records := manyRecords(n)
		for i := range records {
			records[i].PostedAt = new("2026-03-01T00:00:00.000Z")
		}
		for i, f := range manyRecords(2 * outside) {
			f.ID, f.ExternalID = fmt.Sprintf("fbk_o%d", i), fmt.Sprintf("o%d", i)
			f.PostedAt = new([]string{"2026-02-28T23:59:59.999Z", "2026-03-02T00:00:00.000Z"}[i%2])
			records = append(records, f)
		}
		s := start(t, records...)
		return s
	}
	small, large := startCompany(0), startCompany(300)
	eachCombination(func(source *feedback.Source, sentiment *feedback.Sentiment, status *feedback.ReplyStatus) {
		f := feedback.Filter{Source: source, Sentiment: sentiment, ReplyStatus: status, Posted: &feedback.DayRange{From: "2026-03-01", To: "2026-03-01"}}
		few, many := unitsUsed(t, small, f, limit), unitsUsed(t, large, f, limit)
		// A list reads at most the 30 records of that day, 700 bytes each.
		if few != many || few.Read > 6 || source == nil && sentiment == nil && status == nil && (few.Calls != 2 || few.Read > 1.5) {
			t.Errorf("%s: %+v alone, %+v beside 600 others", describeFilter(f), few, many)
		}
	})
}
