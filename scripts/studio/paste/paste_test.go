package paste_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"growthworkspace/scripts/studio/paste"
	"growthworkspace/scripts/studio/units"
	"growthworkspace/shared/client"
	"growthworkspace/shared/tabular"
)

// text formats a record for comparison.
func text(r client.PushFeedbackRecord) string {
	at := ""
	if posted, ok := r.PostedAt.Get(); ok {
		at = posted.Format(time.RFC3339)
	}
	return strings.Join([]string{string(r.Source), r.ExternalID, fmt.Sprint(r.Rating.Or(0)), r.Title.Or(""), r.Body.Or(""), r.AuthorName.Or(""), at, r.AppVersion.Or(""), r.Territory.Or("") + r.Locale.Or("")}, "|")
}

// Ensure Reviews reads tables with different separators and headings, and the JSON of the stores.
func TestReviews(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		text string
		want []string
	}{
		"commas": {"rating,text,author,date,id\n5,\"Good, very good\",Ada,2026-11-20,r1\n2,Bad,Ben,2026-11-21T10:00:00+02:00,r2", []string{
			"google_play|r1|5||Good, very good|Ada|2026-11-20T00:00:00Z||", "google_play|r2|2||Bad|Ben|2026-11-21T08:00:00Z||"}},
		"a spreadsheet":     {"Stars\tReview\tStore\n4\tIt said \"no\"\tApp Store", []string{"app_store|ID|4||It said \"no\"||||"}},
		"semicolons, a BOM": {"\ufefftitle;text;country\r\nTitle;Text;DE\r\n", []string{"google_play|ID|0|Title|Text||||DE"}},
		"the same id twice": {"id,text\na,one\na,two", []string{"google_play|a|0||two||||"}},
		"Play Console": {"Package Name,App Version Name,Reviewer Language,Star Rating,Review Last Update Millis Since Epoch,Review Title,Review Text,Review Link\norg.x,1.2,de,1,1763717000000,,Weg,https://play.google.com/apps?reviewId=gp%3AAO&x=1",
			[]string{"google_play|gp:AO|1||Weg||2025-11-21T09:23:20Z|1.2|de"}},
		"Google Play's API": {`{"reviews":[{"reviewId":"gp1","authorName":"Cy","comments":[{"userComment":{"text":"Fine","starRating":4,"reviewerLanguage":"en","appVersionName":"2.0","lastModified":{"seconds":"1763717000"}}},{"developerComment":{"text":"Thanks"}}]}]}`,
			[]string{"google_play|gp1|4||Fine|Cy|2025-11-21T09:23:20Z|2.0|en"}},
		"App Store's API": {`{"data":[{"type":"customerReviews","id":"as1","attributes":{"rating":3,"title":"So","body":"So so","reviewerNickname":"Di","createdDate":"2026-08-09T18:20:34-07:00","territory":"USA"},"relationships":{"response":{"data":{"id":"other"}}}}]}`,
			[]string{"app_store|as1|3|So|So so|Di|2026-08-10T01:20:34Z||US"}},
	} {
		records, problems, err := paste.Reviews(c.text, client.FeedbackSourceGooglePlay, time.UTC, tabular.Answers{})
		if err != nil || len(problems) > 0 {
			t.Errorf("%s: problems %v, error %v", name, problems, err)
		}
		var got []string
		for i, r := range records {
			if i < len(c.want) && strings.Contains(c.want[i], "|ID|") && strings.HasPrefix(r.ExternalID, "pasted-") {
				r.ExternalID = "ID"
			}
			got = append(got, text(r))
		}
		if fmt.Sprint(got) != fmt.Sprint(c.want) {
			t.Errorf("%s: reviews\n%s, want\n%s", name, strings.Join(got, "\n"), strings.Join(c.want, "\n"))
		}
	}
}

// Ensure a review without an id gets the same id each time, and different reviews get different
// ids.
func TestReviewsWithoutID(t *testing.T) {
	t.Parallel()
	read := func(text string) []client.PushFeedbackRecord {
		records, _, err := paste.Reviews(text, client.FeedbackSourceAppStore, time.UTC, tabular.Answers{})
		if err != nil {
			t.Fatal(err)
		}
		return records
	}
	first, again := read("text,author\nGood,Ada\nGood,Ben"), read("author,text\nBen,Good\nAda,Good")
	if len(first) != 2 || first[0].ExternalID != again[1].ExternalID || first[1].ExternalID != again[0].ExternalID || first[0].ExternalID == first[1].ExternalID {
		t.Errorf("ids %v and %v", first, again)
	}
}

// Ensure a date without a time is read as a date in the given time zone.
func TestReviewsZone(t *testing.T) {
	t.Parallel()
	zone := time.FixedZone("west", -8*60*60)
	records, _, err := paste.Reviews("text,date\nGood,2026-11-20\nGood,2026-11-20T00:00:00Z", client.FeedbackSourceReddit, zone, tabular.Answers{})
	if err != nil || len(records) != 2 {
		t.Fatalf("%d reviews, error %v", len(records), err)
	}
	for i, want := range []string{"2026-11-20T08:00:00Z", "2026-11-20T00:00:00Z"} {
		if got := records[i].PostedAt.Or(time.Time{}).Format(time.RFC3339); got != want {
			t.Errorf("time %s, want %s", got, want)
		}
	}
}

// Ensure a row with a problem is reported by its number, and does not prevent the others from being
// read.
func TestReviewsProblems(t *testing.T) {
	t.Parallel()
	records, problems, err := paste.Reviews("text,stars,date,source\nGood,5,2026-11-20,\n,4,,\nBad,6,,\nBad,2,someday,\nBad,2,,Steam\nBad,2,,reddit,more\nLast,1,,Reddit", client.FeedbackSourceAppStore, time.UTC, tabular.Answers{})
	if err != nil || len(records) != 2 {
		t.Fatalf("%d reviews, error %v, want 2", len(records), err)
	}
	want := []string{"3 has no text", "4 has the rating", "5 has the date", "6 is from", "7 has 5 cells"}
	for i, p := range problems {
		if i >= len(want) || !strings.HasPrefix(fmt.Sprint(p.Row, " ", p.Text), want[i]) {
			t.Errorf("problem %d: %v", i, p)
		}
	}
	if len(problems) != len(want) {
		t.Errorf("%d problems, want %d", len(problems), len(want))
	}
	for text, message := range map[string]string{"": "paste", "Great app!": "must name the columns", `{"a": 1}`: "no list", "[{": "not valid JSON"} {
		if _, _, err := paste.Reviews(text, client.FeedbackSourceAppStore, time.UTC, tabular.Answers{}); err == nil || !strings.Contains(err.Error(), message) {
			t.Errorf("%q: error %v, want %q", text, err, message)
		}
	}
}

// Ensure the dates of a table are decided as a whole: a date with one reading decides for the others,
// and without one nothing is guessed. JSON is never asked about.
func TestReviewsDates(t *testing.T) {
	t.Parallel()
	read := func(text string, answers tabular.Answers) string {
		records, problems, err := paste.Reviews(text, client.FeedbackSourceAppStore, time.UTC, answers)
		got := ""
		for _, r := range records {
			got += r.PostedAt.Or(time.Time{}).Format(time.DateOnly) + " "
		}
		return fmt.Sprint(got, problems, err)
	}
	format, err := tabular.ParseFormat("DD.MM.YYYY")
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		text    string
		answers tabular.Answers
		want    string
	}{
		{"text,date\nGood,11/12/2026\nBad,13/12/2026", tabular.Answers{}, "2026-12-11 2026-12-13 [] <nil>"},
		{"text,date\nGood,11.12.2026\nBad,", tabular.Answers{}, `[] "11.12.2026" could be 11 December or 12 November`},
		{"text,date\nGood,11.12.2026\nBad,", tabular.Answers{DateFormat: format}, "2026-12-11 0001-01-01 [] <nil>"},
		{`[{"text": "Good", "date": "11/12/2026"}]`, tabular.Answers{}, `[{1 has the date "11/12/2026": write it like 2026-11-22}] <nil>`},
	} {
		if got := read(c.text, c.answers); got != c.want {
			t.Errorf("%s: %s, want %s", c.text, got, c.want)
		}
	}
}

// Ensure a listing of Reddit is recognised, and what the importer leaves out is listed.
func TestReviewsFromReddit(t *testing.T) {
	t.Parallel()
	records, problems, err := paste.Reviews(`{"kind": "Listing", "data": {"children": [{"kind": "t3", "data": {"name": "t3_a", "title": "Hello", "created_utc": 1763717000}},
		{"kind": "t1", "data": {"name": "t1_b", "body": "[deleted]"}}]}}`, client.FeedbackSourceAppStore, time.UTC, tabular.Answers{})
	if err != nil || len(records) != 1 || text(records[0]) != "reddit|t3_a|0|Hello|||2025-11-21T09:23:20Z||" || fmt.Sprint(problems) != "[{2 is left out: deleted by the author or a moderator}]" {
		t.Errorf("reviews %v, problems %v, error %v", records, problems, err)
	}
}

// Ensure Values reads a value from each line, in the unit in which people type it.
func TestValues(t *testing.T) {
	t.Parallel()
	today := time.Date(2026, 11, 23, 0, 0, 0, 0, time.UTC)
	for text, want := range map[string]string{
		"12": "2026-11-23 12;", "2026-11-21 120\n2026-11-22\t1,250\r\n\n 2026-11-23,13.5": "2026-11-21 120;2026-11-22 1250;2026-11-23 13.5;", "2026-11-22 1\n2026-11-22 -2": "2026-11-22 -2;",
		"12,5": "2026-11-23 12.5;", "Day\tSign-ups\n16.11.2026\t1.204\n17.11.2026\t0,5": "2026-11-16 1204;2026-11-17 0.5;", "Day;Value\n2026-11-22;1.234,56": "2026-11-22 1234.56;",
		"\"11/16/2026\",\"12,5\"\n10/01/2026,7": "2026-11-16 12.5;2026-10-01 7;", "Nov 16, 2026 1 204\n16 Oct 2026, 3,5": "2026-11-16 1204;2026-10-16 3.5;", "2026-11-22 10:30 4": "2026-11-22 4;",
	} {
		values, err := paste.Values(text, units.Unit{}, today, tabular.Answers{})
		got := ""
		for _, v := range values {
			got += fmt.Sprint(v.Day.Format(time.DateOnly), " ", v.Value, ";")
		}
		if err != nil || got != want {
			t.Errorf("%q: %s, error %v, want %s", text, got, err, want)
		}
	}
	for text, want := range map[string]string{"": "at least one", "12\nmany": "line 2", "2026-11-24 5": "future", "2026-13-01 5": "not a date", "5 €": "currency", "2026-11-22 1,204": "could be 1204 or 1.204", "01/02/2026 5": "could be 1 February or 2 January", "1\n1.5\n1,5": "line 3"} {
		if _, err := paste.Values(text, units.Unit{}, today, tabular.Answers{}); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%q: error %v, want %q", text, err, want)
		}
	}
	if values, err := paste.Values("12.5", units.Unit{Name: units.Ratio}, today, tabular.Answers{}); err != nil || values[0].Value != 0.125 {
		t.Errorf("values %v, error %v, want 0.125", values, err)
	}
	format, err := tabular.ParseFormat("DD/MM/YYYY")
	if err != nil {
		t.Fatal(err)
	}
	answers := tabular.Answers{Decimal: ",", DateFormat: format}
	if values, err := paste.Values("01/02/2026 1.204", units.Unit{}, today, answers); err != nil || len(values) != 1 || values[0].Value != 1204 || values[0].Day.Month() != time.February {
		t.Errorf("values with answers %v, error %v", values, err)
	}
	if values, err := paste.Values("13/02/2026 12.5\n01/03/2026 1,204", units.Unit{}, today, answers); err != nil || len(values) != 2 || values[1].Value != 1204 {
		t.Errorf("values of a column that contradicts an answer %v, error %v", values, err)
	}
}
