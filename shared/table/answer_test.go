package table

import (
	"bytes"
	"context"
	"io"
	"net/http"
	"reflect"
	"testing"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/schemas"
	"github.com/aws/smithy-go"
	smithyhttp "github.com/aws/smithy-go/transport/http"
)

var outputs = map[string]*smithy.OperationSchema{
	"BatchGetItem": smithy.NewOperationSchema(schemas.BatchGetItem, schemas.BatchGetItemInput, schemas.BatchGetItemOutput),
	"Query":        smithy.NewOperationSchema(schemas.Query, schemas.QueryInput, schemas.QueryOutput),
	"GetItem":      smithy.NewOperationSchema(schemas.GetItem, schemas.GetItemInput, schemas.GetItemOutput),
	"UpdateItem":   smithy.NewOperationSchema(schemas.UpdateItem, schemas.UpdateItemInput, schemas.UpdateItemOutput),
}

// sdk is the SDK's own reader.
var sdk = func() (read smithyhttp.ClientProtocol) {
	dynamodb.New(dynamodb.Options{Region: "none"}, func(o *dynamodb.Options) { read = o.Protocol })
	return read
}()

func slow(out smithy.Deserializable, operation string, body []byte) error {
	resp := &smithyhttp.Response{Response: &http.Response{StatusCode: http.StatusOK, Body: io.NopCloser(bytes.NewReader(body))}}
	return sdk.DeserializeResponse(context.Background(), outputs[operation], nil, resp, out)
}

// Ensure the fast reader reads what the SDK's does, whatever the text: it may refuse, it must not differ.
func FuzzAnswer(f *testing.F) {
	for _, seed := range []string{
		`{"Count":1,"ScannedCount":2,"ConsumedCapacity":{"TableName":"t","CapacityUnits":0.5},"Items":[{"pk":{"S":"a"},"n":{"N":"-1.5"},"b":{"BOOL":true},"l":{"L":[{"S":"x"}]},"y":{"B":"AAEC"}}],"LastEvaluatedKey":{"pk":{"S":"a"}}}`,
		`{"Items":[],"Count":0,"ScannedCount":0}`, `{}`, `{"Item":{}}`, `{"Item":{"a":{"S":"\u00e4\n\"\\\ud83d\ude00\/"}}}`, `{"Attributes":{"a":{"NULL":true}}}`,
		` { "Item" : { "a" : { "S" : "b" } } } `, `{"Item":{"a":{"S":"b"}},"Item":{"c":{"S":"d"}}}`, `{"Item":{"a":{"S":"b","N":"1"}}}`, `{"Item":null}`,
		`{"Item":{"a":{"S":"\ud800"}}}`, `{"Item":{"a":{"L":[]},"b":{"L":[{"L":[{"BOOL":false}]}]}}}`, `{"Item":{"a":{"M":{"b":{"S":"c"}}}}}`, `{"Count":1e2}`, `{"Count":2147483648}`,
		`{"Item":{"a":{"S":null}}}`, `{"ConsumedCapacity":{"CapacityUnits":1.0,"Table":{"CapacityUnits":1.0}}}`, `{"Item":{"a":{"S":"b"}}} x`, `{"Item":{"a":{"B":"AAE"}}}`, `{"Count":01}`, `{"Items":[null]}`,
		`{"Responses":{"t":[{"pk":{"S":"a"}},{}],"u":[]},"UnprocessedKeys":{},"ConsumedCapacity":[{"TableName":"t","CapacityUnits":1.5},{}]}`, `{"Responses":{}}`,
		`{"Responses":{"t":[]},"UnprocessedKeys":{"t":{"Keys":[{"pk":{"S":"a"}}]}}}`, `{"Responses":{"t":null}}`, `{"Responses":{"t":[],"t":[{}]}}`, `{"Responses":{},"Responses":{"t":[]}}`,
		`{"ConsumedCapacity":[]}`, `{"ConsumedCapacity":[{}],"ConsumedCapacity":[]}`, `{"UnprocessedKeys":null}`,
		`{"Count":-}`, `{"Item":{"a":{"S":"b"},"a":{"N":"1"}}}`, `{"Count":1,"Count":2}`, `{"Item":{"a":{"L":[null]}}}`, "{\"Item\":{\"a\":{\"S\":\"\x7f\"}}}",
	} {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, body []byte) {
		for name, make := range map[string]func() smithy.Deserializable{
			"BatchGetItem": func() smithy.Deserializable { return &dynamodb.BatchGetItemOutput{} },
			"Query":        func() smithy.Deserializable { return &dynamodb.QueryOutput{} },
			"GetItem":      func() smithy.Deserializable { return &dynamodb.GetItemOutput{} },
			"UpdateItem":   func() smithy.Deserializable { return &dynamodb.UpdateItemOutput{} },
		} {
			got, want := make(), make()
			if !fill(got, string(body), nil) {
				continue
			}
			if err := slow(want, name, body); err != nil {
				t.Fatalf("%s reads %q, which the SDK refuses: %v", name, body, err)
			}
			if !reflect.DeepEqual(got, want) {
				t.Fatalf("%s of %q:\n got %+v\nwant %+v", name, body, got, want)
			}
		}
	})
}
