package infra_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"reflect"
	"slices"
	"strings"
	"sync"
	"testing"

	"growthworkspace/shared/testkit/apitest"
)

// accessRecorder is a transport that records the Lambda functions' calls to the table, as IAM sees
// them.
type accessRecorder struct {
	mu    sync.Mutex
	calls []callAccess
	errs  []error
}

// RoundTrip implements http.RoundTripper.
func (r *accessRecorder) RoundTrip(request *http.Request) (*http.Response, error) {
	body, err := io.ReadAll(request.Body)
	if err != nil {
		return nil, err
	}
	request.Body = io.NopCloser(bytes.NewReader(body))
	_, action, _ := strings.Cut(request.Header.Get("X-Amz-Target"), ".")
	calls, err := accesses(action, body)
	r.mu.Lock()
	r.calls = append(r.calls, calls...)
	if err != nil {
		r.errs = append(r.errs, fmt.Errorf("%s: %w", action, err))
	}
	r.mu.Unlock()
	return apitest.Transport.RoundTrip(request)
}

// take returns the calls since the last call of take. It replaces the name of the test's table with
// the ARN of the stack's table.
func (r *accessRecorder) take(t *testing.T, tableName string) (calls []callAccess) {
	t.Helper()
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, err := range r.errs {
		t.Error("a call that cannot be judged:", err)
	}
	for _, a := range r.calls {
		rest, ok := strings.CutPrefix(a.resource, tableName)
		if !ok {
			t.Errorf("%s on %s, which is not the table", a.action, a.resource)
		}
		calls = append(calls, callAccess{"dynamodb:" + a.action, tableARN + rest, a.partitionKeys})
	}
	r.calls, r.errs = nil, nil
	return calls
}

// requestPart is a request to the table, or a part of one, with the fields that IAM checks.
type requestPart struct {
	TableName, IndexName      string
	Key, Item                 map[string]any
	KeyConditionExpression    string
	ExpressionAttributeNames  map[string]string
	ExpressionAttributeValues map[string]map[string]any
	TransactItems             []map[string]requestPart            // each is a Get, Put, Update, Delete or ConditionCheck
	RequestItems              map[string][]map[string]requestPart // by table name; each is a PutRequest or a DeleteRequest
}

// accesses returns the accesses that IAM checks for one request. A transaction requires permission
// for the action of each part. AWS does not document whether IAM checks each part with its own
// partition key, or with the keys of all parts, as in a batch. accesses returns both, so a policy
// must allow the transaction in either case. Both are needed, because an Allow or Deny statement
// can match one key alone but not all keys together.
func accesses(action string, body []byte) (out []callAccess, err error) {
	var request requestPart
	if action == "BatchGetItem" {
		return batchGet(body)
	}
	if err := json.Unmarshal(body, &request); err != nil {
		return nil, err
	}
	switch action {
	case "GetItem", "UpdateItem", "DeleteItem", "PutItem":
		out = append(out, request.access(action))
	case "Query":
		return request.query()
	case "TransactWriteItems", "TransactGetItems":
		actions := map[string]string{"Get": "GetItem", "Put": "PutItem", "Update": "UpdateItem", "Delete": "DeleteItem", "ConditionCheck": "ConditionCheckItem"}
		var all []string
		for _, item := range request.TransactItems {
			for kind, p := range item {
				a := p.access(actions[kind])
				all = append(all, a.partitionKeys...)
				out = append(out, a)
			}
		}
		for _, a := range slices.Clone(out) {
			a.partitionKeys = all
			out = append(out, a)
		}
	case "BatchWriteItem":
		for name, items := range request.RequestItems {
			batch := callAccess{action: action, resource: name}
			for _, item := range items {
				for _, p := range item {
					batch.partitionKeys = append(batch.partitionKeys, p.access(action).partitionKeys...)
				}
			}
			out = append(out, batch)
		}
	default:
		return nil, fmt.Errorf("this recorder does not support the action: %s", body)
	}
	return out, nil
}

func (p requestPart) access(action string) callAccess {
	key := p.Key
	if key == nil {
		key = p.Item
	}
	attribute, _ := key["pk"].(map[string]any)
	text, _ := attribute["S"].(string)
	return callAccess{action, p.TableName, []string{text}}
}

// batchGet decodes a BatchGetItem request, in which items have a different form than in
// BatchWriteItem.
func batchGet(body []byte) (out []callAccess, err error) {
	var request struct {
		RequestItems map[string]struct{ Keys []map[string]any }
	}
	err = json.Unmarshal(body, &request)
	for name, entry := range request.RequestItems {
		batch := callAccess{action: "BatchGetItem", resource: name}
		for _, key := range entry.Keys {
			batch.partitionKeys = append(batch.partitionKeys, requestPart{Key: key}.access("").partitionKeys...)
		}
		out = append(out, batch)
	}
	return out, err
}

// query returns the access for a query on the table or an index. The partition is the value in the
// query's key condition.
func (p requestPart) query() ([]callAccess, error) {
	resource, attribute := p.TableName, "pk"
	if p.IndexName != "" {
		resource, attribute = resource+"/index/"+p.IndexName, p.IndexName+"pk"
	}
	name, rest, _ := strings.Cut(p.KeyConditionExpression, " = ")
	placeholder, _, _ := strings.Cut(rest, " ")
	text, ok := p.ExpressionAttributeValues[placeholder]["S"].(string)
	if name != attribute && p.ExpressionAttributeNames[name] != attribute || !ok {
		return nil, fmt.Errorf("cannot find the partition in %s", p.KeyConditionExpression)
	}
	return []callAccess{{"Query", resource, []string{text}}}, nil
}

// Ensure the function accesses covers both possible checks of a transaction: each part with its own
// partition key, and each part with the keys of all parts. A batch is one access with all its keys.
func TestAccessesOfSeveralKeys(t *testing.T) {
	t.Parallel()
	key := func(pk string) string { return `{"pk":{"S":"` + pk + `"},"sk":{"S":"x"}}` }
	for action, test := range map[string]struct {
		body string
		want []callAccess
	}{
		"TransactWriteItems": {
			`{"TransactItems":[{"Put":{"TableName":"t","Item":` + key("a") + `}},{"Update":{"TableName":"t","Key":` + key("b") + `}}]}`,
			[]callAccess{{"PutItem", "t", []string{"a"}}, {"UpdateItem", "t", []string{"b"}}, {"PutItem", "t", []string{"a", "b"}}, {"UpdateItem", "t", []string{"a", "b"}}},
		},
		"BatchWriteItem": {
			`{"RequestItems":{"t":[{"PutRequest":{"Item":` + key("a") + `}},{"DeleteRequest":{"Key":` + key("b") + `}}]}}`,
			[]callAccess{{"BatchWriteItem", "t", []string{"a", "b"}}},
		},
		"BatchGetItem": {
			`{"RequestItems":{"t":{"Keys":[` + key("a") + `,` + key("b") + `]}}}`,
			[]callAccess{{"BatchGetItem", "t", []string{"a", "b"}}},
		},
	} {
		if got, err := accesses(action, []byte(test.body)); err != nil || !reflect.DeepEqual(got, test.want) {
			t.Errorf("%s: %v, %v, want %v", action, got, err, test.want)
		}
	}
}
