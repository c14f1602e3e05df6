package review

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"html"
	"strings"
	"time"

	"growthworkspace/scripts/workspace/convert"
)

// The kinds of element in a listing. Reddit calls an element a thing.
const (
	redditComment = "t1"
	redditPost    = "t3"
	redditMore    = "more"
)

// redditThing is an element of a listing.
type redditThing struct {
	Kind string `json:"kind"`
	Data struct {
		Name      string          `json:"name"` // the fullname, such as t3_1abcd
		ID        string          `json:"id"`
		Author    string          `json:"author"`
		Title     string          `json:"title"`
		SelfText  string          `json:"selftext"`
		Body      string          `json:"body"`
		Permalink string          `json:"permalink"`
		Created   float64         `json:"created_utc"`
		Edited    json.RawMessage `json:"edited"`  // false or the time of the last edit
		Replies   json.RawMessage `json:"replies"` // "" or a listing
		Count     int             `json:"count"`   // for the kind redditMore, the number of comments that it hides
	} `json:"data"`
}

var redditColumns = map[string]string{
	"externalId": "name", "externalUrl": "permalink", "title": "title", "body": "body", "authorName": "author", "postedAt": "created_utc",
}

// convertReddit converts a file with one listing, or with the listing of a post followed by that of
// its comments.
func convertReddit(ctx context.Context, in convert.Input, out *convert.Output) error {
	found, err := convert.EachElement(in, convert.Elements{"data.children": func(number int, element json.RawMessage) error {
		return errors.Join(ctx.Err(), emitThing(number, element, out))
	}})
	if err == nil && !found {
		err = errors.New(`has no list "data.children": it must be a listing of Reddit, whose kind is "Listing"`)
	}
	return err
}

// emitThing emits a post or a comment and all replies to it. number is the number of the top-level
// element to which they belong.
func emitThing(number int, element json.RawMessage, out *convert.Output) error {
	var thing redditThing
	if err := json.Unmarshal(element, &thing); err != nil {
		return reportBadJSON(out, number, element, err)
	}
	switch thing.Kind {
	case redditPost, redditComment:
	case redditMore:
		if thing.Data.Count > 0 {
			out.SkipMany(skipHidden, thing.Data.Count)
		}
		return nil
	default:
		out.Skip(skipOther)
		return nil
	}
	if err := thing.emit(number, element, out); err != nil {
		return err
	}
	return emitReplies(number, thing.Data.Replies, out)
}

// emitReplies emits the listing of replies to a comment.
func emitReplies(number int, replies json.RawMessage, out *convert.Output) error {
	if !bytes.HasPrefix(bytes.TrimSpace(replies), []byte("{")) {
		return nil
	}
	var listing struct {
		Data struct {
			Children []json.RawMessage `json:"children"`
		} `json:"data"`
	}
	if err := json.Unmarshal(replies, &listing); err != nil {
		return reportBadJSON(out, number, replies, err)
	}
	for _, child := range listing.Data.Children {
		if err := emitThing(number, child, out); err != nil {
			return err
		}
	}
	return nil
}

func (t redditThing) emit(number int, element json.RawMessage, out *convert.Output) error {
	d := t.Data
	id := d.Name
	if id == "" && d.ID != "" {
		id = t.Kind + "_" + d.ID
	}
	body := html.UnescapeString(d.SelfText + d.Body) // a post has only SelfText, and a comment only Body
	switch {
	case id == "":
		out.Skip(skipNoID)
		return nil
	case isDeleted(body), isDeleted(d.Title):
		out.Skip(skipDeleted)
		return nil
	}
	edited := 0.0
	if text := string(d.Edited); text != "" && text != "false" && text != "true" && text != "null" { // the value is true for very old posts
		if err := json.Unmarshal(d.Edited, &edited); err != nil {
			return out.Report(convert.Problem{Row: number, Column: "edited", Message: "must be false or a time in seconds", Text: element})
		}
	}
	at := max(d.Created, edited)
	f := fields{"source": "reddit", "kind": "mention", "externalId": id}
	f.setText("title", strings.TrimSpace(html.UnescapeString(d.Title)))
	f.setText("body", strings.TrimSpace(body))
	if !isDeleted(d.Author) {
		f.setText("authorName", d.Author)
	}
	if strings.HasPrefix(d.Permalink, "/") {
		f.setText("externalUrl", "https://www.reddit.com"+d.Permalink)
	}
	version := time.Time{}
	if at > 0 {
		version = time.UnixMilli(int64(at * 1000))
		f.setTime("postedAt", version)
	}
	return out.Emit(convert.Record{Type: recordType, Fields: f, Row: number, Columns: redditColumns, Identity: id, Version: version})
}

// isDeleted reports whether text is a placeholder for deleted text.
func isDeleted(text string) bool {
	switch strings.TrimSpace(text) {
	case "[deleted]", "[removed]", "[deleted by user]", "[ Removed by Reddit ]":
		return true
	}
	return false
}
