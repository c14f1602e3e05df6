package entity_test

import (
	"bytes"
	"encoding/json"
	"errors"
	"math"
	"reflect"
	"runtime"
	"strings"
	"sync"
	"testing"
	"time"

	"growthworkspace/shared/entity"
)

type named string

type hidden struct {
	Inner named `json:"inner"`
	inner string
}

// own spells itself, on its pointer only.
type own struct {
	Text string `json:"text"`
}

func (o *own) MarshalJSON() ([]byte, error) { return json.Marshal("own " + o.Text) }

// everything has what answers have, and what has no plan.
type everything struct {
	hidden

	Text    string             `json:"text"`
	TextP   *named             `json:"textP"`
	Int     int64              `json:"int"`
	IntP    *int64             `json:"intP"`
	Float   float64            `json:"float"`
	FloatP  *float64           `json:"floatP"`
	Bool    bool               `json:"bool"`
	List    []named            `json:"list"`
	Records []everything       `json:"records"`
	Raw     json.RawMessage    `json:"raw"`
	Bytes   []byte             `json:"bytes"`
	Number  json.Number        `json:"number"`
	Map     map[string]any     `json:"map"`
	Any     any                `json:"any"`
	Time    time.Time          `json:"time"`
	Own     own                `json:"own"`
	OwnP    *own               `json:"ownP"`
	Small   int8               `json:"small"`
	Odd     struct{ A, B int } `json:"odd"`
	Maybe   *struct {
		A string `json:"a,omitempty"`
	} `json:"maybe"`
	Empty   struct{} `json:"empty"`
	Skipped string   `json:"-"`
}

// library is what Encode stands for.
func library(v any) ([]byte, error) {
	var out bytes.Buffer
	e := json.NewEncoder(&out)
	e.SetEscapeHTML(false)
	err := e.Encode(v)
	return bytes.TrimSuffix(out.Bytes(), []byte("\n")), err
}

func same(t *testing.T, v any) {
	t.Helper()
	got, err := entity.Encode(v)
	want, wrong := library(v)
	switch {
	case (err == nil) != (wrong == nil):
		t.Fatalf("%+v: %v, encoding/json: %v", v, err, wrong)
	case err != nil:
		return
	case !bytes.Equal(got, want):
		t.Fatalf("%+v:\n got %s\nwant %s", v, got, want)
	}
}

// Ensure an answer is spelled as encoding/json spells it, byte for byte.
func FuzzEncode(f *testing.F) {
	for _, text := range []string{
		"", "plain", "a text of more than eight letters", "quote \" in it", "back\\slash", "line\nline\r\n\ttab\b\f", "\x00\x1f\x7f", "<&>", "ção é", "日本語のレビュー",
		"\u2028 and \u2029", "😀", "\xff", "cut \xe2\x80", "\ufffd", "1234567\"", "12345678\x01", "1234567é8",
	} {
		f.Add(text, `{"a":[1,2.50,"x y"]}`, 1.5, int64(-3))
	}
	for _, raw := range []string{"", "null", " 1", "1 ", "{", `"\u2028"`, "[1,\n2]", "\"\u2028\"", "1.0", `"a" "b"`, "\"\xff\""} {
		f.Add("a", raw, 0.0, int64(0))
	}
	for _, float := range []float64{
		0, math.Copysign(0, -1), 1, -1, 0.1, 1e-6, 9.99e-7, 1e20, 1e21, -1e21, 123456789.125, math.MaxFloat64, math.SmallestNonzeroFloat64, math.NaN(), math.Inf(1), math.Inf(-1),
	} {
		f.Add("a", "1", float, int64(math.MinInt64))
	}
	f.Fuzz(func(t *testing.T, text, raw string, float float64, n int64) {
		name := named(text)
		v := everything{
			hidden: hidden{Inner: name, inner: text}, Text: text, TextP: &name, Int: n, IntP: &n, Float: float, FloatP: &float, Bool: n > 0, List: []named{name, "", name},
			Raw: json.RawMessage(raw), Bytes: []byte(text), Number: "1", Map: map[string]any{text: n}, Any: text, Own: own{text}, OwnP: &own{text}, Skipped: text,
		}
		same(t, v)
		same(t, text)
		same(t, json.RawMessage(raw))
		same(t, []any{text, n, float, nil, v.Own, &name, json.RawMessage(raw), map[string]any{"a": float}})
		same(t, []any{text, n, nil, v.Own, &v.Own, &name, []any{text, true}})
		v.Raw, v.Float, v.FloatP = nil, 0, nil // so that one of them does not hide the rest
		same(t, v)
		v.Records = []everything{v, {}}
		same(t, v)
	})
}

// Ensure what is nil is null, and an error of encoding/json is an error here.
func TestEncode(t *testing.T) {
	for _, v := range []any{nil, (*everything)(nil), []string(nil), []string{}, everything{}, &everything{}, struct{}{}, []everything{{}, {Own: own{"in a list"}}}, true, int64(-1), map[string]int{"b": 1, "a": 2}} {
		same(t, v)
	}
	twice := reflect.StructOf([]reflect.StructField{
		{Name: "A", Type: reflect.TypeFor[string](), Tag: `json:"a"`}, {Name: "B", Type: reflect.TypeFor[string](), Tag: `json:"a"`}, {Name: "C", Type: reflect.TypeFor[int64](), Tag: `json:"c"`},
	})
	same(t, reflect.Zero(twice).Interface())
	var unsupported *json.UnsupportedTypeError
	if _, err := entity.Encode(map[string]any{"a": make(chan int)}); !errors.As(err, &unsupported) {
		t.Errorf("a channel: %v", err)
	}
	if _, err := entity.Encode([]everything{{Float: math.NaN()}}); err == nil {
		t.Error("a number that JSON has no text for is spelled")
	}
}

// Ensure an answer is the caller's own, however many are spelled at once.
func TestEncodeOwns(t *testing.T) {
	var wait sync.WaitGroup
	for n := range 8 {
		wait.Go(func() {
			want := strings.Repeat(string(rune('a'+n)), 10_000)
			for range 200 {
				text, err := entity.Encode(want)
				runtime.Gosched()
				if err != nil || string(text) != `"`+want+`"` {
					t.Errorf("%.20s… is spelled %.20s…, %v", want, text, err)
					return
				}
			}
		})
	}
	wait.Wait()
}

type keep struct {
	ID string `json:"id"`
}

// Ensure a text is spelled as it is, in a list too.
func TestText(t *testing.T) {
	text, err := entity.Encode(struct {
		ID string `json:"id"`
	}{"a"})
	if err != nil {
		t.Fatal(err)
	}
	got, err := entity.Encode([]entity.Text[keep]{text, text})
	if err != nil || string(got) != `[{"id":"a"},{"id":"a"}]` {
		t.Errorf("%s, %v", got, err)
	}
	same(t, []entity.Text[keep]{text, nil, {}})
	same(t, (*entity.Text[keep])(&text))
}
