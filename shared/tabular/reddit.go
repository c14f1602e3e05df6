package tabular

import (
	"bytes"
	"encoding/json"
	"errors"
	"html"
	"strings"
	"time"

	"growthworkspace/shared/client"
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

// readReddit reads a file with one listing, or with the listing of a post followed by that of
// its comments.
func readReddit(in Input, out Reviews) error {
	found, err := eachElement(in, "data.children", func(number int, element json.RawMessage) error {
		return readThing(number, element, out)
	})
	if err == nil && !found {
		err = errors.New(`has no list "data.children": it must be a listing of Reddit, whose kind is "Listing"`)
	}
	return err
}

// readThing reads a post or a comment and all replies to it. number is the number of the top-level
// element to which they belong.
func readThing(number int, element json.RawMessage, out Reviews) error {
	var thing redditThing
	if err := json.Unmarshal(element, &thing); err != nil {
		return reportBadJSON(out, number, element, err)
	}
	switch thing.Kind {
	case redditPost, redditComment:
	case redditMore:
		if thing.Data.Count > 0 {
			return out.Skip(number, SkipHidden, thing.Data.Count)
		}
		return nil
	default:
		return out.Skip(number, SkipOther, 1)
	}
	if err := thing.read(number, element, out); err != nil {
		return err
	}
	return readReplies(number, thing.Data.Replies, out)
}

// readReplies reads the listing of replies to a comment.
func readReplies(number int, replies json.RawMessage, out Reviews) error {
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
		if err := readThing(number, child, out); err != nil {
			return err
		}
	}
	return nil
}

func (t redditThing) read(number int, element json.RawMessage, out Reviews) error {
	d := t.Data
	id := d.Name
	if id == "" && d.ID != "" {
		id = t.Kind + "_" + d.ID
	}
	body := html.UnescapeString(d.SelfText + d.Body) // a post has only SelfText, and a comment only Body
	switch {
	case id == "":
		return out.Skip(number, SkipNoID, 1)
	case isDeleted(body), isDeleted(d.Title):
		return out.Skip(number, SkipDeleted, 1)
	}
	edited := 0.0
	if text := string(d.Edited); text != "" && text != "false" && text != "true" && text != "null" { // the value is true for very old posts
		if err := json.Unmarshal(d.Edited, &edited); err != nil {
			return out.Report(Problem{Row: number, Column: "edited", Message: "must be false or a time in seconds", Text: element})
		}
	}
	r := newReview(number, redditColumns, client.FeedbackSourceReddit, client.FeedbackKindMention, id)
	r.Title, r.Body = trimmed(html.UnescapeString(d.Title)), trimmed(body)
	if !isDeleted(d.Author) {
		r.AuthorName = optional(d.Author)
	}
	if strings.HasPrefix(d.Permalink, "/") {
		r.ExternalURL = client.Value("https://www.reddit.com" + d.Permalink)
	}
	if at := max(d.Created, edited); at > 0 {
		r.setTimes(time.UnixMilli(int64(at*1000)), time.Time{})
	}
	return out.Add(r)
}

// isDeleted reports whether text is a placeholder for deleted text.
func isDeleted(text string) bool {
	switch strings.TrimSpace(text) {
	case "[deleted]", "[removed]", "[deleted by user]", "[ Removed by Reddit ]":
		return true
	}
	return false
}
