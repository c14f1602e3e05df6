// Package service wires operations to a table: the same few lines for a Lambda function, the local server and the tests,
// so that they cannot differ.
package service

import (
	"context"
	"crypto/rand"
	"log/slog"
	"net/http"
	"os"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"

	"growthworkspace/shared/api"
	"growthworkspace/shared/gateway"
	"growthworkspace/shared/id"
	"growthworkspace/shared/idempotency"
	"growthworkspace/shared/keys"
	"growthworkspace/shared/table"
)

// Operations declares the operations of one area over a table.
type Operations func(t *table.Client) []api.Operation

// New returns the HTTP handler of the operations.
func New(t *table.Client, operations []api.Operation, log *slog.Logger) *api.API {
	c := Config(t, log)
	c.BaseURL = gateway.BaseURL
	return api.New(operations, c)
}

// Config returns what operations over a table are served with, over HTTP or as tools.
func Config(t *table.Client, log *slog.Logger) api.Config {
	return api.Config{
		Keys: keys.NewStore(t, t.Clock()), Now: t.Clock(), NewID: t.NewID, Log: log, Memory: idempotency.NewStore(t), Metrics: metrics,
	}
}

// metrics is what the log lines of this process carry: what METRICS and METRICS_NAMESPACE say, which the stack sets, and nothing elsewhere.
var metrics = func() api.Metrics {
	m, err := api.ParseMetrics(os.Getenv("METRICS"), os.Getenv("METRICS_NAMESPACE"))
	if err != nil {
		panic("service: METRICS: " + err.Error())
	}
	return m
}()

// warmConnections are what most reads need: the key's verification and the data, which is in one or two places, are asked
// for side by side.
const warmConnections = 3

// Start serves the operations in a Lambda function; it never returns. Its settings are the environment variables that
// the stack sets: TABLE_NAME, and AWS_ENDPOINT_URL_DYNAMODB for a table that is not DynamoDB's own.
func Start(operations Operations) {
	Serve(func(t *table.Client, log *slog.Logger) http.Handler { return New(t, operations(t), log) })
}

// Serve is Start for a handler that is not that of operations over HTTP. Connections to the table are opened before the
// first request, while the CPU is not throttled.
func Serve(handler func(t *table.Client, log *slog.Logger) http.Handler) {
	now := time.Now
	t := table.New(table.Options{
		Name: os.Getenv("TABLE_NAME"), Region: os.Getenv("AWS_REGION"), Endpoint: os.Getenv("AWS_ENDPOINT_URL_DYNAMODB"),
		Credentials: aws.CredentialsProviderFunc(environment), Now: now, NewID: id.NewGenerator(now, rand.Reader),
	})
	h := handler(t, slog.New(slog.NewJSONHandler(os.Stdout, nil)))
	t.Warm(context.Background(), warmConnections)
	gateway.Start(h)
}
