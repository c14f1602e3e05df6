package api

import (
	"context"
	"crypto/rand"
	"log/slog"
	"net/http"
	"os"
	"time"

	"growthworkspace/shared/gateway"
	"growthworkspace/shared/id"
	"growthworkspace/shared/idempotency"
	"growthworkspace/shared/keys"
	"growthworkspace/shared/table"
)

// Operations declares the operations of one area over a table.
type Operations func(t *table.Client) []Operation

// NewConfig returns the configuration for serving operations on the table t, over HTTP or as tools.
// The environment variables METRICS and METRICS_NAMESPACE, which the stack sets, select the metrics
// in the log lines. If they are not set, there are no metrics. WRITES=off makes the API read-only.
// NewConfig panics if a value is invalid.
func NewConfig(t *table.Client, log *slog.Logger) Config {
	metrics, err := ParseMetrics(os.Getenv("METRICS"), os.Getenv("METRICS_NAMESPACE"))
	if err != nil {
		panic("api: METRICS: " + err.Error())
	}
	return Config{
		Keys: keys.NewStore(t, t.Clock()), Now: t.Clock(), NewID: t.NewID, Log: log, IdempotencyStore: idempotency.NewStore(t), Metrics: metrics,
		ReadOnly: os.Getenv("WRITES") == "off",
	}
}

// warmConnections is the number of connections that most reads use in parallel: one for the key and
// one or two for the data.
const warmConnections = 3

// Start serves the operations in a Lambda function; it never returns. It reads the environment
// variables that the stack sets: TABLE_NAME, AWS_ENDPOINT_URL_DYNAMODB for an endpoint other than
// DynamoDB's own, and TABLE_STREAM, which is "none" if the table has no stream.
func Start(operations Operations) {
	Serve(func(t *table.Client, c Config) http.Handler {
		c.BaseURL = gateway.BaseURL
		return New(operations(t), c)
	})
}

// Serve is like Start, but serves the handler that the function returns. It opens connections to
// the table before the first request, because Lambda does not limit the CPU during startup.
func Serve(handler func(t *table.Client, c Config) http.Handler) {
	now := time.Now
	t := table.New(table.Options{
		Name: os.Getenv("TABLE_NAME"), Region: os.Getenv("AWS_REGION"), Endpoint: os.Getenv("AWS_ENDPOINT_URL_DYNAMODB"),
		Credentials: table.EnvironmentCredentials, Now: now, NewID: id.NewGenerator(now, rand.Reader),
		NoStream: os.Getenv("TABLE_STREAM") == "none",
	})
	h := handler(t, NewConfig(t, slog.New(slog.NewJSONHandler(os.Stdout, nil))))
	t.Warm(context.Background(), warmConnections)
	gateway.Start(h)
}
