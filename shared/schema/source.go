package schema

import (
	"net/http"
	"net/url"
	"reflect"
	"slices"
	"strings"
	"unicode/utf8"
)

// Source holds the arguments of an HTTP request as they were sent.
type Source struct {
	Operation      string            // the operation for which a cursor is valid
	Path           map[string]string // values by path parameter
	Query          string            // without the question mark
	Header         http.Header
	HeaderProblems []string // problems with headers that have no field
	Body           []byte   // a JSON object; nil stands for an empty object
	BodyBytesMax   int      // maximum size of the body, not counting properties that accept any JSON
	BodyProblem    string   // if not empty, why the body cannot be read; Body is then ignored
}

// Bind binds an input of type t with these fields to an HTTP request. It reports all problems:
// first those with the body as a whole, with the query and with headers that have no field, and
// then those with each field. It parses the body with ParseObject. It is just as strict about the
// query, where net/url would drop malformed pairs and use only the first of several parameters with
// the same name.
func Bind(t reflect.Type, fields []Field, s Source) *Binder {
	b := newBinder(t)
	body := Object{}
	switch {
	case s.BodyProblem != "":
		b.Problems, body = append(b.Problems, s.BodyProblem), nil
	case s.Body != nil:
		body, b.Problems, b.TooLarge = ParseObjectWithRaw(s.Body, string(InBody), RawProperties(fields), s.BodyBytesMax)
	}
	if b.TooLarge {
		return b
	}
	query := b.parseQuery(fields, s.Query)
	for _, problem := range s.HeaderProblems {
		b.Problems = appendLimited(b.Problems, problem)
	}
	for i := range fields {
		switch f := &fields[i]; f.In {
		case InPath:
			b.bindText(f, s.Path[f.Name], true)
		case InQuery:
			text, ok := query[f.Name]
			b.bindText(f, text, ok)
		case InHeader:
			values := s.Header.Values(f.Name)
			text, problem := HeaderText(values)
			if problem != "" {
				b.AddProblem(string(InHeader)+"."+f.Name, "%s", problem)
			}
			b.bindText(f, text, len(values) > 0 && problem == "")
		case InBody:
			if body != nil { // nil if the body as a whole is invalid
				b.bindJSON(f, body)
			}
		}
	}
	b.checkUnknown(fields, InBody, string(InBody), body)
	b.bindCursor(fields, s.Operation)
	return b
}

// HeaderText returns the values of a header as one string. If that string is not UTF-8 or contains
// U+FFFD, it returns a problem instead: the gateway replaces each invalid byte with U+FFFD, so
// different values could look the same.
func HeaderText(values []string) (text, problem string) {
	text = strings.Join(values, ", ")
	if !utf8.ValidString(text) || strings.ContainsRune(text, utf8.RuneError) {
		return "", "is not valid UTF-8, or has U+FFFD"
	}
	return text, ""
}

// parseQuery returns the parameters in a query by name, and reports problems with it.
func (b *Binder) parseQuery(fields []Field, text string) map[string]string {
	out := map[string]string{}
	for pair := range strings.SplitSeq(text, "&") {
		if pair == "" {
			continue
		}
		raw, value, _ := strings.Cut(pair, "=")
		name, err1 := url.QueryUnescape(raw)
		value, err2 := url.QueryUnescape(value)
		_, repeated := out[name]
		switch {
		case err1 != nil || err2 != nil || strings.Contains(pair, ";"):
			b.AddProblem("query: "+raw, "is malformed") // the value is left out, because it may be an API key sent here by mistake
		case !slices.ContainsFunc(fields, func(f Field) bool { return f.In == InQuery && f.Name == name }):
			b.AddProblem("query."+name, "unknown parameter")
		case repeated:
			b.AddProblem("query."+name, "is repeated")
		}
		if err1 == nil && err2 == nil {
			out[name] = value
		}
	}
	return out
}
