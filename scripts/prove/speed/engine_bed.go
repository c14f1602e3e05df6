//go:build linux

package speed

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb"

	"growthworkspace/scripts/prove/testbed"
	"growthworkspace/scripts/workspace/demo"
	"growthworkspace/shared/testkit/engine"
)

// engineBed is an in-memory engine with the demo company, one of the company's keys, and a folder
// for compiled programs.
type engineBed struct {
	*testbed.Testbed
	dir    string
	secret string // the secret of the company's key
}

func newEngineBed(ctx context.Context, log io.Writer) (*engineBed, error) {
	dir, err := os.MkdirTemp("", "speed-*")
	if err != nil {
		return nil, fmt.Errorf("create a folder: %w", err)
	}
	t, err := testbed.Open(ctx, testbed.Options{Log: log})
	if err != nil {
		return nil, errors.Join(err, os.RemoveAll(dir))
	}
	b := &engineBed{Testbed: t, dir: dir}
	err = demo.Seed(ctx, b.Table, time.Now())
	if err == nil {
		b.secret, err = b.issueKey(ctx)
	}
	if err != nil {
		b.close()
		return nil, fmt.Errorf("create the demo company: %w", err)
	}
	return b, nil
}

// issueKey returns a new key for the demo company, with the default quotas.
func (b *engineBed) issueKey(ctx context.Context) (string, error) {
	key, err := b.NewKey(ctx, demo.CompanyID, 0)
	return key.Key, err
}

// dynamoClient returns an SDK client for an engine, with default options.
func dynamoClient(e *engine.Engine) *dynamodb.Client {
	return dynamodb.New(dynamodb.Options{
		Region: testbed.Region, Credentials: testbed.Credentials, BaseEndpoint: &e.Endpoint,
		HTTPClient: &http.Client{Transport: testbed.Transport(e.Socket)},
	})
}

// close stops the engine and removes the folder.
func (b *engineBed) close() {
	_ = b.Close() // ignore the error, because the data is only in memory
	_ = os.RemoveAll(b.dir)
}

// firstID returns the id of the demo company's first record of the given type.
func firstID(kind string) string {
	id, _ := testbed.NewRecordGenerator().Record(kind, 0)["id"].(string)
	return id
}
