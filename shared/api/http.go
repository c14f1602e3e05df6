package api

import (
	"bytes"
	"context"
	"io"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"unicode/utf8"

	"growthworkspace/shared/auth"
	"growthworkspace/shared/fault"
	"growthworkspace/shared/parallel"
	"growthworkspace/shared/schema"
)

// bodyBytesMax is the largest body of a request, unless its operation has another limit, and of the arguments of a tool.
const bodyBytesMax = 256 << 10

// ServeHTTP serves a request. Every error response has the error envelope, also for an unknown path or method.
func (a *API) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	requestID := a.newID("req")
	out, err := a.serveHTTP(r, requestID)
	if err != nil {
		allow := out.Header.Values("Allow")
		out = a.Refuse(requestID, "", err)
		if len(allow) > 0 {
			out.Header["Allow"] = allow
		}
	}
	out.Write(w, r, requestID)
}

// serveHTTP calls the operation of a request. It returns an error when no operation has the path and the method, or when it
// panics; then only the header of the response is used.
func (a *API) serveHTTP(r *http.Request, requestID string) (out Response, err error) {
	defer parallel.Recover(&err)
	op, parameters, allow, err := a.routes.match(r.Method, r.URL.EscapedPath())
	if err != nil { // no key needed: the response reveals nothing
		if len(allow) > 0 {
			out.Header = http.Header{"Allow": {strings.Join(allow, ", ")}}
		}
		return out, err
	}
	out = a.Call(r.Context(), Call{
		Operation: op, RequestID: requestID, CompanyID: parameters[companyParameter],
		Authorization: r.Header.Values("Authorization"), Version: r.Header.Values("Service-Version"),
		Arguments: httpArguments{r, parameters},
	})
	if out.More != nil {
		out.Header.Set("Service-Has-More", strconv.FormatBool(*out.More))
	}
	if out.Next != "" {
		query := r.URL.Query()
		query.Set("cursor", out.Next)
		out.Header.Set("Link", "<"+a.baseURL(r)+r.URL.EscapedPath()+"?"+query.Encode()+`>; rel="next"`)
	}
	known := r.Header.Values(ifNoneMatch)
	if len(known) > 0 && op.Method == http.MethodGet && out.tag != "" && seen(strings.Join(known, ","), out.Header.Get("ETag")) {
		out.Status, out.Body = http.StatusNotModified, nil
	}
	return out, nil
}

// httpArguments are the arguments in a request's path, query, headers and body.
type httpArguments struct {
	request    *http.Request
	parameters map[string]string
}

func (h httpArguments) bind(op *Operation) input {
	b := schema.NewBinder(op.input)
	body, problems, err := h.body(op)
	if err != nil {
		return input{err: err}
	}
	b.Problems = append(b.Problems, problems...)
	query := h.query(op, b)
	h.header(b, ifNoneMatch)
	h.preconditions(op, b)
	for i := range op.Input {
		f := &op.Input[i]
		switch f.In {
		case schema.InPath:
			b.Text(f, h.parameters[f.Name], true)
		case schema.InQuery:
			text, ok := query[f.Name]
			b.Text(f, text, ok)
		case schema.InHeader:
			text, ok := h.header(b, f.Name)
			b.Text(f, text, ok)
		case schema.InBody:
			if body != nil { // else problems says what is wrong with the body
				b.JSON(f, body)
			}
		}
	}
	b.Unknown(op.Input, schema.InBody, "body", body)
	return bound(op, b)
}

// preconditions adds a problem for each precondition of the request that the operation does not check. It must not be ignored: the
// caller relies on it.
func (h httpArguments) preconditions(op *Operation, b *schema.Binder) {
	if op.Method != http.MethodGet && len(h.request.Header.Values(ifNoneMatch)) > 0 {
		b.Problem("header."+ifNoneMatch, "is for reads; use If-Match to make an update or a delete conditional")
	}
	if op.Effect != Read && op.field(schema.InHeader, ifMatch) == nil && len(h.request.Header.Values(ifMatch)) > 0 {
		b.Problem("header."+ifMatch, "is for updates and deletes of a record, and for a publish; this operation cannot be conditional, leave it out")
	}
}

// header returns the values of a header as one text. Text that is not UTF-8 is a problem and not returned: the gateway replaces each
// byte of it with U+FFFD, so two different values would be the same.
func (h httpArguments) header(b *schema.Binder, name string) (text string, ok bool) {
	values := h.request.Header.Values(name)
	text = strings.Join(values, ", ")
	if !utf8.ValidString(text) || strings.ContainsRune(text, utf8.RuneError) {
		b.Problem("header."+name, "is not valid UTF-8, or has U+FFFD")
		return "", false
	}
	return text, len(values) > 0
}

// body reads the body as an object. The object is nil when the body as a whole is invalid; problems then says why. The body of a
// GET has no meaning (RFC 9110, 9.3.1), so it is not read. The error is payload_too_large.
func (h httpArguments) body(op *Operation) (o schema.Object, problems []string, err error) {
	if op.Method == http.MethodGet {
		return schema.Object{}, nil, nil
	}
	text, err := readAll(h.request, op.BodyLimit())
	if err != nil {
		return nil, []string{"body: could not be read completely"}, nil
	}
	if len(text) > op.BodyLimit() {
		return nil, nil, fault.New(fault.PayloadTooLarge, "body: must have at most %d bytes", op.BodyLimit())
	}
	if len(text) == 0 {
		if op.BodyRequired() {
			return nil, []string{"body: is required, a JSON object"}, nil
		}
		return schema.Object{}, nil, nil
	}
	contentType, _, _ := strings.Cut(h.request.Header.Get("Content-Type"), ";")
	if !strings.EqualFold(strings.TrimSpace(contentType), "application/json") {
		return nil, []string{"header.Content-Type: must be application/json"}, nil
	}
	if coding := h.request.Header.Get("Content-Encoding"); coding != "" && !utf8.Valid(text) { // a gateway may have decoded it
		return nil, []string{"header.Content-Encoding: must be left out, send the body as plain JSON"}, nil
	}
	o, problems, tooLarge := schema.ParseLarge(text, "body", op.uncut, bodyBytesMax)
	if tooLarge {
		return nil, nil, fault.New(fault.PayloadTooLarge, "body: everything but %s must have at most %d bytes", strings.Join(op.uncut, " and "), bodyBytesMax)
	}
	return o, problems, nil
}

// readAll reads the body, at most one byte more than limit. It grows no buffer when the length is known: of a large body several
// copies would remain.
func readAll(r *http.Request, limit int) ([]byte, error) {
	from := io.LimitReader(r.Body, int64(limit)+1)
	if r.ContentLength < 0 || r.ContentLength > int64(limit) {
		return io.ReadAll(from)
	}
	text := bytes.NewBuffer(make([]byte, 0, r.ContentLength+bytes.MinRead))
	_, err := text.ReadFrom(from)
	return text.Bytes(), err
}

// large reports whether the body may have more than bodyBytesMax, so that the key and its scope are checked before it is read.
func (h httpArguments) large(op *Operation) bool {
	return op.BodyBytes > 0 && (h.request.ContentLength < 0 || h.request.ContentLength > bodyBytesMax)
}

// CheckUpload returns why the body of a request must not be read, although its operation accepts a large one: the error of its key,
// its company or its scope. It is for a server in front of the API that can stop to read.
func (a *API) CheckUpload(r *http.Request) error {
	op, parameters, _, err := a.routes.match(r.Method, r.URL.EscapedPath())
	if err != nil || op.BodyBytes == 0 {
		return nil // the API refuses the request, or does not read so much
	}
	token, err := auth.ParseHeader(r.Header.Values("Authorization"))
	if err != nil {
		return err
	}
	ctx, cancel := context.WithTimeout(r.Context(), a.timeout)
	defer cancel()
	scope := op.Scope
	if parameters[companyParameter] != token.CompanyID {
		scope, err = "", fault.ErrNotFound
	}
	if _, refusal := a.keys.Verify(ctx, token, scope, op.Class); refusal != nil {
		return refusal
	}
	return err
}

// query reads the query strictly: net/url would drop malformed pairs and use only the first of repeated parameters.
func (h httpArguments) query(op *Operation, b *schema.Binder) map[string]string {
	out := map[string]string{}
	for pair := range strings.SplitSeq(h.request.URL.RawQuery, "&") {
		if pair == "" {
			continue
		}
		name, value, _ := strings.Cut(pair, "=")
		name, err1 := url.QueryUnescape(name)
		value, err2 := url.QueryUnescape(value)
		field := "query." + name
		_, repeated := out[name]
		switch {
		case err1 != nil || err2 != nil || strings.Contains(pair, ";"):
			raw, _, _ := strings.Cut(pair, "=") // without the value, which may be a key sent here by mistake
			b.Problem("query: "+raw, "is malformed")
		case op.field(schema.InQuery, name) == nil:
			b.Problem(field, "unknown parameter")
		case repeated:
			b.Problem(field, "is repeated")
		}
		if err1 == nil && err2 == nil {
			out[name] = value
		}
	}
	return out
}
