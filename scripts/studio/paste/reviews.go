// Package paste reads what people paste into a form: reviews from a table or a JSON file, and the
// values of a metric.
package paste

import (
	"bytes"
	"crypto/sha256"
	"encoding/csv"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"math"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"time"
	"unicode"

	"growthworkspace/shared/client"
)

// Problem is a row or an element that cannot be read.
type Problem struct {
	Row  int // counted from 1; the headings of a table are row 1
	Text string
}

// Reviews reads reviews from a table with headings (CSV, or copied from a spreadsheet) or from
// JSON. source is the platform of reviews that do not name one, and zone is the time zone of times
// that do not name one. records does not contain the rows with a problem. It returns an error if
// the text contains no list of reviews at all.
func Reviews(text string, source client.FeedbackSource, zone *time.Location) (records []client.PushFeedbackRecord, problems []Problem, err error) {
	text = strings.TrimSpace(strings.TrimPrefix(text, "\ufeff"))
	var rows []row
	switch {
	case text == "":
		return nil, nil, errors.New("paste the reviews first")
	case text[0] == '[' || text[0] == '{':
		rows, err = jsonRows(text)
	default:
		rows, err = tableRows(text)
	}
	if err != nil {
		return nil, nil, err
	}
	at := map[string]int{} // maps a review's identity to its index in records; a later row replaces an earlier one with the same identity
	for _, r := range rows {
		if r.problem != "" {
			problems = append(problems, Problem{r.number, r.problem})
			continue
		}
		record, problem := r.review(source, zone)
		if problem != "" {
			problems = append(problems, Problem{r.number, problem})
			continue
		}
		identity := string(record.Source) + " " + record.ExternalID
		if i, known := at[identity]; known {
			records[i] = record
			continue
		}
		at[identity] = len(records)
		records = append(records, record)
	}
	return records, problems, nil
}

// row contains the values of a table's row or of a JSON list's element, by property name.
type row struct {
	number  int
	fields  map[string]string
	problem string // why the row could not be read, or empty
}

// names maps the names of columns and of JSON properties, without spaces and punctuation, to the
// properties of a review. The keys include the names that the Play Console and the App Store's API
// use.
var names = map[string]string{
	"externalid": "id", "id": "id", "reviewid": "id", "reviewlink": "link", "externalurl": "link", "url": "link", "link": "link", "permalink": "link",
	"rating": "rating", "stars": "rating", "starrating": "rating", "score": "rating",
	"title": "title", "reviewtitle": "title", "subject": "title",
	"body": "body", "text": "body", "review": "body", "reviewtext": "body", "content": "body", "comment": "body", "originaltext": "body", "message": "body",
	"author": "author", "authorname": "author", "user": "author", "username": "author", "name": "author", "nickname": "author", "reviewernickname": "author",
	"postedat": "posted", "posted": "posted", "date": "posted", "time": "posted", "created": "posted", "createdat": "posted", "createddate": "posted", "seconds": "posted",
	"reviewlastupdatemillissinceepoch": "posted", "reviewsubmitmillissinceepoch": "posted", "submitted": "posted",
	"version": "version", "appversion": "version", "appversionname": "version",
	"country": "territory", "territory": "territory", "locale": "locale", "language": "locale", "reviewerlanguage": "locale",
	"source": "source", "store": "source", "platform": "source",
}

// property returns the review property that belongs to a column heading or JSON property name, or
// an empty string if there is none.
func property(name string) string {
	return names[strings.Map(func(r rune) rune {
		if unicode.IsLetter(r) || unicode.IsDigit(r) {
			return unicode.ToLower(r)
		}
		return -1
	}, name)]
}

// tableRows reads a table. The first row contains the headings. Cells are separated by tabs,
// semicolons or commas, whichever is most frequent in the headings.
func tableRows(text string) ([]row, error) {
	first, _, _ := strings.Cut(text, "\n")
	separator := ','
	for _, other := range "\t;" {
		if strings.Count(first, string(other)) > strings.Count(first, string(separator)) {
			separator = other
		}
	}
	r := csv.NewReader(strings.NewReader(text))
	r.Comma, r.FieldsPerRecord, r.LazyQuotes = separator, -1, separator == '\t'
	heading, err := r.Read()
	if err != nil {
		return nil, errors.New("the first row is not a row of headings: a quotation mark is missing")
	}
	columns := make([]string, len(heading))
	for i, name := range heading {
		columns[i] = property(name)
	}
	if !slices.Contains(columns, "body") && !slices.Contains(columns, "title") {
		return nil, fmt.Errorf("the first row must name the columns, with one that is called text; it is %q", strings.Join(heading, ", "))
	}
	var rows []row
	for number := 2; ; number++ {
		cells, err := r.Read()
		var invalid *csv.ParseError
		switch {
		case errors.Is(err, io.EOF):
			return rows, nil
		case errors.As(err, &invalid):
			return append(rows, row{number: number, problem: "a quotation mark is missing, or there is one too many"}), nil
		case err != nil:
			return nil, fmt.Errorf("read a table: %w", err)
		case len(cells) > len(columns):
			rows = append(rows, row{number: number, problem: fmt.Sprintf("has %d cells, but there are %d headings: put text that contains a comma in quotation marks", len(cells), len(columns))})
			continue
		}
		fields := map[string]string{}
		for i, cell := range cells {
			if name := columns[i]; name != "" && fields[name] == "" {
				fields[name] = strings.TrimSpace(cell)
			}
		}
		rows = append(rows, row{number: number, fields: fields})
	}
}

// jsonRows reads a JSON list, or a JSON object that contains one, such as a response of the App
// Store's or Google Play's API.
func jsonRows(text string) ([]row, error) {
	d := json.NewDecoder(strings.NewReader(text))
	d.UseNumber()
	var all any
	if err := d.Decode(&all); err != nil {
		return nil, fmt.Errorf("this is not valid JSON: %w", err)
	}
	list, ok := all.([]any)
	if whole, isObject := all.(map[string]any); isObject {
		for _, name := range []string{"reviews", "records", "data", "items"} {
			if list, ok = whole[name].([]any); ok {
				break
			}
		}
	}
	if !ok {
		return nil, errors.New("this JSON has no list of reviews: it must be a list, or an object with one that is called reviews, records, data or items")
	}
	var rows []row
	for i, element := range list {
		r := row{number: i + 1, fields: map[string]string{}}
		object, isObject := element.(map[string]any)
		if !isObject {
			r.problem = "is not an object"
			rows = append(rows, r)
			continue
		}
		switch {
		case object["comments"] != nil && object["reviewId"] != nil:
			r.fields["source"] = string(client.FeedbackSourceGooglePlay)
		case object["type"] == "customerReviews":
			r.fields["source"] = string(client.FeedbackSourceAppStore)
		}
		addFields(r.fields, object)
		rows = append(rows, r)
	}
	return rows, nil
}

// addFields adds the properties of an object, and then those of the objects in it. So an outer
// property takes precedence over an inner one. From a list, it uses only the first object.
func addFields(fields map[string]string, object map[string]any) {
	var inner []map[string]any
	for _, name := range slices.Sorted(maps.Keys(object)) {
		value := object[name]
		if list, isList := value.([]any); isList && len(list) > 0 {
			value = list[0]
		}
		var text string
		switch value := value.(type) {
		case map[string]any:
			inner = append(inner, value)
			continue
		case string:
			text = strings.TrimSpace(value)
		case json.Number:
			text = value.String()
		}
		if field := property(name); field != "" && text != "" && fields[field] == "" {
			fields[field] = text
		}
	}
	for _, object := range inner {
		addFields(fields, object)
	}
}

// review returns the record of a row, or says what is wrong with the row.
func (r row) review(source client.FeedbackSource, zone *time.Location) (record client.PushFeedbackRecord, problem string) {
	f := r.fields
	if f["title"] == "" && f["body"] == "" {
		return record, "has no text"
	}
	record = client.PushFeedbackRecord{
		Source: source, Kind: client.Value(client.FeedbackKindReview), Title: optional(f["title"]), Body: optional(f["body"]), AuthorName: optional(f["author"]),
		AppVersion: optional(f["version"]), Territory: optional(f["territory"]), Locale: optional(f["locale"]),
	}
	if text := f["source"]; text != "" {
		rowSource := client.FeedbackSource(strings.ReplaceAll(strings.ToLower(text), " ", "_"))
		if !slices.Contains([]client.FeedbackSource{client.FeedbackSourceAppStore, client.FeedbackSourceGooglePlay, client.FeedbackSourceReddit}, rowSource) {
			return record, fmt.Sprintf("is from %q: it must be App Store, Google Play or Reddit", text)
		}
		record.Source = rowSource
	}
	if text := f["rating"]; text != "" {
		stars, err := strconv.ParseFloat(text, 64)
		if err != nil || stars != math.Trunc(stars) || stars < 1 || stars > 5 {
			return record, fmt.Sprintf("has the rating %q: it must be a whole number from 1 to 5", text)
		}
		record.Rating = client.Value(int(stars))
	} else if record.Source == client.FeedbackSourceReddit {
		record.Kind = client.Value(client.FeedbackKindMention)
	}
	if text := f["posted"]; text != "" {
		at, ok := parseTime(text, zone)
		if !ok {
			return record, fmt.Sprintf("has the date %q: write it like 2026-11-22", text)
		}
		record.PostedAt = client.Value(at)
	}
	if link := f["link"]; strings.HasPrefix(link, "https://") || strings.HasPrefix(link, "http://") {
		record.ExternalURL = client.Value(link)
	}
	record.ExternalID = f["id"]
	if record.ExternalID == "" {
		record.ExternalID = idInLink(f["link"])
	}
	if record.ExternalID == "" {
		record.ExternalID = digest(f)
	}
	return record, ""
}

func optional(text string) client.Optional[string] {
	if text == "" {
		return client.Optional[string]{}
	}
	return client.Value(text)
}

// digest returns an id for a review that has none. The id is the same when the review is pasted
// again.
func digest(f map[string]string) string {
	var all bytes.Buffer
	for _, name := range []string{"author", "posted", "title", "body"} {
		all.WriteString(f[name] + "\x00")
	}
	sum := sha256.Sum256(all.Bytes())
	return "pasted-" + hex.EncodeToString(sum[:10])
}

// idInLink returns the id of a review in a link to the Play Console, or an empty string.
func idInLink(link string) string {
	for part := range strings.FieldsFuncSeq(link, func(r rune) bool { return strings.ContainsRune("?&#;", r) }) {
		if name, value, ok := strings.Cut(part, "="); ok && strings.EqualFold(name, "reviewid") {
			if id, err := url.PathUnescape(value); err == nil {
				return strings.TrimSpace(id)
			}
		}
	}
	return ""
}

// timeLayouts are the time formats in which the day and the month cannot be confused.
var timeLayouts = []string{time.RFC3339, time.DateOnly, time.DateTime, "2006-01-02T15:04:05", "2006-01-02 15:04", "02.01.2006", "2 Jan 2006", "Jan 2, 2006", "January 2, 2006"}

// parseTime parses a time. A time that names no zone is in zone. A number counts the seconds or, if
// it is large, the milliseconds since 1970.
func parseTime(text string, zone *time.Location) (at time.Time, ok bool) {
	if n, err := strconv.ParseInt(text, 10, 64); err == nil && n > 1e8 {
		if n > 1e11 {
			return time.UnixMilli(n).UTC(), true
		}
		return time.Unix(n, 0).UTC(), true
	}
	for _, layout := range timeLayouts {
		if at, err := time.ParseInLocation(layout, text, zone); err == nil {
			return at.UTC(), true
		}
	}
	return time.Time{}, false
}
