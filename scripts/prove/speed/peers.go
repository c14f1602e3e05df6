//go:build linux

package speed

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"growthworkspace/shared/table"
)

// products is the table of the peers, and productID the record that they read.
const (
	products  = "products"
	productID = "a-product"
)

// peer is a public program to compare with.
type peer struct {
	name   string
	source string  // the address of the repository
	most   float64 // the goal for the ratio of our cold start to the peer's
	env    []string
	build  func(ctx context.Context, dir, into string) (binary string, err error)
}

var peers = []peer{
	{"serverless-go-demo", "https://github.com/aws-samples/serverless-go-demo", 0.15, []string{"TABLE=" + products}, func(ctx context.Context, dir, into string) (string, error) {
		binary := filepath.Join(into, "bootstrap")
		return binary, goBuild(ctx, dir, binary, "", "./functions/get-product")
	}},
	{"serverless-rust-demo", "https://github.com/aws-samples/serverless-rust-demo", 0.5, []string{"TABLE_NAME=" + products, "RUST_LOG=error"}, func(ctx context.Context, dir, _ string) (string, error) {
		cmd := exec.CommandContext(ctx, "cargo", "build", "--release", "--bin", "get-product")
		cmd.Dir = dir
		if out, err := cmd.CombinedOutput(); err != nil {
			return "", fmt.Errorf("cargo build: %w\n%s", err, tail(string(out)))
		}
		return filepath.Join(dir, "target", "release", "get-product"), nil
	}},
}

// fetch returns the folder of the peer's sources: in the given folder if it is there, else a new clone.
func (p peer) fetch(ctx context.Context, folder, into string) (string, error) {
	if dir := filepath.Join(folder, p.name); folder != "" {
		if _, err := os.Stat(dir); err == nil {
			return dir, nil
		}
	}
	dir := filepath.Join(into, "source")
	if out, err := exec.CommandContext(ctx, "git", "clone", "--quiet", "--depth", "1", p.source, dir).CombinedOutput(); err != nil {
		return "", fmt.Errorf("clone %s: %w\n%s", p.source, err, out)
	}
	return dir, nil
}

// peers builds the programs to compare with. It leaves out a program that cannot be fetched or built, and logs why.
func (b *bench) peers(ctx context.Context, l *lambdas) (targets []target, err error) {
	if err := l.addProduct(ctx); err != nil {
		return nil, err
	}
	event, err := productEvent()
	if err != nil {
		return nil, err
	}
	for _, p := range peers {
		into := filepath.Join(l.dir, p.name)
		if err := os.MkdirAll(into, 0o700); err != nil {
			return nil, err
		}
		dir, err := p.fetch(ctx, b.Peers, into)
		var binary string
		if err == nil {
			binary, err = p.build(ctx, dir, into)
		}
		if err != nil {
			fmt.Fprintf(b.log, "without %s: %v\n", p.name, err)
			continue
		}
		targets = append(targets, target{p.name, binary, append(slices.Clone(p.env), l.trusted...), event})
	}
	return targets, nil
}

// addProduct creates the table of the peers and the record that they read.
func (b *bed) addProduct(ctx context.Context) error {
	db, name, key := dynamo(b.Engine), products, "id"
	_, err := db.CreateTable(ctx, &dynamodb.CreateTableInput{
		TableName: &name, BillingMode: types.BillingModePayPerRequest,
		KeySchema:            []types.KeySchemaElement{{AttributeName: &key, KeyType: types.KeyTypeHash}},
		AttributeDefinitions: []types.AttributeDefinition{{AttributeName: &key, AttributeType: types.ScalarAttributeTypeS}},
	})
	if err != nil {
		return fmt.Errorf("create the table of products: %w", err)
	}
	_, err = db.PutItem(ctx, &dynamodb.PutItemInput{TableName: &name, Item: table.Item{
		"id": table.String(productID), "name": table.String("Field notebook"), "price": table.Float(12.5),
	}})
	return err
}

// productEvent returns the event of the peers, which are behind an HTTP API.
func productEvent() ([]byte, error) {
	path := "/" + productID
	return json.Marshal(map[string]any{
		"version": "2.0", "routeKey": "GET /{id}", "rawPath": path, "rawQueryString": "", "pathParameters": map[string]string{"id": productID},
		"headers": map[string]string{"host": "api.example.com", "accept": "application/json", "x-forwarded-proto": "https", "x-forwarded-port": "443", "x-forwarded-for": "192.0.2.1"},
		"requestContext": map[string]any{
			"accountId": "000000000000", "apiId": "api", "domainName": "api.example.com", "domainPrefix": "api", "requestId": "prove", "routeKey": "GET /{id}",
			"stage": "$default", "time": "01/Jan/2026:00:00:00 +0000", "timeEpoch": 1767225600000,
			"http": map[string]string{"method": "GET", "path": path, "protocol": "HTTP/1.1", "sourceIp": "192.0.2.1", "userAgent": "prove"},
		},
		"isBase64Encoded": false,
	})
}
