package tabular_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"growthworkspace/shared/client"
	"growthworkspace/shared/tabular"
)

// read reads pasted text. It returns a line for each review and for each problem, and the error.
func read(p tabular.Pasted, text string) string {
	p.Source = client.FeedbackSourceGooglePlay
	records, problems, err := p.Read(text)
	var lines []string
	for _, r := range records {
		at := ""
		if posted, ok := r.PostedAt.Get(); ok {
			at = posted.Format(time.RFC3339)
		}
		if strings.HasPrefix(r.ExternalID, "pasted-") {
			r.ExternalID = "ID"
		}
		lines = append(lines, strings.Join([]string{string(r.Source), r.ExternalID, fmt.Sprint(r.Rating.Or(0)), r.Title.Or(""), r.Body.Or(""), r.AuthorName.Or(""), at, r.AppVersion.Or(""), r.Territory.Or("") + r.Locale.Or("")}, "|"))
	}
	for _, p := range problems {
		lines = append(lines, p.Error())
	}
	if err != nil {
		lines = append(lines, err.Error())
	}
	return strings.Join(lines, "\n")
}

// Ensure tables with different separators and headings are read, and the formats of the platforms
// are recognised. A row with a problem is named, and does not prevent the others from being read. The
// dates of a table are decided as a whole; JSON is never asked about.
func TestPasted(t *testing.T) {
	t.Parallel()
	format, err := tabular.ParseFormat("DD.MM.YYYY")
	if err != nil {
		t.Fatal(err)
	}
	utc, west := tabular.Pasted{Zone: time.UTC}, tabular.Pasted{Zone: time.FixedZone("west", -8*60*60)}
	for name, c := range map[string]struct {
		pasted     tabular.Pasted
		text, want string
	}{
		"commas":            {utc, "rating,text,author,date,id\n5,\"Good, very good\",Ada,2026-11-20,r1\n2,Bad,Ben,2026-11-21T10:00:00+02:00,r2", "google_play|r1|5||Good, very good|Ada|2026-11-20T00:00:00Z||\ngoogle_play|r2|2||Bad|Ben|2026-11-21T08:00:00Z||"},
		"a spreadsheet":     {utc, "Stars\tReview\tStore\n4\tIt said \"no\"\tApp Store", "app_store|ID|4||It said \"no\"||||"},
		"semicolons, a BOM": {utc, "\ufefftitle;text;country\r\nTitle;Text;DE\r\n", "google_play|ID|0|Title|Text||||DE"},
		"the same id twice": {utc, "id,text\na,one\na,two", "google_play|a|0||two||||"},
		"Play Console":      {utc, "Package Name,App Version Name,Reviewer Language,Star Rating,Review Last Update Millis Since Epoch,Review Title,Review Text,Review Link\norg.x,1.2,de,1,1763717000000,,Weg,https://play.google.com/apps?reviewId=gp%3AAO&x=1", "google_play|gp:AO|1||Weg||2025-11-21T09:23:20Z|1.2|de"},
		"Google Play's API": {utc, `{"reviews":[{"reviewId":"gp1","authorName":"Cy","comments":[{"userComment":{"text":"Fine","starRating":4,"reviewerLanguage":"en","appVersionName":"2.0","lastModified":{"seconds":"1763717000"}}},{"developerComment":{"text":"Thanks"}}]}]}`, "google_play|gp1|4||Fine|Cy|2025-11-21T09:23:20Z|2.0|en"},
		"App Store's API":   {utc, `{"data":[{"type":"customerReviews","id":"as1","attributes":{"rating":3,"title":"So","body":"So so","reviewerNickname":"Di","createdDate":"2026-08-09T18:20:34-07:00","territory":"USA"},"relationships":{"response":{"data":{"id":"other"}}}}]}`, "app_store|as1|3|So|So so|Di|2026-08-10T01:20:34Z||US"},
		"Reddit's API": {utc, `{"kind": "Listing", "data": {"children": [{"kind": "t3", "data": {"name": "t3_a", "title": "Hello", "created_utc": 1763717000}}, {"kind": "t1", "data": {"name": "t1_b", "body": "[deleted]"}}]}}`,
			"reddit|t3_a|0|Hello|||2025-11-21T09:23:20Z||\nrow 2: is left out: deleted by the author or a moderator"},
		"days of a zone": {west, "text,date\nGood,2026-11-20\nBad,2026-11-20T00:00:00Z", "google_play|ID|0||Good||2026-11-20T08:00:00Z||\ngoogle_play|ID|0||Bad||2026-11-20T00:00:00Z||"},
		"problems": {utc, "text,stars,date,source\nGood,5,2026-11-20,\n,4,,\nBad,6,,\nBad,2,someday,\nBad,2,,Steam\nBad,2,,reddit,more\nLast,1,,Reddit", "google_play|ID|5||Good||2026-11-20T00:00:00Z||\nreddit|ID|1||Last||||\n" +
			"row 3: has no text\nrow 4: has the rating \"6\": it must be a whole number from 1 to 5\nrow 5: has the date \"someday\": write it like 2026-11-22\nrow 6: is from \"Steam\": it must be App Store, Google Play or Reddit\n" +
			"row 7: has 5 cells, but the header has 4; a separator or a quote is missing, or the file is truncated"},
		"a date that decides":    {utc, "text,date\nGood,11/12/2026\nBad,13/12/2026", "google_play|ID|0||Good||2026-12-11T00:00:00Z||\ngoogle_play|ID|0||Bad||2026-12-13T00:00:00Z||"},
		"a date that does not":   {utc, "text,date\nGood,11.12.2026\nBad,", `"11.12.2026" could be 11 December or 12 November`},
		"an answer":              {tabular.Pasted{Zone: time.UTC, Answers: tabular.Answers{DateFormat: format}}, "text,date\nGood,11.12.2026", "google_play|ID|0||Good||2026-12-11T00:00:00Z||"},
		"a date in JSON":         {utc, `[{"text": "Good", "date": "11/12/2026"}]`, `row 1: has the date "11/12/2026": write it like 2026-11-22`},
		"nothing":                {utc, " \n", "paste the reviews first"},
		"no table":               {utc, "Great app!", `the first row must name the columns, with one that is called text; it is "Great app!"`},
		"no list":                {utc, `{"a": 1}`, "this JSON has no list of reviews: it must be a list, or an object with one that is called reviews, records, data or items"},
		"JSON that is not valid": {utc, "[{", "this is not valid JSON: unexpected EOF"},
	} {
		if got := read(c.pasted, c.text); got != c.want {
			t.Errorf("%s:\n%s\nwant\n%s", name, got, c.want)
		}
	}
}

// Ensure a review without an id gets the same id each time, and different reviews get different
// ids.
func TestPastedWithoutID(t *testing.T) {
	t.Parallel()
	first, _, err1 := tabular.Pasted{Zone: time.UTC}.Read("text,author\nGood,Ada\nGood,Ben")
	again, _, err2 := tabular.Pasted{Zone: time.UTC}.Read("author,text\nBen,Good\nAda,Good")
	if err1 != nil || err2 != nil || len(first) != 2 || len(again) != 2 {
		t.Fatal(first, again, err1, err2)
	}
	if first[0].ExternalID != again[1].ExternalID || first[1].ExternalID != again[0].ExternalID || first[0].ExternalID == first[1].ExternalID {
		t.Errorf("ids %v and %v", first, again)
	}
}
