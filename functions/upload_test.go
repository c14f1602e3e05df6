package functions_test

import (
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"math/rand/v2"
	"net/http"
	"net/http/httptest"
	"runtime"
	"strings"
	"testing"

	"growthworkspace/functions"
	"growthworkspace/shared/auth"
	public "growthworkspace/shared/fault"
	"growthworkspace/shared/gateway"
	"growthworkspace/shared/testkit/apitest"
)

// findingsMax is the maximum size of findings as compact JSON.
const findingsMax = 4 << 20

// findingsOf returns a JSON string of exactly findingsMax bytes that repeats the given unit.
func findingsOf(unit string) string {
	size := findingsMax - len(`""`)
	return `"` + strings.Repeat(unit, size/len(unit)) + strings.Repeat("x", size%len(unit)) + `"`
}

// Ensure every accepted audit can be read again through a Lambda event, even with findings of
// the maximum size and the worst-case contents.
func TestLargestAudits(t *testing.T) {
	t.Parallel()
	apitest.SkipIfShort(t)
	random := make([]byte, findingsMax)
	if _, err := rand.NewChaCha8([32]byte{}).Read(random); err != nil {
		t.Fatal(err)
	}
	s := start(t, nil)
	s.Handler = gateway.Local(s.Serve(functions.Operations(s.ServingTable)), s.ServingTable.NewID) // so that requests may take longer
	key := s.IssueKey(t)
	for name, findings := range map[string]string{
		"quotes": findingsOf(`\"`), "escaped line separators": findingsOf(`\u2028`),
		"incompressible": findingsOf(base64.RawStdEncoding.EncodeToString(random)[:findingsMax-2]),
		"numbers":        "[0" + strings.Repeat(",0", findingsMax/2-2) + ",]"[1:] + " ",
	} {
		body := `{"rootUrl":"https://example.com","summary":"` + strings.Repeat("😀", 2000) + `","findings":` + findings + `}`
		codings := []string{""}
		if name == "quotes" {
			codings = append(codings, "gzip") // the gateway decodes a compressed body
		}
		for _, coding := range codings {
			created := s.Send(t, key, "POST", "/v1/companies/{companyId}/optimise/audits", body, "Content-Encoding", coding)
			if created.Status != http.StatusOK || len(created.Body) > 20_000 {
				t.Fatalf("%s: the create: status %d and %d bytes, want 200 and at most 20,000: %.300s", name, created.Status, len(created.Body), created.Body)
			}
			var audit struct {
				ID       string
				Findings json.RawMessage
			}
			created.Decode(t, &audit)
			read := s.Send(t, key, "GET", "/v1/companies/{companyId}/optimise/audits/"+audit.ID, "")
			if read.Status != http.StatusOK {
				t.Fatalf("%s: the read: status %d, want 200: %.300s", name, read.Status, read.Body)
			}
			read.Decode(t, &audit)
			if string(audit.Findings) != strings.TrimSpace(findings) {
				t.Errorf("%s: %d bytes of findings, want %d", name, len(audit.Findings), len(findings))
			}
			if read.Header.Get("ETag") != created.Header.Get("ETag") {
				t.Errorf("%s: ETag %s, after the create %s", name, read.Header.Get("ETag"), created.Header.Get("ETag"))
			}
		}
	}
	if r := s.Send(t, key, "POST", "/v1/companies/{companyId}/optimise/audits", "\x1f\x8b\x08\x00\x00", "Content-Encoding", "gzip"); r.Status != http.StatusBadRequest ||
		!strings.Contains(r.Body, "header.Content-Encoding: must be left out") {
		t.Errorf("a body that nobody decoded: %d %s", r.Status, r.Body)
	}
}

// unreadableBody is a body that must not be read.
type unreadableBody struct{ t *testing.T }

func (u unreadableBody) Read([]byte) (int, error) {
	u.t.Error("the body was read")
	return 0, errors.New("must not be read")
}

// Ensure only the findings may make a body large. Everything else in the body is subject to the
// usual size limit, so that no request makes the service parse megabytes into a tree. A request
// whose key lacks the scope must be refused before its body is read.
func TestLargeBodiesAreFindings(t *testing.T) {
	s := start(t, nil)
	key := s.IssueKey(t)
	large := "[1" + strings.Repeat(",1", 1<<21) + "]"
	create := func(key, body string) (r apitest.Response, allocated float64) {
		var before, after runtime.MemStats
		runtime.ReadMemStats(&before)
		r = s.Send(t, key, "POST", "/v1/companies/{companyId}/optimise/audits", body)
		runtime.ReadMemStats(&after)
		return r, float64(after.TotalAlloc-before.TotalAlloc) / float64(len(body))
	}
	for name, body := range map[string]string{
		"another property": `{"rootUrl":"https://a.example","zz":` + large + `}`,
		"findings twice":   `{"rootUrl":"https://a.example","findings":1,"findings":` + large + `}`,
		"no object":        large,
	} {
		r, allocated := create(key, body)
		code, messages := r.Messages(t)
		if r.Status != http.StatusRequestEntityTooLarge || code != string(public.PayloadTooLarge) || messages[0] != "body: everything but findings must have at most 262144 bytes" {
			t.Errorf("%s: status %d, messages %q; want 413 and the limit of everything but findings", name, r.Status, messages)
		}
		if allocated > 20 { // a few copies of the body are normal; parsed into a tree, it would take far more
			t.Errorf("%s: %.1f times the body was allocated", name, allocated)
		}
		r, _ = create(s.IssueKey(t, auth.ContextRead), body)
		if _, messages := r.Messages(t); r.Status != http.StatusUnauthorized || !strings.Contains(messages[0], string(auth.OptimiseWrite)) || r.Header.Get("RateLimit-Limit") == "" {
			t.Errorf("%s, without the scope: %d %v", name, r.Status, messages)
		}
	}
}

// Ensure that the key of a large upload is verified before the body is read, and that an operation
// that accepts no uploads refuses a large body itself.
func TestUploadNeedsKey(t *testing.T) {
	t.Parallel()
	s := start(t, nil)
	check := functions.UploadCheck(s.ServingTable, slog.New(slog.DiscardHandler))
	other := strings.Replace("/v1/companies/C/optimise/audits", "C", s.Table.NewID("co"), 1)
	narrow := s.IssueKey(t, auth.ContextRead)
	audits := "/v1/companies/" + s.CompanyID + "/optimise/audits"
	for name, c := range map[string]struct {
		path, key string
		want      error
	}{
		"no key": {audits, "", auth.ErrUnauthorised}, "wrong key": {audits, "sk_live_" + strings.Repeat("0", 76), auth.ErrUnauthorised},
		"another company": {other, s.IssueKey(t), public.ErrNotFound}, "another company, no scope": {other, narrow, public.ErrNotFound},
		"no scope": {audits, narrow, auth.NewMissingScopeError(auth.OptimiseWrite)}, "valid": {audits, s.IssueKey(t), nil},
		"another operation": {"/v1/companies/" + s.CompanyID + "/optimise/sites", "", nil}, "no path": {"/", "", nil},
	} {
		r := httptest.NewRequestWithContext(t.Context(), http.MethodPost, c.path, unreadableBody{t})
		if c.key != "" {
			r.Header.Set("Authorization", "Bearer "+c.key)
		}
		if err := check(r); fmt.Sprint(err) != fmt.Sprint(c.want) && !errors.Is(err, c.want) {
			t.Errorf("%s: %v, want %v", name, err, c.want)
		}
	}
}
