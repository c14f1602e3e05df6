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

// findingsMax is the size of the largest findings as compact JSON.
const findingsMax = 4 << 20

// findingsOf returns findings of exactly findingsMax bytes that repeat a unit of a JSON text.
func findingsOf(unit string) string {
	size := findingsMax - len(`""`)
	return `"` + strings.Repeat(unit, size/len(unit)) + strings.Repeat("x", size%len(unit)) + `"`
}

// Ensure every audit that was accepted can be read, in the event of a function: the largest
// findings of the worst texts.
func TestLargestAudits(t *testing.T) {
	t.Parallel()
	apitest.SkipIfShort(t)
	random := make([]byte, findingsMax)
	if _, err := rand.NewChaCha8([32]byte{}).Read(random); err != nil {
		t.Fatal(err)
	}
	s := start(t, nil)
	s.Handler = gateway.Local(s.Serve(functions.Operations(s.Serving)), s.Serving.NewID) // its calls may take longer
	key := s.Key(t)
	for name, findings := range map[string]string{
		"quotes": findingsOf(`\"`), "escaped line separators": findingsOf(`\u2028`),
		"incompressible": findingsOf(base64.RawStdEncoding.EncodeToString(random)[:findingsMax-2]),
		"numbers":        "[0" + strings.Repeat(",0", findingsMax/2-2) + ",]"[1:] + " ",
	} {
		body := `{"rootUrl":"https://example.com","summary":"` + strings.Repeat("😀", 2000) + `","findings":` + findings + `}`
		codings := []string{""}
		if name == "quotes" {
			codings = append(codings, "gzip") // the gateway has decoded a compressed body
		}
		for _, coding := range codings {
			created := s.Send(t, key, "POST", "/v1/companies/{companyId}/optimise/audits", body, "Content-Encoding", coding)
			if created.Status != http.StatusOK || len(created.Body) > 20_000 {
				t.Fatalf("%s: %d %.300s", name, created.Status, created.Body)
			}
			var audit struct {
				ID       string
				Findings json.RawMessage
			}
			created.Decode(t, &audit)
			read := s.Send(t, key, "GET", "/v1/companies/{companyId}/optimise/audits/"+audit.ID, "")
			if read.Status != http.StatusOK {
				t.Fatalf("%s: %d %.300s", name, read.Status, read.Body)
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

// Ensure only the findings of a large body may be large. The rest has the limit of any body, so no
// request makes the service read a tree of megabytes, and a key without the scope is refused before
// anything is read.
func TestLargeBodiesAreFindings(t *testing.T) {
	s := start(t, nil)
	key := s.Key(t)
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
			t.Errorf("%s: %d %v", name, r.Status, messages)
		}
		if allocated > 20 { // the way from the client to the service has several copies
			t.Errorf("%s: %.1f times the body was allocated", name, allocated)
		}
		r, _ = create(s.Key(t, auth.ContextRead), body)
		if _, messages := r.Messages(t); r.Status != http.StatusUnauthorized || !strings.Contains(messages[0], string(auth.OptimiseWrite)) || r.Header.Get("RateLimit-Limit") == "" {
			t.Errorf("%s, without the scope: %d %v", name, r.Status, messages)
		}
	}
}

// Ensure the key of a large body is verified before the body is read, and that other operations
// refuse it by themselves.
func TestUploadNeedsKey(t *testing.T) {
	t.Parallel()
	s := start(t, nil)
	check := functions.Uploads(s.Serving, slog.New(slog.DiscardHandler))
	other := strings.Replace("/v1/companies/C/optimise/audits", "C", s.Table.NewID("co"), 1)
	narrow := s.Key(t, auth.ContextRead)
	audits := "/v1/companies/" + s.CompanyID + "/optimise/audits"
	for name, c := range map[string]struct {
		path, key string
		want      error
	}{
		"no key": {audits, "", auth.ErrUnauthorised}, "wrong key": {audits, "sk_live_" + strings.Repeat("0", 76), auth.ErrUnauthorised},
		"another company": {other, s.Key(t), public.ErrNotFound}, "another company, no scope": {other, narrow, public.ErrNotFound},
		"no scope": {audits, narrow, auth.MissingScopeError(auth.OptimiseWrite)}, "valid": {audits, s.Key(t), nil},
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
