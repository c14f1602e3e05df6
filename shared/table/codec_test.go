package table_test

import (
	"encoding/json"
	"math"
	"strings"
	"testing"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"growthworkspace/shared/table"
)

// hiddenFields is embedded. Its field is never shown to clients.
type hiddenFields struct {
	Secret *noteStatus `store:"secret"`
}

// allTypes has a field of each type that a record may have.
type allTypes struct {
	hiddenFields

	Text    string          `json:"text"`
	TextP   *string         `json:"textP,omitempty"`
	Named   noteStatus      `json:"named"`
	NamedP  *noteStatus     `json:"namedP"`
	Int     int64           `json:"int"`
	IntP    *int64          `json:"intP"`
	Float   float64         `json:"float"`
	FloatP  *float64        `json:"floatP"`
	Bool    bool            `json:"bool"`
	BoolP   *bool           `json:"boolP"`
	List    []string        `json:"list"`
	Names   []noteStatus    `json:"names"`
	Any     json.RawMessage `json:"any"`
	Bytes   []byte          `json:"bytes"`
	Skipped string          `json:"-"`
}

func storeAndRead(t testing.TB, c *table.Client, key table.Key, record allTypes) (out allTypes) {
	t.Helper()
	if err := c.BatchPut(t.Context(), []table.Item{c.NewItem(table.Keys{Key: key}, record)}); err != nil {
		t.Fatal(err)
	}
	out, err := table.Get[allTypes](t.Context(), c, key)
	if err != nil {
		t.Fatal(err)
	}
	return out
}

var allowUnexported = cmp.AllowUnexported(allTypes{})

// Ensure a record reads as it was written: null differs from empty, and numbers are unchanged.
func TestCodecRoundTrip(t *testing.T) {
	t.Parallel()
	c, _ := newTestClient(t, nil)
	deep := strings.Repeat("[", 5000) + strings.Repeat("]", 5000)
	for name, record := range map[string]allTypes{
		"zero":        {},
		"empty lists": {List: []string{}, Names: []noteStatus{}, Bytes: []byte{}, TextP: ptr(""), NamedP: ptr(noteStatus(""))},
		"null beside": {List: nil, Names: []noteStatus{"", "a"}, Any: json.RawMessage("null")},
		"pointers":    {hiddenFields: hiddenFields{ptr(noteStatus("s"))}, TextP: ptr("\x00\u2028 \"<&>\\ 🎉"), NamedP: ptr(noteStatus("draft")), IntP: ptr(int64(0)), FloatP: ptr(0.0), BoolP: ptr(false)},
		"integers":    {Int: math.MaxInt64, IntP: ptr(int64(math.MinInt64))},
		"thousands":   {Int: 1_000_000_000_000_000_000, IntP: ptr(int64(-100))},
		"any":         {Any: json.RawMessage(`{"n":123456789012345678901234567890123456789,"e":1e999, "s":"\ud800"}`)},
		"deep":        {Any: json.RawMessage(deep)},
		"bytes":       {Bytes: []byte{0, 255, '"'}},
	} {
		t.Run(name, func(t *testing.T) {
			key := table.Key{PK: c.NewID("co"), SK: "x"}
			if diff := cmp.Diff(record, storeAndRead(t, c, key, record), allowUnexported); diff != "" {
				t.Errorf("record from the table (-want +got):\n%s", diff)
			}
		})
	}
	item := table.Encode(allTypes{Skipped: "never"})
	for _, absent := range []string{"textP", "list", "any", "bytes", "secret", "Skipped", "-"} {
		if item[absent] != nil {
			t.Errorf("null %s is stored", absent)
		}
	}
}

var floats = []float64{
	0, 1, -1, 0.1, math.MaxInt64, 1 << 53, 1<<53 + 2, -(1<<60 + 1<<10), 1e21, 123456789.123456789, math.Pi, math.Nextafter(1, 2), 0.30000000000000004,
	1e-129, -1e-129, 1e125, -1e125, math.Nextafter(1e-129, 1), math.Nextafter(1e125, 1), // the smallest and the largest numbers that package schema accepts
}

// Ensure every number that a request may contain is stored exactly, even at the limits of
// DynamoDB's numbers.
func TestFloatRoundTrip(t *testing.T) {
	t.Parallel()
	c, _ := newTestClient(t, nil)
	for _, f := range floats {
		got := storeAndRead(t, c, table.Key{PK: c.NewID("co"), SK: "x"}, allTypes{Float: f, FloatP: &f})
		if got.Float != f || got.FloatP == nil || *got.FloatP != f {
			t.Errorf("%g reads as %g", f, got.Float)
		}
	}
	negative := math.Copysign(0, -1)
	if got := storeAndRead(t, c, table.Key{PK: c.NewID("co"), SK: "x"}, allTypes{Float: negative}); got.Float != 0 {
		t.Errorf("-0 reads as %g", got.Float)
	}
	a, ok := table.Float(negative).(*types.AttributeValueMemberN)
	if !ok || a.Value != "0" { // if -0 were stored, every update would write the field again
		t.Errorf("-0 is stored as %v", a)
	}
}

func floatGen() *rapid.Generator[float64] {
	return rapid.OneOf(rapid.SampledFrom(floats), rapid.Float64Range(-1e125, 1e125), rapid.Float64Range(-1e6, 1e6),
		rapid.Custom(func(t *rapid.T) float64 { return float64(rapid.Int64().Draw(t, "whole")) }),
	).Filter(func(f float64) bool { return f == 0 || math.Abs(f) >= 1e-129 })
}

func pointerGen[T any](g *rapid.Generator[T]) *rapid.Generator[*T] { return rapid.Ptr(g, true) }

func allTypesGen() *rapid.Generator[allTypes] {
	return rapid.Custom(func(t *rapid.T) allTypes {
		textGen := rapid.StringN(0, 40, 200)
		statusGen := rapid.Map(textGen, func(s string) noteStatus { return noteStatus(s) })
		e := allTypes{
			hiddenFields: hiddenFields{pointerGen(statusGen).Draw(t, "secret")},
			Text:         textGen.Draw(t, "text"), TextP: pointerGen(textGen).Draw(t, "textP"), Named: statusGen.Draw(t, "named"), NamedP: pointerGen(statusGen).Draw(t, "namedP"),
			Int: rapid.Int64().Draw(t, "int"), IntP: pointerGen(rapid.Int64()).Draw(t, "intP"),
			Float: floatGen().Draw(t, "float") + 0, FloatP: pointerGen(rapid.Map(floatGen(), func(f float64) float64 { return f + 0 })).Draw(t, "floatP"),
			Bool: rapid.Bool().Draw(t, "bool"), BoolP: pointerGen(rapid.Bool()).Draw(t, "boolP"),
		}
		if rapid.Bool().Draw(t, "lists") {
			e.List = rapid.SliceOfN(textGen, 0, 5).Draw(t, "list")
			e.Names = rapid.SliceOfN(statusGen, 0, 5).Draw(t, "names")
			e.Bytes = rapid.SliceOfN(rapid.Byte(), 0, 50).Draw(t, "bytes")
			e.Any = json.RawMessage(rapid.SampledFrom([]string{`{}`, `[]`, `""`, `"a"`, `1`, `null`, `true`, `{"a":[1,{"b":null}]}`}).Draw(t, "any"))
		}
		return e
	})
}

// Ensure any record reads as it was written.
func TestCodecProperty(t *testing.T) {
	t.Parallel()
	c, _ := newTestClient(t, nil)
	rapid.Check(t, func(r *rapid.T) {
		record := allTypesGen().Draw(r, "record")
		var decoded allTypes
		if err := table.Decode(table.Encode(&record), &decoded); err != nil {
			r.Fatal(err)
		}
		stored := storeAndRead(t, c, table.Key{PK: c.NewID("co"), SK: "x"}, record)
		if diff := cmp.Diff(record, decoded, allowUnexported); diff != "" {
			r.Errorf("decoded record (-want +got):\n%s", diff)
		}
		if diff := cmp.Diff(record, stored, allowUnexported); diff != "" {
			r.Errorf("record from the table (-want +got):\n%s", diff)
		}
	})
}

// Ensure an attribute of an unexpected type is an error that names the attribute, and never a
// panic.
func TestDecodeOfAnotherType(t *testing.T) {
	t.Parallel()
	attributes := map[string]types.AttributeValue{
		"S": table.String("x"), "N": table.Number(2), "N with a fraction": table.Float(1.5), "BOOL": &types.AttributeValueMemberBOOL{}, "NULL": &types.AttributeValueMemberNULL{Value: true},
		"L of numbers": &types.AttributeValueMemberL{Value: []types.AttributeValue{table.Number(1)}}, "M": &types.AttributeValueMemberM{},
		"B": &types.AttributeValueMemberB{}, "SS": &types.AttributeValueMemberSS{Value: []string{"a"}}, "nil": nil,
		"L of nil": &types.AttributeValueMemberL{Value: []types.AttributeValue{nil}},
	}
	wantKinds := map[string]string{
		"text": "S", "textP": "S", "named": "S", "namedP": "S", "secret": "S", "any": "S", "float": "N", "floatP": "N", "bool": "BOOL", "boolP": "BOOL", "bytes": "B",
		"int": "N", "intP": "N", "list": "", "names": "",
	}
	for field, wantKind := range wantKinds {
		for kind, a := range attributes {
			var record allTypes
			err := table.Decode(table.Item{field: a, "unknown": table.Number(1)}, &record)
			wantDecoded := kind == wantKind || kind == "N with a fraction" && strings.HasPrefix(field, "float")
			if (err == nil) != wantDecoded || err != nil && !strings.Contains(err.Error(), field) {
				t.Errorf("%s of %s: %v", field, kind, err)
			}
		}
	}
}

// Ensure Encode panics on a struct that is not a record, so that the first test that uses the
// struct fails.
func TestEncodePanicsOnNoRecord(t *testing.T) {
	t.Parallel()
	for name, record := range map[string]any{
		"map": struct {
			A map[string]string `json:"a"`
		}{},
		"int": struct {
			A int `json:"a"`
		}{},
		"numbers": struct {
			A []int64 `json:"a"`
		}{},
		"**": struct {
			A **string `json:"a"`
		}{},
		"*list": struct {
			A *[]string `json:"a"`
		}{},
		"option": struct {
			A string `json:"-" store:"a,quiet"`
		}{},
	} {
		func() {
			defer func() {
				if recover() == nil {
					t.Errorf("%s: no panic", name)
				}
			}()
			table.Encode(record)
		}()
	}
}

// Ensure reading a page fails if the page contains a record that this program did not write. It
// must not return incomplete records.
func TestForeignRecordInAList(t *testing.T) {
	t.Parallel()
	c, _ := newTestClient(t, nil)
	n := insert(t, c, newNote(c))
	foreign := c.NewItem(keysOf(note{ID: "x", Company: n.Company}), note{ID: "x"})
	foreign["count"] = table.String("many")
	if err := c.PutItem(t.Context(), &dynamodb.PutItemInput{Item: foreign}); err != nil {
		t.Fatal(err)
	}
	q := table.Query{Partitions: []string{noteKey(n.Company, "").PK}, Limit: 10}
	if _, _, err := list[note](t.Context(), c, q); err == nil || !strings.Contains(err.Error(), "count") {
		t.Errorf("List: %v", err)
	}
	if _, _, err := listJSON[listedNote](t.Context(), c, q); err == nil || !strings.Contains(err.Error(), "count") {
		t.Errorf("ListJSON: %v", err)
	}
	q.Limit = 1 // the foreign record is just beyond the page
	if _, _, err := listJSON[listedNote](t.Context(), c, q); err == nil {
		t.Error("ListJSON of the page before: no error")
	}
	if _, err := table.ReadAll[note](t.Context(), c, table.Collection{Partition: q.Partitions[0]}); err == nil {
		t.Error("ReadAll: no error")
	}
	if _, err := table.Get[note](t.Context(), c, noteKey(n.Company, "x")); err == nil {
		t.Error("Get: no error")
	}
}
