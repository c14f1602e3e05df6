// Command baseline lists records the usual way: the SDK reads a response of DynamoDB, attributevalue fills structs, and
// encoding/json encodes them. It is a separate module, so that the repository does not depend on attributevalue.
//
//	baseline feedback|points FILE N
//
// FILE is the body of a list of our API. The program encodes its records with attributevalue, one item each, lists them N
// times from memory, and prints the CPU time of one list in microseconds. A list of points reads the metric's definition, too,
// as ours does.
package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"strconv"
	"strings"
	"syscall"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/credentials"
	"github.com/aws/aws-sdk-go-v2/feature/dynamodb/attributevalue"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
)

type feedback struct {
	ID          string   `json:"id"`
	CompanyID   string   `json:"companyId"`
	Source      *string  `json:"source"`
	Kind        *string  `json:"kind"`
	ExternalID  string   `json:"externalId"`
	ExternalURL *string  `json:"externalUrl"`
	AuthorName  *string  `json:"authorName"`
	Title       *string  `json:"title"`
	Body        *string  `json:"body"`
	Rating      *float64 `json:"rating"`
	AppVersion  *string  `json:"appVersion"`
	Territory   *string  `json:"territory"`
	Locale      *string  `json:"locale"`
	PostedAt    *string  `json:"postedAt"`
	FetchedAt   *string  `json:"fetchedAt"`
	Flags       []string `json:"flags"`
	Priority    *float64 `json:"priority"`
	Sentiment   *string  `json:"sentiment"`
	ReplyBody   *string  `json:"replyBody"`
	ReplyStatus *string  `json:"replyStatus"`
	CreatedAt   *string  `json:"createdAt"`
	UpdatedAt   *string  `json:"updatedAt"`
}

type point struct {
	SeriesID   string         `json:"seriesId"`
	PointKey   string         `json:"pointKey"`
	CompanyID  string         `json:"companyId"`
	MetricKey  string         `json:"metricKey"`
	Grain      *string        `json:"grain"`
	TS         *string        `json:"ts"`
	Dims       map[string]any `json:"dims"`
	Value      *float64       `json:"value"`
	Currency   *string        `json:"currency"`
	BaseValue  *float64       `json:"baseValue"`
	Source     *string        `json:"source"`
	IngestedAt *string        `json:"ingestedAt"`
}

// definition is what a program that lists points reads beside them, to know the metric and how its days combine.
type definition struct {
	ID          string   `json:"id"`
	CompanyID   string   `json:"companyId"`
	Key         string   `json:"key"`
	Name        *string  `json:"name"`
	Unit        *string  `json:"unit"`
	Aggregation *string  `json:"aggregation"`
	Kind        *string  `json:"kind"`
	Dimensions  []string `json:"dimensions"`
}

type list[T any] struct {
	Items []T `json:"items"`
}

func main() {
	if err := run(os.Args[1:]); err != nil {
		fmt.Fprintln(os.Stderr, "baseline:", err)
		os.Exit(1)
	}
}

func run(args []string) error {
	if len(args) != 3 {
		return errors.New("usage: baseline feedback|points FILE N")
	}
	text, err := os.ReadFile(args[1])
	if err != nil {
		return err
	}
	n, err := strconv.Atoi(args[2])
	if err != nil || n < 1 {
		return fmt.Errorf("N must be a whole number from 1, not %q", args[2])
	}
	switch args[0] {
	case "feedback":
		return measure[feedback](text, n, func(*dynamodb.Client) error { return nil })
	case "points":
		return measure[point](text, n, getDefinition)
	}
	return fmt.Errorf("unknown list %q", args[0])
}

// measure lists the records of a file many times. Each time it reads with beside, too.
func measure[T any](text []byte, n int, beside func(*dynamodb.Client) error) error {
	response, err := store[T](text)
	if err != nil {
		return err
	}
	key, aggregation := "growth.activations", "sum"
	item, err := encode(definition{ID: "mdf_1", CompanyID: "co_1", Key: key, Name: &key, Aggregation: &aggregation})
	if err != nil {
		return err
	}
	known, err := json.Marshal(map[string]any{"Item": item})
	if err != nil {
		return err
	}
	db := dynamodb.New(dynamodb.Options{
		Region: "us-east-1", Credentials: credentials.NewStaticCredentialsProvider("bench", "bench", ""), HTTPClient: memory{"Query": response, "GetItem": known},
	})
	const warmUp = 20
	var begin int64
	for i := range warmUp + n {
		if i == warmUp {
			begin = cpu()
		}
		body, err := query[T](db)
		if err := errors.Join(err, beside(db)); err != nil {
			return err
		}
		if i == 0 && !same(body, text) {
			return errors.New("the list differs from the file")
		}
	}
	fmt.Println((cpu() - begin) / int64(n))
	return nil
}

// query lists the records once. Its CPU time is measured.
func query[T any](db *dynamodb.Client) ([]byte, error) {
	out, err := db.Query(context.Background(), &dynamodb.QueryInput{
		TableName: aws.String("bench"), KeyConditionExpression: aws.String("pk = :pk"),
		ExpressionAttributeValues: map[string]types.AttributeValue{":pk": &types.AttributeValueMemberS{Value: "bench"}},
	})
	if err != nil {
		return nil, err
	}
	var records []T
	err = attributevalue.UnmarshalListOfMapsWithOptions(out.Items, &records, func(o *attributevalue.DecoderOptions) { o.TagKey = "json" })
	if err != nil {
		return nil, err
	}
	return json.Marshal(list[T]{records})
}

// getDefinition reads the definition of a metric.
func getDefinition(db *dynamodb.Client) error {
	out, err := db.GetItem(context.Background(), &dynamodb.GetItemInput{
		TableName: aws.String("bench"), ConsistentRead: aws.Bool(true), Key: map[string]types.AttributeValue{"pk": &types.AttributeValueMemberS{Value: "bench"}},
	})
	if err != nil {
		return err
	}
	var d definition
	return attributevalue.UnmarshalMapWithOptions(out.Item, &d, func(o *attributevalue.DecoderOptions) { o.TagKey = "json" })
}

// encode returns a record as DynamoDB stores it.
func encode(record any) (any, error) {
	item, err := attributevalue.MarshalMapWithOptions(record, func(o *attributevalue.EncoderOptions) { o.TagKey = "json" })
	if err != nil {
		return nil, err
	}
	return protocol(&types.AttributeValueMemberM{Value: item}).(map[string]any)["M"], nil
}

// store returns the response of DynamoDB to a query for the records of a list.
func store[T any](text []byte) ([]byte, error) {
	var from list[T]
	if err := json.Unmarshal(text, &from); err != nil {
		return nil, err
	}
	var items []any
	for _, record := range from.Items {
		item, err := encode(record)
		if err != nil {
			return nil, err
		}
		items = append(items, item)
	}
	return json.Marshal(map[string]any{"Items": items, "Count": len(items), "ScannedCount": len(items)})
}

// protocol returns an attribute as JSON of DynamoDB's protocol.
func protocol(a types.AttributeValue) any {
	switch a := a.(type) {
	case *types.AttributeValueMemberS:
		return map[string]any{"S": a.Value}
	case *types.AttributeValueMemberN:
		return map[string]any{"N": a.Value}
	case *types.AttributeValueMemberBOOL:
		return map[string]any{"BOOL": a.Value}
	case *types.AttributeValueMemberNULL:
		return map[string]any{"NULL": true}
	case *types.AttributeValueMemberL:
		out := []any{}
		for _, e := range a.Value {
			out = append(out, protocol(e))
		}
		return map[string]any{"L": out}
	case *types.AttributeValueMemberM:
		out := map[string]any{}
		for name, e := range a.Value {
			out[name] = protocol(e)
		}
		return map[string]any{"M": out}
	}
	panic(fmt.Sprintf("baseline: unexpected attribute %T", a))
}

// memory is an HTTP client that returns the same body for every call of an action.
type memory map[string][]byte

func (m memory) Do(r *http.Request) (*http.Response, error) {
	_, action, _ := strings.Cut(r.Header.Get("X-Amz-Target"), ".")
	body := m[action]
	return &http.Response{
		StatusCode: http.StatusOK, Header: http.Header{"Content-Type": {"application/x-amz-json-1.0"}}, Request: r,
		Body: io.NopCloser(bytes.NewReader(body)), ContentLength: int64(len(body)),
	}, nil
}

func same(a, b []byte) bool {
	var x, y bytes.Buffer
	return json.Compact(&x, a) == nil && json.Compact(&y, b) == nil && bytes.Equal(x.Bytes(), y.Bytes())
}

// cpu returns the CPU time of the process in microseconds.
func cpu() int64 {
	var u syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &u); err != nil {
		panic(fmt.Sprintf("baseline: read the CPU time: %v", err))
	}
	return (u.Utime.Nano() + u.Stime.Nano()) / 1000
}
