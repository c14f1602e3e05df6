package studio

import (
	"bytes"
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"time"
	"unicode"
	"unicode/utf8"

	"growthworkspace/shared/client"
	"growthworkspace/shared/thread"
)

// postPreview shows a post as its platform would, before it is stored.
type postPreview struct {
	Title, Link string
	Parts       []threadPart
	Hashtags    []string
	Pictures    []picture
	Other       string // pictures that the form cannot edit, as JSON
	Count       string // the length of the text by the rules of the platform, as a sentence
}

// threadPart is one post of the thread into which the service splits a long post.
type threadPart struct {
	Text   string
	N, Of  int
	Weight int // the length of the text as X counts it; 0 on other platforms
}

// countText returns a sentence about the length of text by the rules of a platform.
func countText(platform, text string) string {
	if platform != string(client.BroadcastPlatformX) {
		return fmt.Sprintf("%d of 10,000 characters.", utf8.RuneCountInString(text))
	}
	weight, parts := thread.Weight(text), thread.Parts(text)
	if len(parts) < 2 {
		return fmt.Sprintf("%d of %d, as X counts. A longer text becomes a thread.", weight, thread.WeightMax)
	}
	return fmt.Sprintf("%d as X counts, and one post has %d: a thread of %d posts.", weight, thread.WeightMax, len(parts))
}

// previewOf returns the preview of the values in a form. stored contains the parts into which the
// service has split the stored text. previewOf uses them as long as the form contains the stored
// text.
func previewOf(f *form, platform string, stored []string) postPreview {
	value := func(name string) string {
		if at := slices.IndexFunc(f.Fields, func(f *field) bool { return f.Name == name }); at >= 0 {
			return f.Fields[at].Text
		}
		return ""
	}
	body := f.field("body")
	parts := stored
	if body.Text != body.Stored || len(parts) == 0 {
		parts = splitText(platform, body.Text)
	}
	out := postPreview{Title: value("title"), Link: value("deepLink"), Hashtags: tagsOf(value("hashtags")), Count: countText(platform, body.Text)}
	media := f.field("media")
	out.Pictures, out.Other = media.TypedPictures(), media.OtherPictures()
	for n, text := range parts {
		part := threadPart{Text: text, N: n + 1, Of: len(parts)}
		if platform == string(client.BroadcastPlatformX) {
			part.Weight = thread.Weight(text)
		}
		out.Parts = append(out.Parts, part)
	}
	return out
}

// splitText splits text into the posts that a platform needs for it.
func splitText(platform, text string) []string {
	if platform == string(client.BroadcastPlatformX) {
		if parts := thread.Parts(text); parts != nil {
			return parts
		}
	}
	return []string{text}
}

// tagsOf returns the hashtags in text without their number signs and without duplicates. White
// space and commas separate hashtags.
func tagsOf(text string) []string {
	out := []string{}
	for _, tag := range strings.FieldsFunc(text, func(r rune) bool { return unicode.IsSpace(r) || r == ',' }) {
		if tag = strings.TrimLeft(tag, "#"); tag != "" && !slices.Contains(out, tag) {
			out = append(out, tag)
		}
	}
	return out
}

// tags returns the new hashtags of a post.
func (c *formChanges) tags() client.Optional[[]string] {
	text := c.text("hashtags")
	if value, ok := text.Get(); ok {
		return client.Value(tagsOf(value))
	}
	return absentOrNull[[]string](text)
}

// previewPost responds with the preview of the values in a form. The page shows it while the user
// types. previewPost makes no API call.
func (s *Studio) previewPost(v *pageRequest) *view {
	sent := v.r.PostForm
	collectPictures(sent)
	platform := typedField(sent, "platform")
	f := newForm("", "", "", true, postFields(client.Post{}, platform, v.clock(), sent)...)
	f.restore(sent, nil, false)
	var out bytes.Buffer
	if err := s.pages.templates["post"].ExecuteTemplate(&out, "cards", previewOf(f, platform, nil)); err != nil {
		s.Log.Error("the preview could not be made", "error", err)
		http.Error(v.w, "The preview could not be created.", http.StatusInternalServerError)
		return nil
	}
	v.w.Header().Set("Content-Type", "text/html; charset=utf-8")
	_, _ = v.w.Write(out.Bytes()) // ignore the error: the client disconnected
	return nil
}

// platformFields lists, for each platform, the fields that the form of a post has in addition to
// the text, the time and the pictures.
var platformFields = map[client.BroadcastPlatform][]string{
	client.BroadcastPlatformX:         {"deepLink", "hashtags"},
	client.BroadcastPlatformInstagram: {"hashtags"},
	client.BroadcastPlatformTiktok:    {"hashtags"},
	client.BroadcastPlatformFacebook:  {"deepLink", "hashtags"},
	client.BroadcastPlatformReddit:    {"title", "deepLink"},
	client.BroadcastPlatformPush:      {"title", "destination", "deepLink"},
}

// hasField reports whether the form of a post on a platform has a field. A field that contains a
// stored value is never hidden. On an unknown platform, the form has every field.
func hasField(platform, name, stored string) bool {
	names, known := platformFields[client.BroadcastPlatform(platform)]
	return stored != "" || !known || slices.Contains(names, name)
}

// platformOf returns the platform of a new post. It is the chosen one. If none is chosen, it is the
// first platform whose account works: first of the idea's platforms, then X, then the others. If no
// account works, or the accounts are unknown, it is the idea's first platform, or X if the idea has
// none.
func platformOf(sent, query url.Values, idea client.Idea, accounts []client.Channel, now time.Time) string {
	for _, platform := range []string{typedField(sent, "platform"), query.Get("platform")} {
		if slices.Contains(platforms(), platform) {
			return platform
		}
	}
	var wanted []string
	for _, platform := range idea.Platforms.Or(nil) {
		wanted = append(wanted, string(platform))
	}
	wanted = append(append(wanted, string(client.BroadcastPlatformX)), platforms()...)
	works := func(platform string) bool { return accountProblem(accounts, platform, now) == "" }
	return wanted[max(0, slices.IndexFunc(wanted, works))]
}
