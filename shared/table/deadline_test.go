package table_test

import (
	"context"
	"errors"
	"io"
	"net/http"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"growthworkspace/shared/fault"
	"growthworkspace/shared/table"
)

// These tests run with the clock of package synctest, so they measure the timeouts of a Lambda
// function exactly.

func silentProxy() *faultProxy {
	return &faultProxy{respond: func(_ string, _ func() (*http.Response, error), r *http.Request) (*http.Response, error) {
		<-r.Context().Done()
		return nil, r.Context().Err()
	}}
}

// stallingProxy returns a proxy that starts a response and never finishes it.
func stallingProxy() *faultProxy {
	return &faultProxy{respond: func(_ string, _ func() (*http.Response, error), r *http.Request) (*http.Response, error) {
		out := jsonResponse(http.StatusOK, map[string]any{})
		out.Body = io.NopCloser(io.MultiReader(strings.NewReader(`{"Item":`), blockingReader{r.Context()}))
		out.ContentLength = -1
		return out, nil
	}}
}

type blockingReader struct{ ctx context.Context }

func (b blockingReader) Read([]byte) (int, error) { <-b.ctx.Done(); return 0, b.ctx.Err() }

// truncatingProxy returns a proxy that breaks off every response in the middle.
func truncatingProxy() *faultProxy {
	return &faultProxy{respond: func(string, func() (*http.Response, error), *http.Request) (*http.Response, error) {
		out := jsonResponse(http.StatusOK, map[string]any{})
		out.Body = io.NopCloser(io.MultiReader(strings.NewReader(`{"Item":`), failingReader{io.ErrUnexpectedEOF}))
		return out, nil
	}}
}

type failingReader struct{ err error }

func (f failingReader) Read([]byte) (int, error) { return 0, f.err }

func resettingProxy() *faultProxy {
	return &faultProxy{respond: func(string, func() (*http.Response, error), *http.Request) (*http.Response, error) {
		return nil, errors.New("read: connection reset by peer")
	}}
}

// Ensure a call makes at most three attempts of one second each, so that the handler keeps most of
// its 9 s. Only temporary failures are retried, and throttled calls get the most retries. If
// DynamoDB responds that it is overloaded, the caller must be told that the service is unavailable.
func TestAttempts(t *testing.T) {
	t.Parallel()
	const always = 1 << 30
	for _, test := range []struct {
		name      string
		transport func() *faultProxy
		attempts  int
		longest   time.Duration
	}{
		{"hangs", silentProxy, 3, 3400 * time.Millisecond},
		{"drips", stallingProxy, 3, 3400 * time.Millisecond},
		{"cut off", truncatingProxy, 3, 400 * time.Millisecond},
		{"reset", resettingProxy, 3, 400 * time.Millisecond},
		{"500", func() *faultProxy { return callRejectingProxy("", "InternalServerError", 500, always) }, 3, 400 * time.Millisecond},
		{"503", func() *faultProxy { return callRejectingProxy("", "ServiceUnavailable", 503, always) }, 3, 400 * time.Millisecond},
		{"throughput", func() *faultProxy {
			return callRejectingProxy("", "ProvisionedThroughputExceededException", 400, always)
		}, 8, 1300 * time.Millisecond},
		{"throttling", func() *faultProxy { return callRejectingProxy("", "ThrottlingException", 400, always) }, 8, 1300 * time.Millisecond},
		{"limit", func() *faultProxy { return callRejectingProxy("", "RequestLimitExceeded", 400, always) }, 8, 1300 * time.Millisecond},
		{"conflict", func() *faultProxy { return callRejectingProxy("", "TransactionConflictException", 400, always) }, 8, 1300 * time.Millisecond},
		{"invalid", func() *faultProxy { return callRejectingProxy("", "ValidationException", 400, always) }, 1, 0},
		{"no table", func() *faultProxy { return callRejectingProxy("", "ResourceNotFoundException", 400, always) }, 1, 0},
		{"denied", func() *faultProxy { return callRejectingProxy("", "AccessDeniedException", 400, always) }, 1, 0},
	} {
		for name, call := range map[string]func(context.Context, *table.Client) error{
			"read": func(ctx context.Context, c *table.Client) error {
				_, err := table.Get[note](ctx, c, noteKey("co", "x"))
				return err
			},
			"write": func(ctx context.Context, c *table.Client) error { return c.Insert(ctx, keysOf(note{}), note{}) },
		} {
			t.Run(test.name+", "+name, func(t *testing.T) {
				t.Parallel()
				synctest.Test(t, func(t *testing.T) {
					p := test.transport()
					c := newOfflineClient(p)
					began := time.Now()
					err := call(t.Context(), c)
					took := time.Since(began)
					if err == nil || errors.Is(err, fault.ErrNotFound) {
						t.Errorf("error %v, want that the table failed", err)
					}
					if calls := p.count(""); calls != test.attempts || took > test.longest {
						t.Errorf("%d attempts in %s, want %d in at most %s", calls, took, test.attempts, test.longest)
					}
					if wantUnavailable := test.attempts == 8 || test.name == "503"; errors.Is(err, fault.ErrUnavailable) != wantUnavailable {
						t.Errorf("got %v", err)
					}
				})
			})
		}
	}
}

// Ensure the caller does not notice a temporary failure.
func TestTransientFaults(t *testing.T) {
	t.Parallel()
	for _, code := range []string{"InternalServerError", "ThrottlingException", "ProvisionedThroughputExceededException", "TransactionConflictException"} {
		status := http.StatusBadRequest
		if code == "InternalServerError" {
			status = http.StatusInternalServerError
		}
		p := callRejectingProxy("", code, status, 2)
		c, _ := newTestClient(t, p)
		n := insert(t, c, newNote(c))
		if p.count("") != 3 {
			t.Errorf("%s: %d calls", code, p.count(""))
		}
		requireStored(t, c, n)
	}
}

// Ensure the caller's deadline ends a call at once, even during an attempt or a pause.
func TestContextEndsACall(t *testing.T) {
	t.Parallel()
	for name, transport := range map[string]*faultProxy{"hangs": nil, "throttled": nil} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				if transport = silentProxy(); name == "throttled" {
					transport = transactionCancelingProxy(1<<30, "TransactionConflict")
				}
				ctx, cancel := context.WithTimeout(t.Context(), 15*time.Millisecond)
				defer cancel()
				c, began := newOfflineClient(transport), time.Now()
				err := c.Transact(ctx, c.WriteCheckAbsent(noteKey("co", "x")))
				if took := time.Since(began); err == nil || took != 15*time.Millisecond {
					t.Errorf("%v after %s", err, took)
				}
			})
		})
	}
}

// Ensure the SDK's retry budget stops retries in a long outage, and is refilled soon after it.
func TestRetriesAfterAnOutage(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		down, calls := true, 0
		p := &faultProxy{respond: func(string, func() (*http.Response, error), *http.Request) (*http.Response, error) {
			if calls++; down {
				return jsonResponse(http.StatusInternalServerError, map[string]any{"__type": "InternalServerError"}), nil
			}
			return jsonResponse(http.StatusOK, map[string]any{}), nil
		}}
		c := newOfflineClient(p)
		get := func() (int, error) {
			before := calls
			_, err := table.GetItem(t.Context(), c, noteKey("co", "x"))
			return calls - before, err
		}
		for range 300 {
			if _, err := get(); err == nil {
				t.Fatal("no outage")
			}
		}
		if n, _ := get(); n != 1 {
			t.Errorf("%d attempts of one call during an outage", n)
		}
		down = false
		for range 10 {
			if _, err := get(); err != nil {
				t.Fatal(err)
			}
		}
		down = true
		if n, _ := get(); n != 3 {
			t.Errorf("%d attempts of the first call that fails after the outage", n)
		}
	})
}
