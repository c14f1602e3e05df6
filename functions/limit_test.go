package functions_test

import (
	"bytes"
	"encoding/json"
	"io"
	"net/http"
	"sync"
	"testing"

	"growthworkspace/functions"
	"growthworkspace/functions/broadcast"
	"growthworkspace/functions/feedback"
	"growthworkspace/shared/table"
	"growthworkspace/shared/testkit/apitest"
)

// readRecordsMax is the maximum Limit of one Query or Scan.
const readRecordsMax = 1000

// limitChecker is a transport that checks the Limit of each Query and Scan.
type limitChecker struct {
	mu            sync.Mutex
	reads         int
	invalidBodies []string
}

// RoundTrip implements http.RoundTripper.
func (l *limitChecker) RoundTrip(r *http.Request) (*http.Response, error) {
	target := r.Header.Get("X-Amz-Target")
	if target == "DynamoDB_20120810.Query" || target == "DynamoDB_20120810.Scan" {
		text, err := io.ReadAll(r.Body)
		if err != nil {
			return nil, err
		}
		r.Body = io.NopCloser(bytes.NewReader(text))
		var in struct{ Limit int }
		if err := json.Unmarshal(text, &in); err != nil {
			return nil, err
		}
		l.mu.Lock()
		l.reads++
		if in.Limit < 1 || in.Limit > readRecordsMax {
			l.invalidBodies = append(l.invalidBodies, string(text))
		}
		l.mu.Unlock()
	}
	return apitest.Transport.RoundTrip(r)
}

// Ensure no call reads a collection or the table without a limit, because a local engine would then
// read the whole collection or table for each page of 1 MB.
func TestEveryReadHasALimit(t *testing.T) {
	t.Parallel()
	l := &limitChecker{}
	s := start(t, l)
	for _, kind := range functions.Transfers(s.Table) {
		before := l.reads
		if err := kind.Export(t.Context(), s.CompanyID, func(any) error { return nil }); err != nil {
			t.Errorf("export %s: %v", kind.Name, err)
		}
		if kind.Name != "company" && kind.Name != "brand-kit" && l.reads == before { // a company has one profile and one brand kit, so they need no list
			t.Errorf("an export of %s made no query", kind.Name)
		}
	}
	before := l.reads
	if _, err := table.RegisteredCompanies(t.Context(), s.Table); err != nil {
		t.Error(err)
	}
	if _, err := broadcast.NewStore(s.Table).DuePosts(t.Context(), s.CompanyID, nil, "", 200); err != nil {
		t.Error(err)
	}
	if _, err := feedback.NewStore(s.Table).ApprovedReplies(t.Context(), s.CompanyID, nil, "", 200); err != nil {
		t.Error(err)
	}
	if l.reads < before+2+table.OperatorShards {
		t.Errorf("%d reads of companies, due posts and approved replies", l.reads-before)
	}
	for _, body := range l.invalidBodies {
		t.Errorf("a call without a limit of at most %d records: %s", readRecordsMax, body)
	}
}
