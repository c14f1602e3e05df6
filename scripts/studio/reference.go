package studio

import (
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"regexp"
	"strings"

	"growthworkspace/scripts/studio/localauth"
	"growthworkspace/shared/client"
	"growthworkspace/shared/scalar"
)

// The reference is Scalar, as at the service's own address, but it also sends requests. The page
// sends them to localauth.CallPath, and the studio's process adds the key.

// documentBytesMax is the maximum size of the service's document.
const documentBytesMax = 16 << 20

func (s *Studio) addReferenceScreens(handle func(string, func(*pageRequest) *view)) {
	handle("GET /reference", s.reference)
	handle("GET /reference/openapi.json", s.referenceDocument)
	handle(localauth.CallPath, s.sendCall)
}

// referenceData is the data for the reference template.
type referenceData struct {
	Settings string // Scalar's settings, as JSON
	Base     string // the base URL of the service, which the page replaces by CallPath
	Company  string
	Failure  *failure
}

// reference shows the page. Scalar writes its styles into the page, so the page has a policy of its
// own.
func (s *Studio) reference(v *pageRequest) *view {
	d := referenceData{Base: strings.TrimRight(v.BaseURL, "/")}
	out := &view{page: "reference", title: "Reference", data: &d}
	settings, err := json.Marshal(scalar.Settings(d.Base))
	if err == nil {
		d.Settings = string(settings)
		d.Company, err = v.api.CompanyID(v.ctx)
	}
	if err != nil {
		d.Failure = failureOf(err, anyScope)
		out.status = d.Failure.status()
		return out
	}
	v.w.Header().Set("Content-Security-Policy", scalar.Policy)
	return out
}

// referenceDocument passes the service's OpenAPI document through. It reads the document without
// the key.
func (s *Studio) referenceDocument(v *pageRequest) *view {
	text, err := v.fetchDocument()
	if err != nil {
		http.Error(v.w, "The service's document could not be read: "+err.Error(), http.StatusBadGateway)
		return nil
	}
	v.w.Header().Set("Content-Type", "application/json")
	_, _ = v.w.Write(text) // ignore the error: the client disconnected
	return nil
}

func (pr *pageRequest) fetchDocument() ([]byte, error) {
	request, err := http.NewRequestWithContext(pr.ctx, http.MethodGet, strings.TrimRight(pr.BaseURL, "/")+"/openapi.json", http.NoBody)
	if err != nil {
		return nil, err
	}
	response, err := (&http.Client{Transport: pr.Transport, CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }}).Do(request)
	if err != nil {
		return nil, err
	}
	text, err := io.ReadAll(io.LimitReader(response.Body, documentBytesMax))
	if err = errors.Join(err, response.Body.Close()); err != nil {
		return nil, err
	}
	if response.StatusCode != http.StatusOK {
		return nil, &client.Error{Status: response.StatusCode, Messages: []string{"GET /openapi.json"}, RequestID: response.Header.Get("Service-Request-Id")}
	}
	return text, nil
}

// The headers that the studio passes on. It passes no other, such as the browser's cookie.
var (
	requestHeaders  = []string{"If-Match", "If-None-Match", "Idempotency-Key"}
	responseHeaders = []string{
		"ETag", "Service-Request-Id", "RateLimit-Limit", "RateLimit-Remaining", "RateLimit-Reset", "Retry-After", "Idempotent-Replayed", "Service-Has-More", "Service-Version",
	}
)

// secretPath matches the paths of the operations whose responses contain the secret of a key.
var secretPath = regexp.MustCompile(`/keys(/[^/]*/rotate)?/*$`)

// sendCall sends a request of the page with the studio's key, and passes the response on without
// secrets. It refuses to create or replace a key: the browser must not receive the secret, which
// would then be lost.
func (s *Studio) sendCall(v *pageRequest) *view {
	path, _ := strings.CutPrefix(v.r.URL.EscapedPath(), strings.TrimSuffix(localauth.CallPath, "/"))
	if v.r.Method == http.MethodPost && secretPath.MatchString(v.r.URL.Path) {
		http.Error(v.w, "The response would contain the secret of a key, which must not get into a browser. Use the page Keys.", http.StatusForbidden)
		return nil
	}
	body, err := io.ReadAll(v.r.Body)
	if err != nil {
		http.Error(v.w, "The body could not be read: "+err.Error(), http.StatusBadRequest)
		return nil
	}
	request := client.Request{Method: v.r.Method, Path: path, Repeatable: v.r.Method == http.MethodGet}
	if v.r.URL.RawQuery != "" {
		request.Path += "?" + v.r.URL.RawQuery
	}
	if len(body) > 0 {
		request.Body = body
	}
	var response client.Response
	options := []client.CallOption{client.Into(&response)}
	for _, name := range requestHeaders {
		if value := v.r.Header.Get(name); value != "" {
			options = append(options, client.Header(name, value))
			request.AcceptsIdempotencyKey = request.AcceptsIdempotencyKey || name == "Idempotency-Key"
		}
	}
	_, err = v.api.Do(v.ctx, request, options...)
	if v.r.Method != http.MethodGet {
		v.badge.drop()
	}
	if response.Status == 0 {
		http.Error(v.w, "The service does not respond: "+strings.Join(failureOf(err, anyScope).Messages, ". "), http.StatusBadGateway)
		return nil
	}
	v.passOn(response)
	return nil
}

// passOn writes a response of the service without secrets. The browser must not take it for a page.
func (pr *pageRequest) passOn(response client.Response) {
	h := pr.w.Header()
	for _, name := range responseHeaders {
		if value := response.Header.Get(name); value != "" {
			h.Set(name, pr.withoutSecrets(value))
		}
	}
	h.Set("Content-Type", "text/plain; charset=utf-8")
	if json.Valid(response.Body) {
		h.Set("Content-Type", "application/json")
	}
	pr.w.WriteHeader(response.Status)
	_, _ = io.WriteString(pr.w, pr.withoutSecrets(string(response.Body))) // ignore the error: the client disconnected
}

// secretKeyPattern matches a complete secret key. It does not match the prefixes in lists of keys.
var secretKeyPattern = regexp.MustCompile(`sk_live_[0-9A-Za-z]{30,}`)

// withoutSecrets removes secret keys from text, because no page may contain one.
func (pr *pageRequest) withoutSecrets(text string) string {
	return secretKeyPattern.ReplaceAllString(strings.ReplaceAll(text, pr.Key, "sk_live_…"), "sk_live_…")
}
