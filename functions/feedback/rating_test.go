package feedback_test

import (
	"math/rand"
	"slices"
	"strconv"
	"strings"
	"testing"

	"growthworkspace/functions/feedback"
	"growthworkspace/shared/testkit/apitest"
)

// ratedRecords returns records with random ratings, flags and other fields that lists filter by.
func ratedRecords(random *rand.Rand, n int) (records []feedback.Feedback) {
	for i := range n {
		f := newReview(i)
		f.Source, f.Sentiment = pickRandom(random, nullableValues[feedback.Source]()), pickRandom(random, nullableValues[feedback.Sentiment]())
		f.ReplyStatus, f.PostedAt = pickRandom(random, nullableValues[feedback.ReplyStatus]()), pickRandom(random, postedTimes)
		f.Priority = new(random.Int63n(4))
		if random.Intn(5) > 0 {
			f.Rating = new(1 + random.Int63n(5))
		}
		f.Flags = randomFlags(random)
		records = append(records, f)
	}
	return records
}

func pickRandom[T any](random *rand.Rand, values []T) T { return values[random.Intn(len(values))] }

// randomFlags returns any flags in any order, or nil for none.
func randomFlags(random *rand.Rand) (flags []feedback.Flag) {
	values := feedback.Flag("").Values()
	for _, i := range random.Perm(len(values))[:random.Intn(3)] {
		flags = append(flags, feedback.Flag(values[i]))
	}
	return flags
}

// Ensure a list by rating and flags, combined with any other filters, has every matching record once,
// and in the order of the list without them.
func TestListRatingAndFlags(t *testing.T) {
	t.Parallel()
	apitest.SkipIfShort(t)
	random := rand.New(rand.NewSource(11))
	records := ratedRecords(random, 300)
	s := start(t, records...)
	key := rotatingKeys(t, s)
	filtered := 0
	for range 80 {
		source, sentiment, status := (*feedback.Source)(nil), (*feedback.Sentiment)(nil), (*feedback.ReplyStatus)(nil)
		if random.Intn(2) == 0 {
			source = pickRandom(random, nullableValues[feedback.Source]())
		}
		if random.Intn(2) == 0 {
			sentiment = pickRandom(random, nullableValues[feedback.Sentiment]())
		}
		if random.Intn(2) == 0 {
			status = pickRandom(random, nullableValues[feedback.ReplyStatus]())
		}
		args, ratings, flags := filterArguments(source, sentiment, status), []string{}, randomFlags(random)
		for _, rating := range random.Perm(5)[:random.Intn(4)] {
			ratings = append(ratings, strconv.Itoa(rating+1))
		}
		matching := slices.DeleteFunc(slices.Clone(records), func(f feedback.Feedback) bool {
			return len(ratings) > 0 && (f.Rating == nil || !slices.Contains(ratings, strconv.FormatInt(*f.Rating, 10))) ||
				len(flags) > 0 && !slices.ContainsFunc(f.Flags, func(flag feedback.Flag) bool { return slices.Contains(flags, flag) })
		})
		if len(ratings) > 0 {
			args["rating"] = strings.Join(ratings, ",")
		}
		if len(flags) > 0 {
			words := make([]string, len(flags))
			for i, flag := range flags {
				words[i] = string(flag)
			}
			args["flags"] = strings.Join(words, ",")
		}
		want := expectedRecords(matching, source, sentiment, status)
		if random.Intn(3) == 0 {
			args["postedFrom"], args["postedTo"] = "2026-03-01", "2026-03-02"
			want = expectedNewestFirst(matching, "2026-03-01", "2026-03-02", feedback.Filter{Source: source, Sentiment: sentiment, ReplyStatus: status})
		}
		if len(want) > 0 && len(want) < len(records) {
			filtered++
		}
		if got := listAll(t, s, key(), 1+random.Intn(20), args); !slices.Equal(got, want) {
			t.Errorf("%v:\n got %v\nwant %v", args, got, want)
		}
	}
	if filtered < 40 {
		t.Errorf("only %d of 80 lists have some of the records", filtered)
	}
}

// Ensure unknown ratings and flags are refused with a message that names each of them, and that a
// cursor works only with the ratings and flags that it was returned for.
func TestListRatingAndFlagsInput(t *testing.T) {
	t.Parallel()
	s := start(t, ratedRecords(rand.New(rand.NewSource(3)), 60)...)
	_, cursor := listPage(t, s, s.IssueKey(t), 1, map[string]any{"rating": "1,2"}, "")
	_, flagCursor := listPage(t, s, s.IssueKey(t), 1, map[string]any{"flags": "money"}, "")
	if cursor == "" || flagCursor == "" {
		t.Fatal("the records fit on one page")
	}
	const flags = "is not one of money, defect, legal, safety, churn"
	s.Run(t, []apitest.Scenario{
		{Name: "unknown ratings", Op: "list_feedback", Args: map[string]any{"rating": "0,3,6,1.0"}, Want: 400, WantCode: "bad_request",
			WantMessage: "query.rating: \"0\" is not one of 1, 2, 3, 4, 5\nquery.rating: \"6\" is not one of 1, 2, 3, 4, 5\nquery.rating: \"1.0\" is not one of 1, 2, 3, 4, 5"},
		{Name: "unknown flag", Op: "list_feedback", Args: map[string]any{"flags": "money,Legal"}, Want: 400, WantMessage: "query.flags: \"Legal\" " + flags},
		{Name: "both unknown", Op: "list_feedback", Args: map[string]any{"rating": "five", "flags": "-"}, Want: 400, WantMessage: "query.flags: \"-\" " + flags},
		{Name: "space", Op: "list_feedback", Args: map[string]any{"rating": "1, 2"}, Want: 400, WantMessage: `query.rating: " 2" is not one of`},
		{Name: "no value after a comma", Op: "list_feedback", Args: map[string]any{"flags": "money,"}, Want: 400, WantMessage: `query.flags: "" is not one of`},
		{Name: "empty", Op: "list_feedback", Args: map[string]any{"rating": ""}, Want: 400, WantMessage: `query.rating: "" is not one of`},
		{Name: "the same value twice", Op: "list_feedback", Args: map[string]any{"rating": "1,1"}},
		{Name: "cursor", Op: "list_feedback", Args: map[string]any{"rating": "1,2", "cursor": cursor}},
		{Name: "cursor of other ratings", Op: "list_feedback", Args: map[string]any{"rating": "1", "cursor": cursor}, Want: 400, WantMessage: "query.cursor: "},
		{Name: "cursor without ratings", Op: "list_feedback", Args: map[string]any{"cursor": cursor}, Want: 400, WantMessage: "query.cursor: "},
		{Name: "cursor with more flags", Op: "list_feedback", Args: map[string]any{"rating": "1,2", "flags": "money", "cursor": cursor}, Want: 400, WantMessage: "query.cursor: "},
		{Name: "cursor of other flags", Op: "list_feedback", Args: map[string]any{"flags": "churn", "cursor": flagCursor}, Want: 400, WantMessage: "query.cursor: "},
	})
}

// Ensure a page reads a bounded number of records, whichever of the filters that no index serves are
// set: the first page is empty, says that there is more, and the next page has the only match.
func TestListOfRareRecordsIsBounded(t *testing.T) {
	t.Parallel()
	apitest.SkipIfShort(t)
	records := manyRecords(1600)
	for i := range records {
		f := &records[i]
		f.Source, f.Sentiment, f.ReplyStatus = new(feedback.Source("app_store")), new(feedback.Sentiment("positive")), new(feedback.ReplyStatusNone)
		f.Rating, f.Flags, f.Priority = new(int64(5)), []feedback.Flag{"money"}, new(int64(1))
	}
	last := &records[len(records)-1] // the last one in the list, because records of the same time and priority are ordered by id
	last.Source, last.Sentiment, last.Rating, last.Flags = new(feedback.Source("reddit")), new(feedback.Sentiment("negative")), new(int64(2)), []feedback.Flag{"legal", "churn"}
	s := start(t, records...)
	for _, f := range []feedback.Filter{
		{Ratings: []int64{1, 2}},
		{Flags: []feedback.Flag{"churn"}},
		{Ratings: []int64{2}, Source: last.Source},
		{Ratings: []int64{2}, ReplyStatus: last.ReplyStatus},
		{Ratings: []int64{2}, Posted: &feedback.DayRange{From: "2026-03-01"}},
		{Source: last.Source, Sentiment: last.Sentiment, Posted: &feedback.DayRange{From: "2026-03-01"}},
	} {
		for _, limit := range []int{1, 50, 200} {
			ctx, m := apitest.NewRequest(t)
			first, err := feedback.NewStore(s.Table).List(ctx, s.CompanyID, f, "", limit)
			if err != nil || len(first.Records) > 0 || first.Next == "" {
				t.Fatalf("%+v: page of %d records, next %q: %v", f, len(first.Records), first.Next, err)
			}
			// 1,000 records of 870 bytes need 106 units; each call rounds up by at most half a unit.
			if used := m.Usage(); used.Read > 108 || used.Calls > 4 {
				t.Errorf("%+v, limit %d: %+v", f, limit, used)
			}
			second, err := feedback.NewStore(s.Table).List(t.Context(), s.CompanyID, f, first.Next, limit)
			if err != nil || len(second.Records) != 1 || !strings.Contains(string(second.Records[0]), last.ID) || second.Next != "" {
				t.Errorf("%+v: %s, next %q: %v", f, second.Records, second.Next, err)
			}
		}
	}
	r := s.Call(t, s.IssueKey(t), "list_feedback", map[string]any{"rating": "2"})
	if cursor, more := r.NextCursor(t); r.Body != `{"items":[]}` || !more || cursor == "" {
		t.Errorf("%s, %v", r.Body, r.Header)
	}
}
