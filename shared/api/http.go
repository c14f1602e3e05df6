package api

import (
	"bytes"
	"context"
	"io"
	"net/http"
	"strconv"
	"strings"
	"unicode/utf8"

	"growthworkspace/shared/auth"
	"growthworkspace/shared/fault"
	"growthworkspace/shared/gateway"
	"growthworkspace/shared/parallel"
	"growthworkspace/shared/schema"
)

// bodyBytesMax is the maximum size of a request's body, unless its operation declares a different
// limit. It is also the maximum size of a tool's arguments.
const bodyBytesMax = 256 << 10

// ServeHTTP serves a request. Every error response contains the error envelope, even for an unknown
// path or method.
func (a *API) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	call := Call{RequestIDs: gateway.RequestIDsOf(r.Context(), a.newID), Trace: traceOf(r), Lines: new([]LogLine)}
	out, err := a.serveHTTP(r, call)
	if err != nil {
		allow := out.Header.Values("Allow")
		out = a.ErrorResponse(r.Context(), call, "", err)
		if len(allow) > 0 {
			out.Header["Allow"] = allow
		}
	}
	a.Write(w, r, call, out)
}

// serveHTTP calls the operation for a request. It returns an error if no operation matches the path
// and the method, or after a panic. With an error, only the Header of the returned response is
// used.
func (a *API) serveHTTP(r *http.Request, call Call) (out Response, err error) {
	defer parallel.Recover(&err)
	op, parameters, allow, err := a.routes.match(r.Method, r.URL.EscapedPath())
	if err != nil { // the key is not checked, because the response reveals nothing
		if len(allow) > 0 {
			out.Header = http.Header{"Allow": {strings.Join(allow, ", ")}}
		}
		return out, err
	}
	call.Operation, call.CompanyID, call.Arguments = op, parameters[companyParameter], httpArguments{r, parameters}
	call.Authorization, call.Version = r.Header.Values("Authorization"), r.Header.Values("Service-Version")
	out = a.Call(r.Context(), call)
	if out.More != nil {
		out.Header.Set("Service-Has-More", strconv.FormatBool(*out.More))
	}
	if out.After != "" {
		out.Header.Set("Service-After", out.After)
	}
	if out.Next != "" {
		query := r.URL.Query()
		query.Set("cursor", out.Next)
		out.Header.Set("Link", "<"+a.baseURL(r)+r.URL.EscapedPath()+"?"+query.Encode()+`>; rel="next"`)
	}
	etags := r.Header.Values(ifNoneMatch)
	if len(etags) > 0 && op.Method == http.MethodGet && out.tag != "" && ifNoneMatchHas(strings.Join(etags, ","), out.Header.Get("ETag")) {
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
	text, bodyProblem, err := h.readBody(op)
	if err != nil {
		return input{err: err}
	}
	b := schema.Bind(op.input, op.Input, schema.Source{
		Operation: op.ID, Path: h.parameters, Query: h.request.URL.RawQuery, Header: h.request.Header, HeaderProblems: h.preconditionProblems(op),
		Body: text, BodyBytesMax: bodyBytesMax, BodyProblem: bodyProblem,
	})
	if b.TooLarge {
		return input{err: fault.New(fault.PayloadTooLarge, "body: everything but %s must have at most %d bytes", strings.Join(op.rawFields, " and "), bodyBytesMax)}
	}
	return finishBinding(b)
}

// preconditionProblems returns a problem for each precondition header that the operation does not
// support. Such a header must not be ignored, because the caller relies on it.
func (h httpArguments) preconditionProblems(op *Operation) (problems []string) {
	if etags := h.request.Header.Values(ifNoneMatch); len(etags) > 0 {
		if _, problem := schema.HeaderText(etags); problem != "" {
			problems = append(problems, "header."+ifNoneMatch+": "+problem)
		}
		if op.Method != http.MethodGet {
			problems = append(problems, "header."+ifNoneMatch+": is for reads; use If-Match to make an update or a delete conditional")
		}
	}
	if op.Effect != Read && op.field(schema.InHeader, ifMatch) == nil && len(h.request.Header.Values(ifMatch)) > 0 {
		problems = append(problems, "header."+ifMatch+": is for updates and deletes of a record, and for a publish; this operation cannot be conditional, leave it out")
	}
	return problems
}

// readBody reads the body. If it cannot be used, for example because it is missing or its headers
// are wrong, problem says why. The body of a GET is not read, because it has no meaning (RFC 9110,
// 9.3.1). The only possible error is payload_too_large.
func (h httpArguments) readBody(op *Operation) (text []byte, problem string, err error) {
	if op.Method == http.MethodGet {
		return nil, "", nil
	}
	text, readErr := readAll(h.request, op.BodyLimit())
	contentType, _, _ := strings.Cut(h.request.Header.Get("Content-Type"), ";")
	switch {
	case readErr != nil:
		return nil, "body: could not be read completely", nil
	case len(text) > op.BodyLimit():
		return nil, "", fault.New(fault.PayloadTooLarge, "body: must have at most %d bytes", op.BodyLimit())
	case len(text) == 0 && op.BodyRequired():
		return nil, "body: is required, a JSON object", nil
	case len(text) == 0:
		return nil, "", nil
	case !strings.EqualFold(strings.TrimSpace(contentType), "application/json"):
		return nil, "header.Content-Type: must be application/json", nil
	case h.request.Header.Get("Content-Encoding") != "" && !utf8.Valid(text): // if the body is valid UTF-8, a gateway has already decoded it
		return nil, "header.Content-Encoding: must be left out, send the body as plain JSON", nil
	}
	return text, "", nil
}

// readAll reads the body, but at most one byte more than limit. If the length is known, it
// allocates only once, because growing a buffer would leave several copies of a large body in
// memory.
func readAll(r *http.Request, limit int) ([]byte, error) {
	body := io.LimitReader(r.Body, int64(limit)+1)
	if r.ContentLength < 0 || r.ContentLength > int64(limit) {
		return io.ReadAll(body)
	}
	text := bytes.NewBuffer(make([]byte, 0, r.ContentLength+bytes.MinRead))
	_, err := text.ReadFrom(body)
	return text.Bytes(), err
}

// needsAuthFirst reports whether the body may be larger than bodyBytesMax. If so, the key and its
// scope are checked before the body is read.
func (h httpArguments) needsAuthFirst(op *Operation) bool {
	return op.BodyBytesMax > 0 && (h.request.ContentLength < 0 || h.request.ContentLength > bodyBytesMax)
}

// CheckUpload authorises a large upload before its body is read. It returns an error if the key,
// the company or the scope is rejected. The server in front of the API calls it, because that
// server can stop the upload.
func (a *API) CheckUpload(r *http.Request) error {
	op, parameters, _, err := a.routes.match(r.Method, r.URL.EscapedPath())
	if err != nil || op.BodyBytesMax == 0 {
		return nil // ServeHTTP rejects an unknown path or method, and otherwise reads no more than bodyBytesMax
	}
	token, err := auth.ParseHeader(r.Header.Values("Authorization"))
	if err != nil {
		return err
	}
	ctx, cancel := context.WithTimeout(r.Context(), a.timeout)
	defer cancel()
	scopes := op.admittingScopes
	if parameters[companyParameter] != token.CompanyID {
		scopes, err = nil, fault.ErrNotFound
	}
	if _, refusal := a.keys.Verify(ctx, token, scopes, op.Class); refusal != nil {
		return refusal
	}
	return err
}
