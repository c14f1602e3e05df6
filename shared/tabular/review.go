package tabular

import (
	"encoding/json"
	"fmt"
	"strings"
	"time"

	"growthworkspace/shared/client"
)

// Review is a review or a mention in a file.
type Review struct {
	client.PushFeedbackRecord

	Reply   string            // the reply that the platform shows; empty if there is none
	Changed time.Time         // when the review or the reply to it was last changed, so the version of the review
	Row     int               // the row number in a spreadsheet, or the number of the element in a JSON list, from 1
	Columns map[string]string // the columns or the paths of the properties, for messages
}

// Reviews receives what a reader of reviews finds. If a method returns an error, the reader returns
// that error.
type Reviews interface {
	Add(Review) error
	Report(Problem) error                         // a row that is invalid
	Skip(row int, reason string, count int) error // rows that are left out on purpose
}

// ReviewFormat is a format of reviews.
type ReviewFormat struct {
	Name, Summary string
	read          func(Input, Reviews) error
}

// ReviewFormats returns the formats of the platforms. Each reads files of any size.
func ReviewFormats() []ReviewFormat {
	return []ReviewFormat{
		{"google-play", "reviews_*.csv of the Play Console, or JSON of the Android Publisher API's reviews.list", readGooglePlay},
		{"app-store", "JSON of the App Store Connect API's customerReviews, or of the asc command", readAppStore},
		{"reddit", "JSON of a Reddit listing: posts, comments, or a post with its comments", readReddit},
	}
}

// Read reads the reviews of a file. The error concerns the whole file.
func (f ReviewFormat) Read(in Input, out Reviews) error { return f.read(in, out) }

// Reasons for skipping a row.
const (
	SkipNoText  = "ratings without a text: there is nothing to reply to, and the store shows them in its averages"
	SkipNoID    = "rows without an id"
	SkipDeleted = "deleted by the author or a moderator"
	SkipHidden  = "comments that the listing hides behind \"more\""
	SkipOther   = "neither posts nor comments"
)

// newReview returns a review without text.
func newReview(row int, columns map[string]string, source client.FeedbackSource, kind client.FeedbackKind, id string) Review {
	return Review{Row: row, Columns: columns, PushFeedbackRecord: client.PushFeedbackRecord{Source: source, Kind: client.Value(kind), ExternalID: id}}
}

// optional returns an absent value for an empty text, so that an import keeps the stored value.
func optional(text string) client.Optional[string] {
	if text == "" {
		return client.Optional[string]{}
	}
	return client.Value(text)
}

// setTimes sets when the review was posted and when the reply to it was changed. Both may be zero.
// The two change at different times, so the later one is the version of the record with both.
func (r *Review) setTimes(posted, replied time.Time) {
	if !posted.IsZero() {
		r.PostedAt = client.Value(posted.UTC())
	}
	if r.Changed = posted; replied.After(posted) {
		r.Changed = replied
	}
}

// reportBadJSON reports an element whose JSON cannot be decoded into the types of the format.
func reportBadJSON(out Reviews, number int, element json.RawMessage, err error) error {
	return out.Report(Problem{Row: number, Message: "has an unexpected form: " + err.Error(), Text: element})
}

// parseTime parses a time with an offset. It returns the zero time if text is empty.
func parseTime(text string) (time.Time, error) {
	if text == "" {
		return time.Time{}, nil
	}
	at, err := time.Parse(time.RFC3339, text)
	if err != nil {
		return at, fmt.Errorf("must be a time such as 2026-08-09T18:20:34-07:00, is %q", text)
	}
	return at, nil
}

// trimmed returns a text without surrounding spaces, or an absent value if nothing is left.
func trimmed(text string) client.Optional[string] { return optional(strings.TrimSpace(text)) }
