package feedback_test

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"maps"
	"net/http"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"growthworkspace/functions/feedback"
	"growthworkspace/shared/migration"
	"growthworkspace/shared/parallel"
	"growthworkspace/shared/table"
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

// backfillPostedIndex runs the migration of the index for the test's company.
func backfillPostedIndex(ctx context.Context, s *apitest.Service, recheck bool, report func(checked int64)) (filled int64, err error) {
	return migration.RunCompany(ctx, s.Table, []migration.Migration{feedback.PostedIndex}, s.CompanyID, recheck, func(p migration.Progress) { report(p.Checked) })
}

func completePostedIndex(t *testing.T, s *apitest.Service) {
	t.Helper()
	if _, err := backfillPostedIndex(t.Context(), s, false, func(int64) {}); err != nil {
		t.Fatal(err)
	}
}

// dropPostedIndex removes the company from the index by posted day, as if an older version had
// stored its records.
func dropPostedIndex(t *testing.T, s *apitest.Service, records ...feedback.Feedback) {
	t.Helper()
	key := func(sk string) table.Key { return table.Key{PK: table.Partition(s.CompanyID, "feedback"), SK: sk} }
	items := make([]table.Item, len(records))
	err := parallel.Do(len(records), 32, func(n int) (err error) {
		items[n], err = table.GetItem(t.Context(), s.Table, key("feedback#"+records[n].ID))
		if items[n]["gsi1pk"] == nil {
			t.Errorf("%s is stored as %v, want an item with gsi1pk", records[n].ID, items[n])
		}
		delete(items[n], "gsi5pk")
		delete(items[n], "gsi5sk")
		return err
	})
	if err == nil {
		err = s.Table.BatchPut(t.Context(), items)
	}
	if err != nil {
		t.Fatal(err)
	}
	if err := s.Table.BatchDelete(t.Context(), []table.Key{key("index#posted")}); err != nil {
		t.Fatal(err)
	}
}

// countIndexed returns how many records of the company are in the index.
func countIndexed(t *testing.T, s *apitest.Service) (n int) {
	t.Helper()
	for _, kind := range []string{"waiting", "settled"} {
		found, err := table.ReadAll[feedback.Feedback](t.Context(), s.Table, table.Collection{Index: table.GSI5, Partition: table.Partition(s.CompanyID, "feedback", "posted", kind)})
		if err != nil {
			t.Fatal(err)
		}
		n += len(found)
	}
	return n
}

// Ensure listing by posted day returns exactly the records posted on those days that match the
// other filters, newest first. This includes records posted at the first or last instant of a day,
// but none without postedAt. It must hold for any limit, whether the index is complete, partial or
// empty.
func TestListPosted(t *testing.T) {
	t.Parallel()
	apitest.SkipIfShort(t)
	records := postedRecords()
	s := start(t, records...)
	key := rotatingKeys(t, s)
	check := func(what string, filtersMax int) {
		for _, days := range [][2]string{{"2026-03-01", "2026-03-01"}, {"2026-03-01", ""}, {"", "2026-03-01"}, {"2026-02-28", "2026-03-02"}, {"0001-01-01", "9999-12-31"}, {"2026-04-01", "2026-04-02"}} {
			eachCombination(func(source *feedback.Source, sentiment *feedback.Sentiment, status *feedback.ReplyStatus) {
				args, isOneDay := filterArguments(source, sentiment, status), days[0] == "2026-03-01" && days[1] == days[0]
				if len(args) > filtersMax || !isOneDay && len(args) > 0 {
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
					t.Errorf("%s, %v:\n got %v\nwant %v", what, args, got, want)
				}
			})
		}
	}
	check("without the mark", 1)
	dropPostedIndex(t, s, records...)
	check("before the index is filled", 1)
	dropPostedIndex(t, s, records[:40]...)
	check("while the index has a part", 0)
	completePostedIndex(t, s)
	most := 3
	if testing.Short() {
		most = 1
	}
	check("with the index", most)
}

// Ensure the from and to parameters are validated and mean days in UTC. A cursor must work only
// with the range that it was returned for.
func TestListPostedInput(t *testing.T) {
	t.Parallel()
	records := postedRecords()
	s := start(t, records...)
	completePostedIndex(t, s)
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

// Ensure lists stay correct while the index is introduced. The company's records predate the index,
// so lists first read all records. A backfill crashes at various table calls and is resumed, with
// writes of every kind in between. Once it is complete, lists must read only the index.
func TestBackfillPostedIndex(t *testing.T) {
	t.Parallel()
	apitest.SkipIfShort(t)
	faults := &apitest.CrashingTransport{}
	faults.StopCrashing()
	s := apitest.NewWithTransport(t, feedback.Operations, faults)
	var records []feedback.Feedback
	for n := range 310 {
		f := recordWithReply("none", "")
		f.ID, f.ExternalID, f.Source = fmt.Sprintf("fbk_%04d", n), fmt.Sprint(n), new(feedback.Source("reddit"))
		f.PostedAt = new(fmt.Sprintf("2026-03-%02dT08:00:00.000Z", 1+n%28))
		if n%50 == 0 {
			f.PostedAt = nil
		}
		records = append(records, f)
	}
	importRecords(t, s, records...)
	dropPostedIndex(t, s, records...)
	if n := countIndexed(t, s); n != 0 {
		t.Fatalf("%d records of an older version are in the index", n)
	}
	before := map[string]string{}
	for _, line := range exportLines(t, s, s.CompanyID) {
		before[line[:20]] = line
	}
	key := s.IssueKey(t)
	list := func(days string) []string {
		return listAll(t, s, key, 200, map[string]any{"postedFrom": days[:10], "postedTo": days[11:]})
	}
	if got, want := list("2026-03-02 2026-03-02"), expectedNewestFirst(records, "2026-03-02", "2026-03-02", feedback.Filter{}); !slices.Equal(got, want) {
		t.Errorf("before: %v, want %v", got, want)
	}
	var reports []int64
	report := func(checked int64) { reports = append(reports, checked) }
	deaths := 0
	for _, calls := range []int{0, 1, 2, 3, 30, 150, 210, 230} { // table calls before each crash; each backfill continues where the previous one crashed
		faults.CrashAfter(calls, calls%2 == 0)
		_, err := backfillPostedIndex(t.Context(), s, false, report)
		if faults.Crashed() {
			deaths++
		}
		faults.StopCrashing()
		if err == nil {
			break
		}
		// Writes between two backfills add their record to the index or remove it from the index.
		n := deaths * 7
		s.Clock.Advance(minute)
		mustPush(t, s, key, fmt.Sprintf(`{"source":"reddit","externalId":"%d","postedAt":"2026-04-01T00:00:00Z"}`, n), fmt.Sprintf(`{"source":"reddit","externalId":"%d","postedAt":null}`, n+200))
		records[n].PostedAt, records[n+200].PostedAt = new("2026-04-01T00:00:00.000Z"), nil
		s.Call(t, key, "update_feedback_reply", map[string]any{"feedbackId": records[n+100].ID, "replyStatus": "needs_review"})
		records[n+100].ReplyStatus = new(feedback.ReplyStatusNeedsReview)
		deleteFeedback(t, s, key, records[n+250].ID)
		records[n+250].PostedAt = nil // so that no list contains it
		for _, days := range []string{"2026-03-01 2026-03-03", "2026-04-01 2026-04-01"} {
			if got, want := list(days), expectedNewestFirst(records, days[:10], days[11:], feedback.Filter{}); !slices.Equal(got, want) {
				t.Fatalf("after %d deaths, %s: %v, want %v", deaths, days, got, want)
			}
		}
	}
	if deaths < 5 {
		t.Errorf("only %d deaths", deaths)
	}
	completePostedIndex(t, s)
	if !slices.IsSorted(reports) || len(reports) == 0 {
		t.Errorf("progress: %v", reports)
	}
	want := expectedNewestFirst(records, "", "9999-12-31", feedback.Filter{})
	if n := countIndexed(t, s); n != len(want) {
		t.Errorf("the index has %d records, want %d", n, len(want))
	}
	if got := list("2026-01-01 2026-12-31"); !slices.Equal(got, want) {
		t.Errorf("with the index: %v, want %v", got, want)
	}
	if got := listAll(t, s, key, 200, map[string]any{"postedFrom": "2026-01-01", "replyStatus": "needs_review"}); len(got) != deaths {
		t.Errorf("%v, want %d", got, deaths)
	}
	changed := 0
	for _, line := range exportLines(t, s, s.CompanyID) { // a backfill changes no field of a record, not even updatedAt
		if before[line[:20]] != line {
			changed++
		}
	}
	if changed > 3*deaths {
		t.Errorf("%d records differ after %d deaths with three changes each", changed, deaths)
	}
}

// Ensure a backfill leaves no wrong or missing entry, even while the same records are edited,
// pushed and deleted.
func TestBackfillPostedIndexRaces(t *testing.T) {
	t.Parallel()
	rounds := 10
	if testing.Short() {
		rounds = 3
	}
	s := start(t)
	key := rotatingKeys(t, s)
	for round := range rounds {
		var records []feedback.Feedback
		for n := range 24 {
			f := recordWithReply("none", "")
			f.ID, f.ExternalID, f.Source, f.PostedAt = fmt.Sprintf("fbk_%04d", n), fmt.Sprint(n), new(feedback.Source("reddit")), new("2026-03-01T08:00:00.000Z")
			records = append(records, f)
		}
		importRecords(t, s, records...)
		dropPostedIndex(t, s, records...)
		k := key()
		var wait sync.WaitGroup
		wait.Go(func() {
			if _, err := backfillPostedIndex(context.WithoutCancel(t.Context()), s, false, func(int64) {}); err != nil {
				t.Error(err)
			}
		})
		wait.Go(func() {
			if r := push(t, s, k, `{"source":"reddit","externalId":"1","postedAt":"2026-03-02T00:00:00Z"}`, `{"source":"reddit","externalId":"2","postedAt":null}`, `{"source":"reddit","externalId":"3","title":"t"}`); r.Status != 200 {
				t.Errorf("push: status %d, want 200: %s", r.Status, r.Body)
			}
		})
		for n := 4; n < 8; n++ {
			wait.Go(func() {
				s.Call(t, k, "update_feedback_reply", map[string]any{"feedbackId": records[n].ID, "replyStatus": "draft"})
			})
		}
		wait.Go(func() { deleteFeedback(t, s, k, records[8].ID) })
		wait.Wait()
		records[1].PostedAt, records[2].PostedAt, records[8].PostedAt = new("2026-03-02T00:00:00.000Z"), nil, nil
		want := expectedNewestFirst(records, "2026-01-01", "", feedback.Filter{})
		if got := listAll(t, s, k, 200, map[string]any{"postedFrom": "2026-01-01"}); !slices.Equal(got, want) || countIndexed(t, s) != len(want) {
			t.Fatalf("round %d: %d in the index: %v, want %v", round, countIndexed(t, s), got, want)
		}
		if got := listAll(t, s, k, 200, map[string]any{"postedFrom": "2026-01-01", "replyStatus": "draft"}); len(got) != 4 {
			t.Fatalf("round %d: drafts %v", round, got)
		}
	}
}

// Ensure a backfill with recheck checks every record again, even if the index is complete, and
// corrects wrong entries that an older version left. Lists must not use the index until it has
// finished.
func TestBackfillPostedIndexRecheck(t *testing.T) {
	t.Parallel()
	records := postedRecords()
	s := start(t, records...)
	completePostedIndex(t, s)
	mark := table.Key{PK: table.Partition(s.CompanyID, "feedback"), SK: "index#posted"}
	complete, err := table.GetItem(t.Context(), s.Table, mark)
	if err != nil || complete["completeAt"] == nil {
		t.Fatalf("the mark is %v, want one with completeAt: %v", complete, err)
	}
	key := table.Key{PK: table.Partition(s.CompanyID, "feedback"), SK: "feedback#" + records[3].ID}
	item, err := table.GetItem(t.Context(), s.Table, key)
	if err != nil {
		t.Fatal(err)
	}
	stale := maps.Clone(item)
	delete(stale, "postedAt") // as if cleared by an older version, which does not update the index
	stale["rev"] = &types.AttributeValueMemberN{Value: "9"}
	if err := s.Table.BatchPut(t.Context(), []table.Item{stale}); err != nil {
		t.Fatal(err)
	}
	if n, err := backfillPostedIndex(t.Context(), s, false, func(int64) { t.Error("a complete index was filled again") }); n != 0 || err != nil {
		t.Errorf("%d records were filled, want none: %v", n, err)
	}
	wasIncomplete := false
	filled, err := backfillPostedIndex(t.Context(), s, true, func(int64) {
		got, err := table.GetItem(t.Context(), s.Table, mark)
		wasIncomplete = err == nil && got["completeAt"] == nil
	})
	if err != nil || filled != 1 || !wasIncomplete {
		t.Errorf("%v, %d filled, the mark was removed: %v", err, filled, wasIncomplete)
	}
	got, err := table.GetItem(t.Context(), s.Table, key)
	if err != nil {
		t.Fatal(err)
	}
	if got["gsi5pk"] != nil {
		t.Errorf("the record without a posted day has gsi5pk %v, want none", got["gsi5pk"])
	}
	if got["gsi4pk"] == nil && records[3].ReplyStatus != nil {
		t.Errorf("the record with a reply status has no gsi4pk: %v", got)
	}
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
		completePostedIndex(t, s)
		return s
	}
	small, large := startCompany(0), startCompany(300)
	eachCombination(func(source *feedback.Source, sentiment *feedback.Sentiment, status *feedback.ReplyStatus) {
		f := feedback.Filter{Source: source, Sentiment: sentiment, ReplyStatus: status, Posted: &feedback.DayRange{From: "2026-03-01", To: "2026-03-01"}}
		few, many := unitsUsed(t, small, f, limit), unitsUsed(t, large, f, limit)
		// A list reads at most the migration marks and the 30 records of that day, 700 bytes each.
		if few != many || few.Read > 1+6 || source == nil && sentiment == nil && status == nil && (few.Calls != 3 || few.Read > 2.5) {
			t.Errorf("%s: %+v alone, %+v beside 600 others", describeFilter(f), few, many)
		}
	})
}

// refusingTransport is a transport that rejects one write of a feedback record: the one that counts
// writesUntilRefusal down to 0.
type refusingTransport struct{ writesUntilRefusal atomic.Int64 }

func (f *refusingTransport) RoundTrip(r *http.Request) (*http.Response, error) {
	if !strings.HasSuffix(r.Header.Get("X-Amz-Target"), ".UpdateItem") {
		return apitest.Transport.RoundTrip(r)
	}
	body, err := io.ReadAll(r.Body)
	if err != nil {
		return nil, err
	}
	r.Body = io.NopCloser(bytes.NewReader(body))
	if !bytes.Contains(body, []byte("feedback#fbk_")) || f.writesUntilRefusal.Add(-1) != 0 {
		return apitest.Transport.RoundTrip(r)
	}
	return &http.Response{
		StatusCode: http.StatusBadRequest, Request: r, Header: http.Header{"Content-Type": {"application/x-amz-json-1.0"}},
		Body: io.NopCloser(strings.NewReader(`{"__type":"com.amazonaws.dynamodb.v20120810#ResourceNotFoundException","message":"made up"}`)),
	}, nil
}

// Ensure the index is not marked as complete if a record could not be added to it. The next
// backfill must continue from that record.
func TestBackfillPostedIndexRefused(t *testing.T) {
	t.Parallel()
	faults := &refusingTransport{}
	s := apitest.NewWithTransport(t, feedback.Operations, faults)
	var records []feedback.Feedback
	for n := range 4 {
		f := recordWithReply("none", "")
		f.ID, f.ExternalID, f.Source, f.PostedAt = fmt.Sprintf("fbk_%04d", n), fmt.Sprint(n), new(feedback.Source("reddit")), new("2026-03-01T08:00:00.000Z")
		records = append(records, f)
	}
	importRecords(t, s, records...)
	dropPostedIndex(t, s, records...)
	faults.writesUntilRefusal.Store(2)
	if filled, err := backfillPostedIndex(t.Context(), s, false, func(int64) {}); err == nil || filled != 3 {
		t.Errorf("%d filled, %v", filled, err)
	}
	if filled, err := backfillPostedIndex(t.Context(), s, false, func(int64) {}); err != nil || filled != 1 || countIndexed(t, s) != 4 {
		t.Errorf("%d filled, %v, %d in the index", filled, err, countIndexed(t, s))
	}
}
