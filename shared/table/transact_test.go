package table_test

import (
	"errors"
	"net/http"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"

	"growthworkspace/shared/fault"
	"growthworkspace/shared/table"
	"growthworkspace/shared/testkit/apitest"
)

// Ensure a transaction makes all writes or none, and its error contains the failed conditions and
// their stored records.
func TestTransact(t *testing.T) {
	t.Parallel()
	c, _ := newTestClient(t, nil)
	existing, taken, other := insert(t, c, newNote(c)), insert(t, c, newNote(c)), newNote(c)
	existingKey, takenKey := keysOf(existing).Key, keysOf(taken).Key
	absentKey, missingKey := table.Key{PK: existing.Company, SK: "absent"}, table.Key{PK: existing.Company, SK: "missing"}
	err := c.Transact(t.Context(),
		c.WriteCheckExists(existingKey), c.WriteCheckAbsent(absentKey), c.WriteCheckExists(missingKey), c.WriteCheckAbsent(takenKey),
		c.WriteCreate(keysOf(other), other),
	)
	var canceled *table.CanceledError
	if !errors.As(err, &canceled) {
		t.Fatalf("got %v", err)
	}
	for n, want := range []bool{false, false, true, true, false} {
		if _, failed := canceled.Failed(n); failed != want {
			t.Errorf("write %d: failed %v", n, failed)
		}
	}
	if stored, _ := canceled.Failed(2); stored != nil {
		t.Errorf("nothing was there: %v", stored)
	}
	if stored, _ := canceled.Failed(3); stringValue(stored["id"]) != taken.ID {
		t.Errorf("stored: %v", stored)
	}
	if item, err := table.GetItem(t.Context(), c, noteKey(other.Company, other.ID)); err != nil || len(item) > 0 {
		t.Errorf("a part of the transaction was written: %v, %v", item, err)
	}

	changed := existing
	changed.Count = 9
	err = c.Transact(t.Context(),
		c.WriteCreate(keysOf(other), other),
		c.WritePutIfEqual(keysOf(changed), changed, "text", table.String("a")),
		c.WriteUpdate(absentKey, "SET #s = :s", "", map[string]string{"#s": "status"}, table.Item{":s": table.String("draft")}),
	)
	if err != nil {
		t.Fatal(err)
	}
	requireStored(t, c, other)
	requireStored(t, c, changed)
	err = c.Transact(t.Context(),
		c.WriteDelete(absentKey, "#s = :s", map[string]string{"#s": "status"}, table.Item{":s": table.String("draft")}),
		c.WriteCheck(existingKey, "#c = :c", map[string]string{"#c": "count"}, table.Item{":c": table.Number(9)}),
	)
	if err != nil {
		t.Fatal(err)
	}
	for _, failing := range []table.Write{
		c.WritePutIfEqual(keysOf(changed), changed, "text", table.String("b")),
		c.WriteUpdate(absentKey, "SET x = :x", "attribute_exists(pk)", nil, table.Item{":x": table.Number(1)}),
		c.WriteDelete(existingKey, "attribute_exists(nothing)", nil, nil),
		c.WriteCheck(absentKey, "attribute_exists(pk)", nil, nil),
		c.WriteCreate(keysOf(changed), changed),
	} {
		if err := c.Transact(t.Context(), failing); !errors.As(err, &canceled) {
			t.Errorf("got %v", err)
		}
	}
}

// Ensure a transaction whose response was lost is applied only once, because DynamoDB recognises
// its token.
func TestTransactAfterALostResponse(t *testing.T) {
	t.Parallel()
	p := responseLosingProxy("TransactWriteItems", 2)
	c, _ := newTestClient(t, p)
	n, counter := newNote(c), table.Key{PK: c.NewID("co"), SK: "counter"}
	err := c.Transact(t.Context(), c.WriteCreate(keysOf(n), n), c.WriteUpdate(counter, "ADD n :one", "", nil, table.Item{":one": table.Number(1)}))
	if err != nil || p.count("TransactWriteItems") != 3 {
		t.Fatalf("%v, %d calls", err, p.count("TransactWriteItems"))
	}
	type count struct {
		N int64 `json:"n"`
	}
	if got, err := table.Get[count](t.Context(), c, counter); err != nil || got.N != 1 {
		t.Errorf("counted %d, %v", got.N, err)
	}
}

// Ensure concurrent transactions on one record all take effect.
func TestTransactConcurrently(t *testing.T) {
	t.Parallel()
	c, _ := newTestClient(t, nil)
	counter := table.Key{PK: c.NewID("co"), SK: "counter"}
	var wait sync.WaitGroup
	for range 8 {
		wait.Go(func() {
			if err := c.Transact(t.Context(), c.WriteUpdate(counter, "ADD n :one", "", nil, table.Item{":one": table.Number(1)})); err != nil {
				t.Error(err)
			}
		})
	}
	wait.Wait()
	type count struct {
		N int64 `json:"n"`
	}
	if got, err := table.Get[count](t.Context(), c, counter); err != nil || got.N != 8 {
		t.Errorf("counted %d, %v", got.N, err)
	}
}

// transactionCancelingProxy returns a proxy that rejects transactions with these reasons. It
// rejects only the first `times` transactions.
func transactionCancelingProxy(times int, codes ...string) *faultProxy {
	var mu sync.Mutex
	return &faultProxy{respond: func(_ string, pass func() (*http.Response, error), _ *http.Request) (*http.Response, error) {
		mu.Lock()
		refuse := times > 0
		times--
		mu.Unlock()
		if !refuse {
			return pass()
		}
		var reasons []map[string]any
		for _, code := range codes {
			reasons = append(reasons, map[string]any{"Code": code})
		}
		return jsonResponse(http.StatusBadRequest, map[string]any{
			"__type": "com.amazonaws.dynamodb.v20120810#TransactionCanceledException", "CancellationReasons": reasons,
			"message": "Transaction cancelled, please refer cancellation reasons for specific reasons [" + strings.Join(codes, ", ") + "]",
		}), nil
	}}
}

// Ensure a transaction is retried for a while after a conflict or throttling, and not at all if it
// is invalid.
func TestTransactConflicts(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		name  string
		times int
		codes []string
		calls int
		ok    bool
	}{
		{"conflict", 3, []string{"None", "TransactionConflict"}, 4, true},
		{"throttled", 1, []string{"ThrottlingError", "ProvisionedThroughputExceeded"}, 2, true},
		{"conflict without end", 99, []string{"TransactionConflict"}, 9, false},
		{"invalid", 99, []string{"ValidationError", "None"}, 1, false},
		{"condition", 99, []string{"ConditionalCheckFailed", "TransactionConflict"}, 1, false},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			p := transactionCancelingProxy(test.times, test.codes...)
			c, _ := newTestClient(t, p)
			n := newNote(c)
			ctx, m := apitest.NewRequest(t)
			err := c.Transact(ctx, c.WriteCreate(keysOf(n), n), c.WriteCheckAbsent(noteKey(n.Company, "x")))
			if (err == nil) != test.ok || p.count("") != test.calls || m.Usage().Calls != test.calls {
				t.Errorf("%v, %d calls, %d metered", err, p.count(""), m.Usage().Calls)
			}
			if errors.Is(err, fault.ErrUnavailable) != (test.name == "conflict without end") {
				t.Errorf("got %v", err)
			}
			var failed *table.CanceledError
			if errors.As(err, &failed) != slices.Contains(test.codes, "ConditionalCheckFailed") {
				t.Errorf("got %v", err)
			}
		})
	}
}

// Ensure a transaction with too many writes is rejected before it is sent.
func TestTransactTooLarge(t *testing.T) {
	t.Parallel()
	p := &faultProxy{}
	c, _ := newTestClient(t, p)
	partition := c.NewID("co")
	writes := make([]table.Write, table.TransactionMax+1)
	for i := range writes {
		writes[i] = c.WriteCheckAbsent(table.Key{PK: partition, SK: strings.Repeat("x", i+1)})
	}
	if err := c.Transact(t.Context(), writes...); err == nil || !strings.Contains(err.Error(), "101 writes") || p.count("") != 0 {
		t.Errorf("%v, %d calls", err, p.count(""))
	}
	if err := c.Transact(t.Context(), writes[:table.TransactionMax]...); err != nil {
		t.Errorf("the largest transaction: %v", err)
	}
}

// Ensure records are read in one call, in the order of their keys, with nil for a missing one.
func TestTransactGet(t *testing.T) {
	t.Parallel()
	p := &faultProxy{}
	c, _ := newTestClient(t, p)
	company := c.NewID("co")
	items, keys := newNotes(c, company, 3, 10, "x")
	if err := c.BatchPut(t.Context(), items); err != nil {
		t.Fatal(err)
	}
	got, err := table.TransactGet(t.Context(), c, keys[2], noteKey(company, "itm_none"), keys[0], keys[1])
	if err != nil || p.count("TransactGetItems") != 1 {
		t.Fatalf("%v after %d calls", err, p.count("TransactGetItems"))
	}
	for n, want := range []string{keys[2].SK, "", keys[0].SK, keys[1].SK} {
		if (got[n] == nil) != (want == "") || want != "" && stringValue(got[n]["sk"]) != want {
			t.Errorf("record %d is %v, want %q", n, got[n], want)
		}
	}
}

// Ensure a transactional read that conflicts with a write returns ErrTooMuchContention at once. A
// throttled read must be retried a few times, and an invalid one not at all.
func TestTransactGetDuringWrites(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		code            string
		failures, calls int
		want            error // nil: success; errAny: any other error
	}{
		{"TransactionConflict", 0, 1, nil}, {"TransactionConflict", 1, 1, table.ErrTooMuchContention},
		{"ThrottlingError", 3, 4, nil}, {"ThrottlingError", 99, 9, fault.ErrUnavailable}, {"ValidationError", 1, 1, errAny},
	} {
		synctest.Test(t, func(t *testing.T) {
			canceled := map[string]any{
				"__type":  "com.amazonaws.dynamodb.v20120810#TransactionCanceledException",
				"message": "Transaction cancelled", "CancellationReasons": []map[string]string{{"Code": test.code}, {"Code": "None"}},
			}
			left := test.failures
			p := &faultProxy{respond: func(string, func() (*http.Response, error), *http.Request) (*http.Response, error) {
				if left--; left >= 0 {
					return jsonResponse(http.StatusBadRequest, canceled), nil
				}
				return jsonResponse(http.StatusOK, map[string]any{"Responses": []map[string]any{{"Item": map[string]any{"sk": map[string]string{"S": "a"}}}, {}}}), nil
			}}
			got, err := table.TransactGet(t.Context(), newOfflineClient(p), table.Key{PK: "p", SK: "a"}, table.Key{PK: "p", SK: "b"})
			isWanted := errors.Is(err, test.want)
			if errors.Is(test.want, errAny) {
				isWanted = err != nil && !errors.Is(err, table.ErrTooMuchContention) && !errors.Is(err, fault.ErrUnavailable)
			}
			if !isWanted || p.count("") != test.calls || err == nil && (stringValue(got[0]["sk"]) != "a" || got[1] != nil) {
				t.Errorf("%d times %s: %v, %v after %d calls", test.failures, test.code, got, err, p.count(""))
			}
		})
	}
}

// errAny stands for any error except ErrTooMuchContention and ErrUnavailable.
var errAny = errors.New("any")
