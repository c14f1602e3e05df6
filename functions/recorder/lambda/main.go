// Command lambda is the Lambda function that records changes. Its event source is the table's
// stream. The mapping has a tumbling window, because an event names its shard only if there is a
// window.
package main

import (
	"context"
	"crypto/rand"
	"log/slog"
	"net/http"
	"os"
	"time"

	"github.com/aws/aws-lambda-go/lambda"

	"growthworkspace/functions/recorder"
	"growthworkspace/shared/id"
	"growthworkspace/shared/table"
)

func main() {
	now, log := time.Now, slog.New(slog.NewJSONHandler(os.Stdout, nil))
	t := table.New(table.Options{
		Name: os.Getenv("TABLE_NAME"), Region: os.Getenv("AWS_REGION"), Endpoint: os.Getenv("AWS_ENDPOINT_URL_DYNAMODB"),
		Credentials: table.EnvironmentCredentials, Now: now, NewID: id.NewGenerator(now, rand.Reader),
	}).AsOperator()
	parkedQueue := queue{
		url: os.Getenv("PARKED_QUEUE_URL"), region: os.Getenv("AWS_REGION"), credentials: table.EnvironmentCredentials, now: now,
		http: &http.Client{Timeout: sendTimeout},
	}
	recorder := recorder.New(t, func(ctx context.Context, p recorder.ParkedRecord) error {
		log.LogAttrs(ctx, slog.LevelError, "record of the stream not readable", slog.Any("record", p))
		return parkedQueue.send(ctx, p)
	})
	t.Warm(context.Background(), 1)
	lambda.Start(handler(recorder.Record, log))
}
