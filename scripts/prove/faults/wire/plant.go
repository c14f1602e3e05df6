package wire

import (
	"context"
	"errors"
	"net/http"
	"time"
)

// The transports below make a right service wrong. The gates' own tests use them to prove that a gate can fail.

// conditioned are the members of a transaction's write, each of which may have a condition.
var conditioned = []string{"Put", "Update", "Delete", "ConditionCheck"}

// Unconditional returns a transport that takes the conditions from all writes: a service without compare-and-set.
func Unconditional(next http.RoundTripper) http.RoundTripper {
	return Func(func(r *http.Request) (*http.Response, error) {
		if !Writes(Call(r)) {
			return next.RoundTrip(r)
		}
		return edit(next, r, func(body map[string]any) {
			loosen(body)
			writes, _ := body["TransactItems"].([]any)
			for _, write := range writes {
				for _, kind := range conditioned {
					if part, ok := write.(map[string]any)[kind].(map[string]any); ok {
						loosen(part)
					}
				}
			}
		})
	})
}

// loosen makes a condition always true. It stays where it is, because DynamoDB refuses placeholders that nothing uses.
func loosen(write map[string]any) {
	if condition, ok := write["ConditionExpression"].(string); ok {
		write["ConditionExpression"] = "(" + condition + ") OR attribute_exists(pk) OR attribute_not_exists(pk)"
	}
}

// Apart returns a transport that does the writes of a transaction one after the other: a service without transactions.
// Conditions stay; one that fails ends the row there.
func Apart(next http.RoundTripper) http.RoundTripper {
	calls := map[string]string{"Put": "PutItem", "Update": "UpdateItem", "Delete": "DeleteItem"}
	return Func(func(r *http.Request) (*http.Response, error) {
		if Call(r) != "TransactWriteItems" {
			return next.RoundTrip(r)
		}
		body, err := decode(r)
		if err != nil {
			return nil, err
		}
		writes, _ := body["TransactItems"].([]any)
		for _, write := range writes {
			for kind, call := range calls {
				part, ok := write.(map[string]any)[kind].(map[string]any)
				if !ok {
					continue
				}
				out, err := pass(next, r, call, part)
				if err != nil {
					return nil, err
				}
				if err := out.Body.Close(); err != nil || out.StatusCode != http.StatusOK {
					return nil, errors.Join(errors.New("a write of a transaction that was taken apart failed"), err)
				}
			}
		}
		return answer(http.StatusOK, map[string]any{})
	})
}

// Forgetful returns a transport that takes from transactions the token by which DynamoDB recognises a repetition.
func Forgetful(next http.RoundTripper) http.RoundTripper {
	return Func(func(r *http.Request) (*http.Response, error) {
		if Call(r) != "TransactWriteItems" {
			return next.RoundTrip(r)
		}
		return edit(next, r, func(body map[string]any) { delete(body, "ClientRequestToken") })
	})
}

// late is how long Behind keeps a write that it has acknowledged.
const late = 20 * time.Millisecond

// Behind returns a transport that acknowledges transactions and batches at once and does them a little later, in their
// order: a service that trusts a memory. Whatever it holds is lost with its process.
func Behind(next http.RoundTripper) http.RoundTripper {
	type write struct {
		due time.Time
		do  func()
	}
	held := make(chan write, 1<<12)
	go func() {
		for w := range held {
			<-time.After(time.Until(w.due))
			w.do()
		}
	}()
	return Func(func(r *http.Request) (*http.Response, error) {
		call := Call(r)
		if call != "TransactWriteItems" && call != "BatchWriteItem" {
			return next.RoundTrip(r)
		}
		body, err := decode(r)
		if err != nil {
			return nil, err
		}
		kept := r.Clone(context.WithoutCancel(r.Context()))
		held <- write{time.Now().Add(late), func() {
			if out, err := pass(next, kept, call, body); err == nil {
				_ = out.Body.Close() // nobody is left to be told
			}
		}}
		return answer(http.StatusOK, map[string]any{})
	})
}
