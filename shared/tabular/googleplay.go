package tabular

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"time"

	"growthworkspace/shared/client"
)

// The columns that are read from a monthly report.
const (
	columnVersion   = "App Version Name"
	columnLanguage  = "Reviewer Language"
	columnUpdated   = "Review Last Update Millis Since Epoch"
	columnStars     = "Star Rating"
	columnTitle     = "Review Title"
	columnText      = "Review Text"
	columnReplyTime = "Developer Reply Millis Since Epoch"
	columnReply     = "Developer Reply Text"
	columnLink      = "Review Link"
)

// playColumns maps the properties of a record to the columns of the report.
var playColumns = map[string]string{
	"externalId": columnLink, "externalUrl": columnLink, "title": columnTitle, "body": columnText, "rating": columnStars,
	"appVersion": columnVersion, "locale": columnLanguage, "postedAt": columnUpdated, "replyBody": columnReply,
}

// readGooglePlay reads a monthly report, or the JSON of reviews.list.
func readGooglePlay(in Input, out Reviews) error {
	text, err := in.uncheckedText()
	if err != nil {
		return err
	}
	source := NewSource(text)
	head, err := source.in.Peek(1)
	if errors.Is(err, io.EOF) {
		return errors.New("is empty")
	}
	if err != nil {
		return err
	}
	if strings.ContainsAny(string(head), "{[ \n\r\t") {
		return readPlayAPI(in, out)
	}
	t, err := OpenTable(source, "")
	if err != nil {
		return err
	}
	return readPlayReport(t, out)
}

// isPlayReport reports whether a table is a monthly report. missing is the first column that it
// lacks.
func isPlayReport(t *Table) (missing string, ok bool) {
	for _, name := range []string{columnLink, columnStars, columnText, columnUpdated} {
		if !slices.Contains(t.Header, name) {
			return name, false
		}
	}
	return "", true
}

func readPlayReport(t *Table, out Reviews) error {
	if missing, ok := isPlayReport(t); !ok {
		return Problem{Row: t.HeaderRow, Column: missing, Message: fmt.Sprintf(
			"this column is missing; the first row must be the headings of a reviews report of the Play Console, and is %q", strings.Join(t.Header, ","))}
	}
	index := map[string]int{}
	for i, name := range t.Header {
		index[name] = i
	}
	cell := func(name string) string {
		if i, ok := index[name]; ok {
			return strings.TrimSpace(t.Cells[i])
		}
		return ""
	}
	return t.Each(func() error {
		link := cell(columnLink)
		id := playReviewID(link)
		switch {
		case cell(columnText) == "":
			return out.Skip(t.Row, SkipNoText, 1)
		case id == "":
			return out.Skip(t.Row, SkipNoID, 1)
		}
		rating, err := strconv.Atoi(cell(columnStars))
		if err != nil {
			return out.Report(t.Problem(index[columnStars], fmt.Sprintf("must be a number from 1 to 5, is %q", cell(columnStars))))
		}
		updated, err := parseMillis(cell(columnUpdated))
		if err != nil || updated.IsZero() {
			return out.Report(t.Problem(index[columnUpdated], fmt.Sprintf("must be a time in milliseconds, is %q", cell(columnUpdated))))
		}
		replied, err := parseMillis(cell(columnReplyTime))
		if err != nil {
			return out.Report(t.Problem(index[columnReplyTime], fmt.Sprintf("must be a time in milliseconds, is %q", cell(columnReplyTime))))
		}
		r := newReview(t.Row, playColumns, client.FeedbackSourceGooglePlay, client.FeedbackKindReview, id)
		r.ExternalURL, r.Rating, r.Reply = client.Value(link), client.Value(rating), cell(columnReply)
		r.Title, r.Body = optional(cell(columnTitle)), optional(cell(columnText))
		r.AppVersion, r.Locale = optional(cell(columnVersion)), optional(cell(columnLanguage))
		r.setTimes(updated, replied)
		return out.Add(r)
	}, out.Report)
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

// playAPIColumns maps the properties of a record to those of the API.
var playAPIColumns = map[string]string{
	"externalId": "reviewId", "rating": "starRating", "body": "text", "title": "text", "locale": "reviewerLanguage", "appVersion": "appVersionName",
	"postedAt": "lastModified", "replyBody": "developerComment.text",
}

func readPlayAPI(in Input, out Reviews) error {
	found, err := eachElement(in, "reviews", func(number int, element json.RawMessage) error {
		var review playReview
		if err := json.Unmarshal(element, &review); err != nil {
			return reportBadJSON(out, number, element, err)
		}
		return review.read(number, element, out)
	})
	if err == nil && !found {
		err = errors.New("has no list of reviews: it must be a CSV report of the Play Console, or the response of reviews.list")
	}
	return err
}

func (p playReview) read(number int, element json.RawMessage, out Reviews) error {
	r := newReview(number, playAPIColumns, client.FeedbackSourceGooglePlay, client.FeedbackKindReview, p.ReviewID)
	r.AuthorName = optional(p.AuthorName)
	var userTime, replyTime time.Time
	text := ""
	for _, c := range p.Comments {
		if c.User != nil {
			at, err := c.User.time()
			if err != nil {
				return reportBadJSON(out, number, element, err)
			}
			if at.Before(userTime) {
				continue
			}
			userTime, text = at, cmp.Or(c.User.Original, c.User.Text)
			r.Rating, r.Locale, r.AppVersion = client.Value(c.User.Stars), optional(c.User.Language), optional(c.User.Version)
		}
		if c.Developer != nil {
			at, err := c.Developer.time()
			if err != nil {
				return reportBadJSON(out, number, element, err)
			}
			if !at.Before(replyTime) {
				replyTime, r.Reply = at, strings.TrimSpace(c.Developer.Text)
			}
		}
	}
	title, body, hasTitle := strings.Cut(text, "\t") // the API separates title and body with a tab
	if !hasTitle {
		title, body = "", text
	}
	switch {
	case r.ExternalID == "":
		return out.Skip(number, SkipNoID, 1)
	case strings.TrimSpace(text) == "":
		return out.Skip(number, SkipNoText, 1)
	}
	r.Title, r.Body = trimmed(title), trimmed(body)
	r.setTimes(userTime, replyTime)
	return out.Add(r)
}
