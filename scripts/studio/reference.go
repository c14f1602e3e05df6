package studio

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"html/template"
	"io"
	"maps"
	"net/http"
	"net/url"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"growthworkspace/scripts/studio/openapi"
	"growthworkspace/scripts/studio/phrase"
	"growthworkspace/shared/client"
)

// The reference lists the operations of the service and sends requests that users typed. The
// studio's process adds the key. A request that writes is sent only after a POST with the form
// token.

// referenceAge is how long the studio keeps the service's document.
const referenceAge = 10 * time.Minute

// documentBytesMax is the maximum size of the service's document.
const documentBytesMax = 16 << 20

// answerBytesMax is the maximum size of an answer in a page, as HTML.
const answerBytesMax = 50_000

// answerRecordsMax is the maximum number of records in an answer that get links.
const answerRecordsMax = 12

// reference caches the service's document.
type reference struct {
	mu       sync.Mutex
	document *openapi.Document
	readAt   time.Time
}

func (s *Studio) addReferenceScreens(page func(string, func(*pageRequest) *view)) {
	page("GET /reference", s.referenceIndex)
	page("GET /reference/{operation}", s.referenceOperation)
	page("POST /reference/{operation}", s.tryOperation)
}

// readReference returns the service's document. It reads the document with a request without the
// key, unless it was read less than referenceAge ago.
func (v *pageRequest) readReference() (*openapi.Document, *failure) {
	r := &v.reference
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.document != nil && v.Now().Sub(r.readAt) < referenceAge {
		return r.document, nil
	}
	text, err := v.fetchDocument()
	if err != nil {
		return nil, failureOf(err, "")
	}
	document, err := openapi.Parse(text)
	if err != nil {
		return nil, failureOf(err, "")
	}
	r.document, r.readAt = document, v.Now()
	return document, nil
}

func (v *pageRequest) fetchDocument() ([]byte, error) {
	request, err := http.NewRequestWithContext(v.ctx, http.MethodGet, strings.TrimRight(v.BaseURL, "/")+"/openapi.json", http.NoBody)
	if err != nil {
		return nil, err
	}
	response, err := (&http.Client{Transport: v.Transport, CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }}).Do(request)
	if err != nil {
		return nil, err
	}
	text, err := io.ReadAll(io.LimitReader(response.Body, documentBytesMax))
	if err = errors.Join(err, response.Body.Close()); err != nil {
		return nil, err
	}
	if response.StatusCode != http.StatusOK {
		return nil, &client.Error{Status: response.StatusCode, Messages: []string{"GET /openapi.json"}, RequestID: response.Header.Get("Service-Request-Id")}
	}
	return text, nil
}

// referenceData is the data for the reference template.
type referenceData struct {
	Document *openapi.Document
	Failure  *failure
}

func (s *Studio) referenceIndex(v *pageRequest) *view {
	document, failed := v.readReference()
	out := &view{page: "reference", place: "Reference", title: "Reference", data: referenceData{document, failed}}
	if failed != nil {
		out.status = failed.status()
	}
	return out
}

// operationData is the data for the operation template.
type operationData struct {
	*openapi.Operation

	Failure  *failure // set if the document could not be read; the other fields are then empty
	Area     openapi.Area
	Fields   []parameterField // the parameters that most requests need
	Rare     []parameterField
	RareOpen bool
	Typed    string // the body
	Missing  bool   // the key lacks the scope
	Confirm  bool   // whether to ask before the request is sent
	Request  string // the method and the path with the typed ids, if Confirm is set
	Hidden   []fact
	Listers  []*openapi.Operation // the operations that list the records that the body can refer to by id
	Answer   *answer
}

// Reads reports whether the operation only reads, so that a link can send it.
func (d *operationData) Reads() bool { return d.Method == http.MethodGet }

// Deletes reports whether the operation deletes something.
func (d *operationData) Deletes() bool { return d.Method == http.MethodDelete }

// Sample returns the example of an answer's body.
func (d *operationData) Sample() string { return d.Operation.ResponseExample }

// Rows returns the height of the field for the body, in lines.
func (d *operationData) Rows() int { return min(max(strings.Count(d.Typed, "\n")+2, 4), 24) }

// parameterField is a parameter in a form.
type parameterField struct {
	openapi.Parameter

	Field   string // the name of the field
	Text    string
	Lister  *openapi.Operation // lists the ids for the parameter; nil if no such operation is known
	IDs     []record           // the company's records that can be chosen; empty if they are unknown or too many
	Problem string
}

// record is a record of the company in a list of choices.
type record struct{ ID, Name string }

// Listed reports whether IDs contains the id in the field.
func (f parameterField) Listed() bool {
	return slices.ContainsFunc(f.IDs, func(r record) bool { return r.ID == f.Text })
}

// answer is the service's response to a request that a user sent.
type answer struct {
	Curl    string
	Failure *failure // set if there was no response
	Status  int
	Headers []fact
	Body    string
	Bytes   int  // the length of the whole body
	Cut     bool // whether Body is only the beginning
	Next    string
	Records []usableRecord
	Omitted int // the number of records that have no links
	Related []link
}

// usableRecord is a record in an answer, with links to the operations that take its id.
type usableRecord struct {
	record

	Path string // the page that reads the record; empty if no operation does
	Uses []link
}

// StatusText returns the name of the status.
func (a *answer) StatusText() string { return http.StatusText(a.Status) }

// Size formats the length of the whole body.
func (a *answer) Size() string {
	if a.Bytes < 10_000 {
		return phrase.Plural(a.Bytes, "byte", "bytes")
	}
	return fmt.Sprintf("%d kB", a.Bytes/1000)
}

// Good reports whether the request was accepted.
func (a *answer) Good() bool { return a.Failure == nil && a.Status < 400 }

// link is a link to another operation, with parameters.
type link struct{ Text, Path string }

// referenceOperation shows an operation. If the operation only reads and the address requests it,
// referenceOperation also sends the request.
func (s *Studio) referenceOperation(v *pageRequest) *view {
	return v.operationPage(v.r.URL.Query())
}

// tryOperation sends the request that a form describes. It asks for confirmation before it deletes
// something.
func (s *Studio) tryOperation(v *pageRequest) *view {
	out := v.operationPage(v.r.PostForm)
	v.readFrame()
	return out
}

// operationPage returns the page of an operation, with its form filled in from sent.
func (v *pageRequest) operationPage(sent url.Values) *view {
	document, failed := v.readReference()
	if failed != nil {
		return &view{page: "operation", place: "Reference", title: "Reference", status: failed.status(), data: &operationData{Failure: failed}}
	}
	op := document.Operation(v.r.PathValue("operation"))
	if op == nil {
		return v.notFound(v)
	}
	d := v.newOperationData(document, op, sent)
	v.readIDs(d, sent)
	out := &view{page: "operation", place: "Reference", title: op.Summary, data: d}
	willSend := !op.Secret && (v.r.Method == http.MethodPost || d.Reads() && sent.Get("send") == "1")
	request, header, complete := d.request(willSend)
	switch {
	case !willSend:
	case !complete:
		out.status = http.StatusBadRequest
	case d.Deletes() && sent.Get("sure") != "yes":
		d.Confirm, d.Request = true, request.Path
		if len(request.Query) > 0 {
			d.Request += "?" + request.Query.Encode()
		}
		for _, name := range slices.Sorted(maps.Keys(pick(sent, "path.", "query.", "header."))) {
			d.Hidden = append(d.Hidden, fact{name, sent.Get(name)})
		}
	default:
		d.Answer = v.send(document, op, request, header, sent)
		if d.Answer.Failure == nil && d.Answer.Status < http.StatusInternalServerError {
			d.setField("header.Idempotency-Key", newIdempotencyKey()) // the next request is a new one, so it needs a new key
		}
	}
	return out
}

func (v *pageRequest) newOperationData(document *openapi.Document, op *openapi.Operation, sent url.Values) *operationData {
	d := &operationData{Operation: op, Listers: document.BodyListers(op), Typed: strings.ReplaceAll(sent.Get("body"), "\r\n", "\n"), Missing: op.Scope != "" && !v.may(op.Scope)}
	for _, area := range document.Areas {
		for _, other := range area.Operations {
			if other == op {
				d.Area = area
			}
		}
	}
	if op.Body != nil && !sent.Has("body") {
		d.Typed = op.Body.Sample
	}
	for _, p := range op.Parameters {
		if p.Name == "companyId" || p.Name == "Service-Version" { // the client sets both
			continue
		}
		f := parameterField{Parameter: p, Field: p.In + "." + p.Name}
		f.Text = strings.TrimSpace(sent.Get(f.Field))
		if p.In != "header" {
			f.Lister = document.ListerFor(p)
		}
		if p.Name == "Idempotency-Key" && !sent.Has(f.Field) {
			f.Text = newIdempotencyKey()
		}
		if p.Name == "Idempotency-Key" || p.Name == "If-None-Match" {
			d.Rare = append(d.Rare, f)
		} else {
			d.Fields = append(d.Fields, f)
		}
	}
	slices.SortStableFunc(d.Fields, func(a, b parameterField) int { return fieldRank(a) - fieldRank(b) })
	d.RareOpen = sent.Get("header.If-None-Match") != ""
	return d
}

// readIDs reads the ids from which the user can choose. It leaves out parameters whose ids can be
// listed only for a parent that the address does not contain, such as the items of a board.
func (v *pageRequest) readIDs(d *operationData, sent url.Values) {
	if d.Secret {
		return
	}
	listed := map[*openapi.Operation]*result[client.Response]{}
	for _, f := range d.Fields {
		lister := f.Lister
		if lister == nil || listed[lister] != nil || lister == d.Operation || v.callsLeft() == 0 {
			continue
		}
		r := client.Request{Method: lister.Method, Path: lister.Path, Query: url.Values{}, Repeatable: true, Quota: lister.Quota}
		complete := true
		for _, p := range lister.Parameters {
			id := strings.TrimSpace(sent.Get("path." + p.Name))
			switch {
			case p.In == "path" && p.Name != "companyId" && (id == "" || id == "." || id == ".."):
				complete = false
			case p.In == "path" && p.Name != "companyId":
				r.Path = strings.ReplaceAll(r.Path, "{"+p.Name+"}", url.PathEscape(id))
			case p.Name == "limit":
				r.Query.Set("limit", strconv.Itoa(idChoicesMax))
			}
		}
		if complete {
			listed[lister] = startCall(v, lister.Scope, "The ids for "+f.Name, func(ctx context.Context, options ...client.CallOption) (client.Response, error) {
				return v.api.Do(ctx, r, options...)
			})
		}
	}
	v.wait()
	size := 0
	for i := range d.Fields {
		list := listed[d.Fields[i].Lister]
		if list == nil || list.Failure != nil {
			continue
		}
		if next, err := list.Value.Next(); err != nil || next != "" {
			continue
		}
		choices := recordsOf([]byte(v.withoutSecrets(string(list.Value.Body))))
		newSize := size
		for n, r := range choices {
			choices[n].Name = phrase.Excerpt(r.Name, idNameMax)
			newSize += len(template.HTMLEscapeString(choices[n].Name)) + 2*len(r.ID) + 30 // 30 bytes are for the HTML tags
		}
		if newSize <= idChoicesBytesMax {
			d.Fields[i].IDs, size = choices, newSize
		}
	}
}

// idChoicesMax is the maximum number of ids from which the user can choose. If the company has more
// records, the user types the id.
const idChoicesMax = 100

// The maximum length of a record's name in a list of ids, and the maximum size of all such lists on
// a page as HTML.
const (
	idNameMax         = 40
	idChoicesBytesMax = 25_000
)

// recordsOf returns the ids and names of the records in a body. The body is a list or a single
// record. recordsOf leaves out records without an id.
func recordsOf(body []byte) (out []record) {
	type named struct{ ID, Name, Title, Handle, Key, Body string }
	var list struct {
		named

		Items []named
	}
	if json.Unmarshal(body, &list) != nil {
		return nil
	}
	for _, item := range append(list.Items, list.named) {
		if item.ID != "" {
			out = append(out, record{item.ID, phrase.Excerpt(cmp.Or(item.Name, item.Title, item.Handle, item.Key, item.Body), 80)})
		}
	}
	return out
}

func fieldRank(f parameterField) int {
	if f.In == "path" {
		return 0
	}
	return 1
}

// setField sets the value of a rare field.
func (d *operationData) setField(name, text string) {
	for i := range d.Rare {
		if d.Rare[i].Field == name {
			d.Rare[i].Text = text
		}
	}
}

// request builds the request from the fields. complete is false if an id is missing. If
// showProblems is true, the field of the id then shows the problem.
func (d *operationData) request(showProblems bool) (r client.Request, header http.Header, complete bool) {
	r = client.Request{Method: d.Method, Path: d.Path, Query: url.Values{}, Repeatable: d.Reads(), Quota: d.Quota}
	header, complete = http.Header{}, true
	for _, fields := range [][]parameterField{d.Fields, d.Rare} {
		for i := range fields {
			f := &fields[i]
			switch {
			case f.In == "path" && (f.Text == "" || f.Text == "." || f.Text == ".."): // these ids would change the path
				complete = false
				if showProblems {
					f.Problem = "must be an id"
				}
			case f.In == "path":
				r.Path = strings.ReplaceAll(r.Path, "{"+f.Name+"}", url.PathEscape(f.Text))
			case f.Text == "":
			case f.In == "query":
				r.Query.Set(f.Name, f.Text)
			case f.In == "header":
				r.AcceptsIdempotencyKey = r.AcceptsIdempotencyKey || f.Name == "Idempotency-Key"
				header.Set(f.Name, f.Text)
			}
		}
	}
	if d.Body != nil && strings.TrimSpace(d.Typed) != "" {
		r.Body = []byte(d.Typed)
	}
	return r, header, complete
}

// send sends a request and returns the answer as the page shows it.
func (v *pageRequest) send(document *openapi.Document, op *openapi.Operation, request client.Request, header http.Header, sent url.Values) *answer {
	c := &apiCall{Label: op.Summary}
	var response client.Response
	options := []client.CallOption{client.Into(&response)}
	for _, name := range slices.Sorted(maps.Keys(header)) {
		options = append(options, client.Header(name, header.Get(name)))
		if name != "If-Match" { // recordingTransport records If-Match
			c.Header = append(c.Header, name+": "+header.Get(name))
		}
	}
	v.mu.Lock()
	v.calls = append(v.calls, c)
	v.mu.Unlock()
	_, err := v.api.Do(context.WithValue(v.ctx, callKey{}, c), request, options...)
	if op.Method != http.MethodGet {
		v.badge.drop()
	}
	a := &answer{Curl: c.Curl(), Status: response.Status, Bytes: len(response.Body)}
	if response.Status == 0 {
		a.Failure = failureOf(err, "")
		return a
	}
	next, _ := response.Next() // ignore the error: without a cursor, the page has no link to the next page
	next = v.withoutSecrets(next)
	a.Headers = v.headersOf(response, next)
	a.Body, a.Cut = v.shownBody(response.Body)
	if !a.Good() {
		return a
	}
	if next != "" && op.Method == http.MethodGet {
		q := pick(sent, "path.", "query.")
		q.Set("query.cursor", next)
		q.Set("send", "1")
		a.Next = referencePath(op, q)
	}
	if !op.HasRecordPath() {
		a.Records, a.Omitted = usableRecords(document, recordsOf([]byte(v.withoutSecrets(string(response.Body)))), sent)
	}
	if tag := v.withoutSecrets(response.ETag()); tag != "" {
		a.Related = relatedLinks(document, op, tag, sent)
	}
	return a
}

// answerHeaders are the headers that the page shows.
var answerHeaders = []string{
	"ETag", "Service-Request-Id", "RateLimit-Limit", "RateLimit-Remaining", "RateLimit-Reset", "Retry-After", "Idempotent-Replayed", "Service-Has-More", "Service-Version",
}

// headersOf returns the response headers that the page shows, and the cursor of the next page.
func (v *pageRequest) headersOf(response client.Response, cursor string) (out []fact) {
	for _, name := range answerHeaders {
		if value := response.Header.Get(name); value != "" {
			out = append(out, fact{name, v.withoutSecrets(value)})
		}
	}
	if cursor != "" {
		out = append(out, fact{"next cursor", cursor})
	}
	return out
}

// secretKeyPattern matches a complete secret key. It does not match the prefixes in lists of keys.
var secretKeyPattern = regexp.MustCompile(`sk_live_[0-9A-Za-z]{30,}`)

// withoutSecrets removes secret keys from text, because no page may contain one.
func (v *pageRequest) withoutSecrets(text string) string {
	return secretKeyPattern.ReplaceAllString(strings.ReplaceAll(text, v.Key, "sk_live_…"), "sk_live_…")
}

// shownBody returns the body of a response as a page shows it, indented and without secrets. cut is
// true if the body is too large for a page and text contains only its beginning.
func (v *pageRequest) shownBody(body []byte) (text string, cut bool) {
	var out bytes.Buffer
	if json.Indent(&out, body, "", "  ") != nil {
		out.Reset()
		out.Write(body) // the body is not JSON, so show it unchanged
	}
	text = v.withoutSecrets(strings.ToValidUTF8(out.String(), "�"))
	size := 0
	for at, r := range text {
		if size += len(template.HTMLEscapeString(string(r))); size > answerBytesMax {
			return text[:at], true
		}
	}
	return text, false
}

// usableRecords returns the first records of a list, with links to the operations that take their
// ids. omitted is the number of records that it leaves out.
func usableRecords(document *openapi.Document, records []record, sent url.Values) (out []usableRecord, omitted int) {
	for n, r := range records {
		if n == answerRecordsMax {
			return out, len(records) - n
		}
		reader, _ := document.Reader(r.ID)
		u := usableRecord{record: r}
		for _, use := range document.Uses(r.ID) {
			q := pick(sent, "path.")
			q.Set("path."+use.Parameter, r.ID)
			if use.Method == http.MethodGet {
				q.Set("send", "1")
			}
			if path := referencePath(use.Operation, q); use.Operation == reader {
				u.Path = path
			} else {
				u.Uses = append(u.Uses, link{use.Summary, path})
			}
		}
		if u.Path != "" || len(u.Uses) > 0 {
			out = append(out, u)
		}
	}
	return out, 0
}

// relatedLinks returns links to the other operations on the record that was read, with its ids and
// entity tag filled in.
func relatedLinks(document *openapi.Document, op *openapi.Operation, tag string, sent url.Values) (out []link) {
	for _, other := range document.OperationsAtPath(op.Path) {
		if other == op {
			continue
		}
		q := pick(sent, "path.")
		if other.Method != http.MethodGet && other.Path == op.Path { // the entity tag is only valid for the record at this path
			q.Set("header.If-Match", tag)
		}
		out = append(out, link{Text: other.Summary, Path: referencePath(other, q)})
	}
	return out
}

// pick returns the fields whose names begin with one of the prefixes.
func pick(sent url.Values, prefixes ...string) url.Values {
	out := url.Values{}
	for name := range sent {
		if slices.ContainsFunc(prefixes, func(prefix string) bool { return strings.HasPrefix(name, prefix) }) {
			out.Set(name, sent.Get(name))
		}
	}
	return out
}

// referencePath returns the address of an operation's page with some fields filled in.
func referencePath(op *openapi.Operation, fields url.Values) string {
	path := "/reference/" + url.PathEscape(op.ID)
	if len(fields) > 0 {
		path += "?" + fields.Encode()
	}
	if fields.Get("send") != "" {
		path += "#answer"
	}
	return path
}

// span is a part of a sentence.
type span struct {
	Text string
	Code bool
}

// prose splits a description into paragraphs, and each paragraph into text and code.
func prose(text string) (out [][]span) {
	for paragraph := range strings.SplitSeq(text, "\n\n") {
		var spans []span
		for n, part := range strings.Split(paragraph, "`") {
			if part != "" {
				spans = append(spans, span{part, n%2 == 1})
			}
		}
		if len(spans) > 0 {
			out = append(out, spans)
		}
	}
	return out
}
