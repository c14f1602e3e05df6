package main

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	v4 "github.com/aws/aws-sdk-go-v2/aws/signer/v4"

	"growthworkspace/functions/recorder"
)

// queue is the SQS queue for stream records that could not be read. A single call to one operation
// does not justify the SDK's package for SQS.
type queue struct {
	url         string
	region      string
	credentials aws.CredentialsProvider
	now         func() time.Time
	http        *http.Client
}

const sendTimeout = 3 * time.Second

func (q queue) send(ctx context.Context, p recorder.ParkedRecord) error {
	message, err := json.Marshal(p)
	if err != nil {
		return fmt.Errorf("park a record: %w", err)
	}
	body, err := json.Marshal(map[string]string{"QueueUrl": q.url, "MessageBody": string(message)})
	if err != nil {
		return fmt.Errorf("park a record: %w", err)
	}
	request, err := http.NewRequestWithContext(ctx, http.MethodPost, q.url, bytes.NewReader(body))
	if err != nil {
		return fmt.Errorf("park a record: %w", err)
	}
	request.URL.Path = "/"
	request.Header.Set("Content-Type", "application/x-amz-json-1.0")
	request.Header.Set("X-Amz-Target", "AmazonSQS.SendMessage")
	credentials, err := q.credentials.Retrieve(ctx)
	if err != nil {
		return fmt.Errorf("park a record: %w", err)
	}
	digest := sha256.Sum256(body)
	if err := v4.NewSigner().SignHTTP(ctx, credentials, request, hex.EncodeToString(digest[:]), "sqs", q.region, q.now()); err != nil {
		return fmt.Errorf("park a record: %w", err)
	}
	response, err := q.http.Do(request)
	if err != nil {
		return fmt.Errorf("park a record: %w", err)
	}
	defer response.Body.Close()
	if response.StatusCode != http.StatusOK {
		text, _ := io.ReadAll(io.LimitReader(response.Body, 1000)) // only for the error message
		return fmt.Errorf("park a record: status %d: %s", response.StatusCode, text)
	}
	return nil
}
