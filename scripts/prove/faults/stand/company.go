package stand

import (
	"bytes"
	"context"
	"crypto/rand"
	"encoding/json"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"strconv"
	"strings"
	"time"

	"growthworkspace/functions"
	"growthworkspace/scripts/prove/faults/wire"
	"growthworkspace/shared/api"
	"growthworkspace/shared/auth"
	"growthworkspace/shared/auth/keys"
	"growthworkspace/shared/id"
	"growthworkspace/shared/ratelimit"
)

// unlimited is a quota that no gate reaches; only the gate of quotas needs a small one.
const unlimited = 1_000_000_000

// Company is a company with a key that has every scope.
type Company struct {
	ID    string
	KeyID string
	Key   string
}

// NewCompany makes one. The quota is that of every class; zero: as good as none.
func (s *Stand) NewCompany(ctx context.Context, quota ratelimit.Quota) (Company, error) {
	return s.NewKey(ctx, Company{ID: s.Table.NewID(id.Company)}, quota)
}

// NewKey returns a company with another key. Clients who are many have one each, as those of a service that is used so
// much would: what a key may do is counted in one record.
func (s *Stand) NewKey(ctx context.Context, c Company, quota ratelimit.Quota) (Company, error) {
	if quota == 0 {
		quota = unlimited
	}
	store := keys.NewStore(s.Table, time.Now)
	issued, secret, err := store.Issue(ctx, c.ID, keys.Grant{Name: "fault", Scopes: auth.Scopes(), APIVersion: api.CurrentVersion}, rand.Reader)
	if err != nil {
		return c, err
	}
	c.KeyID, c.Key = issued.ID, secret
	for _, class := range ratelimit.Classes() {
		if _, err := store.SetQuota(ctx, c.ID, c.KeyID, class, quota); err != nil {
			return c, fmt.Errorf("set a quota: %w", err)
		}
	}
	return c, nil
}

// Write imports records of a type, as `workspace import` does.
func (s *Stand) Write(ctx context.Context, companyID, kind string, records ...any) error {
	for _, t := range functions.Transfers(s.Table) {
		if t.Name != kind {
			continue
		}
		checked := make([]any, len(records))
		for n, record := range records {
			text, err := json.Marshal(record)
			if err != nil {
				return fmt.Errorf("write a %s: %w", kind, err)
			}
			var problems []string
			if checked[n], problems = t.Check(text); len(problems) > 0 {
				return fmt.Errorf("write a %s: %s", kind, strings.Join(problems, "; "))
			}
		}
		return t.Write(ctx, companyID, checked)
	}
	return fmt.Errorf("no type of record %q", kind)
}

// Export returns the company's records of a type, as `workspace export` does.
func (s *Stand) Export(ctx context.Context, companyID, kind string) (records []json.RawMessage, err error) {
	for _, t := range functions.Transfers(s.Table) {
		if t.Name != kind {
			continue
		}
		err = t.Export(ctx, companyID, func(record any) error {
			text, err := json.Marshal(record)
			records = append(records, text)
			return err
		})
		return records, err
	}
	return nil, fmt.Errorf("no type of record %q", kind)
}

// Service serves the whole API in this process, over a transport to the table.
func (s *Stand) Service(transport http.RoundTripper) (base string, stop func(), err error) {
	return Serve(functions.Handler(s.Client(transport), slog.New(slog.DiscardHandler)))
}

// Client calls a service with a company's key.
type Client struct {
	Base    string
	Company Company
	HTTP    *http.Client
}

// NewClient returns a client of a service. Clients of one gate share a transport, so that they do not dial for each call.
func NewClient(base string, c Company) *Client {
	return &Client{base, c, &http.Client{Transport: wire.Pooled(), Timeout: time.Minute}}
}

// Answer is what a service said.
type Answer struct {
	Status int
	Header http.Header
	Body   []byte
}

// Decode reads the body.
func (a Answer) Decode(into any) error {
	if err := json.Unmarshal(a.Body, into); err != nil {
		return fmt.Errorf("read the answer %d %q: %w", a.Status, a.Body, err)
	}
	return nil
}

// Failed tells whether the service failed, and not the caller: its outcome is not known.
func (a Answer) Failed() bool { return a.Status >= http.StatusInternalServerError }

// RetryAfter is how long the service asks to wait.
func (a Answer) RetryAfter() time.Duration {
	seconds, err := strconv.Atoi(a.Header.Get("Retry-After"))
	if err != nil {
		return 0
	}
	return time.Duration(seconds) * time.Second
}

// Call makes a call; the path is that below the company, without its slash. header has names and values in turn. An
// error says that there was no answer.
func (c *Client) Call(ctx context.Context, method, path string, body any, header ...string) (Answer, error) {
	var text []byte
	if body != nil {
		var err error
		if text, err = json.Marshal(body); err != nil {
			return Answer{}, fmt.Errorf("write a request: %w", err)
		}
	}
	target := c.Base + "/v1/companies/" + c.Company.ID
	if path != "" {
		target += "/" + path
	}
	r, err := http.NewRequestWithContext(ctx, method, target, bytes.NewReader(text))
	if err != nil {
		return Answer{}, fmt.Errorf("make a request: %w", err)
	}
	r.Header.Set("Authorization", "Bearer "+c.Company.Key)
	if text != nil {
		r.Header.Set("Content-Type", "application/json")
	}
	for n := 0; n+1 < len(header); n += 2 {
		r.Header.Set(header[n], header[n+1])
	}
	// What is sent must reach the service once: Go's client repeats what an idle connection swallowed when there is a
	// way to read the body again, or this header.
	r.GetBody = nil
	out, err := c.HTTP.Do(r)
	if err != nil {
		return Answer{}, err
	}
	read, err := io.ReadAll(out.Body)
	if err != nil {
		return Answer{}, fmt.Errorf("read an answer: %w", err)
	}
	return Answer{out.StatusCode, out.Header, read}, out.Body.Close()
}

// Titles returns the titles of the company's records of a type.
func (s *Stand) Titles(ctx context.Context, companyID, kind string) ([]string, error) {
	records, err := s.Export(ctx, companyID, kind)
	if err != nil {
		return nil, err
	}
	titles := make([]string, len(records))
	for n, text := range records {
		var record struct{ Title string }
		if err := json.Unmarshal(text, &record); err != nil {
			return nil, fmt.Errorf("read a %s: %w", kind, err)
		}
		titles[n] = record.Title
	}
	return titles, nil
}
