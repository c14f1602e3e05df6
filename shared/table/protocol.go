package table

import (
	"bytes"
	"context"
	"io"
	"strings"
	"unsafe"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/smithy-go"
	smithyhttp "github.com/aws/smithy-go/transport/http"
)

// protocol is the SDK's, except that it reads the answers that carry records by itself, in one pass (answer.go). What
// answer.go does not know, errors included, the SDK reads.
type protocol struct{ smithyhttp.ClientProtocol }

// DeserializeResponse is smithyhttp.ClientProtocol.
func (p protocol) DeserializeResponse(ctx context.Context, schema *smithy.OperationSchema, types *smithy.TypeRegistry, resp *smithyhttp.Response, out smithy.Deserializable) error {
	if resp.StatusCode != 200 {
		return p.ClientProtocol.DeserializeResponse(ctx, schema, types, resp, out)
	}
	body, err := readAll(resp)
	if err != nil {
		return &smithy.DeserializationError{Err: err}
	}
	into, _ := ctx.Value(itemsKey{}).(itemsReader)
	if fill(out, body, into) {
		return nil
	}
	resp.Body = again{strings.NewReader(body), resp.Body}
	return p.ClientProtocol.DeserializeResponse(ctx, schema, types, resp, out)
}

// again is a body that was read, to be read again. It closes the first one, because its timeout ends with that.
type again struct {
	io.Reader
	io.Closer
}

// fill reads the answer into what the SDK returns, and tells whether it could. The records of a Query go into the
// itemsReader, where there is one that can take them.
func fill(out smithy.Deserializable, body string, into itemsReader) bool {
	switch out := out.(type) {
	case *dynamodb.QueryOutput:
		if a, ok := readQuery(body, into); ok {
			out.Items, out.LastEvaluatedKey, out.Count, out.ScannedCount, out.ConsumedCapacity = a.items, a.last, a.count, a.scanned, a.consumed
			return true
		}
	case *dynamodb.GetItemOutput:
		if a, ok := readAnswer(body, nil); ok && a.onlyItem("Item") {
			out.Item, out.ConsumedCapacity = a.item, a.consumed
			return true
		}
	case *dynamodb.BatchGetItemOutput:
		var read dynamodb.BatchGetItemOutput
		if readBatch(body, &read) {
			out.Responses, out.UnprocessedKeys, out.ConsumedCapacity = read.Responses, read.UnprocessedKeys, read.ConsumedCapacity
			return true
		}
	case *dynamodb.UpdateItemOutput:
		if a, ok := readAnswer(body, nil); ok && a.onlyItem("Attributes") {
			out.Attributes, out.ConsumedCapacity = a.item, a.consumed
			return true
		}
	}
	return false
}

// readQuery reads the answer to a Query. What the itemsReader has of another attempt, or of one pass that came to something
// unknown, is forgotten.
func readQuery(body string, into itemsReader) (a reading, ok bool) {
	if into != nil {
		into.forget()
		if a, ok = readAnswer(body, into); ok && a.item == nil {
			return a, true
		}
		into.forget()
	}
	a, ok = readAnswer(body, nil)
	return a, ok && a.item == nil
}

// readAll reads a body whose length is usually known, and at most a megabyte and its frame.
func readAll(resp *smithyhttp.Response) (string, error) {
	var body bytes.Buffer
	if resp.ContentLength > 0 && resp.ContentLength < 8<<20 {
		body.Grow(int(resp.ContentLength) + bytes.MinRead)
	}
	_, err := body.ReadFrom(resp.Body)
	if body.Len() == 0 {
		return "", err
	}
	return unsafe.String(unsafe.SliceData(body.Bytes()), body.Len()), err // nothing writes to it any more: a copy would be half the work of reading
}
