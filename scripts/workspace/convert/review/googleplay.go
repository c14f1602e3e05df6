package review

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"time"

	"growthworkspace/scripts/workspace/convert"
)

// The columns that are read from a monthly report.
const (
	columnVersion    = "App Version Name"
	columnLanguage   = "Reviewer Language"
	columnUpdated    = "Review Last Update Millis Since Epoch"
	columnStars      = "Star Rating"
	columnTitle      = "Review Title"
	columnText       = "Review Text"
	columnReplyTime  = "Developer Reply Millis Since Epoch"
	columnReply      = "Developer Reply Text"
	columnLink       = "Review Link"
	sourceGooglePlay = "google_play"
)

// playColumns maps the properties of a record to the columns of the report.
var playColumns = map[string]string{
	"externalId": columnLink, "externalUrl": columnLink, "title": columnTitle, "body": columnText, "rating": columnStars,
	"appVersion": columnVersion, "locale": columnLanguage, "postedAt": columnUpdated, "replyBody": columnReply,
}

// convertGooglePlay converts a monthly report, or the JSON of reviews.list.
func convertGooglePlay(ctx context.Context, in convert.Input, out *convert.Output) error {
	text, err := in.Text()
	if err != nil {
		return err
	}
	buffered := bufio.NewReaderSize(text, 64<<10)
	head, err := buffered.Peek(1)
	if err != nil && !errors.Is(err, io.EOF) {
		return err
	}
	if len(head) == 0 {
		return errors.New("is empty")
	}
	if strings.ContainsAny(string(head), "{[ \n\r\t") {
		return convertPlayAPI(ctx, in, out)
	}
	return convertPlayReport(ctx, buffered, out)
}

// playReport reads the rows of a monthly report.
type playReport struct {
	columns map[string]int
	cells   []string
}

func convertPlayReport(ctx context.Context, text *bufio.Reader, out *convert.Output) error {
	rows := convert.NewCSV(text, ',', false)
	heading, rowNumber, err := rows.Read()
	if err != nil {
		return err
	}
	r := playReport{columns: map[string]int{}}
	for i, name := range heading {
		r.columns[strings.TrimSpace(name)] = i
	}
	for _, name := range []string{columnLink, columnStars, columnText, columnUpdated} {
		if _, ok := r.columns[name]; !ok {
			return convert.Problem{Row: rowNumber, Column: name, Message: fmt.Sprintf(
				"this column is missing; the first row must be the headings of a reviews report of the Play Console, and is %q", strings.Join(heading, ","))}
		}
	}
	count := len(heading)
	for ctx.Err() == nil {
		r.cells, rowNumber, err = rows.Read()
		switch {
		case errors.Is(err, io.EOF):
			return nil
		case err != nil:
			return err
		case len(r.cells) != count:
			err = out.Report(convert.Problem{Row: rowNumber, Message: fmt.Sprintf("has %d cells, and the headings are %d", len(r.cells), count), Text: slices.Clone(r.cells)})
		default:
			err = r.convert(rowNumber, out)
		}
		if err != nil {
			return err
		}
	}
	return ctx.Err()
}

// cell returns the current row's cell in the named column, or "" if the report does not have the
// column.
func (r playReport) cell(name string) string {
	if i, ok := r.columns[name]; ok {
		return strings.TrimSpace(r.cells[i])
	}
	return ""
}

func (r playReport) convert(row int, out *convert.Output) error {
	if r.cell(columnText) == "" {
		out.Skip(skipNoText)
		return nil
	}
	link := r.cell(columnLink)
	id := playReviewID(link)
	if id == "" {
		out.Skip(skipNoID)
		return nil
	}
	report := func(column, format string, args ...any) error {
		return out.Report(convert.Problem{Row: row, Column: column, Message: fmt.Sprintf(format, args...), Text: slices.Clone(r.cells)})
	}
	rating, err := strconv.Atoi(r.cell(columnStars))
	if err != nil {
		return report(columnStars, "must be a number from 1 to 5, is %q", r.cell(columnStars))
	}
	updated, err := parseMillis(r.cell(columnUpdated))
	if err != nil || updated.IsZero() {
		return report(columnUpdated, "must be a time in milliseconds, is %q", r.cell(columnUpdated))
	}
	replied, err := parseMillis(r.cell(columnReplyTime))
	if err != nil {
		return report(columnReplyTime, "must be a time in milliseconds, is %q", r.cell(columnReplyTime))
	}
	f := fields{"source": sourceGooglePlay, "kind": "review", "externalId": id, "externalUrl": link, "rating": rating}
	f.setText("title", r.cell(columnTitle))
	f.setText("body", r.cell(columnText))
	f.setText("appVersion", r.cell(columnVersion))
	f.setText("locale", r.cell(columnLanguage))
	f.setTime("postedAt", updated)
	f.setReply(r.cell(columnReply))
	return out.Emit(convert.Record{Type: recordType, Fields: f, Row: row, Columns: playColumns, Identity: id, Version: laterTime(updated, replied)})
}

// parseMillis parses a number of milliseconds since 1970. It returns the zero time if text is
// empty.
func parseMillis(text string) (time.Time, error) {
	if text == "" {
		return time.Time{}, nil
	}
	n, err := strconv.ParseInt(text, 10, 64)
	if err != nil {
		return time.Time{}, fmt.Errorf("parse milliseconds: %w", err)
	}
	return time.UnixMilli(n), nil
}

// playReviewID returns the id in a link to a review, or "" if the link has none. Over the years,
// the Play Console has put the id into the query or the fragment, as reviewId or reviewid, escaped
// or not.
func playReviewID(link string) string {
	for part := range strings.FieldsFuncSeq(link, func(r rune) bool { return strings.ContainsRune("?&#;", r) }) {
		name, value, ok := strings.Cut(part, "=")
		if !ok || !strings.EqualFold(name, "reviewid") {
			continue
		}
		if id, err := url.PathUnescape(value); err == nil { // unlike url.QueryUnescape, it keeps a plus sign
			return strings.TrimSpace(id)
		}
		return strings.TrimSpace(value)
	}
	return ""
}

// playReview is a review from the Android Publisher API.
type playReview struct {
	ReviewID   string `json:"reviewId"`
	AuthorName string `json:"authorName"`
	Comments   []struct {
		User *struct {
			playComment

			Original string `json:"originalText"` // set if Text is a translation
			Stars    int    `json:"starRating"`
			Language string `json:"reviewerLanguage"`
			Version  string `json:"appVersionName"`
		} `json:"userComment"`
		Developer *playComment `json:"developerComment"`
	} `json:"comments"`
}

type playComment struct {
	Text     string `json:"text"`
	Modified struct {
		Seconds json.Number `json:"seconds"` // a string in JSON, because it is an int64
		Nanos   int64       `json:"nanos"`
	} `json:"lastModified"`
}

// time returns the time of the last change, or the zero time if there is none.
func (c playComment) time() (time.Time, error) {
	if c.Modified.Seconds == "" {
		return time.Time{}, nil
	}
	seconds, err := c.Modified.Seconds.Int64()
	return time.Unix(seconds, c.Modified.Nanos), err
}

func convertPlayAPI(ctx context.Context, in convert.Input, out *convert.Output) error {
	found, err := convert.EachElement(in, convert.Elements{"reviews": func(number int, element json.RawMessage) error {
		var review playReview
		if err := json.Unmarshal(element, &review); err != nil {
			return reportBadJSON(out, number, element, err)
		}
		return errors.Join(ctx.Err(), review.convert(number, element, out))
	}})
	if err == nil && !found {
		err = errors.New("has no list of reviews: it must be a CSV report of the Play Console, or the response of reviews.list")
	}
	return err
}

func (r playReview) convert(number int, element json.RawMessage, out *convert.Output) error {
	f := fields{"source": sourceGooglePlay, "kind": "review", "externalId": r.ReviewID}
	f.setText("authorName", r.AuthorName)
	var userTime, replyTime time.Time
	text := ""
	for _, c := range r.Comments {
		if c.User != nil {
			at, err := c.User.time()
			if err != nil {
				return reportBadJSON(out, number, element, err)
			}
			if at.Before(userTime) {
				continue
			}
			userTime, text = at, c.User.Text
			if c.User.Original != "" {
				text = c.User.Original
			}
			f["rating"] = c.User.Stars
			f.setText("locale", c.User.Language)
			f.setText("appVersion", c.User.Version)
		}
		if c.Developer != nil {
			at, err := c.Developer.time()
			if err != nil {
				return reportBadJSON(out, number, element, err)
			}
			if !at.Before(replyTime) {
				replyTime = at
				f.setReply(strings.TrimSpace(c.Developer.Text))
			}
		}
	}
	title, body, hasTitle := strings.Cut(text, "\t") // the API separates title and body with a tab
	if !hasTitle {
		title, body = "", text
	}
	switch {
	case r.ReviewID == "":
		out.Skip(skipNoID)
		return nil
	case strings.TrimSpace(text) == "":
		out.Skip(skipNoText)
		return nil
	}
	f.setText("title", strings.TrimSpace(title))
	f.setText("body", strings.TrimSpace(body))
	f.setTime("postedAt", userTime)
	return out.Emit(convert.Record{
		Type: recordType, Fields: f, Row: number, Identity: r.ReviewID, Version: laterTime(userTime, replyTime),
		Columns: map[string]string{"externalId": "reviewId", "rating": "starRating", "body": "text", "title": "text", "locale": "reviewerLanguage", "appVersion": "appVersionName", "postedAt": "lastModified", "replyBody": "developerComment.text"},
	})
}
