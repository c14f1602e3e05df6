package studio

import (
	"cmp"
	"crypto/rand"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"

	"growthworkspace/scripts/studio/phrase"
	"growthworkspace/shared/client"
)

// field is a property of a record in a form.
type field struct {
	Name, Label, Hint string
	Kind              string            // one of text, long, url, number, date, time, list (a value on each line), flag (true or false), choice, checks (any of the choices, one on each line) or media
	Choices           []string          // the options, if Kind is choice or checks; the suggestions for a text
	Labels            map[string]string // the labels of the choices; a choice without a label is formatted by phrase.Words
	Required          bool
	Rare              bool // seldom filled in, so the form shows it in a section that is initially collapsed

	Stored    string // the record's current value
	Suggested string // the initial value in the form for a new record
	Text      string // the value that the form shows
	Was       string // the record's value when the form was rendered
	Problem   string // what is wrong with the value
	Theirs    bool   // somebody else has changed the record's value since the form was rendered
	Focused   bool   // whether the field gets the focus, for example as the first field with a problem
	ReadOnly  bool   // the key may not change the record
}

// form is a form that edits a record. After a failed write, its template also shows the typed
// values, what is wrong with them, and the values that somebody else has stored in the meantime.
type form struct {
	What           string // what the form calls the record, such as "the profile" in "Somebody else changed the profile"
	Back           string // the page that shows the record as it is stored
	Fields         []*field
	ETag           string
	IdempotencyKey string // sent with the request that creates a record, so that sending the form twice creates only one record
	MayWrite       bool
	Conflict       *failure // set if somebody else changed the record
	Problem        *failure // set if there is a problem that belongs to no field
	Reading        *reading // how numbers were understood; nil if there is nothing to show
	Kept           []fact   // answers about earlier readings
}

// newForm returns a form that shows a record as it is stored.
func newForm(what, back, etag string, mayWrite bool, fields ...*field) *form {
	for _, f := range fields {
		// Normalise the value in the way that browsers do when they send it back, so that an
		// unedited field does not look changed.
		f.Stored = strings.TrimSpace(strings.ReplaceAll(f.Stored, "\r\n", "\n"))
		f.Text, f.Was, f.ReadOnly = cmp.Or(f.Suggested, f.Stored), f.Stored, !mayWrite
	}
	return &form{What: what, Back: back, Fields: fields, IdempotencyKey: newIdempotencyKey(), ETag: etag, MayWrite: mayWrite}
}

// restore puts the typed values back into the form after a failed write or for a preview. For a
// preview, refused is nil. If reread is true, the record could be read again after the write, and
// the fields that the user did not edit show its current values.
func (f *form) restore(sent url.Values, refused *failure, reread bool) {
	f.IdempotencyKey, f.Kept = nextIdempotencyKey(sent, refused), keepAnswers(sent, refused)
	if !reread {
		f.ETag = sent.Get("etag") // the entity tag of the record that the user saw, so that the next save still detects a change by somebody else
	}
	for _, field := range f.Fields {
		field.Text, field.Was = typedField(sent, field.Name), renderedField(sent, field.Name)
		if reread {
			field.Theirs = field.Stored != field.Was
			if field.Text == field.Was {
				field.Text = field.Stored
			}
			field.Was = field.Stored
		}
	}
	if refused == nil {
		return
	}
	if f.Reading = refused.Reading; f.Reading != nil {
		return
	}
	if refused.Conflict() && (reread || refused.Status == http.StatusPreconditionFailed) { // any other conflict means that a new record collides with an existing one
		f.Conflict = refused
		return
	}
	f.Problem = f.assign(refused)
	f.focus()
}

// Common returns the fields that the form always shows.
func (f *form) Common() []*field {
	return slices.DeleteFunc(slices.Clone(f.Fields), func(field *field) bool { return field.Rare })
}

// Rare returns the fields in the section that is initially collapsed.
func (f *form) Rare() []*field {
	return slices.DeleteFunc(slices.Clone(f.Fields), func(field *field) bool { return !field.Rare })
}

// RareOpen reports whether the section with the rare fields is expanded, because one of them was
// edited or has a problem.
func (f *form) RareOpen() bool {
	return slices.ContainsFunc(f.Rare(), func(field *field) bool {
		return field.Problem != "" || field.Theirs || field.Text != field.Was
	})
}

// RareLabels returns the heading for the rare fields: a list of their labels.
func (f *form) RareLabels() string {
	var labels []string
	for _, field := range f.Rare() {
		labels = append(labels, strings.ToLower(field.Label[:1])+field.Label[1:])
	}
	return "More: " + strings.Join(labels, ", ")
}

// LabelOf returns how the form shows a value of a choice.
func (f *field) LabelOf(value string) string { return cmp.Or(f.Labels[value], phrase.Words(value)) }

// field returns the field with this name. The form must contain it.
func (f *form) field(name string) *field {
	return f.Fields[slices.IndexFunc(f.Fields, func(field *field) bool { return field.Name == name })]
}

// focus marks the first field with a problem.
func (f *form) focus() {
	for _, field := range f.Fields {
		if field.Problem != "" {
			field.Focused = true
			return
		}
	}
}

// newIdempotencyKey returns an idempotency key for a request that creates a record.
func newIdempotencyKey() string { return rand.Text() }

// nextIdempotencyKey returns the idempotency key for the next attempt to send a form. It returns
// the same key if it is unknown whether the service created the record. It returns a new key after
// a refusal, because the service would repeat the refusal for the old key.
func nextIdempotencyKey(sent url.Values, refused *failure) string {
	if key := sent.Get("once"); key != "" && (refused == nil || refused.Reading != nil || refused.Status == 0 || refused.Status >= http.StatusInternalServerError) {
		return key
	}
	return newIdempotencyKey()
}

// assign adds each message to the field that the message is about. It returns a failure with the
// remaining messages, or nil if there are none.
func (f *form) assign(refused *failure) *failure {
	rest := *refused
	rest.Messages = nil
	for _, message := range refused.Messages {
		path, text, _ := strings.Cut(message, ": ")
		path, _, _ = strings.Cut(strings.TrimPrefix(path, "body."), "[") // remove the index from a path such as body.tags[2]
		at := slices.IndexFunc(f.Fields, func(field *field) bool { return field.Name == path })
		if at < 0 || text == "" {
			rest.Messages = append(rest.Messages, message)
			continue
		}
		f.Fields[at].Problem = strings.TrimSpace(f.Fields[at].Problem + " " + text)
	}
	if len(rest.Messages) == 0 && len(refused.Messages) > 0 {
		return nil
	}
	return &rest
}

// typedField returns the value that was typed in a field of a form. The checked boxes of a field are
// one value on each line.
func typedField(sent url.Values, name string) string {
	return strings.TrimSpace(strings.ReplaceAll(strings.Join(sent[name], "\n"), "\r\n", "\n"))
}

// renderedField returns the value that a field had when the form was rendered.
func renderedField(sent url.Values, name string) string {
	return strings.ReplaceAll(sent.Get("was."+name), "\r\n", "\n")
}

// formChanges reads the fields that the user changed in a form. A field that the user emptied is
// null.
type formChanges struct {
	sent       url.Values
	anyChanged bool
	problem    *failure // why the typed values cannot be sent, or nil
	reading    reading  // how the typed numbers were understood
	mustShow   bool     // the user has to see the reading before anything is stored
}

// integer returns the new value of a field that contains a whole number.
func (c *formChanges) integer(name string) client.Optional[int] {
	value, ok := c.text(name).Get()
	if !ok {
		return absentOrNull[int](c.text(name))
	}
	n, err := strconv.Atoi(value)
	if err != nil {
		c.addProblem(name, "must be a whole number")
		return client.Optional[int]{}
	}
	return client.Value(n)
}

// addProblem adds a problem with a field, in the same format as the service's messages.
func (c *formChanges) addProblem(name, problem string) {
	if c.problem == nil {
		c.problem = &failure{Status: http.StatusBadRequest, Code: "bad_request"}
	}
	c.problem.Messages = append(c.problem.Messages, "body."+name+": "+problem)
}

// text returns the new text of a field. The result is absent if the user did not change the field.
func (c *formChanges) text(name string) client.Optional[string] {
	now := typedField(c.sent, name)
	if !c.sent.Has(name) || now == renderedField(c.sent, name) {
		return client.Optional[string]{}
	}
	c.anyChanged = true
	if now == "" {
		return client.Null[string]()
	}
	return client.Value(now)
}

// requiredText is like text, but for a property that cannot be null. If the user emptied the field,
// it returns an empty string, so that the service reports the problem.
func (c *formChanges) requiredText(name string) client.Optional[string] {
	if text := c.text(name); !text.IsNull() {
		return text
	}
	return client.Value("")
}

// list returns the new values of a field that contains one value on each line.
func (c *formChanges) list(name string) client.Optional[[]string] {
	text := c.text(name)
	if value, ok := text.Get(); ok {
		return client.Value(lines(value))
	}
	return absentOrNull[[]string](text)
}

// lines returns the non-empty lines of a string.
func lines(text string) []string {
	out := []string{}
	for line := range strings.Lines(text) {
		if line = strings.TrimSpace(line); line != "" {
			out = append(out, line)
		}
	}
	return out
}

// revertedForm returns the form that undoes the changes of a sent form. Each field gets the value
// that it had when the sent form was rendered.
func revertedForm(sent url.Values) url.Values {
	out := url.Values{decimalField: {"."}} // the stored values
	for name := range sent {
		if field, is := strings.CutPrefix(name, "was."); is {
			out.Set(field, sent.Get(name))
			out.Set(name, typedField(sent, field))
		}
	}
	return out
}

// flag returns the new state of a checkbox.
func (c *formChanges) flag(name string) client.Optional[bool] {
	now := c.sent.Get(name) == "true"
	if strconv.FormatBool(now) == renderedField(c.sent, name) {
		return client.Optional[bool]{}
	}
	c.anyChanged = true
	return client.Value(now)
}

// absentOrNull converts text to an Optional of a different type. Call it only if text is absent or
// null; the result is then absent or null, too.
func absentOrNull[T any](text client.Optional[string]) client.Optional[T] {
	if text.IsNull() {
		return client.Null[T]()
	}
	return client.Optional[T]{}
}

// enumValue converts a string to an enum type of the API.
func enumValue[T ~string](text client.Optional[string]) client.Optional[T] {
	if value, ok := text.Get(); ok {
		return client.Value(T(value))
	}
	return absentOrNull[T](text)
}
