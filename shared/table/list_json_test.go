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

// listableTypes has a field of each type that can be listed as text. The names have one letter, so
// that a fuzzer finds them.
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

const fullResponse = `"sk":{"S":"k"},"s":{"S":"a"},"t":{"S":"b"},"i":{"N":"1"},"j":{"N":"-2"},"f":{"N":"1.5"},"g":{"N":"1000"},"b":{"BOOL":true},"c":{"BOOL":false},"l":{"L":[{"S":"x"},{"S":"y"}]},"x":{"S":"[1]"},"h":{"S":"z"}`

func items(items ...string) string {
	return `{"Count":1,"Items":[{` + strings.Join(items, `},{`) + `}],"ScannedCount":1}`
}

// onePassResponses are responses that are read in one pass; slow are those that are left to the
// SDK.
var onePassResponses = map[string]string{
	"every kind":           items(fullResponse),
	"several records":      items(fullResponse, `"sk":{"S":"l"}`, fullResponse),
	"no field":             items(`"sk":{"S":"k"}`),
	"a fraction":           items(`"sk":{"S":"k"},"i":{"N":"1.0"},"j":{"N":"-1.5"}`),
	"a very large number":  items(`"sk":{"S":"k"},"i":{"N":"9223372036854775808"}`),
	"no records":           `{"Items":[],"Count":0,"ScannedCount":3}`,
	"more follow":          `{"ConsumedCapacity":{"CapacityUnits":1.5,"TableName":"t"},"Count":1,"Items":[{` + fullResponse + `}],"LastEvaluatedKey":{"pk":{"S":"a"},"n":{"N":"1"}},"ScannedCount":1}`,
	"plain escapes":        items(`"sk":{"S":"k"},"s":{"S":"\"\\\b\f\n\r\t"},"l":{"L":[{"S":"\\\\\""}]}`),
	"other scripts":        items(`"sk":{"S":"日本"},"s":{"S":"ção é 日本語 😀 <&>` + "\x7f" + `"}`),
	"empty texts":          items(`"sk":{"S":""},"s":{"S":""},"t":{"S":""},"l":{"L":[]}`),
	"JSON with spaces":     items(`"sk":{"S":"k"},"x":{"S":"{ \"a\" : [1.0, null,\n\"\\\"\"] }"}`),
	"numbers of any form":  items(`"sk":{"S":"k"},"i":{"N":"007"},"j":{"N":"-0"},"f":{"N":"1E5"},"g":{"N":"0.000001"}`),
	"one attribute twice":  items(`"sk":{"S":"k"},"s":{"S":"a"},"s":{"S":"b"}`),
	"a text full of quote": items(`"sk":{"S":"k"},"s":{"S":"` + strings.Repeat(`\"`, 500) + `"}`),
}

var sdkResponses = map[string]string{
	"no list":                           `{"Count":0,"ScannedCount":3}`,
	"null for a list":                   `{"Items":null}`,
	"a text in a number's field":        items(`"sk":{"S":"k"},"f":{"S":"1"}`),
	"a number in a text's field":        items(`"sk":{"S":"k"},"s":{"N":"1"}`),
	"a text in a list's field":          items(`"sk":{"S":"k"},"l":{"S":"x"}`),
	"a number in a list":                items(`"sk":{"S":"k"},"l":{"L":[{"N":"1"}]}`),
	"a kind that no record has":         items(`"sk":{"S":"k"},"s":{"NULL":true}`),
	"an object":                         items(`"sk":{"S":"k"},"s":{"M":{}}`),
	"two kinds at once":                 items(`"sk":{"S":"k"},"s":{"S":"a","N":"1"}`),
	"an unknown attribute":              items(`"sk":{"S":"k"},"other":{"S":"a"}`),
	"an attribute of null":              items(`"sk":{"S":"k"},"s":null`),
	"a number that is none":             items(`"sk":{"S":"k"},"f":{"N":"nan"}`),
	"a number that is too large":        items(`"sk":{"S":"k"},"f":{"N":"1e400"}`),
	"a number with an exponent":         items(`"sk":{"S":"k"},"f":{"N":"1e21"}`),
	"a small number":                    items(`"sk":{"S":"k"},"f":{"N":"0.0000001"}`),
	"a boolean that is none":            items(`"sk":{"S":"k"},"b":{"BOOL":1}`),
	"a coded character":                 items(`"sk":{"S":"k"},"s":{"S":"\u00e4"}`),
	"an escaped slash":                  items(`"sk":{"S":"k"},"s":{"S":"\/"}`),
	"half of a surrogate pair":          items(`"sk":{"S":"k"},"s":{"S":"\ud800"}`),
	"a line separator":                  items(`"sk":{"S":"k"},"s":{"S":"` + "\u2028" + `"}`),
	"a paragraph separator":             items(`"sk":{"S":"k"},"s":{"S":"` + "\u2029" + `"}`),
	"invalid UTF-8":                     items(`"sk":{"S":"k"},"s":{"S":"` + "\xff" + `"}`),
	"invalid JSON in a field":           items(`"sk":{"S":"k"},"x":{"S":"{"}`),
	"nothing in a field of JSON":        items(`"sk":{"S":"k"},"x":{"S":""}`),
	"no sort key":                       items(`"s":{"S":"a"}`),
	"a number as sort key":              items(`"sk":{"N":"1"}`),
	"an escape in the sort key":         items(`"sk":{"S":"\n"}`),
	"an escape in a name":               items(`"sk":{"S":"k"},"\u0073":{"S":"a"}`),
	"a foreign record after a good one": items(fullResponse, `"sk":{"S":"k"},"s":{"N":"1"}`),
	"space between values":              `{"Items":[{"sk": {"S":"k"}}]}`,
	"space before the list":             `{"Items" : [{"sk":{"S":"k"}}]}`,
	"two lists":                         `{"Items":[{"sk":{"S":"k"}}],"Items":[]}`,
	"a list within":                     `{"LastEvaluatedKey":{"Items":[{"sk":{"S":"k"}}]}}`,
	"an escape beside the list":         `{"Items":[{"sk":{"S":"k"}}],"LastEvaluatedKey":{"pk":{"S":"\n"}}}`,
}

// Ensure the texts that are read in one pass match the SDK, Decode and schema.Encode. The scanner
// may leave a response to the SDK, but its result must not differ.
func FuzzTexts(f *testing.F) {
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
			return // a control character makes JSON invalid; see plain
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

// Ensure a list of texts of a type that only encoding/json can encode fails in the first test that
// uses it.
func TestTextOfAnyType(t *testing.T) {
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
				Own selfEncoded `json:"o"`
			}]("sk")
		},
		"l": func() {
			newJSONScanner[struct {
				Own []selfEncoded `json:"l"`
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

// selfEncoded is a string type with its own JSON encoding.
type selfEncoded string

func (s selfEncoded) MarshalText() ([]byte, error) { return []byte("own " + s), nil }

// responses are the bodies of successive responses. One that ends in "…" breaks off.
type responses []string

func (r *responses) RoundTrip(*http.Request) (*http.Response, error) {
	body, broken := strings.CutSuffix((*r)[0], "…")
	*r = (*r)[1:]
	var rest error = io.EOF
	if broken {
		rest = io.ErrUnexpectedEOF
	}
	return &http.Response{
		StatusCode: http.StatusOK, Header: http.Header{"Content-Type": {"application/x-amz-json-1.0"}}, ContentLength: -1,
		Body: io.NopCloser(io.MultiReader(strings.NewReader(body), iotest.ErrReader(rest))),
	}, nil
}

// Ensure nothing of a response that broke off is kept, and a list may combine pages that are read
// by jsonScanner and by the SDK.
func TestListJSONOfSeveralResponses(t *testing.T) {
	const more = `,"LastEvaluatedKey":{"pk":{"S":"p"},"sk":{"S":"x"}}}`
	sent := responses{
		`{"Items":[{"sk":{"S":"a"},"s":{"S":"1"}}]…`,
		`{"Items":[{"sk":{"S":"a"},"s":{"S":"1"}},{"sk":{"S":"b"},"s":{"S":"2"}}]` + more,
		`{"Items":[{"sk":{"S":"c"},"s":{"S":"\u0033"}}]` + more,
		`{"Items":[{"sk":{"S":"d"},"s":{"S":"4"}}]}`,
	}
	c := New(Options{
		Name: "none", Endpoint: "http://engine.invalid", Region: "eu-central-1", Transport: &sent, Now: time.Now,
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
	if page.Next != "" || len(sent) != 0 {
		t.Errorf("next %q, and %d responses are left; want none", page.Next, len(sent))
	}
}
