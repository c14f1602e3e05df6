package studio

import (
	"cmp"
	"encoding/json"
	"fmt"
	"net/url"
	"slices"
	"strings"

	"growthworkspace/shared/client"
)

// picture is a post's picture or video, as edited in a form.
type picture struct {
	URL  string `json:"url"`
	Kind string `json:"kind"`
	Alt  string `json:"alt,omitempty"`
}

// Words describes the picture on one line.
func (p picture) Words() string {
	if p.Alt != "" {
		return p.Alt
	}
	return p.URL
}

// picturesMax is the maximum number of pictures of a post.
const picturesMax = 10

// The kinds of pictures.
const (
	imageKind = "image"
	videoKind = "video"
)

// decodePictures reads pictures, which may be incomplete because somebody is typing them. ok is
// false if the text is not a list of pictures.
func decodePictures(text string) (all []picture, ok bool) {
	if text == "" {
		return nil, true
	}
	d := json.NewDecoder(strings.NewReader(text))
	d.DisallowUnknownFields()
	if d.Decode(&all) != nil || len(all) > picturesMax {
		return nil, false
	}
	return all, true
}

// hasEditablePictures reports whether a form can edit the stored pictures of a post. It cannot if
// they have a format that only an import stores. Such pictures can only be replaced as a whole.
func hasEditablePictures(text string) bool {
	all, ok := decodePictures(text)
	return ok && !slices.ContainsFunc(all, func(p picture) bool { return p.URL == "" || p.Kind != imageKind && p.Kind != videoKind })
}

// picturesText returns pictures as the value of a form field. The text is empty if there are none.
func picturesText(all []picture) string {
	if len(all) == 0 {
		return ""
	}
	text, err := json.Marshal(all)
	if err != nil {
		return "" // impossible: the pictures contain only strings
	}
	return string(text)
}

// storedPictures returns the pictures of a post as the value of a form field.
func storedPictures(p client.Post) string {
	stored, ok := p.Media.Get()
	if !ok {
		return ""
	}
	if all, ok := decodePictures(string(stored)); ok && hasEditablePictures(string(stored)) {
		return picturesText(all)
	}
	return string(stored)
}

// pictureRow is the part of a form that edits one picture.
type pictureRow struct {
	picture

	N int // counts from 0
}

// Name returns the name of an input of the row.
func (r pictureRow) Name(property string) string { return fmt.Sprintf("media.%d.%s", r.N, property) }

// Number returns the position of the picture, counted from 1.
func (r pictureRow) Number() int { return r.N + 1 }

// TypedPictures returns the pictures in a field.
func (f *field) TypedPictures() []picture {
	if f.OtherPictures() != "" {
		return nil
	}
	all, _ := decodePictures(f.Text)
	return all
}

// Pictures returns the rows of a field with pictures: one for each picture, and an empty one.
func (f *field) Pictures() (out []pictureRow) {
	for n, p := range f.TypedPictures() {
		out = append(out, pictureRow{p, n})
	}
	if len(out) < picturesMax && !f.ReadOnly {
		out = append(out, pictureRow{picture{Kind: imageKind}, len(out)})
	}
	return out
}

// OtherPictures returns the stored JSON of pictures that a form cannot edit, or "".
func (f *field) OtherPictures() string {
	if f.Text != f.Was || hasEditablePictures(f.Text) {
		return ""
	}
	return f.Text
}

// collectPictures adds the media field to a sent form. Its value consists of the form's picture
// rows that are not empty. Stored pictures that the form cannot edit are kept until somebody enters
// a picture.
func collectPictures(sent url.Values) {
	if !sent.Has("was.media") {
		return
	}
	var all []picture
	for n := range picturesMax {
		row := pictureRow{N: n}
		p := picture{typedField(sent, row.Name("url")), cmp.Or(typedField(sent, row.Name("kind")), imageKind), typedField(sent, row.Name("alt"))}
		if p.URL != "" || p.Alt != "" {
			all = append(all, p)
		}
	}
	sent.Set("media", picturesText(all))
	if len(all) == 0 && sent.Has("media.other") {
		sent.Set("media", renderedField(sent, "media"))
	}
}

// pictures returns the new pictures of a post.
func (c *formChanges) pictures() client.Optional[[]client.UpdateBroadcastPostMedia] {
	text := c.text("media")
	value, ok := text.Get()
	if !ok {
		return absentOrNull[[]client.UpdateBroadcastPostMedia](text)
	}
	var all []picture
	if json.Unmarshal([]byte(value), &all) != nil {
		c.addProblem("media", "must be pictures and videos")
	}
	out := []client.UpdateBroadcastPostMedia{}
	for _, p := range all {
		out = append(out, client.UpdateBroadcastPostMedia{URL: p.URL, Kind: p.Kind, Alt: optional(p.Alt)})
	}
	return client.Value(out)
}

// picturesToCreate converts the pictures of an update request to those of a create request.
func picturesToCreate(changed client.Optional[[]client.UpdateBroadcastPostMedia]) client.Optional[[]client.CreateBroadcastPostMedia] {
	all, ok := changed.Get()
	if !ok {
		return client.Optional[[]client.CreateBroadcastPostMedia]{}
	}
	out := make([]client.CreateBroadcastPostMedia, len(all))
	for n, p := range all {
		out[n] = client.CreateBroadcastPostMedia(p)
	}
	return client.Value(out)
}
