package wire_test

import (
	"encoding/json"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"growthworkspace/scripts/prove/faults/wire"
)

// sink answers every call as done and keeps what it was sent.
type sink struct{ calls, bodies []string }

func (s *sink) RoundTrip(r *http.Request) (*http.Response, error) {
	text, err := io.ReadAll(r.Body)
	s.calls, s.bodies = append(s.calls, wire.Call(r)), append(s.bodies, string(text))
	return &http.Response{StatusCode: http.StatusOK, Body: io.NopCloser(strings.NewReader("{}"))}, err
}

func call(t *testing.T, over http.RoundTripper, name, body string) (*http.Response, error) {
	t.Helper()
	r := httptest.NewRequestWithContext(t.Context(), http.MethodPost, "http://engine.invalid/", strings.NewReader(body))
	r.Header.Set("X-Amz-Target", "DynamoDB_20120810."+name)
	r.Header.Set("Amz-Sdk-Request", "attempt=2; max=3")
	if wire.Attempt(r) != 2 {
		t.Errorf("attempt %d", wire.Attempt(r))
	}
	return over.RoundTrip(r)
}

// Ensure the faults are what they say: done and lost; refused and not done; dead from a call on.
func TestFaults(t *testing.T) {
	t.Parallel()
	to := &sink{}
	lose := &wire.Lose{Next: to, Choose: func(name string, _ int) bool { return wire.Writes(name) }}
	if _, err := call(t, lose, "PutItem", "{}"); err == nil || lose.Lost() != 1 || len(to.calls) != 1 {
		t.Errorf("%v, %d lost, %d done", err, lose.Lost(), len(to.calls))
	}
	if _, err := call(t, lose, "GetItem", "{}"); err != nil {
		t.Error(err)
	}

	to = &sink{}
	refuse := &wire.Refuse{Next: to, Choose: func(string) (string, bool) { return wire.Conflict, true }}
	for name, want := range map[string]string{"PutItem": "TransactionConflictException", "TransactWriteItems": "TransactionCanceledException"} {
		out, err := call(t, refuse, name, `{"TransactItems": [{}, {}]}`)
		if err != nil {
			t.Fatal(err)
		}
		var answer struct {
			Type                string `json:"__type"`
			CancellationReasons []any
		}
		if err := json.NewDecoder(out.Body).Decode(&answer); err != nil || out.StatusCode != http.StatusBadRequest || !strings.HasSuffix(answer.Type, "#"+want) {
			t.Errorf("%s: %d %+v: %v", name, out.StatusCode, answer, err)
		}
		if name == "TransactWriteItems" && len(answer.CancellationReasons) != 2 {
			t.Errorf("%d reasons of 2 writes", len(answer.CancellationReasons))
		}
	}
	if len(to.calls) != 0 {
		t.Errorf("refused and done: %v", to.calls)
	}

	die := &wire.Die{Next: to, After: 1}
	_, first := call(t, die, "PutItem", "{}")
	if died := die.Died(); first != nil || died {
		t.Errorf("%v, died: %v", first, died)
	}
	if _, err := call(t, die, "PutItem", "{}"); err == nil || !die.Died() || len(to.calls) != 1 {
		t.Errorf("%v, died: %v, %d done", err, die.Died(), len(to.calls))
	}
}

// Ensure the planted faults are what they say: no conditions, no transactions, no token.
func TestPlants(t *testing.T) {
	t.Parallel()
	const transaction = `{"ClientRequestToken": "t", "TransactItems": [{"Put": {"ConditionExpression": "a = :a", "N": 1}}, {"Delete": {"N": 2}}, {"ConditionCheck": {"N": 3}}]}`
	to := &sink{}
	for _, over := range []http.RoundTripper{wire.Unconditional(to), wire.Forgetful(to), wire.Apart(to)} {
		if _, err := call(t, over, "TransactWriteItems", transaction); err != nil {
			t.Fatal(err)
		}
	}
	if strings.Join(to.calls, " ") != "TransactWriteItems TransactWriteItems PutItem DeleteItem" {
		t.Fatal(to.calls)
	}
	if !strings.Contains(to.bodies[0], "(a = :a) OR attribute_exists(pk) OR attribute_not_exists(pk)") || strings.Contains(to.bodies[1], "ClientRequestToken") {
		t.Error(to.bodies)
	}
}

// Ensure the same seed makes the same decisions.
func TestChance(t *testing.T) {
	t.Parallel()
	a, b, c := wire.NewChance(7), wire.NewChance(7), wire.NewChance(8)
	same, other := true, true
	for range 20 {
		n := a.Float()
		same, other = same && n == b.Float(), other && n == c.Float()
	}
	if !same || other {
		t.Errorf("the same seed: %v, another: %v", same, other)
	}
}
