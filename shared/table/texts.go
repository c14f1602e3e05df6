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

// A list that returns stored records unchanged needs no structs. textReader turns the records of a Query's response into
// their JSON texts, in a quarter of the time that the SDK, Decode and schema.Encode take. It reads only the JSON that
// DynamoDB usually sends. Any other response is read by the SDK as a whole.

// ListTexts is List for a list that returns stored records unchanged: it returns their JSON texts, as schema.Encode
// writes a T, and takes a quarter of the CPU.
func ListTexts[T any](ctx context.Context, c *Client, q Query) (Page[json.RawMessage], error) {
	return list(ctx, q, textsOf[T](c, q.Index.SK()))
}

// textsOf returns a fetch of the JSON texts of records of type T.
func textsOf[T any](c *Client, sortKey string) fetch[json.RawMessage] {
	return func(ctx context.Context, in *dynamodb.QueryInput) (rows[json.RawMessage], Item, error) {
		planOf(reflect.TypeFor[T]()).project(in, sortKey)
		r := newTextReader[T](sortKey)
		out, err := c.Query(ctx, in, func(o *dynamodb.Options) { r.ClientProtocol, o.Protocol = o.Protocol, r })
		if err != nil {
			return rows[json.RawMessage]{}, nil, err
		}
		found := r.rows
		if !r.complete {
			found.keys = sortKeys(out.Items, sortKey)
			found.records, err = encodeAll[T](out.Items)
		}
		for _, text := range found.records {
			found.sizes = append(found.sizes, len(text))
		}
		return found, out.LastEvaluatedKey, err
	}
}

// encodeAll returns the JSON texts of items that the SDK has read.
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

// textReader is the SDK protocol of one Query: it reads the records of the response itself, and leaves the rest to the
// SDK.
type textReader struct {
	smithyhttp.ClientProtocol // the SDK's

	fields   []textForm
	byName   map[string]int
	key      int // the field that is the sort key
	rows     rows[json.RawMessage]
	complete bool // rows has all records of the response

	body  []byte // the response
	at    int    // how much of body is read
	texts []byte // the JSON of the records, one after the other

	// The current record:
	values []byte // the JSON of its attributes, in the order of the response
	places []span // the span of each field in values
}

type span struct{ begin, end int }

// newTextReader returns a reader of records of type T; see textFormsOf for the types that it accepts.
func newTextReader[T any](sortKey string) *textReader {
	r := &textReader{fields: textFormsOf(reflect.TypeFor[T]()), byName: maps.Clone(planOf(reflect.TypeFor[T]()).byName)}
	if _, isField := r.byName[sortKey]; !isField {
		r.byName[sortKey] = len(r.fields)
		r.fields = append(slices.Clip(r.fields), textForm{read: (*textReader).readString})
	}
	r.key = r.byName[sortKey]
	return r
}

// bodies are the buffers that responses are read into; a response is a third of the memory of a list. Texts and keys
// are copies, so a buffer can be reused once its response is read.
var bodies = sync.Pool{New: func() any { return new(bytes.Buffer) }}

// DeserializeResponse implements smithyhttp.ClientProtocol.
func (r *textReader) DeserializeResponse(ctx context.Context, operation *smithy.OperationSchema, registry *smithy.TypeRegistry, resp *smithyhttp.Response, out smithy.Deserializable) error {
	r.complete = false // reset after an earlier attempt
	if resp.StatusCode == http.StatusOK {
		read := bodies.Get().(*bytes.Buffer)
		defer bodies.Put(read)
		read.Reset()
		read.Grow(int(max(0, resp.ContentLength)) + bytes.MinRead)
		if _, err := read.ReadFrom(resp.Body); err != nil {
			return &smithy.DeserializationError{Err: err}
		}
		body := read.Bytes()
		if others, ok := r.cut(body); ok {
			body, r.complete = others, true
		}
		resp.Body = struct {
			io.Reader
			io.Closer // closes the connection, which also stops its timeout
		}{bytes.NewReader(body), resp.Body}
	}
	return r.ClientProtocol.DeserializeResponse(ctx, operation, registry, resp, out)
}

// cut reads the records of a response and returns the response without them. ok is false if the SDK must read the
// response.
func (r *textReader) cut(body []byte) (others []byte, ok bool) {
	const items = `"Items":`
	begin := bytes.Index(body, []byte(items))
	if begin < 0 || !plain(body) {
		return nil, false
	}
	r.body, r.at, r.places = body, begin+len(items), make([]span, len(r.fields))
	r.rows, r.texts = rows[json.RawMessage]{}, make([]byte, 0, len(body))
	if !r.sequence('[', ']', r.record) {
		return nil, false
	}
	others = slices.Concat(body[:begin], []byte(items+"[]"), body[r.at:])
	outermost := json.Valid(slices.Concat(body[:begin], []byte(items+"[]}")))
	return others, outermost && bytes.Count(others, []byte(`"Items"`)) == 1 && !bytes.Contains(others, []byte(`\`))
}

// plain reports whether encoding/json would write the characters of a response as they are. Control characters need no
// check, because a string in JSON cannot have them.
func plain(body []byte) bool {
	return utf8.Valid(body) && !bytes.Contains(body, []byte("\u2028")) && !bytes.Contains(body, []byte("\u2029"))
}

// sequence reads begin, elements separated by commas, and end. It reports whether it could.
func (r *textReader) sequence(begin, end byte, element func() bool) bool {
	if !r.is(begin) {
		return false
	}
	if r.is(end) {
		return true
	}
	for element() {
		if !r.is(',') {
			return r.is(end)
		}
	}
	return false
}

func (r *textReader) is(c byte) bool {
	if r.at == len(r.body) || r.body[r.at] != c {
		return false
	}
	r.at++
	return true
}

func (r *textReader) record() bool {
	clear(r.places)
	r.values = r.values[:0]
	if !r.sequence('{', '}', r.attribute) {
		return false
	}
	at := r.places[r.key]
	key, isText := strings.CutPrefix(string(r.values[at.begin:at.end]), `"`)
	if !isText || strings.Contains(key, `\`) {
		return false
	}
	begin, separator := len(r.texts), byte('{')
	for n := range r.fields {
		form := &r.fields[n]
		if form.name == "" {
			continue
		}
		r.texts = append(append(r.texts, separator), form.name...)
		separator = ','
		if at := r.places[n]; at.end > 0 {
			r.texts = append(r.texts, r.values[at.begin:at.end]...)
		} else {
			r.texts = append(r.texts, form.none...)
		}
	}
	r.texts = append(r.texts, '}')
	r.rows.records = append(r.rows.records, r.texts[begin:len(r.texts):len(r.texts)])
	r.rows.keys = append(r.rows.keys, strings.TrimSuffix(key, `"`))
	return separator == ','
}

func (r *textReader) attribute() bool {
	quoted, ok := r.quoted()
	if !ok || !r.is(':') {
		return false
	}
	n, ok := r.byName[string(quoted[1:len(quoted)-1])]
	if !ok {
		return false
	}
	begin := len(r.values)
	ok = r.fields[n].read(r)
	r.places[n] = span{begin, len(r.values)}
	return ok
}

// quoted reads a string and returns it with its quotes. ok is false if it has an escape that encoding/json does not
// write.
func (r *textReader) quoted() (text []byte, ok bool) {
	begin, quote := r.at, -1
	if !r.is('"') {
		return nil, false
	}
	for {
		if quote < r.at {
			n := bytes.IndexByte(r.body[r.at:], '"')
			if n < 0 {
				return nil, false
			}
			quote = r.at + n
		}
		escape := bytes.IndexByte(r.body[r.at:quote], '\\')
		if escape < 0 {
			r.at = quote + 1
			return r.body[begin:r.at], true
		}
		if r.at += escape + 2; r.at > len(r.body) || strings.IndexByte(`"\bfnrt`, r.body[r.at-1]) < 0 {
			return nil, false
		}
	}
}

// textForm is how a field is written in JSON.
type textForm struct {
	name string                   // in quotes, with a colon; empty if clients never see the field
	none string                   // the JSON of an absent attribute
	read func(r *textReader) bool // appends the JSON of an attribute to values; nil if only encoding/json can write it
}

var textForms sync.Map // reflect.Type → []textForm

// textFormsOf returns how the fields of a type of record are written, in the order of its plan. It panics if only encoding/json
// can write one of them: the list is declared wrongly, and every test that uses it fails.
func textFormsOf(t reflect.Type) []textForm {
	found, ok := textForms.Load(t)
	if !ok {
		fields := planOf(t).fields
		forms := make([]textForm, len(fields))
		for i, f := range fields {
			if forms[i] = newTextForm(t.FieldByIndex(f.index)); forms[i].read == nil {
				panic(fmt.Sprintf("table: the attribute %s of %s cannot be listed as text", f.name, t))
			}
		}
		found, _ = textForms.LoadOrStore(t, forms)
	}
	return found.([]textForm)
}

func newTextForm(f reflect.StructField) textForm {
	name, options, _ := strings.Cut(f.Tag.Get("json"), ",")
	form := textFormOf(f.Type)
	if options != "" {
		form.read = nil
	}
	if name != "" && name != "-" {
		form.name = `"` + name + `":`
	}
	return form
}

func textFormOf(t reflect.Type) textForm {
	switch {
	case t == rawJSON:
		return textForm{none: "null", read: (*textReader).readJSON}
	case t.Kind() == reflect.Pointer:
		return textForm{none: "null", read: textFormOf(t.Elem()).read}
	case marshals(t) || t == binary:
		return textForm{}
	}
	switch t.Kind() {
	case reflect.String:
		return textForm{none: `""`, read: (*textReader).readString}
	case reflect.Int64:
		return textForm{none: "0", read: (*textReader).readInt}
	case reflect.Float64:
		return textForm{none: "0", read: (*textReader).readFloat}
	case reflect.Bool:
		return textForm{none: "false", read: (*textReader).readBool}
	}
	if marshals(t.Elem()) {
		return textForm{}
	}
	return textForm{none: "null", read: (*textReader).readList}
}

// marshals reports whether a type has its own JSON encoding.
func marshals(t reflect.Type) bool {
	p := reflect.PointerTo(t)
	return t == reflect.TypeFor[json.Number]() || p.Implements(reflect.TypeFor[json.Marshaler]()) || p.Implements(reflect.TypeFor[interface{ MarshalText() ([]byte, error) }]())
}

// skip reads exactly this text. It reports false if something else comes next.
func (r *textReader) skip(text string) bool {
	if rest := r.body[r.at:]; len(rest) < len(text) || string(rest[:len(text)]) != text {
		return false
	}
	r.at += len(text)
	return true
}

// value reads an attribute of a kind that is encoded as a JSON string, such as S or N.
func (r *textReader) value(kind string) (text []byte, ok bool) {
	if !r.skip(kind) {
		return nil, false
	}
	text, ok = r.quoted()
	return text, ok && r.skip("}")
}

func (r *textReader) readString() bool {
	text, ok := r.value(`{"S":`)
	r.values = append(r.values, text...)
	return ok
}

func (r *textReader) readInt() bool {
	text, ok := r.value(`{"N":`)
	n, isNumber := parseWhole(strings.Trim(string(text), `"`))
	r.values = strconv.AppendInt(r.values, n, 10)
	return ok && isNumber
}

func (r *textReader) readFloat() bool {
	text, ok := r.value(`{"N":`)
	f, err := strconv.ParseFloat(strings.Trim(string(text), `"`), 64)
	r.values = strconv.AppendFloat(r.values, f, 'f', -1, 64)
	abs := math.Abs(f)
	return ok && err == nil && (abs == 0 || 1e-6 <= abs && abs < 1e21) // encoding/json writes others with an exponent
}

func (r *textReader) readBool() bool {
	for _, value := range []string{"true", "false"} {
		if r.skip(`{"BOOL":` + value + "}") {
			r.values = append(r.values, value...)
			return true
		}
	}
	return false
}

func (r *textReader) readList() bool {
	if !r.skip(`{"L":`) {
		return false
	}
	begin := len(r.values)
	ok := r.sequence('[', ']', func() bool {
		r.values = append(r.values, ',')
		return r.readString()
	})
	if len(r.values) == begin {
		r.values = append(r.values, '[')
	}
	r.values[begin] = '['
	r.values = append(r.values, ']')
	return ok && r.skip("}")
}

func (r *textReader) readJSON() bool {
	quoted, ok := r.value(`{"S":`)
	var text string
	var compact bytes.Buffer
	if !ok || json.Unmarshal(quoted, &text) != nil || json.Compact(&compact, []byte(text)) != nil {
		return false
	}
	r.values = append(r.values, compact.Bytes()...)
	return true
}
