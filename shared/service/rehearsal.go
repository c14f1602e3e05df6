package service

import (
	"bytes"
	"context"
	"crypto/rand"
	"encoding/json"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"strings"
	"sync"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"

	"growthworkspace/shared/api"
	"growthworkspace/shared/auth"
	"growthworkspace/shared/auth/keys"
	"growthworkspace/shared/gateway"
	"growthworkspace/shared/id"
	"growthworkspace/shared/table"
)

// Request is a request that a function rehearses while it starts. {companyId} in its path stands for a company.
type Request struct{ Method, Path, Body string }

// Rehearsed returns the reads whose path names nothing but the company. They go the way of all others.
func Rehearsed(operations []api.Operation) (requests []Request) {
	for _, op := range operations {
		if op.Method == http.MethodGet && strings.Count(op.Path, "{") == strings.Count(op.Path, companyParameter) {
			requests = append(requests, Request{Method: op.Method, Path: op.Path})
		}
	}
	return requests
}

const companyParameter = "{companyId}"

// Rehearse serves the requests once by a handler over a table that exists only in this call, without a log, so that the
// first real request finds the code in memory and what is made once for each type made. While a function starts, the CPU
// is not throttled; at 128 MB the same takes fourteen times as long afterwards. It returns the statuses of the answers,
// zero for none: a start must not fail where a request may succeed.
func Rehearse(handler Handler, requests ...Request) (statuses []int) {
	now := time.Now
	stage := &rehearsalTable{}
	t := table.New(table.Options{
		Name: "rehearsal", Region: "rehearsal", Endpoint: "https://rehearsal.invalid", Transport: stage, Now: now,
		Credentials: aws.CredentialsProviderFunc(func(context.Context) (aws.Credentials, error) {
			return aws.Credentials{AccessKeyID: "rehearsal", SecretAccessKey: "rehearsal"}, nil
		}),
		NewID: id.NewGenerator(now, rand.Reader),
	})
	company := t.NewID(id.Company)
	_, secret, err := keys.NewStore(t, now).Issue(context.Background(), company, keys.Grant{Name: "rehearsal", Scopes: auth.Scopes()}, rand.Reader)
	h := handler(t, slog.New(slog.NewJSONHandler(io.Discard, nil)))
	for _, request := range requests {
		status := 0
		if err == nil {
			status, _ = request.rehearse(h, company, secret)
		}
		statuses = append(statuses, status)
	}
	return statuses
}

func (r Request) rehearse(h http.Handler, company, secret string) (status int, err error) {
	path := strings.ReplaceAll(r.Path, companyParameter, company)
	request, err := http.NewRequest(r.Method, "https://rehearsal.invalid"+path, strings.NewReader(r.Body))
	if err != nil {
		return 0, fmt.Errorf("a request to rehearse: %w", err)
	}
	request.Header.Set("Authorization", "Bearer "+secret)
	request.Header.Set("Accept", "application/json, text/event-stream")
	if r.Body != "" {
		request.Header.Set("Content-Type", "application/json")
	}
	return gateway.Rehearse(h, request)
}

// rehearsalTable answers as the table does: it knows the one key that is put into it, and one empty record of whatever
// it is asked for.
type rehearsalTable struct {
	mu  sync.Mutex
	key json.RawMessage
}

// RoundTrip is http.RoundTripper.
func (t *rehearsalTable) RoundTrip(r *http.Request) (*http.Response, error) {
	sent, err := io.ReadAll(r.Body)
	if err != nil {
		return nil, fmt.Errorf("rehearse: %w", err)
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	var answer string
	_, call, _ := strings.Cut(r.Header.Get("X-Amz-Target"), ".")
	switch call {
	case "TransactWriteItems":
		var written struct {
			TransactItems []struct {
				Put struct{ Item json.RawMessage }
			}
		}
		if err := json.Unmarshal(sent, &written); err != nil {
			return nil, fmt.Errorf("rehearse: %w", err)
		}
		for _, w := range written.TransactItems {
			if len(w.Put.Item) > 0 {
				t.key = w.Put.Item
			}
		}
		answer = "{}"
	case "UpdateItem":
		answer = `{"ConsumedCapacity":{"TableName":"rehearsal","CapacityUnits":1.0},"Attributes":` + string(t.key) + `}`
	case "GetItem":
		answer = `{"ConsumedCapacity":{"TableName":"rehearsal","CapacityUnits":1.0},"Item":` + rehearsalRecord + `}`
	case "Query":
		answer = `{"ConsumedCapacity":{"TableName":"rehearsal","CapacityUnits":0.5},"Count":1,"ScannedCount":1,"Items":[` + rehearsalRecord + `]}`
	default:
		return nil, fmt.Errorf("rehearse: no answer to %s", call)
	}
	return &http.Response{
		StatusCode: http.StatusOK, Proto: "HTTP/1.1", ProtoMajor: 1, ProtoMinor: 1, Request: r, ContentLength: int64(len(answer)),
		Header: http.Header{"Content-Type": {"application/x-amz-json-1.0"}}, Body: io.NopCloser(bytes.NewReader([]byte(answer))),
	}, nil
}

const rehearsalRecord = `{"pk":{"S":"rehearsal"},"sk":{"S":"rehearsal"},"id":{"S":"rehearsal"},"createdAt":{"S":"2026-08-11T00:00:00.000Z"}}`
