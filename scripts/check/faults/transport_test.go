package faults

import (
	"encoding/json"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"
)

type recordingTransport struct{ calls, bodies []string }

func (t *recordingTransport) RoundTrip(r *http.Request) (*http.Response, error) {
	text, err := io.ReadAll(r.Body)
	t.calls, t.bodies = append(t.calls, callOf(r)), append(t.bodies, string(text))
	return &http.Response{StatusCode: http.StatusOK, Body: io.NopCloser(strings.NewReader("{}"))}, err
}

func send(t *testing.T, transport http.RoundTripper, name, body string) (*http.Response, error) {
	t.Helper()
	r := httptest.NewRequestWithContext(t.Context(), http.MethodPost, "http://engine.invalid/", strings.NewReader(body))
	r.Header.Set("X-Amz-Target", "DynamoDB_20120810."+name)
	r.Header.Set("Amz-Sdk-Request", "attempt=2; max=3")
	if attemptOf(r) != 2 {
		t.Errorf("attempt %d", attemptOf(r))
	}
	return transport.RoundTrip(r)
}

// Ensure loseResponses sends calls but loses their responses, and throttleCalls does not send calls
// at all.
func TestTransports(t *testing.T) {
	t.Parallel()
	recorder, n := &recordingTransport{}, atomic.Int64{}
	lossy := loseResponses(recorder, &n, func(name string, _ int) bool { return isWrite(name) })
	if _, err := send(t, lossy, "PutItem", "{}"); err == nil || n.Load() != 1 || len(recorder.calls) != 1 {
		t.Errorf("%v, %d lost, %d done", err, n.Load(), len(recorder.calls))
	}
	if _, err := send(t, lossy, "GetItem", "{}"); err != nil {
		t.Error(err)
	}

	recorder, n = &recordingTransport{}, atomic.Int64{}
	out, err := send(t, throttleCalls(recorder, &n, func() bool { return true }), "TransactWriteItems", "{}")
	if err != nil {
		t.Fatal(err)
	}
	var got struct {
		Type string `json:"__type"`
	}
	if err := json.NewDecoder(out.Body).Decode(&got); err != nil || out.StatusCode != http.StatusBadRequest || !strings.HasSuffix(got.Type, "#ThrottlingException") {
		t.Errorf("status %d, want 400; type %q: %v", out.StatusCode, got.Type, err)
	}
	if len(recorder.calls) != 0 || n.Load() != 1 {
		t.Errorf("throttled and done: %v, %d counted", recorder.calls, n.Load())
	}
}

// Ensure withoutConditions makes the conditions of calls always true, and withoutTransactionTokens
// removes the tokens of transactions.
func TestMutants(t *testing.T) {
	t.Parallel()
	const transaction = `{"ClientRequestToken": "t", "TransactItems": [{"Put": {"ConditionExpression": "a = :a", "N": 1}}, {"Delete": {"N": 2}}, {"ConditionCheck": {"N": 3}}]}`
	recorder := &recordingTransport{}
	for _, transport := range []http.RoundTripper{withoutConditions(recorder), withoutTransactionTokens(recorder)} {
		if _, err := send(t, transport, "TransactWriteItems", transaction); err != nil {
			t.Fatal(err)
		}
	}
	if strings.Join(recorder.calls, " ") != "TransactWriteItems TransactWriteItems" {
		t.Fatalf("calls %q, want two transactions", recorder.calls)
	}
	if want := "(a = :a) OR attribute_exists(pk) OR attribute_not_exists(pk)"; !strings.Contains(recorder.bodies[0], want) {
		t.Errorf("without conditions: %q is not in %s", want, recorder.bodies[0])
	}
	if strings.Contains(recorder.bodies[1], "ClientRequestToken") {
		t.Errorf("without tokens: %s", recorder.bodies[1])
	}
}

// Ensure randomSource makes the same decisions for the same seed.
func TestChance(t *testing.T) {
	t.Parallel()
	a, b, c := newRandomSource(7), newRandomSource(7), newRandomSource(8)
	same, other := true, true
	for range 20 {
		n := a.float()
		same, other = same && n == b.float(), other && n == c.float()
	}
	if !same || other {
		t.Errorf("the same seed: %v, another: %v", same, other)
	}
}
