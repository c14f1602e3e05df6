package table

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"growthworkspace/shared/entity"
)

type word string

type inner struct {
	Hidden *word `json:"-" store:"h"`
}

// shown is a record that has a text, with a field of each kind that one may have.
type shown struct {
	inner

	Text   string          `json:"s"`
	TextP  *word           `json:"t"`
	Plain  *string         `json:"q"`
	Int    int64           `json:"i"`
	IntP   *int64          `json:"j"`
	Float  float64         `json:"f"`
	FloatP *float64        `json:"g"`
	Bool   bool            `json:"b"`
	BoolP  *bool           `json:"c"`
	List   []word          `json:"l"`
	JSON   json.RawMessage `json:"r" store:"x"`
	Hidden string          `json:"-" store:"z"`
}

// kinds is a record with a field of each kind, under names of one letter, which a fuzzer finds.
type kinds struct {
	shown

	ListP []string `json:"m"`
	Bytes []byte   `json:"y"`
}

// Ensure records that are read in one pass are what Decode makes of their attributes, in the SDK's reading. The one pass
// may refuse, it must not differ.
func FuzzRows(f *testing.F) {
	for _, item := range []string{
		`"s":{"S":"a"},"t":{"S":"b"},"q":{"S":"c"},"i":{"N":"1"},"j":{"N":"-2"},"f":{"N":"1.5"},"g":{"N":"1e3"},"b":{"BOOL":true},"c":{"BOOL":false},"l":{"L":[{"S":"x"},{"S":"y"}]},"m":{"L":[]},"x":{"S":"[1]"},"y":{"B":"AAE="},"h":{"S":"z"},"sk":{"S":"k"}`,
		`"sk":{"S":"k\n\u00e4"},"s":{"S":"\"\\"},"other":{"S":"x"},"n":{"N":"1"},"o":{"BOOL":true},"p":{"L":[{"N":"1"}]}`,
		`"s":{"N":"1"}`, `"q":{"N":"1"}`, `"q":{"S":""}`, `"i":{"S":"1"}`, `"f":{"S":"1e300"}`, `"f":{"S":"x"}`, `"b":{"S":"true"}`, `"l":{"L":[{"N":"1"}]}`, `"l":{"S":"x"}`, `"m":{"L":[{"S":"x"},]}`, `"x":{"N":"1"}`, `"y":{"B":"AAE"}`, `"y":{"S":"AAE="}`,
		`"s":{"NULL":true}`, `"t":{"NULL":true}`, `"o":{"M":{}}`, `"o":{"SS":["a"]}`, `"s":{"S":"a"},"s":{"S":"b"}`, `"s":{"S":"a","N":"1"}`, `"s": {"S":"a"}`, `"s":{"S": "a"}`, `"s":{"S":"a" }`, `"sk":{"N":"1"}`, `"sk":{"S":"a"},"sk":{"S":"b"}`,
		`"i":{"N":"1.0"}`, `"i":{"N":"9223372036854775808"}`, `"f":{"N":"1e400"}`, `"f":{"N":"0x1p4"}`, `"f":{"N":"nan"}`, `"i":{"N":"+1"}`, `"l":{"L":[{"S":"a"}]},"l":{"L":[{"S":"b"}]}`, `"t":{"S":"\ud800"}`, `"b":{"BOOL":1}`, `"b":{"BOOL":true,"S":""}`, ``,
	} {
		f.Add(item, item)
		f.Add(`"s":{"S":"first"},"sk":{"S":"k"}`, item)
	}
	f.Fuzz(func(t *testing.T, first, second string) {
		body := fmt.Sprintf(`{"Count":2,"ScannedCount":2,"Items":[{%s},{%s}]}`, first, second)
		got := newRows[kinds]("sk")
		var direct dynamodb.QueryOutput
		if !fill(&direct, body, &got) || len(got.records) == 0 { // refused: the records are in direct
			if len(got.records) != 0 || len(got.keys) != 0 {
				t.Fatalf("%s: what was refused is kept: %+v", body, got)
			}
			return
		}
		var out dynamodb.QueryOutput
		if err := slow(&out, "Query", []byte(body)); err != nil {
			t.Fatalf("%s is read, and the SDK refuses it: %v", body, err)
		}
		if len(out.Items) != len(got.records) {
			t.Fatalf("%s: %d records, want %d", body, len(got.records), len(out.Items))
		}
		for i, item := range out.Items {
			var want kinds
			if err := Decode(item, &want); err != nil {
				t.Fatalf("%s is read, and Decode refuses it: %v", body, err)
			}
			if diff := cmp.Diff(want, got.records[i], cmp.AllowUnexported(kinds{}, shown{}), cmpopts.EquateNaNs()); diff != "" {
				t.Fatalf("%s, record %d: %s", body, i, diff)
			}
			key, _ := item["sk"].(*types.AttributeValueMemberS)
			if key != nil && got.keys[i] != key.Value || key == nil && got.keys[i] != "" {
				t.Fatalf("%s, record %d: the sort key is %q, want %v", body, i, got.keys[i], key)
			}
		}
	})
}

// Ensure the texts of records are those that entity.Encode makes of what Decode makes of their attributes. The one pass may refuse,
// it must not differ.
func FuzzTexts(f *testing.F) {
	for _, item := range []string{
		`"s":{"S":"a"},"t":{"S":"b"},"q":{"S":"c"},"i":{"N":"1"},"j":{"N":"-2"},"f":{"N":"1.5"},"g":{"N":"1e3"},"b":{"BOOL":true},"c":{"BOOL":false},"l":{"L":[{"S":"x"},{"S":"y"}]},"x":{"S":"[1]"},"h":{"S":"z"},"z":{"S":"z"},"sk":{"S":"k"}`,
		`"sk":{"S":"k"},"s":{"S":"\"\\\n\u00e4 \/"},"t":{"S":"<&>"}`, "\"s\":{\"S\":\"\u2028\"}", `"s":{"S":"\u2029"}`, "\"s\":{\"S\":\"\x7f\"}", "\"s\":{\"S\":\"日本語\"}", `"t":{"S":"\ud800"}`, `"t":{"S":""}`,
		`"i":{"N":"007"}`, `"i":{"N":"-0"}`, `"i":{"N":"1.0"}`, `"i":{"N":"9223372036854775808"}`, `"f":{"N":"-0"}`, `"f":{"N":"100"}`, `"f":{"N":"1e21"}`, `"f":{"N":"0.0000001"}`, `"f":{"N":"nan"}`, `"f":{"S":"1e300"}`, `"g":{"N":"1E5"}`,
		`"l":{"L":[]}`, `"l":{"L":[{"N":"1"}]}`, `"l":{"L":[{"S":"a"},]}`, `"x":{"S":"{ \"a\" : 1 }"}`, `"x":{"S":""}`, `"x":{"S":"null"}`, `"x":{"S":"{"}`, `"x":{"N":"1"}`, `"s":{"S":"a"},"s":{"S":"b"}`, `"s":{"N":"1"}`, `"b":{"BOOL":1}`, ``,
	} {
		f.Add(item, item)
		f.Add(`"s":{"S":"first"},"sk":{"S":"k"}`, item)
	}
	f.Fuzz(func(t *testing.T, first, second string) {
		body := fmt.Sprintf(`{"Count":2,"ScannedCount":2,"Items":[{%s},{%s}]}`, first, second)
		got := newRows[entity.Text[shown]]("sk")
		var direct, out dynamodb.QueryOutput
		if !fill(&direct, body, &got) || len(got.records) == 0 {
			if len(got.records) != 0 || len(got.keys) != 0 {
				t.Fatalf("%s: what was refused is kept: %+v", body, got)
			}
			return
		}
		if err := slow(&out, "Query", []byte(body)); err != nil || len(out.Items) != len(got.records) {
			t.Fatalf("%s is read as %d records; the SDK reads %d, %v", body, len(got.records), len(out.Items), err)
		}
		for i, item := range out.Items {
			delete(item, "z") // what is not shown is not looked at
			delete(item, "h")
			var record shown
			if err := Decode(item, &record); err != nil {
				t.Fatalf("%s is read, and Decode refuses it: %v", body, err)
			}
			want, err := entity.Encode(record)
			if err != nil || string(got.records[i]) != string(want) {
				t.Fatalf("%s, record %d:\n got %s\nwant %s, %v", body, i, got.records[i], want, err)
			}
			if key, _ := item["sk"].(*types.AttributeValueMemberS); key != nil && got.keys[i] != key.Value {
				t.Fatalf("%s, record %d: the sort key is %q, want %q", body, i, got.keys[i], key.Value)
			}
		}
	})
}

// Ensure a list of texts of a type that only encoding/json can spell is found out before it serves.
func TestTextOfAnyType(t *testing.T) {
	for want, make := range map[string]func(){
		`"y"`: func() { newRows[entity.Text[kinds]]("sk") }, // bytes, which are in base64
		`"n"`: func() {
			newRows[entity.Text[struct {
				Number json.Number `json:"n"`
			}]]("sk")
		},
		`"o"`: func() {
			newRows[entity.Text[struct {
				Own spelling `json:"o"`
			}]]("sk")
		},
		`"l"`: func() {
			newRows[entity.Text[struct {
				Own []spelling `json:"l"`
			}]]("sk")
		},
	} {
		func() {
			defer func() {
				if p := recover(); p == nil || !strings.Contains(fmt.Sprint(p), want) {
					t.Errorf("%v, want the field %s", p, want)
				}
			}()
			make()
		}()
	}
}

// spelling is a word that spells itself.
type spelling string

func (s spelling) MarshalText() ([]byte, error) { return []byte("own " + s), nil }

// Ensure a list of more records than there was room for keeps them all, that records share no values, and that the second
// answer of a list, or the second attempt at one, is read as the first.
func TestRowsGrow(t *testing.T) {
	const n = 3 * valuesAtOnce
	item := func(n int, text string) string {
		return fmt.Sprintf(`{"t":{"S":"%s %d"},"j":{"N":"%d"},"sk":{"S":"%d"}}`, text, n, n, n)
	}
	var first, second []string
	for i := range n {
		first, second = append(first, item(i, "text")), append(second, item(n+i, "\u2028"))
	}
	records, texts := newRows[shown]("sk"), newRows[entity.Text[shown]]("sk")
	for _, into := range []struct {
		itemsReader
		next func()
	}{{&records, func() { records.begun = len(records.records) }}, {&texts, func() { texts.begun = len(texts.records) }}} {
		for _, items := range [][]string{first, second} {
			for range 2 { // the first attempt is lost
				var out dynamodb.QueryOutput
				if !fill(&out, `{"Items":[`+strings.Join(items, ",")+`]}`, into.itemsReader) || len(out.Items) != 0 {
					t.Fatal("it was not read in one pass")
				}
			}
			into.next()
		}
	}
	if len(records.records) != 2*n || len(texts.records) != 2*n {
		t.Fatalf("%d records and %d texts, want %d", len(records.records), len(texts.records), 2*n)
	}
	for i, record := range records.records {
		text := word(fmt.Sprint("text ", i))
		if i >= n {
			text = word(fmt.Sprint("\u2028 ", i))
		}
		if *record.TextP != text || *record.IntP != int64(i) || records.keys[i] != fmt.Sprint(i) || texts.keys[i] != fmt.Sprint(i) {
			t.Errorf("record %d: %q %d, keys %s and %s", i, *record.TextP, *record.IntP, records.keys[i], texts.keys[i])
		}
		if want, err := entity.Encode(record); err != nil || string(texts.records[i]) != string(want) {
			t.Errorf("record %d: %s, want %s, %v", i, texts.records[i], want, err)
		}
	}
}

// Ensure the look at eight bytes at a time finds what one at a byte finds.
func FuzzPlain(f *testing.F) {
	for _, text := range []string{"", "1234567", "12345678", "1234567\n", "12345678\x1f", "\x7f", "é1234567", "12345678\xff", "\x1f2345678", "\x80\x1f345678"} {
		f.Add(text)
	}
	f.Fuzz(func(t *testing.T, text string) {
		want := strings.ToValidUTF8(text, "") == text && !strings.ContainsFunc(text, func(r rune) bool { return r < ' ' })
		if got := plain(text); got != want {
			t.Errorf("%q: %t, want %t", text, got, want)
		}
	})
}
