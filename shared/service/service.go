// Package service connects operations to a table. Lambda functions, the local server and the tests share it, so that they cannot
// differ.
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

// Config returns the configuration for serving operations over a table, over HTTP or as tools.
func Config(t *table.Client, log *slog.Logger) api.Config {
	return api.Config{
		Keys: keys.NewStore(t, t.Clock()), Now: t.Clock(), NewID: t.NewID, Log: log, Memory: idempotency.NewStore(t), Metrics: metrics,
	}
}

// metrics selects the metrics in the log lines of this process. The stack sets METRICS and METRICS_NAMESPACE; without them there
// are no metrics.
var metrics = func() api.Metrics {
	m, err := api.ParseMetrics(os.Getenv("METRICS"), os.Getenv("METRICS_NAMESPACE"))
	if err != nil {
		panic("service: METRICS: " + err.Error())
	}
	return m
}()

// warmConnections is the number of connections that most reads need: one for the key and one or two for the data, in parallel.
const warmConnections = 3

// Start serves the operations in a Lambda function; it never returns. It reads the environment variables that the stack sets:
// TABLE_NAME, and AWS_ENDPOINT_URL_DYNAMODB for another endpoint than DynamoDB's own.
func Start(operations Operations) {
	Serve(func(t *table.Client, log *slog.Logger) http.Handler { return New(t, operations(t), log) })
}

// Serve is Start with another handler than that of New. It opens connections to the table before the first request, while Lambda
// does not limit the CPU.
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
