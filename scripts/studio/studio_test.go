package studio_test

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"html"
	"io"
	"log/slog"
	"net/http"
	"net/http/cookiejar"
	"net/http/httptest"
	"net/url"
	"regexp"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"growthworkspace/scripts/studio"
	"growthworkspace/scripts/workspace/demo"
	"growthworkspace/scripts/workspace/demo/demotest"
	"growthworkspace/scripts/workspace/secretfile"
	"growthworkspace/shared/auth"
	"growthworkspace/shared/testkit/apitest"
)

// testStudio is a studio that uses the real service, and a browser that the studio has admitted.
type testStudio struct {
	*apitest.Service

	key       string
	folder    string // the folder for secrets
	browser   *http.Client
	base      string // the base URL of the studio
	transport *serviceTransport
	server    *studio.Server
	logs      *lockedBuffer
	pauses    *pauses
	url       string // the studio's URL with the token
}

// serviceTransport is the transport from the studio to the service. A test may replace the
// responses or count the calls.
type serviceTransport struct {
	service *apitest.Service

	mu      sync.Mutex
	respond func(r *http.Request) *http.Response // replaces the service's response; if it is nil or returns nil, the request reaches the service
	calls   int
}

func (t *serviceTransport) RoundTrip(r *http.Request) (*http.Response, error) {
	t.mu.Lock()
	t.calls++
	respond := t.respond
	t.mu.Unlock()
	if respond != nil {
		if response := respond(r); response != nil {
			return response, nil
		}
	}
	w := httptest.NewRecorder()
	t.service.Handler.ServeHTTP(w, r)
	return w.Result(), nil
}

func (t *serviceTransport) respondWith(f func(r *http.Request) *http.Response) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.respond = f
}

// pauses remembers for how long bulk actions would have paused. It does not wait.
type pauses struct {
	mu  sync.Mutex
	all []time.Duration
}

func (p *pauses) sleep(ctx context.Context, d time.Duration) error {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.all = append(p.all, d)
	return ctx.Err()
}

func (p *pauses) get() []time.Duration {
	p.mu.Lock()
	defer p.mu.Unlock()
	return slices.Clone(p.all)
}

type lockedBuffer struct {
	mu   sync.Mutex
	text bytes.Buffer
}

func (l *lockedBuffer) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.text.Write(p)
}

func (l *lockedBuffer) String() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.text.String()
}

// newTestStudio returns a studio for a company that has only a profile. The studio's key has the
// given scopes or, if none are given, all scopes.
func newTestStudio(t *testing.T, scopes ...auth.Scope) *testStudio {
	t.Helper()
	s := demotest.NewService(t)
	return startStudio(t, s, s.IssueKey(t, scopes...), nil)
}

// sharedDemo is the service of newDemoStudio.
var sharedDemo struct {
	once    sync.Once
	service *apitest.Service
}

// newDemoStudio returns a studio for the demo company, to which it adds a few records. Loading all
// records takes a long time, so the tests share this company. A test that writes to it fails.
func newDemoStudio(t *testing.T, scopes ...auth.Scope) *testStudio {
	t.Helper()
	apitest.Options(t, time.Now, nil) // skips the test if there is no engine
	sharedDemo.once.Do(func() {
		s := demotest.NewService(t)
		demotest.LoadDemo(t, s)
		demotest.Load(t, s,
			demo.Line{Type: "post", Record: demo.Record{"id": "pst_late", "platform": "x", "body": "Late words", "status": "scheduled", "scheduledFor": "2026-08-01T08:00:00Z"}},
			// metrics that have no total: an average of several series, and money in several
			// currencies
			demo.Line{Type: "metric-definition", Record: demo.Record{"id": "mdf_parts", "key": "a.parts", "name": "Parts", "unit": "ratio", "aggregation": "avg"}},
			demo.Line{Type: "metric-point", Record: demo.Record{"metricKey": "a.parts", "grain": "day", "ts": "2026-08-03T00:00:00Z", "value": 0.5, "dims": demo.Record{"page": "home"}}},
			demo.Line{Type: "metric-point", Record: demo.Record{"metricKey": "a.parts", "grain": "day", "ts": "2026-08-03T00:00:00Z", "value": 0.1, "dims": demo.Record{"page": "shop"}}},
			demo.Line{Type: "metric-definition", Record: demo.Record{"id": "mdf_money", "key": "a.money", "name": "Money", "unit": "currency_minor", "aggregation": "sum"}},
			demo.Line{Type: "metric-point", Record: demo.Record{"metricKey": "a.money", "grain": "day", "ts": "2026-08-03T00:00:00Z", "value": 1234, "currency": "EUR", "dims": demo.Record{"shop": "a"}}},
			demo.Line{Type: "metric-point", Record: demo.Record{"metricKey": "a.money", "grain": "day", "ts": "2026-08-03T00:00:00Z", "value": 1234, "currency": "JPY", "dims": demo.Record{"shop": "b"}}})
		sharedDemo.service = s
	})
	if sharedDemo.service == nil {
		t.Fatal("the demo company could not be loaded: see the first test that failed")
	}
	return startStudio(t, sharedDemo.service, sharedDemo.service.IssueKey(t, scopes...), func(next http.RoundTripper) http.RoundTripper { return readOnly{t, next} })
}

// readOnly is a transport that fails the test if a request would write.
type readOnly struct {
	t    *testing.T
	next http.RoundTripper
}

func (r readOnly) RoundTrip(request *http.Request) (*http.Response, error) {
	if request.Method != http.MethodGet && !strings.HasSuffix(request.URL.Path, "/publish/preview") {
		r.t.Errorf("%s %s: the company is shared, so it must not be changed", request.Method, request.URL)
	}
	return r.next.RoundTrip(request)
}

// waitMax is how long a test waits for something before it fails.
const waitMax = 10 * time.Minute

// waitForPage loads a page until it has the text, and returns it.
func (s *testStudio) waitForPage(t *testing.T, path, text string) string {
	t.Helper()
	for deadline := time.Now().Add(waitMax); ; time.Sleep(10 * time.Millisecond) {
		body := s.page(t, path)
		if strings.Contains(body, text) {
			return body
		}
		s.Clock.Advance(time.Second) // so that no quota is exceeded
		if time.Now().After(deadline) {
			t.Fatalf("%s has no %q after %s: %s", path, text, waitMax, visibleText(body))
		}
	}
}

// startStudio starts a studio with a key, and opens it in a browser. wrapTransport may wrap the
// studio's transport; it may be nil. change may adjust the options. Their time limits are long, so
// that the tests pass on a busy machine.
func startStudio(t *testing.T, s *apitest.Service, key string, wrapTransport func(http.RoundTripper) http.RoundTripper, change ...func(*studio.Options)) *testStudio {
	t.Helper()
	w := &testStudio{Service: s, folder: t.TempDir(), key: key, transport: &serviceTransport{service: s}, logs: &lockedBuffer{}, pauses: &pauses{}}
	var transport http.RoundTripper = w.transport
	if wrapTransport != nil {
		transport = wrapTransport(transport)
	}
	options := studio.Options{
		BaseURL: "https://api.example", Key: key, CompanyID: s.CompanyID, SaveSecret: secretfile.SecretSaver(w.folder), Now: s.Clock.Now, Sleep: w.pauses.sleep, Transport: transport,
		Log:    slog.New(slog.NewTextHandler(w.logs, &slog.HandlerOptions{Level: slog.LevelDebug})),
		Limits: studio.Limits{Page: waitMax, Identify: waitMax, Bulk: waitMax},
	}
	for _, c := range change {
		c(&options)
	}
	st, err := studio.New(options)
	if err != nil {
		t.Fatal(err)
	}
	server, err := st.Listen(t.Context(), "127.0.0.1:0", nil)
	if err != nil {
		t.Fatal(err)
	}
	ended := make(chan error, 1)
	ctx, cancel := context.WithCancel(context.Background())
	go func() { ended <- server.Serve(ctx) }()
	t.Cleanup(func() {
		cancel()
		if err := <-ended; err != nil {
			t.Error(err)
		}
	})
	jar, err := cookiejar.New(nil)
	if err != nil {
		t.Fatal(err)
	}
	w.browser = &http.Client{Jar: jar, Transport: &http.Transport{}}
	t.Cleanup(w.browser.CloseIdleConnections)
	w.server, w.url = server, server.Guard.URL()
	w.base, _, _ = strings.Cut(w.url, "/?")
	if status, _ := w.get(t, strings.TrimPrefix(w.url, w.base)); status != http.StatusOK {
		t.Fatal("the browser cannot enter:", status)
	}
	return w
}

func (s *testStudio) get(t *testing.T, path string) (status int, body string) {
	t.Helper()
	r, err := s.browser.Get(s.base + path)
	if err != nil {
		t.Fatal(err)
	}
	return r.StatusCode, read(t, r)
}

func read(t *testing.T, r *http.Response) string {
	t.Helper()
	defer r.Body.Close()
	text, err := io.ReadAll(r.Body)
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

// page returns the body of a page, which must contain all of the given texts.
func (s *testStudio) page(t *testing.T, path string, texts ...string) string {
	t.Helper()
	status, body := s.get(t, path)
	if status != http.StatusOK {
		t.Errorf("%s: status %d, want 200", path, status)
	}
	checkContains(t, path, body, texts...)
	return body
}

func checkContains(t *testing.T, name, body string, texts ...string) {
	t.Helper()
	plain := html.UnescapeString(body)
	for _, text := range texts {
		if !strings.Contains(plain, text) && !strings.Contains(visibleText(body), text) {
			t.Errorf("%s: %q is not in the page: %s", name, text, visibleText(body))
		}
	}
}

func checkNotContains(t *testing.T, name, body string, texts ...string) {
	t.Helper()
	for _, text := range texts {
		if strings.Contains(html.UnescapeString(body), text) {
			t.Errorf("%s: %q is in the page", name, text)
		}
	}
}

var tags = regexp.MustCompile(`(?s)<head>.*</head>|<svg.*?</svg>|<[^>]*>`)

// visibleText returns the text of a page without its markup.
func visibleText(body string) string {
	text := strings.Join(strings.Fields(html.UnescapeString(tags.ReplaceAllString(body, " "))), " ")
	return strings.ReplaceAll(text, " .", ".")
}

var hiddenInput = regexp.MustCompile(`<input type="hidden" name="([^"]*)" value="([^"]*)">`)

// fields returns the hidden fields of the form that has the given id.
func fields(t *testing.T, body, form string) url.Values {
	t.Helper()
	_, rest, found := strings.Cut(body, `id="`+form+`"`)
	if !found {
		t.Fatalf("no form %s in: %s", form, visibleText(body))
	}
	rest, _, _ = strings.Cut(rest, "</form>")
	out := url.Values{}
	for _, m := range hiddenInput.FindAllStringSubmatch(rest, -1) {
		out.Set(m[1], html.UnescapeString(m[2]))
	}
	return out
}

// submit sends a form as a browser does, follows its redirect, and returns the page.
func (s *testStudio) submit(t *testing.T, path string, form url.Values) (status int, body string) {
	t.Helper()
	response := s.send(t, path, form)
	return response.StatusCode, read(t, response)
}

// submitRedirect sends a form and returns the address to which the studio redirects the browser.
func (s *testStudio) submitRedirect(t *testing.T, path string, form url.Values) string {
	t.Helper()
	response := s.send(t, path, form)
	read(t, response)
	return response.Request.URL.String()
}

func (s *testStudio) send(t *testing.T, path string, form url.Values) *http.Response {
	t.Helper()
	r, err := http.NewRequestWithContext(t.Context(), http.MethodPost, s.base+path, strings.NewReader(form.Encode()))
	if err != nil {
		t.Fatal(err)
	}
	r.Header.Set("Content-Type", "application/x-www-form-urlencoded")
	r.Header.Set("Origin", s.base)
	r.Header.Set("Sec-Fetch-Site", "same-origin")
	response, err := s.browser.Do(r)
	if err != nil {
		t.Fatal(err)
	}
	return response
}

// addReview imports one review and returns its id.
func (s *testStudio) addReview(t *testing.T, id string, more demo.Record) string {
	t.Helper()
	record := demo.Record{
		"id": "fbk_" + id, "source": "google_play", "kind": "review", "externalId": id, "title": "Title " + id, "body": "Body " + id,
		"authorName": "Author " + id, "rating": 2, "priority": 1, "postedAt": "2026-08-01T08:00:00Z", "replyStatus": "none",
	}
	for k, v := range more {
		record[k] = v
	}
	demotest.Load(t, s.Service, demo.Line{Type: "feedback", Record: record})
	return "fbk_" + id
}

// storedReview returns a review as the service stores it.
func (s *testStudio) storedReview(t *testing.T, id string) map[string]any {
	t.Helper()
	return s.Send(t, s.key, "GET", "/v1/companies/{companyId}/feedback/"+id, "").JSON(t)
}

// recordDiff returns how a record differs from want. It ignores properties that are not in want. A
// property that is nil in want must be absent from the record.
func recordDiff(want, record map[string]any) string {
	got := map[string]any{}
	for name := range want {
		got[name] = record[name]
	}
	return cmp.Diff(want, got)
}

// pagePaths lists an address for each screen.
var pagePaths = []string{"/", "/week", "/week.md", "/metrics", "/metrics?key=growth.signups&split=country", "/metrics/definitions/new", "/metrics/values?key=growth.signups&day=2026-08-03", "/reviews", "/reviews?show=all", "/badge", "/bulk/1", "/changes", "/activity", "/activity?since=month&type=posts", "/roadmap", "/roadmap?view=live", "/roadmap/items/new", "/roadmap/boards/new", "/posts", "/posts/list", "/posts/accounts", "/posts/fill", "/ideas", "/posts/new?day=2026-08-20", "/sites", "/sites?site=all", "/sites/new", "/audits/aud_none", "/brand", "/brand/types/new", "/brand/goals/new", "/keys", "/company", "/metrics.csv?key=growth.signups", "/reviews/new", "/start/board", "/start/number", "/reviews/paste", "/nowhere"}

// Ensure each screen shows a company's records, and the API requests that the screen has made.
func TestScreens(t *testing.T) {
	t.Parallel()
	w := newDemoStudio(t)
	curl := []string{`curl -H "Authorization: Bearer $WORKSPACE_KEY"`, "https://api.example/v1/companies/" + w.CompanyID}
	w.page(t, "/", append(curl, "Northwind Notes", "api.example", "Sign-ups", "Store rating", "Aug 1 to 10 against", "Jul 4 to 13", "goal 1,000", "Waiting for an answer", "Next posts", "published", "broken")...)
	w.page(t, "/metrics", append(curl, "growth.signups", "This month so far", "Aug 1 to 10", "Jul 4 to 13", "not over", "by country", "Download CSV", "Days are UTC")...)
	w.page(t, "/metrics?key=growth.signups&split=country&range=30d", "us", "de", "share", "Download CSV")
	w.page(t, "/metrics?key=growth.signups&grain=month&range=12m", "August 2026", "September 2025")
	w.page(t, "/metrics?key=growth.activations&grain=week", "in full days", "in as many days", "is that of its full days")
	w.page(t, "/metrics?key=a.parts", "values by part only", "by page")
	w.page(t, "/metrics.csv?key=a.parts", "day,value,before,unit", "2026-08-03,,,ratio")
	w.page(t, "/metrics?key=a.parts&split=page", "home", "50 %", "shop", "10 %")
	w.page(t, "/metrics?key=a.money", "they stay apart", "EUR", "€ 12.34", "JPY", "¥ 1,234")
	w.page(t, "/metrics?key=growth.activation_rate", "Formula: growth.activations / growth.signups", "computed here from Activations, Sign-ups")
	w.page(t, "/metrics?key=revenue.mrr", "$ ", "latest")
	w.page(t, "/metrics?key=product.storage&grain=week&range=90d", "TB")
	w.page(t, "/metrics?key=custom.widget_pins", "Nobody has confirmed this metric")
	w.page(t, "/reviews", append(curl, "Who can see my locations?", "calm", "revolutionary", "Approving posts nothing")...)
	w.page(t, "/reviews?show=posted", "Posted as it stands here")
	w.page(t, "/reviews?q=battery+xylophone", "contains these words")
	w.page(t, "/company", append(curl, "Northwind Notes", "An empty field is not set.")...)
	if got := w.logs.String(); got != "" {
		t.Error("the log is not empty:", got)
	}
}

// Ensure each screen of an empty company says what to do next, and links to the form for it.
func TestEmptyCompany(t *testing.T) {
	t.Parallel()
	w := newTestStudio(t)
	w.page(t, "/", "No metrics yet", `href="/start/number"`, "Nothing is waiting", `href="/reviews/paste"`, "Nothing is scheduled", `href="/posts/new"`, "Nothing is published yet", `href="/start/board"`, "Nothing needs your attention")
	w.page(t, "/metrics", "No metrics yet", `href="/start/number"`, "workspace api push_metric_points")
	w.page(t, "/reviews", "Nothing is waiting", `href="/reviews/paste"`, "workspace api push_feedback")
	w.page(t, "/roadmap", "There is no board yet", `href="/start/board"`)
	w.page(t, "/reviews?show=posted", "There are none.")
	for path, text := range map[string]string{"/metrics?key=growth.nothing": "No metrics yet", "/nowhere": "There is no such page"} {
		_, body := w.get(t, path)
		checkContains(t, path, body, text)
	}
	if status, body := w.get(t, "/reviews?id=fbk_missing"); status != http.StatusNotFound {
		t.Errorf("status %d, want 404: %s", status, visibleText(body))
	}
}

// refusal returns a function that responds to every request with an error, in the format of the
// service's errors.
func refusal(status int, code, message string) func(*http.Request) *http.Response {
	return func(*http.Request) *http.Response {
		w := httptest.NewRecorder()
		w.Header().Set("Service-Request-Id", "req_seen")
		w.WriteHeader(status)
		fmt.Fprintf(w, `{"errors":[{"code":%q,"message":%q}]}`, code, message)
		return w.Result()
	}
}

// Ensure every screen shows why a call failed: status, code, message and request id.
func TestFailuresAreShown(t *testing.T) {
	t.Parallel()
	w := newDemoStudio(t)
	w.transport.respondWith(refusal(http.StatusForbidden, "forbidden", "the company is suspended"))
	for _, path := range []string{"/", "/metrics", "/reviews", "/company"} {
		_, body := w.get(t, path)
		checkContains(t, path, body, "403 Forbidden", "forbidden", "the company is suspended", "req_seen")
	}
	w.transport.respondWith(func(r *http.Request) *http.Response { // if only one call fails, the page still shows the other parts
		if strings.Contains(r.URL.Path, "/broadcast/") {
			return refusal(http.StatusForbidden, "forbidden", "the class is frozen")(r)
		}
		return nil
	})
	w.page(t, "/", "Sign-ups", "the class is frozen", "Who can see my locations?")
}

// Ensure a page says that the service is unreachable and why. It names the command that diagnoses
// the problem.
func TestServiceIsAway(t *testing.T) {
	t.Parallel()
	w := newTestStudio(t)
	s := startStudio(t, w.Service, w.key, func(http.RoundTripper) http.RoundTripper { return unreachableTransport{} })
	for _, path := range []string{"/", "/reviews"} {
		_, body := s.get(t, path)
		checkContains(t, path, body, "The service does not respond.", "no route", "workspace doctor")
	}
}

type unreachableTransport struct{}

func (unreachableTransport) RoundTrip(*http.Request) (*http.Response, error) {
	return nil, fmt.Errorf("no route")
}

// Ensure pages show everything that a key may read even if it lacks other scopes. They name the
// missing scope, even if the service does not report the key's scopes.
func TestMissingScopes(t *testing.T) {
	t.Parallel()
	for _, scopesUnknown := range []bool{false, true} {
		w := newDemoStudio(t, auth.FeedbackRead, auth.CompanyRead)
		if scopesUnknown {
			w = startStudio(t, w.Service, w.key, func(next http.RoundTripper) http.RoundTripper { return noCurrentKeyTransport{next} })
		}
		w.page(t, "/", "This key lacks the scope metrics:read.", "This key lacks the scope broadcast:read.", "workspace key issue --scopes metrics:read", "Who can see my locations?")
		if status, body := w.get(t, "/metrics"); status != http.StatusForbidden || !strings.Contains(body, "metrics:read") {
			t.Errorf("status %d, want 403 with the scope metrics:read: %s", status, visibleText(body))
		}
		body := w.page(t, "/reviews", "Who can see my locations?", "context:read")
		if !scopesUnknown {
			checkContains(t, "/reviews", body, "it lacks feedback:write")
			checkNotContains(t, "/reviews", body, "Approve a")
			checkContains(t, "/company", w.page(t, "/company"), "it lacks company:write")
		}
	}
}

// Ensure the page of an area offers no changes if the key may only read, and names the scope that
// the key lacks. Without the scope to read, the pages of the area say so once.
func TestScopesOfAreas(t *testing.T) {
	t.Parallel()
	noScope := newTestStudio(t, auth.CompanyRead)
	for _, area := range []struct {
		scope   auth.Scope
		shown   []string // on the first page, with a key that reads
		offered []string // what only a key that writes is offered
		pages   []string
	}{
		{auth.ContextRead, []string{"calm", "Field tip", "it lacks context:write"}, []string{"New content type", "New goal", `class="button go"`}, []string{"/brand"}},
		{auth.OptimiseRead, []string{"Trial started", "complete"}, []string{"New site", "New goal", "Edit site"}, []string{"/sites", "/audits/aud_1", "/sites/sit_1"}},
		{auth.BroadcastRead, []string{"broadcast:write"}, []string{"Accept and write"}, []string{"/ideas"}},
		{auth.PlanRead, []string{"plan:publish"}, []string{"New item"}, []string{"/roadmap"}},
	} {
		reader := newDemoStudio(t, auth.CompanyRead, area.scope)
		checkNotContains(t, string(area.scope), reader.page(t, area.pages[0], area.shown...), area.offered...)
		for _, path := range area.pages {
			status, body := noScope.get(t, path)
			checkContains(t, path, body, "This key lacks the scope "+string(area.scope))
			if status != http.StatusForbidden || strings.Count(body, "lacks the scope") != 1 {
				t.Errorf("%s: status %d, want 403 and one missing scope: %s", path, status, visibleText(body))
			}
		}
	}
	empty := newTestStudio(t, auth.CompanyRead, auth.PlanRead)
	checkNotContains(t, "no board", empty.page(t, "/roadmap", "plan:write"), "New board")
}

// noCurrentKeyTransport is a transport to a service that lacks the operation for reading a key's
// scopes.
type noCurrentKeyTransport struct{ next http.RoundTripper }

func (n noCurrentKeyTransport) RoundTrip(r *http.Request) (*http.Response, error) {
	if strings.HasSuffix(r.URL.Path, "/keys/current") {
		return refusal(http.StatusNotFound, "not_found", "no such operation")(r), nil
	}
	return n.next.RoundTrip(r)
}

// Ensure no response or log contains the key or the token. The token is only in the address that
// the studio prints.
func TestNoSecretLeavesTheProcess(t *testing.T) {
	t.Parallel()
	demoStudio, w := newDemoStudio(t), newTestStudio(t) // demoStudio is only read, and w is written to
	id := w.addReview(t, "secret", nil)
	var secrets []string
	for _, ts := range []*testStudio{demoStudio, w} {
		u, err := url.Parse(ts.url)
		if err != nil {
			t.Fatal(err)
		}
		secrets = append(secrets, ts.key, ts.key[len("sk_live_"):], u.Query().Get("token"))
	}
	check := func(path string, r *http.Response) string {
		body := read(t, r)
		var all strings.Builder
		if err := r.Header.Write(&all); err != nil {
			t.Fatal(err)
		}
		for _, secret := range secrets {
			if strings.Contains(body+all.String(), secret) {
				t.Errorf("%s: a secret is in the response", path)
			}
		}
		return body
	}
	for _, respond := range []func(*http.Request) *http.Response{nil, refusal(403, "forbidden", "no"), refusal(401, "unauthorised", "no")} {
		demoStudio.transport.respondWith(respond)
		for _, path := range pagePaths {
			r, err := demoStudio.browser.Get(demoStudio.base + path)
			if err != nil {
				t.Fatal(err)
			}
			check(path, r)
		}
		w.transport.respondWith(nil)
		form := fields(t, w.page(t, "/reviews?id="+id), "answer")
		form.Set("body", "A reply")
		form.Set("action", "save")
		w.transport.respondWith(respond)
		r, err := w.browser.PostForm(w.base+"/reviews/"+id, form)
		if err != nil {
			t.Fatal(err)
		}
		if body := check("save", r); respond == nil && !strings.Contains(body, "-X PATCH") {
			t.Error("the call is not shown:", visibleText(body))
		}
	}
	for _, secret := range secrets {
		if logs := demoStudio.logs.String() + w.logs.String(); strings.Contains(logs, secret) {
			t.Error("a secret is in the log:", logs)
		}
	}
}

// Ensure hostile text, such as the text of a review, is escaped wherever it is shown.
func TestHostileTextIsText(t *testing.T) {
	t.Parallel()
	w := newTestStudio(t)
	const evil = `"><script>alert(1)</script><img src=x onerror=alert(1)>' onmouseover='x {{.}} </textarea>`
	w.addReview(t, "evil", demo.Record{"title": evil, "body": evil, "authorName": evil, "replyBody": evil, "replyStatus": "draft", "appVersion": "1", "territory": "DE"})
	demotest.Load(t, w.Service, demo.Line{Type: "brand-kit", Record: demo.Record{"id": "kit_1", "voiceTone": []string{evil}, "voiceGuidelines": evil, "avoidWords": []string{evil}}},
		demo.Line{Type: "metric-definition", Record: demo.Record{"id": "mdf_1", "key": "a.b", "name": evil, "description": evil, "unit": "count", "aggregation": "sum"}},
		demo.Line{Type: "metric-point", Record: demo.Record{"metricKey": "a.b", "grain": "day", "ts": "2026-08-03T00:00:00Z", "value": 3, "dims": demo.Record{evil[:30]: evil}}})
	w.Send(t, w.key, "PATCH", "/v1/companies/{companyId}", `{"name": `+string(marshalJSON(t, evil))+`, "summary": `+string(marshalJSON(t, evil))+`}`)
	for _, path := range []string{
		"/", "/week?week=2026-W31", "/reviews", "/reviews?id=fbk_evil&show=all&q=" + url.QueryEscape(evil) + "&source=" + url.QueryEscape(evil), "/company", "/metrics?key=a.b",
		"/metrics?key=a.b&split=" + url.QueryEscape(evil[:30]), "/metrics?key=" + url.QueryEscape(evil), "/metrics?range=" + url.QueryEscape(evil),
	} {
		_, body := w.get(t, path)
		for _, markup := range []string{"<script>", "<img", `onmouseover='x`} {
			if strings.Contains(body, markup) {
				t.Errorf("%s: %s is markup: %s", path, markup, body)
			}
		}
		if n := strings.Count(body, "<script "); n != 1 {
			t.Errorf("%s: %d scripts, want 1: %s", path, n, body)
		}
		if !strings.Contains(html.UnescapeString(body), "<script>alert(1)") {
			t.Errorf("%s: the text is not shown", path)
		}
	}
}

func marshalJSON(t *testing.T, v any) []byte {
	t.Helper()
	text, err := json.Marshal(v)
	if err != nil {
		t.Fatal(err)
	}
	return text
}

// Ensure a form that was sent from a page of a different origin changes nothing, even if its fields
// have the right values.
func TestFormOfAnotherOrigin(t *testing.T) {
	t.Parallel()
	w := newTestStudio(t)
	id := w.addReview(t, "one", nil)
	form := fields(t, w.page(t, "/reviews"), "answer")
	form.Set("body", "Not mine")
	form.Set("action", "approve")
	r, err := http.NewRequestWithContext(t.Context(), http.MethodPost, w.base+"/reviews/"+id, strings.NewReader(form.Encode()))
	if err != nil {
		t.Fatal(err)
	}
	r.Header.Set("Content-Type", "application/x-www-form-urlencoded")
	r.Header.Set("Origin", "https://evil.example")
	response, err := w.browser.Do(r)
	if err != nil {
		t.Fatal(err)
	}
	if body := read(t, response); response.StatusCode != http.StatusForbidden {
		t.Errorf("status %d, want 403: %s", response.StatusCode, body)
	}
	if got := w.storedReview(t, id)["replyStatus"]; got != "none" {
		t.Errorf("the reply is %v, want none", got)
	}
}

// Ensure a key is never sent unencrypted to another machine.
func TestKeyNeedsEncryption(t *testing.T) {
	t.Parallel()
	for base, ok := range map[string]bool{
		"https://api.example.com": true, "http://127.0.0.1:8080": true, "http://localhost:1": true, "http://[::1]:8080": true,
		"http://api.example.com": false, "http://10.0.0.1:8080": false, "http://localhost.evil.example": false, "nonsense": false, "": false, "ftp://127.0.0.1": false,
	} {
		if _, err := studio.New(studio.Options{BaseURL: base, Key: "k", CompanyID: "co_1"}); (err == nil) != ok {
			t.Errorf("%q: error %v, want it accepted: %t", base, err, ok)
		}
	}
}
