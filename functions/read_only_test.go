package functions_test

import (
	"bytes"
	"io"
	"log/slog"
	"net/http"
	"strings"
	"testing"
	"time"

	"growthworkspace/functions"
	"growthworkspace/shared/api"
	"growthworkspace/shared/table"
	"growthworkspace/shared/testkit/apitest"
)

// writeCheckingTransport is a transport to the engine that fails the test if anything other than a
// partition of keys is written to.
type writeCheckingTransport struct {
	t       *testing.T
	enabled bool
}

// RoundTrip implements http.RoundTripper.
func (w *writeCheckingTransport) RoundTrip(r *http.Request) (*http.Response, error) {
	_, call, _ := strings.Cut(r.Header.Get("X-Amz-Target"), ".")
	body, err := io.ReadAll(r.Body)
	if err != nil {
		return nil, err
	}
	r.Body = io.NopCloser(bytes.NewReader(body))
	switch call {
	case "PutItem", "UpdateItem", "DeleteItem", "TransactWriteItems", "BatchWriteItem":
		if w.enabled && !(call == "UpdateItem" && bytes.Contains(body, []byte("#"+table.KeysArea+`"`))) {
			w.t.Errorf("a read-only service sent %s: %s", call, body)
		}
	}
	return apitest.Transport.RoundTrip(r)
}

// Ensure a read-only service serves every read, and refuses every other operation without a write.
func TestReadOnlyService(t *testing.T) {
	t.Parallel()
	transport := &writeCheckingTransport{t: t}
	s := start(t, transport)
	key := s.IssueKey(t)
	config := s.Config(slog.New(slog.DiscardHandler))
	config.ReadOnly = true
	s.Handler = functions.Handler(s.ServingTable, config)
	transport.enabled = true
	for _, op := range functions.Operations(nil) {
		s.Clock.Advance(time.Minute) // so that no rate limit is reached
		r := s.Call(t, key, op.ID, fixtureArguments[op.ID])
		if op.Effect == api.Read {
			if r.Status != http.StatusOK {
				t.Errorf("%s: %d %s", op.ID, r.Status, r.Body)
			}
			continue
		}
		if !isUnavailable(t, r) || r.Header.Get("Retry-After") != "30" {
			t.Errorf("%s: %d %s, Retry-After %q", op.ID, r.Status, r.Body, r.Header.Get("Retry-After"))
		}
	}
}
