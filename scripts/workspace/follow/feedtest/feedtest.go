// Package feedtest contains a feed of changes for tests of programs that follow it.
package feedtest

import (
	"encoding/json"
	"fmt"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"
)

// The company and the key of a Feed.
const (
	CompanyID = "co_00000000000000000000000001"
	KeyID     = "key_00000000000000000000000001"
)

// Change is a change in the feed.
type Change struct {
	ID         string  `json:"id"`
	CompanyID  string  `json:"companyId"`
	Type       string  `json:"type"`
	RecordID   string  `json:"recordId"`
	Action     string  `json:"action"`
	Status     *string `json:"status"`
	KeyID      *string `json:"keyId"`
	OccurredAt string  `json:"occurredAt"`
}

// Feed is an http.Handler that responds to list_changes, get_current_key, list_keys, and reads of
// records. It is safe for concurrent use.
type Feed struct {
	// PageMax is the maximum number of changes in one page.
	PageMax int
	// Records contains the JSON of records. The keys are the ends of their paths, such as
	// "/feedback/fbk_1".
	Records map[string]string
	// Fail may respond to a request instead of the feed, and reports whether it did. It may be nil.
	Fail func(w http.ResponseWriter, r *http.Request) bool

	mu      sync.Mutex
	changes []Change
	started time.Time
}

// New returns an empty feed.
func New() *Feed { return &Feed{PageMax: 2, Records: map[string]string{}, started: time.Now()} }

// Add adds a change that happens now, and returns its id.
func (f *Feed) Add(kind, recordID, action string) string {
	f.mu.Lock()
	n := len(f.changes)
	f.mu.Unlock()
	return f.AddAt(f.started.Add(time.Duration(n)*time.Millisecond), kind, recordID, action)
}

// AddAt is like Add, but for a change that happened at the given time.
func (f *Feed) AddAt(when time.Time, kind, recordID, action string) string {
	f.mu.Lock()
	defer f.mu.Unlock()
	n, key, at := len(f.changes), KeyID, when.UTC().Format("2006-01-02T15:04:05.000Z")
	c := Change{fmt.Sprintf("chg_%026d", n), CompanyID, kind, recordID, action, nil, &key, at}
	f.changes = append(f.changes, c)
	return c.ID
}

// IDs returns the ids of all changes, in order.
func (f *Feed) IDs() (out []string) {
	f.mu.Lock()
	defer f.mu.Unlock()
	for _, c := range f.changes {
		out = append(out, c.ID)
	}
	return out
}

func (f *Feed) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	if f.Fail != nil && f.Fail(w, r) {
		return
	}
	path := strings.TrimPrefix(r.URL.Path, "/v1/companies/"+CompanyID)
	switch {
	case path == "/changes":
		f.list(w, r)
	case path == "/keys/current":
		respond(w, map[string]any{"id": KeyID, "companyId": CompanyID, "name": "phone"})
	case path == "/keys":
		respond(w, map[string]any{"items": []any{map[string]any{"id": KeyID, "companyId": CompanyID, "name": "phone"}}})
	case r.URL.Path == "/v1/companies":
		respond(w, map[string]any{"items": []any{map[string]any{"id": CompanyID}}})
	case f.Records[path] != "":
		respond(w, json.RawMessage(f.Records[path]))
	default:
		Refuse(w, http.StatusNotFound, "not_found", "no such record")
	}
}

// list responds with one page. The "after" parameter of a request is the number of changes that
// precede the page.
func (f *Feed) list(w http.ResponseWriter, r *http.Request) {
	f.mu.Lock()
	defer f.mu.Unlock()
	query := r.URL.Query()
	first := 0
	if after := query.Get("after"); after != "" {
		var err error
		if first, err = strconv.Atoi(after); err != nil || first > len(f.changes) || query.Has("since") {
			Refuse(w, http.StatusBadRequest, "bad_request", "query.after: is older than 30 days; start again with since")
			return
		}
	} else if since := query.Get("since"); since != "" {
		first = slices.IndexFunc(f.changes, func(c Change) bool { return c.OccurredAt >= since })
		if first < 0 {
			first = len(f.changes)
		}
	}
	items, next, limit := []Change{}, first, f.PageMax
	if n, err := strconv.Atoi(query.Get("limit")); err == nil {
		limit = min(limit, n)
	}
	for _, c := range f.changes[first:] {
		if len(items) == limit {
			break
		}
		next++
		if types := query.Get("types"); types == "" || slices.Contains(strings.Split(types, ","), c.Type) {
			items = append(items, c)
		}
	}
	w.Header().Set("Service-After", strconv.Itoa(next))
	w.Header().Set("Service-Has-More", strconv.FormatBool(next < len(f.changes)))
	respond(w, map[string]any{"items": items})
}

func respond(w http.ResponseWriter, body any) {
	w.Header().Set("Content-Type", "application/json")
	_ = json.NewEncoder(w).Encode(body) // an error means that the client has disconnected
}

// Refuse responds with an error in the service's format.
func Refuse(w http.ResponseWriter, status int, code, message string) {
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(status)
	_ = json.NewEncoder(w).Encode(map[string]any{"errors": []any{map[string]any{"code": code, "message": message}}})
}
