// Package review converts app store reviews and Reddit mentions.
//
// scripts/docs/reference/import-formats.md describes the formats and names their sources.
package review

import (
	"encoding/json"
	"time"

	"github.com/spf13/pflag"

	"growthworkspace/scripts/workspace/convert"
)

// recordType is the type of all records that this package emits.
const recordType = "feedback"

// Kinds returns the kinds of this package. They have no flags.
func Kinds(*pflag.FlagSet) []convert.Kind {
	types := []string{recordType}
	return []convert.Kind{
		{Name: "google-play", Summary: "reviews_*.csv of the Play Console, or JSON of the Android Publisher API's reviews.list", Types: types, Convert: convertGooglePlay},
		{Name: "app-store", Summary: "JSON of the App Store Connect API's customerReviews, or of the asc command", Types: types, Convert: convertAppStore},
		{Name: "reddit", Summary: "JSON of a Reddit listing: posts, comments, or a post with its comments", Types: types, Convert: convertReddit},
	}
}

// Reasons for skipping a row.
const (
	skipNoText  = "ratings without a text: there is nothing to reply to, and the store shows them in its averages"
	skipNoID    = "rows without an id"
	skipDeleted = "deleted by the author or a moderator"
	skipHidden  = "comments that the listing hides behind \"more\""
	skipOther   = "neither posts nor comments"
)

// fields collects the properties of a record. It leaves out properties without a value, so that an
// import keeps their stored values.
type fields map[string]any

func (f fields) setText(name, value string) {
	if value != "" {
		f[name] = value
	}
}

func (f fields) setTime(name string, at time.Time) {
	if !at.IsZero() {
		f[name] = convert.FormatTime(at)
	}
}

// setReply adds the text of a reply. The store already shows the reply, so its status is "posted".
func (f fields) setReply(text string) {
	if text != "" {
		f["replyBody"], f["replyStatus"] = text, "posted"
	}
}

// laterTime returns the later of two times. A review and the reply to it change at different times,
// so the later time is the version of the record that contains both.
func laterTime(a, b time.Time) time.Time {
	if b.After(a) {
		return b
	}
	return a
}

// reportBadJSON reports an element whose JSON cannot be decoded into the types of the format.
func reportBadJSON(out *convert.Output, number int, element json.RawMessage, err error) error {
	p := convert.Problem{Row: number, Message: "has an unexpected form: " + err.Error(), Text: element}
	return out.Report(p)
}
