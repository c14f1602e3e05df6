package api

import (
	"encoding/json"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"time"

	"growthworkspace/shared/entity"
	"growthworkspace/shared/fault"
	"growthworkspace/shared/id"
	"growthworkspace/shared/refusal"
	"growthworkspace/shared/requestlog"
	"growthworkspace/shared/route"
	"growthworkspace/shared/schema"
	"growthworkspace/shared/version"
)

// bodyBytesMax is the largest body of a request (decisions.md §9).
const bodyBytesMax = 256 << 10

// Config is what an API needs besides its operations.
type Config struct {
	Keys  Keys
	Now   func() time.Time
	NewID id.Generator // of request ids
	Log   *slog.Logger
	// Memory keeps the answers of requests with an Idempotency-Key. nil: of an API whose operations take none.
	Memory Memory
	// Metrics says which metrics the log lines carry.
	Metrics requestlog.Metrics
	// Versions are those that are served, the newest first; nil: Versions of this package.
	Versions version.History
	// BaseURL is how the caller reached the service: scheme, host and stage. nil: the request's host.
	BaseURL func(*http.Request) string
}

// API serves operations over HTTP, and to in-process callers by Call.
type API struct {
	keys     Keys
	now      func() time.Time
	newID    id.Generator
	log      *slog.Logger
	memory   Memory
	metrics  requestlog.Metrics
	versions version.History
	baseURL  func(*http.Request) string
	routes   route.Table[*Operation]
}

// New returns an API that serves the operations. It panics when two of them are the same.
func New(operations []Operation, c Config) *API {
	if c.BaseURL == nil {
		c.BaseURL = func(r *http.Request) string { return "http://" + r.Host }
	}
	if c.Versions == nil {
		c.Versions = Versions
	}
	a := &API{
		keys: c.Keys, now: c.Now, newID: c.NewID, log: c.Log, memory: c.Memory, metrics: c.Metrics, versions: c.Versions, baseURL: c.BaseURL,
	}
	known := make(map[string]bool, len(operations))
	for i := range operations {
		op := &operations[i]
		if known[op.ID] {
			panic("api: two operations " + op.ID)
		}
		known[op.ID] = true
		if err := a.routes.Add(op.Method, op.Path, op); err != nil {
			panic(fmt.Sprintf("api: operation %s: %v", op.ID, err))
		}
	}
	return a
}

// ServeHTTP answers every request in the envelope, also those that no operation is for.
func (a *API) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	requestID := a.newID("req")
	h := w.Header()
	h.Set("Service-Version", a.versions.Current())
	h.Set("Service-Request-Id", requestID)
	h.Set("Cache-Control", "no-store")
	h.Set("Content-Type", "application/json")
	defer a.recover(w, r, requestID)

	op, parameters, found, allow := a.routes.Match(r.Method, r.URL.EscapedPath())
	if !found {
		a.noRoute(w, r, requestID, allow)
		return
	}
	answer := a.Call(r.Context(), Call{
		Operation: op, RequestID: requestID, CompanyID: parameters[companyParameter],
		Authorization: r.Header.Values("Authorization"), Version: r.Header.Values("Service-Version"),
		Arguments: httpArguments{r, parameters},
	})
	for name, values := range answer.Header {
		h[name] = values
	}
	if answer.List {
		h.Set("Service-Has-More", strconv.FormatBool(answer.Next != ""))
		if answer.Next != "" {
			h.Set("Link", "<"+a.nextPage(r, answer.Next)+`>; rel="next"`)
		}
	}
	// The tag is that of the newest version's spelling; in an older one the caller may have another text under it.
	if seen := r.Header.Values("If-None-Match"); len(seen) > 0 && op.Method == http.MethodGet && answer.tag != "" &&
		h.Get("Service-Version-Served") == "" && entity.Seen(strings.Join(seen, ","), h.Get("ETag")) {
		h.Del("Content-Type")
		w.WriteHeader(http.StatusNotModified)
		return
	}
	send(w, r, answer.Status, answer.Body)
}

// noRoute answers a path or a verb that no operation has. It asks for no key: there is nothing to protect.
func (a *API) noRoute(w http.ResponseWriter, r *http.Request, requestID string, allow []string) {
	err := fault.New(fault.NotFound, "no such path")
	if len(allow) > 0 {
		err = fault.New(fault.MethodNotAllowed, "this path takes %s", strings.Join(allow, ", "))
		w.Header().Set("Allow", strings.Join(allow, ", "))
	}
	requestlog.Write(a.log, requestlog.Record{RequestID: requestID, Status: err.Code.Status(), Time: a.now(), Err: err}, a.metrics)
	send(w, r, err.Code.Status(), refusal.Envelope(err))
}

// recover answers a panic outside of a call, which only a fault of this package can cause.
func (a *API) recover(w http.ResponseWriter, r *http.Request, requestID string) {
	if p := recover(); p != nil {
		err := panicked(p)
		requestlog.Write(a.log, requestlog.Record{RequestID: requestID, Status: http.StatusInternalServerError, Time: a.now(), Err: err}, a.metrics)
		send(w, r, http.StatusInternalServerError, refusal.Envelope(refusal.Of(err)))
	}
}

func (a *API) nextPage(r *http.Request, cursor string) string {
	query := r.URL.Query()
	query.Set("cursor", cursor)
	return a.baseURL(r) + r.URL.EscapedPath() + "?" + query.Encode()
}

func send(w http.ResponseWriter, r *http.Request, status int, body []byte) {
	w.Header().Set("Content-Length", strconv.Itoa(len(body)))
	w.WriteHeader(status)
	if r.Method != http.MethodHead {
		_, _ = w.Write(body) // a caller who has gone needs no answer
	}
}

// httpArguments are the arguments in a request's path, query, headers and body.
type httpArguments struct {
	request    *http.Request
	parameters map[string]string
}

func (h httpArguments) bind(op *Operation, forwards translation) bound {
	b := schema.NewBinder(op.input)
	body, problems, tooLarge := h.body(op, forwards)
	if tooLarge {
		return bound{err: fault.New(fault.PayloadTooLarge, "body: must have at most %d bytes", bodyBytesMax)}
	}
	b.Problems = append(b.Problems, problems...)
	query := h.query(op, b)
	for i := range op.Input {
		f := &op.Input[i]
		switch f.In {
		case schema.InPath:
			b.Text(f, h.parameters[f.Name], true)
		case schema.InQuery:
			text, ok := query[f.Name]
			b.Text(f, text, ok)
		case schema.InHeader:
			values := h.request.Header.Values(f.Name)
			b.Text(f, strings.Join(values, ", "), len(values) > 0)
		case schema.InBody:
			if body != nil { // else what is wrong with the body as a whole has been said
				b.JSON(f, body)
			}
		}
	}
	b.Unknown(op.Input, schema.InBody, "body", body)
	return bind(op, b)
}

// body reads the body as an object. nil when there is none: that is a problem where the operation takes one.
func (h httpArguments) body(op *Operation, forwards translation) (o schema.Object, problems []string, tooLarge bool) {
	text, err := io.ReadAll(io.LimitReader(h.request.Body, bodyBytesMax+1))
	if err != nil {
		return nil, []string{"body: could not be read to its end"}, false
	}
	if len(text) > bodyBytesMax {
		return nil, nil, true
	}
	if len(text) == 0 {
		if op.BodyRequired() {
			return nil, []string{"body: is required, a JSON object"}, false
		}
		return schema.Object{}, nil, false
	}
	contentType, _, _ := strings.Cut(h.request.Header.Get("Content-Type"), ";")
	if !strings.EqualFold(strings.TrimSpace(contentType), "application/json") {
		return nil, []string{"header.Content-Type: must be application/json"}, false
	}
	o, problems = parse(text, "body", forwards)
	return o, problems, false
}

// parse reads a JSON object that was sent in some version of the interface.
func parse(text []byte, place string, forwards translation) (schema.Object, []string) {
	if forwards != nil && json.Valid(text) {
		translated, err := forwards(text)
		if err != nil {
			return nil, []string{place + ": does not read in this version of the interface"}
		}
		text = translated
	}
	return schema.ParseObject(text, place)
}

// query reads the query strictly: net/url drops what is malformed and keeps the first of what is repeated.
func (h httpArguments) query(op *Operation, b *schema.Binder) map[string]string {
	out := map[string]string{}
	for pair := range strings.SplitSeq(h.request.URL.RawQuery, "&") {
		if pair == "" {
			continue
		}
		name, value, _ := strings.Cut(pair, "=")
		name, err1 := url.QueryUnescape(name)
		value, err2 := url.QueryUnescape(value)
		place := "query." + name
		_, repeated := out[name]
		switch {
		case err1 != nil || err2 != nil || strings.Contains(pair, ";"):
			raw, _, _ := strings.Cut(pair, "=") // never the value, which may be a key in the wrong place
			b.Problem("query: "+raw, "is malformed")
		case op.field(schema.InQuery, name) == nil:
			b.Problem(place, "unknown parameter")
		case repeated:
			b.Problem(place, "is there twice")
		}
		if err1 == nil && err2 == nil {
			out[name] = value
		}
	}
	return out
}
