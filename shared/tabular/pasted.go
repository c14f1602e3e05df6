package tabular

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
	"time"
	"unicode"

	"growthworkspace/shared/client"
)

// Pasted says how to read reviews that somebody pasted.
type Pasted struct {
	Source  client.FeedbackSource // the platform of reviews that do not name one
	Zone    *time.Location        // the zone of times that do not name one
	Answers Answers
}

// Read reads reviews from a table with headings, or from JSON. It recognises the formats of the
// platforms. Any other table or list is read by the names of its columns or properties. records does
// not contain the rows with a problem. The error is an Ambiguous if the dates of a table have several
// readings.
func (p Pasted) Read(text string) (records []client.PushFeedbackRecord, problems []Problem, err error) {
	text = strings.TrimSpace(strings.TrimPrefix(text, "\ufeff"))
	if text == "" {
		return nil, nil, errors.New("paste the reviews first")
	}
	in, out := NewInput("", []byte(text)), &pastedReviews{at: map[string]int{}}
	if text[0] != '[' && text[0] != '{' {
		err = p.readTable(in, out)
		return out.records, out.problems, err
	}
	for i, sign := range []string{`"userComment"`, `"customerReviews"`, `"children"`} { // properties of the platforms' formats
		if strings.Contains(text, sign) && json.Valid([]byte(text)) {
			if err := ReviewFormats()[i].Read(in, out); err == nil && out.found {
				return out.records, out.problems, nil
			}
		}
	}
	err = p.readJSON(text, out)
	return out.records, out.problems, err
}

// pastedReviews collects reviews. A later review replaces an earlier one with the same identity.
type pastedReviews struct {
	records  []client.PushFeedbackRecord
	problems []Problem
	at       map[string]int // maps a review's identity to its index in records
	found    bool           // whether there was a review, even one that is left out
}

func (p *pastedReviews) Add(r Review) error {
	p.found = true
	if stars, ok := r.Rating.Get(); ok && (stars < 1 || stars > 5) {
		return p.Report(Problem{Row: r.Row, Message: fmt.Sprintf("has the rating \"%d\": it must be a whole number from 1 to 5", stars)})
	}
	identity := string(r.Source) + " " + r.ExternalID
	if i, known := p.at[identity]; known {
		p.records[i] = r.PushFeedbackRecord
		return nil
	}
	p.at[identity] = len(p.records)
	p.records = append(p.records, r.PushFeedbackRecord)
	return nil
}

func (p *pastedReviews) Report(problem Problem) error {
	p.problems = append(p.problems, problem)
	return nil
}

func (p *pastedReviews) Skip(row int, reason string, _ int) error {
	p.found = true
	return p.Report(Problem{Row: row, Message: "is left out: " + reason})
}

// names maps the names of columns and of JSON properties, without spaces and punctuation, to the
// properties of a review.
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

// readTable reads a table with headings.
func (p Pasted) readTable(in Input, out Reviews) error {
	separator, skip := FindSeparator(in.Reader(), "", 0)
	open := func() (*Table, error) {
		s := NewSource(in.Reader())
		s.Separator, s.Skip, s.IsLazy, s.IsRagged = separator, skip, separator == '\t', true
		return OpenTable(s, "")
	}
	t, err := open()
	if err != nil {
		return errors.New("the first row is not a row of headings: a quotation mark is missing")
	}
	if _, ok := isPlayReport(t); ok {
		return readPlayReport(t, out)
	}
	columns := map[string]int{} // by property; the first column that has a name of the property
	for i := len(t.Header) - 1; i >= 0; i-- {
		columns[property(t.Header[i])] = i
	}
	_, hasBody := columns["body"]
	_, hasTitle := columns["title"]
	if !hasBody && !hasTitle {
		return fmt.Errorf("the first row must name the columns, with one that is called text; it is %q", strings.Join(t.Header, ", "))
	}
	t.Reopen = open
	posted, hasPosted := columns["posted"]
	dates := p.Answers.Dates(p.Zone, nil)
	if hasPosted {
		dates = p.Answers.Dates(p.Zone, t.Column(posted))
	}
	return t.Each(func() error {
		fields := map[string]string{}
		for name, i := range columns {
			fields[name] = strings.TrimSpace(t.Cells[i])
		}
		return p.add(t.Row, fields, dates, true, out)
	}, out.Report)
}

// readJSON reads a JSON list, or a JSON object that contains one.
func (p Pasted) readJSON(text string, out Reviews) error {
	d := json.NewDecoder(strings.NewReader(text))
	d.UseNumber()
	var all any
	if err := d.Decode(&all); err != nil {
		return fmt.Errorf("this is not valid JSON: %w", err)
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
		return errors.New("this JSON has no list of reviews: it must be a list, or an object with one that is called reviews, records, data or items")
	}
	for i, element := range list {
		object, isObject := element.(map[string]any)
		if !isObject {
			if err := out.Report(Problem{Row: i + 1, Message: "is not an object"}); err != nil {
				return err
			}
			continue
		}
		fields := map[string]string{}
		addFields(fields, object)
		if err := p.add(i+1, fields, NewDates(Format{}, p.Zone, nil), false, out); err != nil {
			return err
		}
	}
	return nil
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

// add adds the review of a row, or reports what is wrong with it. If mayAsk is set, it returns an
// Ambiguous date.
func (p Pasted) add(row int, f map[string]string, dates *Dates, mayAsk bool, out Reviews) error {
	report := func(format string, args ...any) error {
		return out.Report(Problem{Row: row, Message: fmt.Sprintf(format, args...)})
	}
	source, kind := p.Source, client.FeedbackKindReview
	if text := f["source"]; text != "" {
		source = client.FeedbackSource(strings.ReplaceAll(strings.ToLower(text), " ", "_"))
		if !slices.Contains([]client.FeedbackSource{client.FeedbackSourceAppStore, client.FeedbackSourceGooglePlay, client.FeedbackSourceReddit}, source) {
			return report("is from %q: it must be App Store, Google Play or Reddit", text)
		}
	}
	if f["title"] == "" && f["body"] == "" {
		return report("has no text")
	}
	var stars float64
	var err error
	if text := f["rating"]; text != "" {
		if stars, err = strconv.ParseFloat(text, 64); err != nil {
			return report("has the rating %q: it must be a whole number from 1 to 5", text)
		}
	} else if source == client.FeedbackSourceReddit {
		kind = client.FeedbackKindMention
	}
	var posted Date
	switch posted, err = dates.Read(f["posted"]); {
	case errors.Is(err, ErrEmpty):
	case mayAsk && errors.As(err, new(*Ambiguous)):
		return err
	case err != nil:
		return report("has the date %q: write it like 2026-11-22", f["posted"])
	}
	r := newReview(row, nil, source, kind, f["id"])
	if f["rating"] != "" {
		if stars != float64(int(stars)) {
			return report("has the rating %q: it must be a whole number from 1 to 5", f["rating"])
		}
		r.Rating = client.Value(int(stars))
	}
	r.Title, r.Body, r.AuthorName = optional(f["title"]), optional(f["body"]), optional(f["author"])
	r.AppVersion, r.Territory, r.Locale = optional(f["version"]), optional(f["territory"]), optional(f["locale"])
	if link := f["link"]; strings.HasPrefix(link, "https://") || strings.HasPrefix(link, "http://") {
		r.ExternalURL = client.Value(link)
	}
	if r.ExternalID == "" {
		r.ExternalID = playReviewID(f["link"])
	}
	if r.ExternalID == "" {
		r.ExternalID = pastedID(f)
	}
	r.setTimes(posted.Time, time.Time{})
	return out.Add(r)
}

// pastedID returns an id for a review that has none. The id is the same when the review is pasted
// again.
func pastedID(f map[string]string) string {
	all := sha256.New()
	for _, name := range []string{"author", "posted", "title", "body"} {
		fmt.Fprint(all, f[name]+"\x00")
	}
	return "pasted-" + hex.EncodeToString(all.Sum(nil)[:10])
}
