package functions_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/feature/dynamodb/attributevalue"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
	"github.com/google/go-cmp/cmp"

	"growthworkspace/functions/feedback"
	"growthworkspace/functions/metrics"
	"growthworkspace/shared/api"
	"growthworkspace/shared/id"
	"growthworkspace/shared/parallel"
	"growthworkspace/shared/schema"
	"growthworkspace/shared/table"
	"growthworkspace/shared/testkit/apitest"
)

// BenchmarkReads measures reads from the query to the body of the response, without the key check
// and the gateway. It compares our code with plain code, in which the SDK reads the DynamoDB
// response, attributevalue fills structs and encoding/json encodes them. The DynamoDB responses are
// replayed from memory. benchstat shows the difference:
//
//	go test ./functions -run XXX -bench Reads -cpu 1 -count 10 | benchstat -col /way -
func BenchmarkReads(b *testing.B) {
	ctx := context.Background()
	replay := &apitest.ReplayTransport{}
	s := companyWithHistory(b, replay)
	reviews, points := feedback.NewStore(s.Table), metrics.NewStore(s.Table)
	list := func(limit int) ([]byte, error) {
		texts, err := reviews.List(ctx, s.CompanyID, feedback.Filter{}, "", limit)
		if err != nil {
			return nil, err
		}
		body, _, err := api.NewJSONList[feedback.Feedback](texts).MarshalPage()
		return body, err
	}
	listYear := func() ([]byte, error) {
		found, next, err := points.ListPoints(ctx, s.CompanyID, metrics.PointQuery{MetricKey: "growth.visits", Grain: metrics.GrainDay, Limit: 365})
		if err != nil {
			return nil, err
		}
		body, _, err := api.NewList(table.Page[metrics.Point]{Records: found, Next: next.String()}).MarshalPage()
		return body, err
	}
	const firstID = "fbk_00000000000000000000000205" // the first record of the plain list
	plain := newSDKTable(b, replay)
	text200, err := list(200)
	if err != nil {
		b.Fatal(err)
	}
	text365, err := listYear()
	if err != nil {
		b.Fatal(err)
	}
	putWithSDK[feedback.Feedback](b, plain, "feedback", text200)
	putWithSDK[metrics.Point](b, plain, "points", text365)
	replay.StartRecording()
	for _, read := range []struct {
		name      string
		ours, sdk func() ([]byte, error)
	}{
		{"reviews=200", func() ([]byte, error) { return list(200) }, func() ([]byte, error) { return listWithSDK[feedback.Feedback](ctx, plain, "feedback", 200) }},
		{"reviews=50", func() ([]byte, error) { return list(50) }, func() ([]byte, error) { return listWithSDK[feedback.Feedback](ctx, plain, "feedback", 50) }},
		{"reviews=1", func() ([]byte, error) {
			record, err := reviews.Get(ctx, s.CompanyID, firstID)
			if err != nil {
				return nil, err
			}
			return schema.Encode(record)
		}, func() ([]byte, error) { return getWithSDK[feedback.Feedback](ctx, plain, "feedback") }},
		{"points=365", listYear, func() ([]byte, error) {
			if _, err := getWithSDK[metrics.Point](ctx, plain, "points"); err != nil { // also reads the definition, because our code does
				return nil, err
			}
			return listWithSDK[metrics.Point](ctx, plain, "points", 365)
		}},
	} {
		ours, err := read.ours()
		if err != nil {
			b.Fatal(err)
		}
		for way, do := range map[string]func() ([]byte, error){"ours": read.ours, "plain": read.sdk} {
			b.Run(read.name+"/way="+way, func(b *testing.B) {
				b.ReportAllocs()
				var body []byte
				for b.Loop() {
					if body, err = do(); err != nil {
						b.Fatal(err)
					}
				}
				if diff := cmp.Diff(mustDecode(b, ours), mustDecode(b, body)); diff != "" {
					b.Errorf("the two ways differ: %s", diff)
				}
			})
		}
	}
}

func mustDecode(b *testing.B, body []byte) (value any) {
	b.Helper()
	if err := json.Unmarshal(body, &value); err != nil {
		b.Fatal(err)
	}
	return value
}

// sdkTable is the test binary's table, accessed only with the SDK.
type sdkTable struct {
	*dynamodb.Client
	name string
}

func newSDKTable(b *testing.B, transport http.RoundTripper) sdkTable {
	b.Helper()
	o := apitest.Options(b, nil, transport)
	return sdkTable{dynamodb.New(dynamodb.Options{
		Region: o.Region, Credentials: o.Credentials, BaseEndpoint: &o.Endpoint, HTTPClient: &http.Client{Transport: transport},
	}), o.Name}
}

// jsonNames makes attributevalue use the field names from the json tags.
func jsonNames(o *attributevalue.DecoderOptions) { o.TagKey = "json" }

// putWithSDK stores each record of a list as a table item.
func putWithSDK[T any](b *testing.B, db sdkTable, partition string, text []byte) {
	b.Helper()
	var list struct{ Items []T }
	if err := json.Unmarshal(text, &list); err != nil {
		b.Fatal(err)
	}
	for n, record := range list.Items {
		item, err := attributevalue.MarshalMapWithOptions(record, func(o *attributevalue.EncoderOptions) { o.TagKey = "json" })
		if err != nil {
			b.Fatal(err)
		}
		item["pk"], item["sk"] = &types.AttributeValueMemberS{Value: "plain#" + partition}, &types.AttributeValueMemberS{Value: fmt.Sprintf("%06d", n)}
		if _, err := db.PutItem(b.Context(), &dynamodb.PutItemInput{TableName: &db.name, Item: item}); err != nil {
			b.Fatal(err)
		}
	}
}

func listWithSDK[T any](ctx context.Context, db sdkTable, partition string, limit int32) ([]byte, error) {
	out, err := db.Query(ctx, &dynamodb.QueryInput{
		TableName: &db.name, KeyConditionExpression: aws.String("pk = :pk"), Limit: &limit,
		ExpressionAttributeValues: map[string]types.AttributeValue{":pk": &types.AttributeValueMemberS{Value: "plain#" + partition}},
	})
	if err != nil {
		return nil, err
	}
	var list struct {
		Items []T `json:"items"`
	}
	if err := attributevalue.UnmarshalListOfMapsWithOptions(out.Items, &list.Items, jsonNames); err != nil {
		return nil, err
	}
	return json.Marshal(list)
}

func getWithSDK[T any](ctx context.Context, db sdkTable, partition string) ([]byte, error) {
	out, err := db.GetItem(ctx, &dynamodb.GetItemInput{TableName: &db.name, ConsistentRead: aws.Bool(true), Key: map[string]types.AttributeValue{
		"pk": &types.AttributeValueMemberS{Value: "plain#" + partition}, "sk": &types.AttributeValueMemberS{Value: "000000"},
	}})
	if err != nil {
		return nil, err
	}
	var record T
	if err := attributevalue.UnmarshalMapWithOptions(out.Item, &record, jsonNames); err != nil {
		return nil, err
	}
	return json.Marshal(record)
}

// BenchmarkImport imports 2,000 reviews, and writes the same items with a bare loop of
// BatchWriteItem, which checks nothing and keeps no index of identities:
//
//	go test ./functions -run XXX -bench Import -count 10 | benchstat -col /way -
func BenchmarkImport(b *testing.B) {
	const count, itemsPerBatch, lanes = 2000, 25, 8 // lanes: as many batches at the same time as in an import
	s := start(b, nil)
	lines := reviewLines(b, time.Date(2020, 1, 1, 0, 0, 0, 0, time.UTC), count)
	batches := slices.Collect(slices.Chunk(lines, 200)) // as large as those of `workspace import`
	importOnce := func() {
		s.CompanyID = s.Table.NewID(id.CompanyPrefix)
		for _, batch := range batches {
			importLines(b, s, "feedback", batch...)
		}
	}
	importOnce()
	items := slices.DeleteFunc(itemsOfCompany(b, s), func(item table.Item) bool { return item["externalId"] == nil })
	if len(items) != count {
		b.Fatalf("the company has %d reviews, want %d", len(items), count)
	}
	b.Run("way=ours", func(b *testing.B) {
		for b.Loop() {
			importOnce()
		}
	})
	b.Run("way=plain", func(b *testing.B) {
		db := newSDKTable(b, apitest.Transport)
		for b.Loop() {
			companyID := s.Table.NewID(id.CompanyPrefix)
			err := parallel.Do(count/itemsPerBatch, lanes, func(n int) error {
				var writes []types.WriteRequest
				for _, item := range items[n*itemsPerBatch : (n+1)*itemsPerBatch] {
					writes = append(writes, types.WriteRequest{PutRequest: &types.PutRequest{Item: copyTo(companyID, s.CompanyID, item)}})
				}
				out, err := db.BatchWriteItem(b.Context(), &dynamodb.BatchWriteItemInput{RequestItems: map[string][]types.WriteRequest{db.name: writes}})
				if err == nil && len(out.UnprocessedItems) > 0 {
					err = errors.New("the engine has not processed all items")
				}
				return err
			})
			if err != nil {
				b.Fatal(err)
			}
		}
	})
}
