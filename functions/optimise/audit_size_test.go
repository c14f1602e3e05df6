package optimise_test

import (
	"bytes"
	"compress/gzip"
	"encoding/base64"
	"encoding/json"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"growthworkspace/functions/optimise"
	"growthworkspace/shared/api"
	"growthworkspace/shared/gateway"
	"growthworkspace/shared/testkit/apitest"
)

// Ensure the largest audit that an import accepts reaches a client that does not accept gzip. A
// larger one must reach a client that accepts gzip. Any other client must get an error, which the
// log line must record.
func TestLargestAuditInLambda(t *testing.T) {
	t.Parallel()
	apitest.SkipIfShort(t)
	s := start(t)
	key := s.IssueKey(t)
	importRecords(t, s, "audit", `{"id":"aud_most","rootUrl":"https://example.com/`+strings.Repeat("a", 1980)+`","summary":"`+strings.Repeat(`\u0001`, 2000)+
		`","error":"`+strings.Repeat(`\u0001`, 2000)+`","status":"failed","findings":`+incompressibleFindings(findingsMax)+`}`)
	earlier, problems := transferType(t, s, "audit").Check(json.RawMessage(`{"id":"aud_more"}`))
	audit, ok := earlier.(optimise.Audit)
	if !ok || len(problems) > 0 {
		t.Fatalf("%T, problems %q", earlier, problems)
	}
	audit.Findings = json.RawMessage(realisticFindings(5_000_000))
	if err := transferType(t, s, "audit").Write(t.Context(), s.CompanyID, []any{audit}); err != nil {
		t.Fatal(err)
	}
	var log bytes.Buffer
	config := s.Config(slog.New(slog.NewJSONHandler(&log, nil)))
	proxy := gateway.Proxy(api.New(optimise.Operations(s.ServingTable), config))
	for _, c := range []struct {
		id, accept, coding string
		status             int
		findings           string
	}{
		{"aud_most", "", "", 200, incompressibleFindings(findingsMax)},
		{"aud_more", "", "", 500, ""},
		{"aud_more", "gzip", "gzip", 200, string(audit.Findings)},
	} {
		log.Reset()
		r := httptest.NewRequestWithContext(t.Context(), http.MethodGet, "/v1/companies/"+s.CompanyID+"/optimise/audits/"+c.id, nil)
		r.Header.Set("Authorization", "Bearer "+key)
		if c.accept != "" {
			r.Header.Set("Accept-Encoding", c.accept)
		}
		e, err := gateway.NewEvent(r, gateway.NewRequestIDs(s.Table.NewID))
		if err != nil {
			t.Fatal(err)
		}
		got, err := proxy(t.Context(), e)
		body := []byte(got.Body)
		if got.IsBase64Encoded {
			body, err = base64.StdEncoding.DecodeString(got.Body)
		}
		if coding := strings.Join(got.MultiValueHeaders["Content-Encoding"], ""); err != nil || got.StatusCode != c.status || coding != c.coding {
			t.Fatalf("%s for %q: %d in %q, %v; want %d in %q", c.id, c.accept, got.StatusCode, coding, err, c.status, c.coding)
		}
		var line struct{ Status, Bytes int }
		if err := json.Unmarshal(log.Bytes(), &line); err != nil || line.Status != c.status || line.Bytes != len(body) {
			t.Errorf("%s for %q: %s, %v; want status %d and %d bytes", c.id, c.accept, log.Bytes(), err, c.status, len(body))
		}
		if c.coding != "" {
			plain, err := gzip.NewReader(bytes.NewReader(body))
			if err == nil {
				body, err = io.ReadAll(plain)
			}
			if err != nil {
				t.Fatal(err)
			}
		}
		var record struct{ Findings json.RawMessage }
		if err := json.Unmarshal(body, &record); err != nil || string(record.Findings) != c.findings {
			t.Errorf("%s for %q: findings of %d bytes, %v; want %d", c.id, c.accept, len(record.Findings), err, len(c.findings))
		}
	}
}
