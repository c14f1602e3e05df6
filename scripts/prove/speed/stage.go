//go:build linux

package main

import (
	"bytes"
	"context"
	"crypto/rand"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"time"

	"github.com/aws/aws-sdk-go-v2/credentials"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"growthworkspace/scripts/workspace/demo"
	"growthworkspace/shared/api"
	"growthworkspace/shared/auth"
	"growthworkspace/shared/auth/keys"
	"growthworkspace/shared/engine"
	"growthworkspace/shared/gateway"
	"growthworkspace/shared/id"
	"growthworkspace/shared/table"
)

const (
	region    = "us-east-1"
	realHost  = "dynamodb." + region + ".amazonaws.com"
	tableName = "bench"
	products  = "products" // the table of the programs to compare with
	productID = "bench-product"
)

// stage is an engine with the demo company, a key of it, and a folder for what is built.
type stage struct {
	Engine *engine.Engine
	Dir    string
	Table  *table.Client
	Secret string
	dynamo *dynamodb.Client
}

// newStage opens an engine in memory, or on the disk as the workspace's own is.
func newStage(ctx context.Context, transport http.RoundTripper, onDisk bool, log io.Writer) (s *stage, err error) {
	dir, err := os.MkdirTemp("", "growth-bench-*")
	if err != nil {
		return nil, fmt.Errorf("a folder for the benchmark: %w", err)
	}
	s = &stage{Dir: dir}
	defer func() {
		if err != nil {
			s.Close()
		}
	}()
	o := engine.Options{Install: true, Log: log}
	if onDisk {
		o.Data = filepath.Join(dir, "data")
	}
	if s.Engine, err = engine.Open(ctx, o); err != nil {
		return nil, err
	}
	s.dynamo = dynamo(s.Engine)
	client := func(now func() time.Time) *table.Client {
		return table.New(table.Options{
			Name: tableName, Region: region, Endpoint: s.Engine.Endpoint, Credentials: provider, Transport: transport,
			Timeout: time.Minute, Now: now, NewID: id.NewGenerator(now, rand.Reader),
		})
	}
	s.Table = client(time.Now)
	if err := s.Table.Create(ctx); err != nil {
		return nil, err
	}
	// An hour ago, as usual: a board that was just published is read twice (functions/plan/store_head.go).
	earlier := func() time.Time { return time.Now().Add(-time.Hour) }
	if err := demo.Seed(ctx, client(earlier), earlier()); err != nil {
		return nil, fmt.Errorf("the demo company: %w", err)
	}
	s.Secret, err = s.issue(ctx)
	return s, err
}

// issue returns a new key of the demo company.
func (s *stage) issue(ctx context.Context) (string, error) {
	grant := keys.Grant{Name: "bench", Scopes: auth.Scopes(), APIVersion: api.CurrentVersion}
	_, secret, err := keys.NewStore(s.Table, time.Now).Issue(ctx, demo.CompanyID, grant, rand.Reader)
	return secret, err
}

var provider = credentials.NewStaticCredentialsProvider("bench", "bench", "")

// dynamo is the SDK's client of an engine, as it comes.
func dynamo(e *engine.Engine) *dynamodb.Client {
	return dynamodb.New(dynamodb.Options{Region: region, Credentials: provider, BaseEndpoint: &e.Endpoint})
}

// Close ends the engine and removes the folder.
func (s *stage) Close() {
	if s.Engine != nil {
		_ = s.Engine.Close() // its data goes with the folder
	}
	_ = os.RemoveAll(s.Dir)
}

// addProduct makes the table of the programs to compare with, and the record that they are asked for.
func (s *stage) addProduct(ctx context.Context) error {
	name := products
	key := "id"
	_, err := s.dynamo.CreateTable(ctx, &dynamodb.CreateTableInput{
		TableName: &name, BillingMode: types.BillingModePayPerRequest,
		KeySchema:            []types.KeySchemaElement{{AttributeName: &key, KeyType: types.KeyTypeHash}},
		AttributeDefinitions: []types.AttributeDefinition{{AttributeName: &key, AttributeType: types.ScalarAttributeTypeS}},
	})
	if err != nil {
		return fmt.Errorf("create the table of products: %w", err)
	}
	_, err = s.dynamo.PutItem(ctx, &dynamodb.PutItemInput{TableName: &name, Item: table.Item{
		"id": table.String(productID), "name": table.String("Field notebook"), "price": table.Float(12.5),
	}})
	return err
}

// items returns the demo company's record ids of a type.
func items(kind string) (ids []string) {
	for _, line := range demo.Lines(time.Now()) {
		if line.Type == kind {
			recordID, _ := line.Record["id"].(string)
			ids = append(ids, recordID)
		}
	}
	return ids
}

// event is the proxy event of a GET by the key, or without one.
func (s *stage) event(path string, authenticated bool) ([]byte, error) {
	r, err := http.NewRequest(http.MethodGet, "https://api.example.com"+path, nil)
	if err != nil {
		return nil, err
	}
	r.RemoteAddr = "192.0.2.1:443"
	r.Header.Set("Accept", "application/json")
	if authenticated {
		r.Header.Set("Authorization", "Bearer "+s.Secret)
	}
	e, err := gateway.Event(r, "bench")
	if err != nil {
		return nil, err
	}
	return json.Marshal(e)
}

// productEvent is what the programs to compare with are asked: an HTTP API event, with one path parameter.
func productEvent() ([]byte, error) {
	path := "/" + productID
	return json.Marshal(map[string]any{
		"version": "2.0", "routeKey": "GET /{id}", "rawPath": path, "rawQueryString": "", "pathParameters": map[string]string{"id": productID},
		"headers": map[string]string{"host": "api.example.com", "accept": "application/json", "x-forwarded-proto": "https", "x-forwarded-port": "443", "x-forwarded-for": "192.0.2.1"},
		"requestContext": map[string]any{
			"accountId": "000000000000", "apiId": "api", "domainName": "api.example.com", "domainPrefix": "api", "requestId": "bench", "routeKey": "GET /{id}",
			"stage": "$default", "time": "01/Jan/2026:00:00:00 +0000", "timeEpoch": 1767225600000,
			"http": map[string]string{"method": "GET", "path": path, "protocol": "HTTP/1.1", "sourceIp": "192.0.2.1", "userAgent": "bench"},
		},
		"isBase64Encoded": false,
	})
}

// write writes a file of the stage.
func (s *stage) write(name string, text []byte) (string, error) {
	file := filepath.Join(s.Dir, name)
	return file, os.WriteFile(file, text, 0o600)
}

// toolEvent is the proxy event of a tool's call.
func (s *stage) toolEvent(tool string, arguments map[string]any) ([]byte, error) {
	call, err := json.Marshal(map[string]any{
		"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": map[string]any{"name": tool, "arguments": arguments},
	})
	if err != nil {
		return nil, err
	}
	r, err := http.NewRequest(http.MethodPost, "https://api.example.com/mcp", bytes.NewReader(call))
	if err != nil {
		return nil, err
	}
	r.RemoteAddr = "192.0.2.1:443"
	for name, value := range map[string]string{
		"Authorization": "Bearer " + s.Secret, "Content-Type": "application/json", "Accept": "application/json, text/event-stream", "Mcp-Protocol-Version": "2025-06-18",
	} {
		r.Header.Set(name, value)
	}
	e, err := gateway.Event(r, "bench")
	if err != nil {
		return nil, err
	}
	return json.Marshal(e)
}
