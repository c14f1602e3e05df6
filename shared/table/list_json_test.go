package table

import (
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"reflect"
	"strings"
	"testing"
	"testing/iotest"
	"time"

	"github.com/aws/aws-sdk-go-v2/credentials"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/schemas"
	"github.com/aws/smithy-go"
	smithyhttp "github.com/aws/smithy-go/transport/http"
	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
)

type textEnum string

type innerRecord struct {
	Hidden *textEnum `json:"-" store:"h"`
}

// listableTypes has a field of each type that ListJSON supports. The attribute names have one
// letter, so that a fuzzer finds them.
type listableTypes struct {
	innerRecord

	Text   string          `json:"s"`
	TextP  *textEnum       `json:"t"`
	Int    int64           `json:"i"`
	IntP   *int64          `json:"j"`
	Float  float64         `json:"f"`
	FloatP *float64        `json:"g"`
	Bool   bool            `json:"b"`
	BoolP  *bool           `json:"c"`
	List   []textEnum      `json:"l"`
	JSON   json.RawMessage `json:"r" store:"x"`
}

var (
	querySchema = smithy.NewOperationSchema(schemas.Query, schemas.QueryInput, schemas.QueryOutput)
	// sdkProtocol is the SDK's protocol.
	sdkProtocol = func() (p smithyhttp.ClientProtocol) {
		dynamodb.New(dynamodb.Options{Region: "none"}, func(o *dynamodb.Options) { p = o.Protocol })
		return p
	}()
)

func deserialize(t *testing.T, p smithyhttp.ClientProtocol, body string) (out dynamodb.QueryOutput, err error) {
	t.Helper()
	resp := &smithyhttp.Response{Response: &http.Response{StatusCode: http.StatusOK, Body: io.NopCloser(strings.NewReader(body)), ContentLength: int64(len(body))}}
	err = p.DeserializeResponse(t.Context(), querySchema, nil, resp, &out)
	return out, err
}

const completeItem = `"sk":{"S":"k"},"s":{"S":"a"},"t":{"S":"b"},"i":{"N":"1"},"j":{"N":"-2"},"f":{"N":"1.5"},"g":{"N":"1000"},"b":{"BOOL":true},"c":{"BOOL":false},"l":{"L":[{"S":"x"},{"S":"y"}]},"x":{"S":"[1]"},"h":{"S":"z"}`

func itemsJSON(items ...string) string {
	return `{"Count":1,"Items":[{` + strings.Join(items, `},{`) + `}],"ScannedCount":1}`
}

// onePassResponses contains responses that are read in one pass; sdkResponses contains those that
// are left to the SDK.
var onePassResponses = map[string]string{
	"every kind":           itemsJSON(completeItem),
	"several records":      itemsJSON(completeItem, `"sk":{"S":"l"}`, completeItem),
	"no field":             itemsJSON(`"sk":{"S":"k"}`),
	"no records":           `{"Items":[],"Count":0,"ScannedCount":3}`,
	"more follow":          `{"ConsumedCapacity":{"CapacityUnits":1.5,"TableName":"t"},"Count":1,"Items":[{` + completeItem + `}],"LastEvaluatedKey":{"pk":{"S":"a"},"n":{"N":"1"}},"ScannedCount":1}`,
	"plain escapes":        itemsJSON(`"sk":{"S":"k"},"s":{"S":"\"\\\b\f\n\r\t"},"l":{"L":[{"S":"\\\\\""}]}`),
	"other scripts":        itemsJSON(`"sk":{"S":"日本"},"s":{"S":"ção é 日本語 😀 <&>` + "\x7f" + `"}`),
	"empty texts":          itemsJSON(`"sk":{"S":""},"s":{"S":""},"t":{"S":""},"l":{"L":[]}`),
	"JSON with spaces":     itemsJSON(`"sk":{"S":"k"},"x":{"S":"{ \"a\" : [1.0, null,\n\"\\\"\"] }"}`),
	"numbers of any form":  itemsJSON(`"sk":{"S":"k"},"i":{"N":"007"},"j":{"N":"-0"},"f":{"N":"1E5"},"g":{"N":"0.000001"}`),
	"one attribute twice":  itemsJSON(`"sk":{"S":"k"},"s":{"S":"a"},"s":{"S":"b"}`),
	"a text full of quote": itemsJSON(`"sk":{"S":"k"},"s":{"S":"` + strings.Repeat(`\"`, 500) + `"}`),
}

var sdkResponses = map[string]string{
	"a fraction":                        itemsJSON(`"sk":{"S":"k"},"i":{"N":"1.5"}`),
	"a very large number":               itemsJSON(`"sk":{"S":"k"},"i":{"N":"9223372036854775808"}`),
	"no list":                           `{"Count":0,"ScannedCount":3}`,
	"null for a list":                   `{"Items":null}`,
	"a text in a number's field":        itemsJSON(`"sk":{"S":"k"},"f":{"S":"1"}`),
	"a number in a text's field":        itemsJSON(`"sk":{"S":"k"},"s":{"N":"1"}`),
	"a text in a list's field":          itemsJSON(`"sk":{"S":"k"},"l":{"S":"x"}`),
	"a number in a list":                itemsJSON(`"sk":{"S":"k"},"l":{"L":[{"N":"1"}]}`),
	"a kind that no record has":         itemsJSON(`"sk":{"S":"k"},"s":{"NULL":true}`),
	"an object":                         itemsJSON(`"sk":{"S":"k"},"s":{"M":{}}`),
	"two kinds at once":                 itemsJSON(`"sk":{"S":"k"},"s":{"S":"a","N":"1"}`),
	"an unknown attribute":              itemsJSON(`"sk":{"S":"k"},"other":{"S":"a"}`),
	"an attribute of null":              itemsJSON(`"sk":{"S":"k"},"s":null`),
	"a number that is none":             itemsJSON(`"sk":{"S":"k"},"f":{"N":"nan"}`),
	"a number that is too large":        itemsJSON(`"sk":{"S":"k"},"f":{"N":"1e400"}`),
	"a number with an exponent":         itemsJSON(`"sk":{"S":"k"},"f":{"N":"1e21"}`),
	"a small number":                    itemsJSON(`"sk":{"S":"k"},"f":{"N":"0.0000001"}`),
	"a boolean that is none":            itemsJSON(`"sk":{"S":"k"},"b":{"BOOL":1}`),
	"a coded character":                 itemsJSON(`"sk":{"S":"k"},"s":{"S":"\u00e4"}`),
	"an escaped slash":                  itemsJSON(`"sk":{"S":"k"},"s":{"S":"\/"}`),
	"half of a surrogate pair":          itemsJSON(`"sk":{"S":"k"},"s":{"S":"\ud800"}`),
	"a line separator":                  itemsJSON(`"sk":{"S":"k"},"s":{"S":"` + "\u2028" + `"}`),
	"a paragraph separator":             itemsJSON(`"sk":{"S":"k"},"s":{"S":"` + "\u2029" + `"}`),
	"invalid UTF-8":                     itemsJSON(`"sk":{"S":"k"},"s":{"S":"` + "\xff" + `"}`),
	"invalid JSON in a field":           itemsJSON(`"sk":{"S":"k"},"x":{"S":"{"}`),
	"nothing in a field of JSON":        itemsJSON(`"sk":{"S":"k"},"x":{"S":""}`),
	"no sort key":                       itemsJSON(`"s":{"S":"a"}`),
	"a number as sort key":              itemsJSON(`"sk":{"N":"1"}`),
	"an escape in the sort key":         itemsJSON(`"sk":{"S":"\n"}`),
	"an escape in a name":               itemsJSON(`"sk":{"S":"k"},"\u0073":{"S":"a"}`),
	"a foreign record after a good one": itemsJSON(completeItem, `"sk":{"S":"k"},"s":{"N":"1"}`),
	"space between values":              `{"Items":[{"sk": {"S":"k"}}]}`,
	"space before the list":             `{"Items" : [{"sk":{"S":"k"}}]}`,
	"two lists":                         `{"Items":[{"sk":{"S":"k"}}],"Items":[]}`,
	"a list within":                     `{"LastEvaluatedKey":{"Items":[{"sk":{"S":"k"}}]}}`,
	"an escape beside the list":         `{"Items":[{"sk":{"S":"k"}}],"LastEvaluatedKey":{"pk":{"S":"\n"}}}`,
}

// Ensure the records that are read in one pass match the result of the SDK, Decode and
// schema.Encode. The scanner may leave a response to the SDK, but it must not produce a different
// result.
func FuzzListJSON(f *testing.F) {
	for name, body := range onePassResponses {
		if _, ok := newJSONScanner[listableTypes]("sk").scan([]byte(body)); !ok {
			f.Errorf("%s is left to the SDK: %s", name, body)
		}
		f.Add(body)
	}
	for name, body := range sdkResponses {
		if _, ok := newJSONScanner[listableTypes]("sk").scan([]byte(body)); ok {
			f.Errorf("%s is not left to the SDK: %s", name, body)
		}
		f.Add(body)
	}
	f.Add(`{"Items":[{"sk":{"S":"k"}}],"Count":"x"}`)
	f.Fuzz(func(t *testing.T, body string) {
		if !json.Valid([]byte(body)) {
			return // a control character makes JSON invalid; see needsNoEscapes
		}
		scanner := newJSONScanner[listableTypes]("sk")
		p := &jsonProtocol{ClientProtocol: sdkProtocol, scanner: scanner}
		got, err := deserialize(t, p, body)
		want, wantErr := deserialize(t, sdkProtocol, body)
		if (err == nil) != (wantErr == nil) {
			t.Fatalf("%s: %v, the SDK: %v", body, err, wantErr)
		}
		if err != nil || !p.scanned {
			return
		}
		texts, err := encodeAll[listableTypes](want.Items)
		if err != nil {
			t.Fatalf("%s is read as %s; the slow way: %v", body, scanner.rows.records, err)
		}
		if diff := cmp.Diff(texts, scanner.rows.records, cmpopts.EquateEmpty()) + cmp.Diff(sortKeys(want.Items, "sk"), scanner.rows.keys, cmpopts.EquateEmpty()); diff != "" {
			t.Fatalf("%s: records and keys (-slow way +got):\n%s", body, diff)
		}
		if got.Items, want.Items = nil, nil; !reflect.DeepEqual(got, want) {
			t.Fatalf("%s: %+v, want %+v", body, got, want)
		}
	})
}

// Ensure listing a type panics if only encoding/json can encode one of its fields, so that the
// first test that uses the list fails.
func TestListJSONOfAnyType(t *testing.T) {
	for name, list := range map[string]func(){
		"y": func() {
			newJSONScanner[struct {
				Bytes []byte `json:"y"`
			}]("sk")
		},
		"n": func() {
			newJSONScanner[struct {
				Number json.Number `json:"n"`
			}]("sk")
		},
		"o": func() {
			newJSONScanner[struct {
				Own textMarshaler `json:"o"`
			}]("sk")
		},
		"l": func() {
			newJSONScanner[struct {
				Own []textMarshaler `json:"l"`
			}]("sk")
		},
		"e": func() {
			newJSONScanner[struct {
				Empty string `json:"e,omitempty"`
			}]("sk")
		},
	} {
		func() {
			defer func() {
				if p := recover(); p == nil || !strings.Contains(fmt.Sprint(p), " "+name+" ") {
					t.Errorf("%v, want the attribute %s", p, name)
				}
			}()
			list()
		}()
	}
}

// textMarshaler is a string type with its own JSON encoding.
type textMarshaler string

func (t textMarshaler) MarshalText() ([]byte, error) { return []byte("own " + t), nil }

// responseSequence contains the bodies of successive responses. A body that ends in "…" is cut off
// there.
type responseSequence []string

func (r *responseSequence) RoundTrip(*http.Request) (*http.Response, error) {
	body, broken := strings.CutSuffix((*r)[0], "…")
	*r = (*r)[1:]
	var readErr error = io.EOF
	if broken {
		readErr = io.ErrUnexpectedEOF
	}
	return &http.Response{
		StatusCode: http.StatusOK, Header: http.Header{"Content-Type": {"application/x-amz-json-1.0"}}, ContentLength: -1,
		Body: io.NopCloser(io.MultiReader(strings.NewReader(body), iotest.ErrReader(readErr))),
	}, nil
}

// Ensure no part of a response that was cut off is kept, and a list may combine pages that are read
// by jsonScanner with pages that are read by the SDK.
func TestListJSONOfSeveralResponses(t *testing.T) {
	const more = `,"LastEvaluatedKey":{"pk":{"S":"p"},"sk":{"S":"x"}}}`
	responses := responseSequence{
		`{"Items":[{"sk":{"S":"a"},"s":{"S":"1"}}]…`,
		`{"Items":[{"sk":{"S":"a"},"s":{"S":"1"}},{"sk":{"S":"b"},"s":{"S":"2"}}]` + more,
		`{"Items":[{"sk":{"S":"c"},"s":{"S":"\u0033"}}]` + more,
		`{"Items":[{"sk":{"S":"d"},"s":{"S":"4"}}]}`,
	}
	c := New(Options{
		Name: "none", Endpoint: "http://engine.invalid", Region: "eu-central-1", Transport: &responses, Now: time.Now,
		Credentials: credentials.NewStaticCredentialsProvider("local", "local", ""),
	})
	page, err := ListJSON[struct {
		Text string `json:"s"`
	}](t.Context(), c, Query{Partitions: []string{"p"}, Limit: 9})
	if err != nil {
		t.Fatal(err)
	}
	if got, want := fmt.Sprintf("%s", page.Records), `[{"s":"1"} {"s":"2"} {"s":"3"} {"s":"4"}]`; got != want {
		t.Errorf("records %s, want %s", got, want)
	}
	if page.Next != "" || len(responses) != 0 {
		t.Errorf("next %q, and %d responses are left; want none", page.Next, len(responses))
	}
}
