package table_test

import (
	"bytes"
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	"growthworkspace/shared/table"
	"growthworkspace/shared/testkit/apitest"
)

// Ensure public keys come from the client's source of randomness, which a test can replace, and
// differ by default.
func TestNewPublicKey(t *testing.T) {
	t.Parallel()
	c := table.New(table.Options{Now: time.Now, Random: bytes.NewReader(make([]byte, 32))})
	for range 2 {
		if key := c.NewPublicKey(); key != "pk_live_00000000000000000000000000" {
			t.Errorf("key %s, want 26 zeros", key)
		}
	}
	c = table.New(table.Options{Now: time.Now})
	if one, two := c.NewPublicKey(), c.AsOperator().NewPublicKey(); one == two {
		t.Errorf("%s twice", one)
	}
}

// Ensure Create fails if an index that the table lacks cannot be added. Otherwise the functions
// would fail later, in every list.
func TestCreateFailsWithoutAnIndex(t *testing.T) {
	t.Parallel()
	p := &faultProxy{respond: func(call string, pass func() (*http.Response, error), _ *http.Request) (*http.Response, error) {
		switch call {
		case "CreateTable":
			return jsonResponse(http.StatusBadRequest, map[string]any{"__type": "com.amazonaws.dynamodb.v20120810#ResourceInUseException"}), nil
		case "DescribeTable":
			return jsonResponse(http.StatusOK, map[string]any{"Table": map[string]any{"TableStatus": "ACTIVE", "GlobalSecondaryIndexes": []any{}}}), nil
		case "UpdateTable":
			return jsonResponse(http.StatusBadRequest, map[string]any{"__type": "com.amazonaws.dynamodb.v20120810#LimitExceededException"}), nil
		}
		return pass()
	}}
	if err := newOfflineClient(p).Create(t.Context()); err == nil || !strings.Contains(err.Error(), "add the index") || p.count("UpdateTable") == 0 {
		t.Errorf("%v after %d updates", err, p.count("UpdateTable"))
	}
}

// Ensure a query requests each attribute only once, as DynamoDB requires, even if a record type has
// the sort key as a field. A query that finds nothing must cost half a unit.
func TestQueryProjection(t *testing.T) {
	t.Parallel()
	var requestedAttributes []string
	p := &faultProxy{respond: func(call string, pass func() (*http.Response, error), r *http.Request) (*http.Response, error) {
		if call == "Query" {
			var in struct {
				ProjectionExpression     string
				ExpressionAttributeNames map[string]string
			}
			body, err := io.ReadAll(r.Body)
			if err = errors.Join(err, json.Unmarshal(body, &in)); err != nil {
				return nil, err
			}
			r.Body = io.NopCloser(bytes.NewReader(body))
			for _, name := range strings.Split(in.ProjectionExpression, ",") {
				requestedAttributes = append(requestedAttributes, in.ExpressionAttributeNames[name])
			}
		}
		return pass()
	}}
	c, _ := newTestClient(t, p)
	ctx, m := apitest.NewRequest(t)
	type recordWithSK struct {
		SK   string `store:"sk"`
		Name string `json:"name"`
	}
	_, err := table.ReadAll[recordWithSK](ctx, c, table.Collection{Partition: table.Partition(c.NewID("co"), "notes"), Prefix: "note#"})
	if err != nil || !slices.Equal(slices.Sorted(slices.Values(requestedAttributes)), []string{"name", "sk"}) {
		t.Errorf("attributes %q, want name and sk: %v", requestedAttributes, err)
	}
	if units := m.Usage(); units.Calls != 1 || units.Read != 0.5 || units.Write != 0 {
		t.Errorf("units %+v, want a call of half a unit", units)
	}
	requestedAttributes = nil
	_, err = table.List[recordWithSK](ctx, c, table.Query{Partitions: []string{table.Partition(c.NewID("co"), "notes")}, Limit: 1})
	if err != nil || !slices.Equal(slices.Sorted(slices.Values(requestedAttributes)), []string{"name", "sk"}) {
		t.Errorf("attributes %q, want name and sk: %v", requestedAttributes, err)
	}
}
