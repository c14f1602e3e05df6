package idempotency_test

import (
	"bytes"
	"context"
	"crypto/rand"
	"crypto/sha256"
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"growthworkspace/shared/fault"
	"growthworkspace/shared/id"
	"growthworkspace/shared/idempotency"
	"growthworkspace/shared/table"
	"growthworkspace/shared/testkit/apitest"
)

type note struct {
	ID   string `json:"id"`
	Text string `json:"text"`
}

type fixture struct {
	t        *testing.T
	table    *table.Client
	clock    *apitest.Clock
	store    idempotency.Store
	identity idempotency.Identity
}

func start(t *testing.T) fixture { return newFixtureWithTransport(t, nil) }

// newFixtureWithTransport returns a fixture that reaches the engine through the given transport.
func newFixtureWithTransport(t *testing.T, transport http.RoundTripper) fixture {
	t.Helper()
	clock := &apitest.Clock{}
	for clock.Now().Before(apitest.Epoch) { // in a loop, because a time.Duration is at most 292 years
		clock.Advance(apitest.Epoch.Sub(clock.Now()))
	}
	c := table.New(apitest.Options(t, clock.Now, transport)).AsOperator()
	a := idempotency.Identity{CompanyID: c.NewID(id.CompanyPrefix), KeyID: "key_1", Area: "notes", Operation: "create_note", Key: "k", RequestDigest: sha256.Sum256([]byte("r"))}
	if _, err := rand.Read(a.EncryptionKey[:]); err != nil {
		t.Fatal(err)
	}
	return fixture{t, c, clock, idempotency.NewStore(c), a}
}

// beginAttempt returns an attempt that encodes responses as the API does.
func (f fixture) beginAttempt(i idempotency.Identity) *idempotency.Attempt {
	return f.store.Begin(i, func(response any) ([]byte, string, error) {
		body, err := json.Marshal(response)
		return body, "tag", err
	})
}

// contextWith returns the context of a request that may write and has an attempt.
func (f fixture) contextWith(i idempotency.Identity) context.Context {
	f.t.Helper()
	ctx, r := apitest.NewRequest(f.t)
	r.Attempt = f.beginAttempt(i)
	return ctx
}

func attemptOf(ctx context.Context) *idempotency.Attempt {
	return table.RequestOf(ctx).Attempt.(*idempotency.Attempt)
}

func (f fixture) key(noteID string) table.Key {
	return table.Key{PK: table.Partition(f.identity.CompanyID, "notes"), SK: table.JoinKey("note", noteID)}
}

// create creates a note as the store of an area would.
func (f fixture) create(ctx context.Context, n note) error {
	return idempotency.Insert(ctx, f.table, n, table.Keys{Key: f.key(n.ID)}, n)
}

func (f fixture) exists(noteID string) bool {
	f.t.Helper()
	_, err := table.Get[note](f.t.Context(), f.table, f.key(noteID))
	if err != nil && !errors.Is(err, fault.ErrNotFound) {
		f.t.Fatalf("note %s: %v, want it or %v", noteID, err, fault.ErrNotFound)
	}
	return err == nil
}

func (f fixture) lookup(a idempotency.Identity) *idempotency.Response {
	f.t.Helper()
	response, err := f.beginAttempt(a).Lookup(f.t.Context())
	if err != nil {
		f.t.Fatal(err)
	}
	return response
}

// Ensure that a change and its response are stored together, and that a second attempt changes
// nothing.
func TestChangeHappensOnce(t *testing.T) {
	t.Parallel()
	f := start(t)
	if f.lookup(f.identity) != nil {
		t.Fatal("a response is stored before the request")
	}
	ctx := f.contextWith(f.identity)
	if err := f.create(ctx, note{"a", "first"}); err != nil {
		t.Fatal(err)
	}
	response := f.lookup(f.identity)
	if response == nil {
		t.Fatal("no response is stored")
	}
	if response.Status != 200 || string(response.Body) != `{"id":"a","text":"first"}` || response.Tag == "" {
		t.Fatalf("stored response %d %s with the entity tag %q, want 200, the note and a tag", response.Status, response.Body, response.Tag)
	}
	if other, err := attemptOf(ctx).Finish(ctx, &idempotency.Response{Status: 409, Body: []byte(`{}`)}); other != nil || err != nil {
		t.Errorf("a stored response was replaced: %v, %v", other, err)
	}
	secondCtx := f.contextWith(f.identity)
	if err := f.create(secondCtx, note{"b", "second"}); !errors.Is(err, idempotency.ErrAlreadyServed) || f.exists("b") {
		t.Errorf("a second change: %v", err)
	}
	if other, err := attemptOf(secondCtx).Finish(secondCtx, &idempotency.Response{Status: 409, Body: []byte(`{}`)}); err != nil || other == nil || other.Status != 200 {
		t.Errorf("want the earlier response: %+v, %v", other, err)
	}
}

// Ensure that a change to one record and its response are stored together, even after a lost race,
// and that a second attempt changes nothing.
func TestModify(t *testing.T) {
	t.Parallel()
	f := start(t)
	keysOf := func(n note) table.Keys { return table.Keys{Key: f.key(n.ID)} }
	modify := func(ctx context.Context, change func(*note) error) (note, error) {
		return idempotency.Modify(ctx, f.table, f.key("a"), keysOf, change)
	}
	plainCtx, _ := apitest.NewRequest(t)
	mustNotRun := func(*note) error { t.Error("there is no record to change"); return nil }
	if _, err := modify(f.contextWith(f.identity), mustNotRun); !errors.Is(err, fault.ErrNotFound) {
		t.Errorf("a change of no record: %v", err)
	}
	if err := f.table.Insert(plainCtx, table.Keys{Key: f.key("a")}, note{"a", "first"}); err != nil {
		t.Fatal(err)
	}
	races := 0
	ctx := f.contextWith(f.identity)
	changed, err := modify(ctx, func(n *note) error {
		if races++; races == 1 {
			if _, err := modify(plainCtx, func(n *note) error { n.Text = "meanwhile"; return nil }); err != nil {
				return err
			}
		}
		n.Text += ", then archived"
		return nil
	})
	if err != nil || races != 2 || changed.Text != "meanwhile, then archived" {
		t.Fatalf("%+v after %d attempts, %v", changed, races, err)
	}
	if stored, err := table.Get[note](plainCtx, f.table, f.key("a")); err != nil || stored != changed {
		t.Errorf("stored %+v, %v, want %+v", stored, err, changed)
	}
	if response := f.lookup(f.identity); response == nil || string(response.Body) != `{"id":"a","text":"meanwhile, then archived"}` {
		t.Errorf("stored response %+v", response)
	}
	if _, err := modify(f.contextWith(f.identity), func(n *note) error { n.Text = "again"; return nil }); !errors.Is(err, idempotency.ErrAlreadyServed) {
		t.Errorf("a second change: %v", err)
	}
	if stored, err := table.Get[note](plainCtx, f.table, f.key("a")); err != nil || stored != changed {
		t.Errorf("a second change stored %+v, %v", stored, err)
	}
}

// Ensure a refused change stores no response, but Finish can store the refusal. Without an
// Idempotency-Key, Insert must only write the record.
func TestRefusedChange(t *testing.T) {
	t.Parallel()
	refusal := fault.Envelope(fault.New(fault.Conflict, "taken"))
	f := start(t)
	if err := f.create(t.Context(), note{"a", "first"}); err != nil {
		t.Fatal(err)
	}
	ctx := f.contextWith(f.identity)
	if err := f.create(ctx, note{"a", "second"}); !errors.Is(err, table.ErrExists) || f.lookup(f.identity) != nil {
		t.Errorf("error %v, want %v; stored response %+v, want none", err, table.ErrExists, f.lookup(f.identity))
	}
	if err := f.create(t.Context(), note{"a", "second"}); !errors.Is(err, table.ErrExists) {
		t.Errorf("without a key: error %v, want %v", err, table.ErrExists)
	}
	if other, err := attemptOf(ctx).Finish(ctx, &idempotency.Response{Status: 409, Body: refusal}); other != nil || err != nil {
		t.Fatalf("store the refusal: %+v, %v", other, err)
	}
	if diff := cmp.Diff(&idempotency.Response{Status: 409, Body: refusal}, f.lookup(f.identity)); diff != "" {
		t.Errorf("stored response (-want +got):\n%s", diff)
	}
}

// Ensure a stored response is used for 24 hours. After that it must be ignored, even if the engine
// has not deleted it yet.
func TestExpiry(t *testing.T) {
	t.Parallel()
	f := start(t)
	if err := f.create(f.contextWith(f.identity), note{"a", "first"}); err != nil {
		t.Fatal(err)
	}
	f.clock.Advance(24*time.Hour - time.Second)
	if f.lookup(f.identity) == nil {
		t.Error("expired too early")
	}
	f.clock.Advance(time.Second)
	if f.lookup(f.identity) != nil {
		t.Error("did not expire")
	}
	if err := f.create(f.contextWith(f.identity), note{"b", "second"}); err != nil || !f.exists("b") {
		t.Errorf("the expired key cannot be used: %v", err)
	}
	if response := f.lookup(f.identity); response == nil || string(response.Body) != `{"id":"b","text":"second"}` {
		t.Errorf("stored response %+v, want the second note", response)
	}
}

// Ensure that a response of any size is stored completely, and that the parts stored by the slower
// of two attempts do not interfere.
func TestLargeResponses(t *testing.T) {
	t.Parallel()
	f := start(t)
	large := make([]byte, 1<<20)
	if _, err := rand.Read(large); err != nil {
		t.Fatal(err)
	}
	ctx := f.contextWith(f.identity)
	secondCtx := f.contextWith(f.identity)
	if _, err := attemptOf(ctx).Finish(ctx, &idempotency.Response{Status: 200, Body: large}); err != nil {
		t.Fatal(err)
	}
	if other, err := attemptOf(secondCtx).Finish(secondCtx, &idempotency.Response{Status: 200, Body: large[1:]}); err != nil || other == nil || !bytes.Equal(other.Body, large) {
		t.Errorf("the second request's response is missing: %t, or has another body: %v", other == nil, err)
	}
	if response := f.lookup(f.identity); response == nil || !bytes.Equal(response.Body, large) {
		t.Error("the stored response differs")
	}
	stored, err := table.ReadAll[struct {
		SK string `store:"sk"`
	}](t.Context(), f.table, table.Collection{Partition: f.key("").PK, Prefix: "idempotency#", Consistent: true})
	if err != nil {
		t.Fatal(err)
	}
	pattern := regexp.MustCompile(`^idempotency#[0-9a-f]{64}#(answer|part#try_[0-9a-z]{26}#00000[0-9])$`) // other versions read these keys, too
	for _, r := range stored {
		if !pattern.MatchString(r.SK) {
			t.Errorf("the sort key %s has another form", r.SK)
		}
	}
}

// Ensure that a stored response is found only with the same company, key, operation and
// Idempotency-Key, and that it can be decrypted only with the caller's key.
func TestIdentitiesAreSeparate(t *testing.T) {
	t.Parallel()
	f := start(t)
	if err := f.create(f.contextWith(f.identity), note{"a", "a planted secret"}); err != nil {
		t.Fatal(err)
	}
	for name, change := range map[string]func(*idempotency.Identity){
		"company":   func(a *idempotency.Identity) { a.CompanyID = f.table.NewID(id.CompanyPrefix) },
		"key":       func(a *idempotency.Identity) { a.KeyID = "key_2" },
		"operation": func(a *idempotency.Identity) { a.Operation = "create_other" },
		"text":      func(a *idempotency.Identity) { a.Key = "k2" },
	} {
		other := f.identity
		change(&other)
		if response := f.lookup(other); response != nil {
			t.Errorf("another %s: %+v", name, response)
		}
	}
	otherIdentity := f.identity
	otherIdentity.EncryptionKey[0]++
	if r, err := f.beginAttempt(otherIdentity).Lookup(t.Context()); r != nil || fault.PublicError(err).Code != fault.Conflict {
		t.Errorf("decrypted without the caller's key: %v, %v", r, err)
	}
	type row struct {
		Body []byte `store:"body"`
	}
	rows, err := table.ReadAll[row](t.Context(), f.table, table.Collection{Partition: table.Partition(f.identity.CompanyID, "notes"), Prefix: "idempotency"})
	if err != nil {
		t.Fatal(err)
	}
	if len(rows) != 1 || len(rows[0].Body) == 0 || bytes.Contains(rows[0].Body, []byte("planted")) {
		t.Errorf("rows %q, want one with an encrypted body", rows)
	}
}

// Ensure a response that is damaged, or that a different build stored, causes a conflict in every
// request until it expires. It is unknown whether the request's change was made, so the change must
// not be repeated. Once the response has expired, requests must succeed again.
func TestUnreadableResponses(t *testing.T) {
	t.Parallel()
	type row struct {
		PK         string  `store:"pk"`
		SK         string  `store:"sk"`
		Form       *int64  `store:"form"`
		Request    []byte  `store:"request"`
		Status     int64   `store:"status"`
		Attempt    string  `store:"attempt"`
		Parts      int64   `store:"parts"`
		Body       []byte  `store:"body"`
		TTL        int64   `store:"ttl"`
		ReservedAt *string `store:"claimedAt"`
	}
	for name, change := range map[string]func(*row){
		"no form":           func(r *row) { r.Form = nil },
		"a newer form":      func(r *row) { *r.Form++ },
		"no digest":         func(r *row) { r.Request = nil },
		"a damaged body":    func(r *row) { r.Body[0]++ },
		"no body":           func(r *row) { r.Body = nil },
		"a part is missing": func(r *row) { r.Parts = 1 },
		"another type":      func(r *row) { r.ReservedAt = new("yesterday") },
		"no envelope":       func(r *row) { r.Status = 409 },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			f := start(t)
			if err := f.create(f.contextWith(f.identity), note{"a", "first"}); err != nil {
				t.Fatal(err)
			}
			rows, err := table.ReadAll[row](t.Context(), f.table, table.Collection{Partition: table.Partition(f.identity.CompanyID, "notes"), Prefix: "idempotency"})
			if err != nil || len(rows) != 1 {
				t.Fatalf("%d rows, want 1: %v", len(rows), err)
			}
			change(&rows[0])
			if err := f.table.BatchPut(t.Context(), []table.Item{f.table.NewItem(table.Keys{Key: table.Key{PK: rows[0].PK, SK: rows[0].SK}}, rows[0])}); err != nil {
				t.Fatal(err)
			}
			ctx := f.contextWith(f.identity)
			for range 2 {
				r, err := attemptOf(ctx).Lookup(ctx)
				public := fault.PublicError(err)
				if r != nil || public.Code != fault.Conflict || public.Transient {
					t.Errorf("response %+v, error %v, transient %t; want only a lasting conflict", r, err, public.Transient)
				}
				if !strings.Contains(public.Messages[0], "use a new one") {
					t.Errorf("message %q, want that a new key is needed", public.Messages[0])
				}
			}
			if err := f.create(ctx, note{"b", "second"}); !errors.Is(err, idempotency.ErrAlreadyServed) || f.exists("b") {
				t.Errorf("a change beside it: %v", err)
			}
			if r, err := attemptOf(ctx).Finish(ctx, nil); r != nil || fault.PublicError(err).Code != fault.Conflict {
				t.Errorf("end: response %+v and error %v, want only a conflict", r, err)
			}
			f.clock.Advance(24 * time.Hour)
			if response := f.lookup(f.identity); response != nil {
				t.Errorf("after a day: %+v", response)
			}
		})
	}
}

// Ensure a retry right after the first request finds the response, even when an eventually
// consistent read would not.
func TestLookupIsConsistent(t *testing.T) {
	t.Parallel()
	f := newFixtureWithTransport(t, apitest.Intercept(func(c apitest.Call) (*http.Response, error) {
		if c.Action != "Query" && c.Action != "GetItem" || strings.Contains(c.Body, `"ConsistentRead":true`) {
			return c.Send()
		}
		return &http.Response{ // as if the read did not see the latest writes
			StatusCode: http.StatusOK, Request: c.Request, Header: http.Header{"Content-Type": {"application/x-amz-json-1.0"}},
			Body: io.NopCloser(strings.NewReader(`{"Count":0,"Items":[],"ScannedCount":0}`)),
		}, nil
	}))
	if err := f.create(f.contextWith(f.identity), note{"a", "first"}); err != nil {
		t.Fatal(err)
	}
	if f.lookup(f.identity) == nil {
		t.Error("the stored response was not found")
	}
}

// Ensure a request that changed nothing and has no response to store leaves its Idempotency-Key
// free.
func TestFinishWithoutResponse(t *testing.T) {
	t.Parallel()
	f := start(t)
	ctx := f.contextWith(f.identity)
	if r, err := attemptOf(ctx).Finish(ctx, nil); r != nil || err != nil {
		t.Errorf("response %+v and error %v, want neither", r, err)
	}
	if f.lookup(f.identity) != nil {
		t.Error("a response is stored")
	}
	if err := idempotency.Transact(t.Context(), f.table, note{}, f.table.WriteCreate(table.Keys{Key: f.key("a")}, note{ID: "a"})); err != nil || !f.exists("a") {
		t.Errorf("without an Idempotency-Key: %v", err)
	}
	if err := f.create(f.contextWith(f.identity), note{"b", ""}); err != nil {
		t.Error(err)
	}
}
