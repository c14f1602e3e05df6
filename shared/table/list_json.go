package table

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"math"
	"net/http"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"sync"
	"unicode/utf8"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/smithy-go"
	smithyhttp "github.com/aws/smithy-go/transport/http"

	"growthworkspace/shared/schema"
)

// This file makes lists of stored records cheap. It is an optimisation and can be removed.
//
// What it does. DynamoDB wraps every value of a response in its type. The SDK turns each record
// into a map of attributes, Decode turns the map into a struct, and schema.Encode writes the JSON
// that clients get. For a list that returns stored records unchanged, jsonScanner splits the
// response into the records and the rest in one pass:
//
//	{"Count":1,"Items":[{"sk":{"S":"k"},"title":{"S":"Hi"},"stars":{"N":"5"}}]}   the response
//	{"title":"Hi","stars":5}                    the record, as ListJSON returns it
//	{"Count":1,"Items":[]}                      the rest, which the SDK still reads
//
// It reads only the JSON that DynamoDB usually sends. A response with anything else, such as an
// unknown attribute or a space between values, is left entirely to the SDK. That costs time, but
// the result is the same. FuzzListJSON compares both paths.
//
// What it buys. A page of 200 reviews takes 0.95 ms of CPU instead of 3.9 ms, and 0.6 MB in 620
// allocations instead of 2.5 MB in 19,900; a page of 50 takes 0.29 ms instead of 1.05 ms. These
// figures were measured with BenchmarkReads in package functions, with this optimisation and
// without it (after step 1 below).
//
// What it costs. The 350 lines below encodeAll, the 250 lines of list_json_test.go, and a hook in
// the SDK: jsonProtocol replaces Options.Protocol, and implements smithyhttp.ClientProtocol. An
// upgrade of the SDK can change that interface, which the compiler reports, or the way in which a
// response is read, which FuzzListJSON and TestListJSONOfSeveralResponses report.
//
// How to take it out. No caller changes.
//
//  1. In jsonFetcher, call c.Query without p.install, and use only the branch of !p.scanned.
//  2. Delete everything below encodeAll, and list_json_test.go.
//  3. In scripts/docs/explanation/table.md, delete "Lists are read as text". The CPU time
//     for listing feedback then misses its target in scripts/docs/explanation/speed.md.

// ListJSON is List for a list that returns stored records unchanged. It returns the JSON of each
// record, exactly as schema.Encode encodes a T, and uses a quarter of List's CPU time.
func ListJSON[T any](ctx context.Context, c *Client, q Query) (Page[json.RawMessage], error) {
	return list(ctx, q, jsonFetcher[T](c, q.Index.SK()))
}

// jsonFetcher returns a fetch function for the JSON of records of type T.
func jsonFetcher[T any](c *Client, sortKey string) fetchFunc[json.RawMessage] {
	return func(ctx context.Context, in *dynamodb.QueryInput) (rows[json.RawMessage], Item, error) {
		recordTypeOf(reflect.TypeFor[T]()).projectQuery(in, sortKey)
		p := &jsonProtocol{scanner: newJSONScanner[T](sortKey)}
		out, err := c.Query(ctx, in, p.install)
		if err != nil {
			return rows[json.RawMessage]{}, nil, err
		}
		found := p.scanner.rows
		found.reached = newReach(out, sortKey)
		if !p.scanned {
			found.keys = sortKeys(out.Items, sortKey)
			found.records, err = encodeAll[T](out.Items)
		}
		for _, text := range found.records {
			found.sizes = append(found.sizes, len(text))
		}
		return found, out.LastEvaluatedKey, err
	}
}

// encodeAll returns the JSON of items that the SDK has read.
func encodeAll[T any](items []Item) ([]json.RawMessage, error) {
	texts := make([]json.RawMessage, len(items))
	for i, item := range items {
		var record T
		if err := Decode(item, &record); err != nil {
			return nil, err
		}
		var err error
		if texts[i], err = schema.Encode(&record); err != nil {
			return nil, fmt.Errorf("encode %T: %w", record, err)
		}
	}
	return texts, nil
}

// jsonProtocol is the SDK's protocol for one Query, except that the scanner reads the records.
type jsonProtocol struct {
	smithyhttp.ClientProtocol // the SDK's

	scanner *jsonScanner
	scanned bool // whether the scanner has read the records; otherwise, they are in the SDK's output
}

// install replaces the SDK's protocol with p.
func (p *jsonProtocol) install(o *dynamodb.Options) { p.ClientProtocol, o.Protocol = o.Protocol, p }

// DeserializeResponse implements smithyhttp.ClientProtocol. It gives the SDK the response without
// the records that the scanner has read.
func (p *jsonProtocol) DeserializeResponse(ctx context.Context, operation *smithy.OperationSchema, registry *smithy.TypeRegistry, resp *smithyhttp.Response, out smithy.Deserializable) error {
	p.scanned = false // reset after an earlier attempt
	if resp.StatusCode == http.StatusOK {
		buffer := bodyBuffers.Get().(*bytes.Buffer)
		defer bodyBuffers.Put(buffer)
		buffer.Reset()
		buffer.Grow(int(max(0, resp.ContentLength)) + bytes.MinRead)
		if _, err := buffer.ReadFrom(resp.Body); err != nil {
			return &smithy.DeserializationError{Err: err}
		}
		body := buffer.Bytes()
		if rest, ok := p.scanner.scan(body); ok {
			body, p.scanned = rest, true
		}
		resp.Body = struct {
			io.Reader
			io.Closer // Close also stops the timer of http.Client.Timeout
		}{bytes.NewReader(body), resp.Body}
	}
	return p.ClientProtocol.DeserializeResponse(ctx, operation, registry, resp, out)
}

// bodyBuffers holds the buffers that responses are read into. A response takes a third of the
// memory that a list needs. The scanned records and keys are copies, so a buffer can be reused once
// its response is read.
var bodyBuffers = sync.Pool{New: func() any { return new(bytes.Buffer) }}

// jsonScanner reads the records of a response. Its methods read the next part of body and report
// whether they succeeded. If one fails, the whole response is left to the SDK.
type jsonScanner struct {
	fields       []fieldEncoding
	byName       map[string]int // maps an attribute name to its index in fields
	sortKeyIndex int            // the index of the sort key in fields

	body   []byte // the response
	offset int    // how much of body has been read
	rows   rows[json.RawMessage]
	texts  []byte // the concatenated JSON of all records; rows contains slices of it

	// The record that is being read:
	values []byte     // the JSON of its attributes, in the order of the response
	spans  []byteSpan // the position of each field in values; empty if the record lacks the attribute
}

type byteSpan struct{ begin, end int }

// newJSONScanner returns a scanner for records of type T. See fieldEncodingsOf for the types that
// it accepts.
func newJSONScanner[T any](sortKey string) *jsonScanner {
	t := reflect.TypeFor[T]()
	s := &jsonScanner{fields: fieldEncodingsOf(t), byName: maps.Clone(recordTypeOf(t).byName)}
	if _, isField := s.byName[sortKey]; !isField {
		s.byName[sortKey] = len(s.fields)
		s.fields = append(slices.Clip(s.fields), fieldEncoding{read: (*jsonScanner).readString})
	}
	s.sortKeyIndex = s.byName[sortKey]
	return s
}

// scan reads the records of a response and returns the response without them. ok is false if the
// SDK must read the whole response.
func (s *jsonScanner) scan(body []byte) (rest []byte, ok bool) {
	const items = `"Items":`
	begin := bytes.Index(body, []byte(items))
	if begin < 0 || !needsNoEscapes(body) {
		return nil, false
	}
	s.body, s.offset, s.spans = body, begin+len(items), make([]byteSpan, len(s.fields))
	s.rows, s.texts = rows[json.RawMessage]{}, make([]byte, 0, len(body))
	if !s.scanSequence('[', ']', s.scanRecord) {
		return nil, false
	}
	rest = slices.Concat(body[:begin], []byte(items+"[]"), body[s.offset:])
	isTopLevel := json.Valid(slices.Concat(body[:begin], []byte(items+"[]}")))
	return rest, isTopLevel && bytes.Count(rest, []byte(`"Items"`)) == 1 && !bytes.Contains(rest, []byte(`\`))
}

// needsNoEscapes reports whether encoding/json would write the characters of a response unescaped.
// Control characters need no check, because JSON strings cannot contain them.
func needsNoEscapes(body []byte) bool {
	return utf8.Valid(body) && !bytes.Contains(body, []byte("\u2028")) && !bytes.Contains(body, []byte("\u2029"))
}

// scanRecord reads one record and adds its JSON and its sort key to rows.
func (s *jsonScanner) scanRecord() bool {
	clear(s.spans)
	s.values = s.values[:0]
	if !s.scanSequence('{', '}', s.scanAttribute) {
		return false
	}
	key, isText := strings.CutPrefix(string(s.value(s.sortKeyIndex)), `"`)
	if !isText || strings.Contains(key, `\`) {
		return false
	}
	begin, separator := len(s.texts), byte('{')
	for n, encoding := range s.fields {
		if encoding.name == "" {
			continue
		}
		s.texts = append(append(s.texts, separator), encoding.name...)
		separator = ','
		if value := s.value(n); len(value) > 0 {
			s.texts = append(s.texts, value...)
		} else {
			s.texts = append(s.texts, encoding.absent...)
		}
	}
	s.texts = append(s.texts, '}')
	s.rows.records = append(s.rows.records, s.texts[begin:len(s.texts):len(s.texts)])
	s.rows.keys = append(s.rows.keys, strings.TrimSuffix(key, `"`))
	return separator == ','
}

// value returns the JSON of a field of the current record. It is empty if the record lacks the
// field.
func (s *jsonScanner) value(field int) []byte {
	at := s.spans[field]
	return s.values[at.begin:at.end]
}

// scanAttribute reads the name and the value of one attribute, and adds the value's JSON to values.
func (s *jsonScanner) scanAttribute() bool {
	quoted, ok := s.scanQuoted()
	if !ok || !s.scanLiteral(":") {
		return false
	}
	n, ok := s.byName[string(quoted[1:len(quoted)-1])]
	if !ok {
		return false
	}
	begin := len(s.values)
	ok = s.fields[n].read(s)
	s.spans[n] = byteSpan{begin, len(s.values)}
	return ok
}

// scanSequence reads an opening byte, elements that are separated by commas, and a closing byte.
func (s *jsonScanner) scanSequence(begin, end byte, element func() bool) bool {
	if !s.scanByte(begin) {
		return false
	}
	if s.scanByte(end) {
		return true
	}
	for element() {
		if !s.scanByte(',') {
			return s.scanByte(end)
		}
	}
	return false
}

func (s *jsonScanner) scanByte(c byte) bool {
	if s.offset == len(s.body) || s.body[s.offset] != c {
		return false
	}
	s.offset++
	return true
}

// scanLiteral reads exactly the characters of text.
func (s *jsonScanner) scanLiteral(text string) bool {
	if rest := s.body[s.offset:]; len(rest) < len(text) || string(rest[:len(text)]) != text {
		return false
	}
	s.offset += len(text)
	return true
}

// scanQuoted reads a string and returns it with its quotes. It fails on an escape that
// encoding/json does not write.
func (s *jsonScanner) scanQuoted() (text []byte, ok bool) {
	begin, quote := s.offset, -1
	if !s.scanByte('"') {
		return nil, false
	}
	for {
		if quote < s.offset {
			n := bytes.IndexByte(s.body[s.offset:], '"')
			if n < 0 {
				return nil, false
			}
			quote = s.offset + n
		}
		escape := bytes.IndexByte(s.body[s.offset:quote], '\\')
		if escape < 0 {
			s.offset = quote + 1
			return s.body[begin:s.offset], true
		}
		if s.offset += escape + 2; s.offset > len(s.body) || strings.IndexByte(`"\bfnrt`, s.body[s.offset-1]) < 0 {
			return nil, false
		}
	}
}

// scanTypedString reads a value that DynamoDB sends as a JSON string, and returns the string. For
// example, with the opening `{"S":`, it reads `{"S":"text"}`.
func (s *jsonScanner) scanTypedString(opening string) (text []byte, ok bool) {
	if !s.scanLiteral(opening) {
		return nil, false
	}
	text, ok = s.scanQuoted()
	return text, ok && s.scanLiteral("}")
}

// The following methods each read one value and append its JSON to values.

func (s *jsonScanner) readString() bool {
	text, ok := s.scanTypedString(`{"S":`)
	s.values = append(s.values, text...)
	return ok
}

func (s *jsonScanner) readInt() bool {
	text, ok := s.scanTypedString(`{"N":`)
	n, err := strconv.ParseInt(strings.Trim(string(text), `"`), 10, 64)
	s.values = strconv.AppendInt(s.values, n, 10)
	return ok && err == nil
}

func (s *jsonScanner) readFloat() bool {
	text, ok := s.scanTypedString(`{"N":`)
	f, err := strconv.ParseFloat(strings.Trim(string(text), `"`), 64)
	s.values = strconv.AppendFloat(s.values, f, 'f', -1, 64)
	abs := math.Abs(f)
	return ok && err == nil && (abs == 0 || 1e-6 <= abs && abs < 1e21) // encoding/json writes other numbers with an exponent
}

func (s *jsonScanner) readBool() bool {
	for _, value := range []string{"true", "false"} {
		if s.scanLiteral(`{"BOOL":` + value + "}") {
			s.values = append(s.values, value...)
			return true
		}
	}
	return false
}

func (s *jsonScanner) readList() bool {
	if !s.scanLiteral(`{"L":`) {
		return false
	}
	begin := len(s.values)
	ok := s.scanSequence('[', ']', func() bool {
		s.values = append(s.values, ',')
		return s.readString()
	})
	if len(s.values) == begin {
		s.values = append(s.values, '[')
	}
	s.values[begin] = '[' // replaces the comma before the first element
	s.values = append(s.values, ']')
	return ok && s.scanLiteral("}")
}

func (s *jsonScanner) readJSON() bool {
	quoted, ok := s.scanTypedString(`{"S":`)
	var text string
	var compact bytes.Buffer
	if !ok || json.Unmarshal(quoted, &text) != nil || json.Compact(&compact, []byte(text)) != nil {
		return false
	}
	s.values = append(s.values, compact.Bytes()...)
	return true
}

// fieldEncoding describes how a field is written in JSON.
type fieldEncoding struct {
	name   string                    // the JSON name, in quotes and with a colon; empty if clients never see the field
	absent string                    // the JSON of an absent attribute
	read   func(s *jsonScanner) bool // appends the JSON of an attribute to values; nil if only encoding/json can write it
}

var fieldEncodings sync.Map // reflect.Type → []fieldEncoding

// fieldEncodingsOf returns how the fields of a record type are written, in the order of
// recordType.fields. It panics if only encoding/json can write one of the fields, so that every
// test that uses such a list fails.
func fieldEncodingsOf(t reflect.Type) []fieldEncoding {
	found, ok := fieldEncodings.Load(t)
	if !ok {
		fields := recordTypeOf(t).fields
		encodings := make([]fieldEncoding, len(fields))
		for i, f := range fields {
			if encodings[i] = newFieldEncoding(t.FieldByIndex(f.index)); encodings[i].read == nil {
				panic(fmt.Sprintf("table: the attribute %s of %s cannot be listed as text", f.name, t))
			}
		}
		found, _ = fieldEncodings.LoadOrStore(t, encodings)
	}
	return found.([]fieldEncoding)
}

func newFieldEncoding(f reflect.StructField) fieldEncoding {
	name, options, _ := strings.Cut(f.Tag.Get("json"), ",")
	encoding := fieldEncodingOf(f.Type)
	if options != "" {
		encoding.read = nil
	}
	if name != "" && name != "-" {
		encoding.name = `"` + name + `":`
	}
	return encoding
}

func fieldEncodingOf(t reflect.Type) fieldEncoding {
	switch {
	case t == rawJSONType:
		return fieldEncoding{absent: "null", read: (*jsonScanner).readJSON}
	case t.Kind() == reflect.Pointer:
		return fieldEncoding{absent: "null", read: fieldEncodingOf(t.Elem()).read}
	case hasOwnEncoding(t) || t == bytesType:
		return fieldEncoding{}
	}
	switch t.Kind() {
	case reflect.String:
		return fieldEncoding{absent: `""`, read: (*jsonScanner).readString}
	case reflect.Int64:
		return fieldEncoding{absent: "0", read: (*jsonScanner).readInt}
	case reflect.Float64:
		return fieldEncoding{absent: "0", read: (*jsonScanner).readFloat}
	case reflect.Bool:
		return fieldEncoding{absent: "false", read: (*jsonScanner).readBool}
	}
	if hasOwnEncoding(t.Elem()) {
		return fieldEncoding{}
	}
	return fieldEncoding{absent: "null", read: (*jsonScanner).readList}
}

// hasOwnEncoding reports whether a type has its own JSON encoding.
func hasOwnEncoding(t reflect.Type) bool {
	p := reflect.PointerTo(t)
	return t == reflect.TypeFor[json.Number]() || p.Implements(reflect.TypeFor[json.Marshaler]()) || p.Implements(reflect.TypeFor[interface{ MarshalText() ([]byte, error) }]())
}
