package client_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"hash/crc32"
	"io"
	"maps"
	"math/big"
	"net/http"
	"net/http/httptest"
	"net/url"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"growthworkspace/shared/client"
)

const testKey = "sk_live_test" // not a real key

// service is a server that sends its responses in order, then repeats the last one. It records the
// requests.
type service struct {
	*httptest.Server

	mu        sync.Mutex
	responses []fakeResponse
	got       []*http.Request
	bodies    []string
}

func (s *service) requests() []*http.Request {
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.Clone(s.got)
}

func (s *service) sentBodies() []string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.Clone(s.bodies)
}

type fakeResponse struct {
	status          int
	body            string
	header          []string // alternating names and values
	closeConnection bool     // whether to close the connection instead of responding
}

func serve(t *testing.T, responses ...fakeResponse) *service {
	t.Helper()
	s := &service{responses: responses}
	s.Server = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, err := io.ReadAll(r.Body)
		if err != nil {
			t.Error(err)
		}
		s.mu.Lock()
		s.got, s.bodies = append(s.got, r), append(s.bodies, string(body))
		n := len(s.got)
		a := s.responses[min(n, len(s.responses))-1]
		s.mu.Unlock()
		if a.closeConnection {
			panic(http.ErrAbortHandler)
		}
		w.Header().Set("Service-Request-Id", fmt.Sprintf("req_%d", n))
		for i := 0; i+1 < len(a.header); i += 2 {
			w.Header().Add(a.header[i], a.header[i+1])
		}
		w.WriteHeader(max(a.status, 200))
		_, _ = io.WriteString(w, a.body) // the test fails if the client has disconnected
	}))
	t.Cleanup(s.Close)
	return s
}

// sleepRecorder records how long a client sleeps.
type sleepRecorder struct{ sleeps []time.Duration }

func (s *sleepRecorder) sleep(ctx context.Context, d time.Duration) error {
	s.sleeps = append(s.sleeps, d)
	return ctx.Err()
}

func (s *service) client(t *testing.T, w *sleepRecorder, options ...client.Option) *client.Client {
	t.Helper()
	keyCount := 0
	options = append([]client.Option{
		client.WithCompany("co_1"), client.WithSleep(w.sleep), client.WithRandom(func() float64 { return 0 }), client.WithBackoff(func(n int) time.Duration { return time.Duration(n) * time.Second }),
		client.WithIdempotencyKeys(func() string { keyCount++; return fmt.Sprintf("name-%d", keyCount) }),
	}, options...)
	c, err := client.New(s.URL, testKey, options...)
	if err != nil {
		t.Fatal(err)
	}
	return c
}

func envelope(code string, messages ...string) string {
	var entries []string
	for _, m := range messages {
		entries = append(entries, fmt.Sprintf(`{"code":%q,"message":%q}`, code, m))
	}
	return `{"errors":[` + strings.Join(entries, ",") + `]}`
}

var (
	rateLimitedResponse   = fakeResponse{status: 429, body: envelope("rate_limited", "too many"), header: []string{"Retry-After", "7"}}
	internalErrorResponse = fakeResponse{status: 500, body: envelope("internal", "fault")}
	lostResponse          = fakeResponse{closeConnection: true}
	boardResponse         = fakeResponse{body: `{"id":"brd_1","companyId":"co_1","name":"Roadmap","unheardOf":{"a":1}}`}
	itemResponse          = fakeResponse{body: `{"id":"itm_1","title":"Dark mode"}`}
)

func getBoard(ctx context.Context, c *client.Client) error {
	b, err := c.GetPlanBoard(ctx, client.GetPlanBoardInput{BoardID: "brd_1"})
	if err == nil && (b.ID != "brd_1" || b.Name.Or("") != "Roadmap") {
		return fmt.Errorf("got %+v", b)
	}
	return err
}

// createItem calls an operation that accepts an Idempotency-Key.
func createItem(ctx context.Context, c *client.Client) error {
	_, err := c.CreatePlanItem(ctx, client.CreatePlanItemInput{BoardID: "brd_1", Title: "Dark mode"})
	return err
}

func deleteItem(ctx context.Context, c *client.Client) error {
	_, err := c.DeletePlanItem(ctx, client.DeletePlanItemInput{ItemID: "itm_1"})
	return err
}

// Ensure a call is retried if and only if that is safe. The client must wait for Retry-After or the
// backoff, and retry a limited number of times.
func TestRetries(t *testing.T) {
	t.Parallel()
	postWithoutKey := func(ctx context.Context, c *client.Client) error {
		_, err := c.Do(ctx, client.Request{Method: "POST", Path: "/v1/x"})
		return err
	}
	for _, c := range []struct {
		name      string
		call      func(context.Context, *client.Client) error
		responses []fakeResponse
		waits     []time.Duration
		code      string // the code of the error; "-" for any other error, empty for no error
	}{
		{"429", getBoard, []fakeResponse{rateLimitedResponse, rateLimitedResponse, boardResponse}, []time.Duration{7 * time.Second, 7 * time.Second}, ""},
		{"500", getBoard, []fakeResponse{internalErrorResponse, internalErrorResponse, boardResponse}, []time.Duration{1 * time.Second, 2 * time.Second}, ""},
		{"a lost response", getBoard, []fakeResponse{lostResponse, boardResponse}, []time.Duration{time.Second}, ""},
		{"a POST with a key", createItem, []fakeResponse{lostResponse, internalErrorResponse, rateLimitedResponse, itemResponse}, []time.Duration{1 * time.Second, 2 * time.Second, 7 * time.Second}, ""},
		{"a delete", deleteItem, []fakeResponse{internalErrorResponse, {body: `{"id":"itm_1","deleted":true}`}}, []time.Duration{time.Second}, ""},
		{"a POST without a key", postWithoutKey, []fakeResponse{internalErrorResponse}, nil, "internal"},
		{"a lost response without a key", postWithoutKey, []fakeResponse{lostResponse}, nil, "-"},
		{"429 without a key", postWithoutKey, []fakeResponse{rateLimitedResponse, itemResponse}, []time.Duration{7 * time.Second}, ""},
		{"still running", createItem, []fakeResponse{{status: 409, body: envelope("conflict", "running"), header: []string{"Retry-After", "1"}}, itemResponse}, []time.Duration{time.Second}, ""},
		{"429 more often than attempts", getBoard, []fakeResponse{rateLimitedResponse, rateLimitedResponse, rateLimitedResponse, rateLimitedResponse, internalErrorResponse, rateLimitedResponse, boardResponse}, []time.Duration{7 * time.Second, 7 * time.Second, 7 * time.Second, 7 * time.Second, time.Second, 7 * time.Second}, ""},
		{"429 until the longest wait", getBoard, []fakeResponse{{status: 429, body: envelope("rate_limited", "x"), header: []string{"Retry-After", "50"}}}, []time.Duration{50 * time.Second, 50 * time.Second}, "rate_limited"},
		{"429 without Retry-After", getBoard, []fakeResponse{{status: 429, body: envelope("rate_limited", "x")}}, []time.Duration{1 * time.Second, 2 * time.Second, 3 * time.Second}, "rate_limited"},
		{"a conflict", createItem, []fakeResponse{{status: 409, body: envelope("conflict", "taken")}}, nil, "conflict"},
		{"bad request", getBoard, []fakeResponse{{status: 400, body: envelope("bad_request", "body.title: is required")}}, nil, "bad_request"},
		{"500 until the last attempt", getBoard, []fakeResponse{internalErrorResponse}, []time.Duration{1 * time.Second, 2 * time.Second, 3 * time.Second}, "internal"},
		{"Retry-After above the limit", getBoard, []fakeResponse{{status: 429, body: envelope("rate_limited", "x"), header: []string{"Retry-After", "121"}}}, nil, "rate_limited"},
		{"Retry-After with a date", getBoard, []fakeResponse{{status: 429, body: envelope("rate_limited", "x"), header: []string{
			"Date", "Tue, 11 Aug 2026 09:30:00 GMT", "Retry-After", "Tue, 11 Aug 2026 09:30:09 GMT",
		}}, boardResponse}, []time.Duration{9 * time.Second}, ""},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			s, w := serve(t, c.responses...), &sleepRecorder{}
			err := c.call(t.Context(), s.client(t, w))
			var refused *client.Error
			code := ""
			if errors.As(err, &refused) {
				code = refused.Code
				if refused.Attempts != len(s.requests()) {
					t.Errorf("%d attempts, sent %d times", refused.Attempts, len(s.requests()))
				}
			} else if err != nil {
				code = "-"
			}
			if code != c.code || !slices.Equal(w.sleeps, c.waits) || len(s.requests()) != len(c.waits)+1 {
				t.Errorf("%v, waited %v, sent %d times", err, w.sleeps, len(s.requests()))
			}
			for i, r := range s.requests() {
				if r.Header.Get("Idempotency-Key") != s.requests()[0].Header.Get("Idempotency-Key") || s.sentBodies()[i] != s.sentBodies()[0] {
					t.Error("the retry is another request")
				}
			}
		})
	}
}

// Ensure that a wait ends when the context is cancelled, and that the error also wraps the error of
// the last response.
func TestContextEnds(t *testing.T) {
	t.Parallel()
	s := serve(t, rateLimitedResponse)
	ctx, cancel := context.WithCancel(t.Context())
	c := s.client(t, &sleepRecorder{}, client.WithSleep(func(ctx context.Context, _ time.Duration) error { cancel(); return ctx.Err() }))
	err := getBoard(ctx, c)
	var refused *client.Error
	if !errors.Is(err, context.Canceled) || !errors.As(err, &refused) {
		t.Fatalf("error %v, want that of the context and the last response", err)
	}
	if n := len(s.requests()); n != 1 || refused.RetryAfter != 7*time.Second {
		t.Errorf("%d requests and a wait of %s, want 1 and 7s", n, refused.RetryAfter)
	}
	if err := getBoard(ctx, c); !errors.Is(err, context.Canceled) {
		t.Errorf("a call after the end: error %v, want %v", err, context.Canceled)
	}
}

// Ensure that the backoff doubles up to its limit, and that each wait is between half of the
// backoff and all of it.
func TestBackoff(t *testing.T) {
	t.Parallel()
	for random, want := range map[float64][]time.Duration{
		0:   {125 * time.Millisecond, 250 * time.Millisecond, 500 * time.Millisecond, time.Second, 2 * time.Second, 4 * time.Second, 4 * time.Second},
		0.5: {187500 * time.Microsecond, 375 * time.Millisecond, 750 * time.Millisecond, 1500 * time.Millisecond, 3 * time.Second, 6 * time.Second, 6 * time.Second},
	} {
		wait := client.JitteredBackoff(func() float64 { return random })
		for i, d := range want {
			if got := wait(i + 1); got != d {
				t.Errorf("random %v, attempt %d: %v instead of %v", random, i+1, got, d)
			}
		}
	}
}

// Ensure a request contains the values from all options.
func TestOptions(t *testing.T) {
	t.Parallel()
	s, w := serve(t, itemResponse), &sleepRecorder{}
	c := s.client(t, w, client.WithVersion("2026-08-11"), client.WithUserAgent("robot/1"), client.WithHTTPClient(s.Client()))
	var response client.Response
	_, err := c.CreatePlanItem(t.Context(), client.CreatePlanItemInput{BoardID: "a/b", Title: "x", CategoryIDs: client.Value([]string{}), SortOrder: client.Value(0)},
		client.IdempotencyKey("mine"), client.IfMatch(`"tag"`), client.Into(&response))
	if err != nil {
		t.Fatal(err)
	}
	r := s.requests()[0]
	for name, want := range map[string]string{
		"Authorization": "Bearer " + testKey, "Service-Version": "2026-08-11", "User-Agent": "robot/1", "Idempotency-Key": "mine", "If-Match": `"tag"`,
		"Content-Type": "application/json", "Accept": "application/json",
	} {
		if got := r.Header.Get(name); got != want {
			t.Errorf("%s is %q, want %q", name, got, want)
		}
	}
	if r.URL.EscapedPath() != "/v1/companies/co_1/plan/boards/a%2Fb/items" || response.RequestID() != "req_1" {
		t.Errorf("path %s and request id %q, want /v1/companies/co_1/plan/boards/a%%2Fb/items and req_1", r.URL.EscapedPath(), response.RequestID())
	}
	// A field that is left out must not be sent, but an empty list must be.
	if got, want := s.sentBodies()[0], `{"title":"x","categoryIds":[],"sortOrder":0}`; got != want {
		t.Errorf("sent %s, want %s", got, want)
	}
	if _, err := c.GetPlanItem(t.Context(), client.GetPlanItemInput{}); err == nil || len(s.requests()) != 1 {
		t.Error("a call without an id was sent")
	}
}

func TestNotModified(t *testing.T) {
	t.Parallel()
	s := serve(t, fakeResponse{status: 304, header: []string{"ETag", `"t"`}})
	_, err := s.client(t, &sleepRecorder{}).GetPlanItem(t.Context(), client.GetPlanItemInput{ItemID: "itm_1"}, client.IfNoneMatch(`"t"`))
	if !errors.Is(err, client.ErrNotModified) || s.requests()[0].Header.Get("If-None-Match") != `"t"` {
		t.Errorf("error %v, want %v; If-None-Match %q", err, client.ErrNotModified, s.requests()[0].Header.Get("If-None-Match"))
	}
}

// Ensure an error contains the messages in the envelope, and nothing from a body that is not an
// envelope.
func TestError(t *testing.T) {
	t.Parallel()
	s := serve(t, fakeResponse{status: 400, body: envelope("bad_request", "body.title: is required", "body.slug: is long")}, fakeResponse{status: 404, body: "<html>secret page</html>"})
	c := s.client(t, &sleepRecorder{})
	for _, want := range []struct {
		refused client.Error
		text    string
	}{
		{client.Error{Status: 400, Code: "bad_request", Messages: []string{"body.title: is required", "body.slug: is long"}, RequestID: "req_1", Attempts: 1},
			"bad_request: body.title: is required; body.slug: is long (req_1)"},
		{client.Error{Status: 404, Messages: []string{"the response is not from the service: Not Found"}, RequestID: "req_2", Attempts: 1},
			"status 404: the response is not from the service: Not Found (req_2)"},
	} {
		var e *client.Error
		err := getBoard(t.Context(), c)
		if !errors.As(err, &e) {
			t.Fatalf("error %v, want one of the service", err)
		}
		if diff := cmp.Diff(want.refused, *e); diff != "" {
			t.Errorf("error (-want +got):\n%s", diff)
		}
		if e.Error() != want.text || strings.Contains(err.Error(), "secret") {
			t.Errorf("error %v, want %s", err, want.text)
		}
	}
	s = serve(t, fakeResponse{status: 404, body: `{"errors":[]}`})
	var e *client.Error
	if err := getBoard(t.Context(), s.client(t, &sleepRecorder{})); !errors.As(err, &e) || e.Code != "" || !strings.Contains(err.Error(), "not from the service") {
		t.Errorf("an envelope without errors: %v, want that it is not from the service", err)
	}
}

// endlessTransport is a transport whose response bodies consist of a record followed by an endless
// series of spaces.
type endlessTransport struct{}

func (endlessTransport) RoundTrip(r *http.Request) (*http.Response, error) {
	return &http.Response{StatusCode: 200, Request: r, Header: http.Header{}, Body: io.NopCloser(io.MultiReader(strings.NewReader(boardResponse.body), endlessTransport{}))}, nil
}

func (endlessTransport) Read(p []byte) (int, error) {
	return copy(p, bytes.Repeat([]byte(" "), len(p))), nil
}

// Ensure a response larger than any that the service sends returns an error and is not read to its
// end.
func TestResponseTooLarge(t *testing.T) {
	t.Parallel()
	c, err := client.New("https://api.example", testKey, client.WithCompany("co_1"), client.WithAttempts(1), client.WithHTTPClient(&http.Client{Transport: endlessTransport{}}))
	if err != nil {
		t.Fatal(err)
	}
	if err := getBoard(t.Context(), c); err == nil || !strings.Contains(err.Error(), "has more than 67108864 bytes") {
		t.Errorf("error %v, want that the response has more than 67108864 bytes", err)
	}
}

// Ensure that the key is sent only to the base URL, not to the target of a redirect or a Link, and
// that it is never printed.
func TestKeyIsSentOnlyToBaseURL(t *testing.T) {
	t.Parallel()
	other := serve(t, fakeResponse{body: `{"items":[]}`})
	s := serve(t, fakeResponse{status: 307, header: []string{"Location", other.URL}},
		fakeResponse{body: `{"items":[{"id":"brd_1"}]}`, header: []string{"Service-Has-More", "true", "Link", "<" + other.URL + `/x?cursor=next>; rel="next"`}}, fakeResponse{body: `{"items":[]}`})
	c := s.client(t, &sleepRecorder{})
	if err := getBoard(t.Context(), c); err == nil {
		t.Error("a redirect was followed")
	}
	for _, err := range c.AllPlanBoards(t.Context(), client.ListPlanBoardsInput{Limit: client.Value(1)}) {
		if err != nil {
			t.Error(err)
		}
	}
	if n := len(other.requests()); n != 0 {
		t.Errorf("%d requests to the other address, want none", n)
	}
	if sent := s.requests(); len(sent) != 3 {
		t.Errorf("%d requests, want 3", len(sent))
	} else if diff := cmp.Diff(url.Values{"cursor": {"next"}, "limit": {"1"}}, sent[2].URL.Query()); diff != "" {
		t.Errorf("query of the second page (-want +got):\n%s", diff)
	}
	var out bytes.Buffer
	fmt.Fprintf(&out, "%v %+v %#v %s", c, c, c, c)
	if _, err := client.New("::", testKey); err != nil {
		out.WriteString(err.Error())
	}
	if strings.Contains(out.String(), testKey) {
		t.Errorf("the key is printed: %s", &out)
	}
}

// Ensure that an iterator ends after the first error, and that a page that links to itself is an
// error.
func TestPagesEnd(t *testing.T) {
	t.Parallel()
	first := fakeResponse{body: `{"items":[{"id":"brd_1"},{"id":"brd_2"}]}`, header: []string{"Link", `<http://x/?cursor=a>; rel="next"`}}
	for name, second := range map[string]fakeResponse{
		"same cursor": first, "no link": {body: `{"items":[]}`, header: []string{"Service-Has-More", "true"}},
		"no cursor": {body: `{"items":[]}`, header: []string{"Link", `<http://x/>; rel="next"`}}, "refused": {status: 401, body: envelope("unauthorised", "x")},
	} {
		s := serve(t, first, second)
		var failed error
		n := 0
		for _, err := range s.client(t, &sleepRecorder{}).AllPlanBoards(t.Context(), client.ListPlanBoardsInput{}) {
			n++
			if err != nil {
				failed = err
			}
			if n > 10 {
				t.Fatal("endless: ", name)
			}
		}
		if failed == nil {
			t.Errorf("%s: no error", name)
		}
	}
	s := serve(t, first)
	for range s.client(t, &sleepRecorder{}).AllPlanBoards(t.Context(), client.ListPlanBoardsInput{}) {
		break
	}
	if len(s.requests()) != 1 {
		t.Error("a page was requested after the loop ended")
	}
}

// Ensure the company id is taken from a complete key, without a request, and that no other string
// yields a company id.
func TestCompanyInKey(t *testing.T) {
	t.Parallel()
	whole := keyOf(t, 3, 5)
	const company = "co_00000000000000000000000005"
	if got := client.CompanyOf(whole); got != company {
		t.Errorf("the company is %q", got)
	}
	s := serve(t, boardResponse)
	c, err := client.New(s.URL, whole)
	if err != nil {
		t.Fatal(err)
	}
	if err := getBoard(t.Context(), c); err != nil || len(s.requests()) != 1 || s.requests()[0].URL.Path != "/v1/companies/"+company+"/plan/boards/brd_1" {
		t.Errorf("%v after %d requests", err, len(s.requests()))
	}
	other := []byte(whole)
	other[20]++ // a different id, with the old checksum
	for _, text := range []string{"", whole[1:], whole + "0", whole[:len(whole)-1] + "!", string(other), strings.Replace(whole, "live", "test", 1)} {
		if got := client.CompanyOf(text); got != "" {
			t.Errorf("%q has the company %s", text, got)
		}
	}
}

// keyOf returns a key that contains ids with the given numbers, and zeros as its secret. No service
// has issued it.
func keyOf(t *testing.T, id, company int64) string {
	t.Helper()
	const digits = "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz"
	base62 := func(n *big.Int, width int) string {
		out, rest, base := make([]byte, width), new(big.Int), big.NewInt(62)
		for i := width - 1; i >= 0; i-- {
			n.DivMod(n, base, rest)
			out[i] = digits[rest.Int64()]
		}
		return string(out)
	}
	ids := new(big.Int).Lsh(big.NewInt(id), 128)
	body := "sk_live_" + base62(ids.Add(ids, big.NewInt(company)), 43) + strings.Repeat("0", 27)
	return body + base62(big.NewInt(int64(crc32.ChecksumIEEE([]byte(body)))), 6)
}

// Ensure dims are decoded to a map of strings, including dims that only an import can have stored.
func TestDims(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]client.Dims{
		`{"country":"DE"}`: {"country": "DE"}, `{}`: {}, `{"n":5,"o":{"a":[1]},"x":null}`: {"n": "5", "o": `{"a":[1]}`, "x": "null"},
		`["a"]`: {"": `["a"]`}, `7`: {"": "7"}, `"a"`: {"": "a"},
	} {
		var p client.Point
		if err := json.Unmarshal([]byte(`{"dims":`+text+`}`), &p); err != nil || !maps.Equal(p.Dims.Or(nil), want) {
			t.Errorf("%s reads as %v: %v", text, p.Dims, err)
		}
	}
	var p client.Point
	if err := json.Unmarshal([]byte(`{"dims":null}`), &p); err != nil || !p.Dims.IsNull() {
		t.Errorf("null reads as %v: %v", p.Dims, err)
	}
	if text, err := json.Marshal(client.PushMetricPointsPoint{Dims: client.Value(client.Dims{"country": "DE"})}); err != nil || !strings.Contains(string(text), `"dims":{"country":"DE"}`) {
		t.Errorf("dimensions are sent as %s: %v", text, err)
	}
}

// Ensure that the company is requested only once if the key does not contain it, and that it is an
// error if the response does not list exactly one company.
func TestCompany(t *testing.T) {
	t.Parallel()
	s := serve(t, fakeResponse{body: `{"items":[{"id":"co_7"}]}`}, boardResponse)
	c := s.client(t, &sleepRecorder{}, client.WithCompany(""))
	for range 2 {
		if err := getBoard(t.Context(), c); err != nil {
			t.Fatal(err)
		}
	}
	if sent := s.requests(); len(sent) != 3 {
		t.Errorf("%d requests, want 3: the company is looked up once", len(sent))
	} else if sent[2].URL.Path != "/v1/companies/co_7/plan/boards/brd_1" {
		t.Errorf("path %s, want that of the company co_7", sent[2].URL.Path)
	}
	s = serve(t, fakeResponse{body: `{"items":[]}`})
	if err := getBoard(t.Context(), s.client(t, &sleepRecorder{}, client.WithCompany(""))); err == nil {
		t.Error("no company and no error")
	}
}

func TestNewRefuses(t *testing.T) {
	t.Parallel()
	for _, c := range [][2]string{
		{"", testKey}, {"api.example.com", testKey}, {"ftp://x", testKey}, {"http://", testKey}, {"https://x?y=1", testKey}, {"https://me:secret@x", testKey},
		{"https://x", ""}, {"https://x", "pk_live_x"}, {"https://x", "sk_live_x\n"}, {"https://x", "sk live"},
	} {
		if got, err := client.New(c[0], c[1]); err == nil || strings.Contains(err.Error(), "secret@") || strings.Contains(err.Error(), testKey) {
			t.Errorf("%q: client %v and error %v, want an error without a secret", c, got, err)
		}
	}
	for address, shown := range map[string]string{"http://me:pass@host?a": `"host?a"`, "host": `"host"`} {
		if _, err := client.New(address, testKey); err == nil || !strings.HasSuffix(err.Error(), "not "+shown) {
			t.Errorf("error %v, want it to end with not %s", err, shown)
		}
	}
	for _, valid := range []string{"!", "~"} {
		if _, err := client.New("https://x", valid); err != nil {
			t.Errorf("the key %s is refused: %v", valid, err)
		}
	}
}

func TestLoopback(t *testing.T) {
	t.Parallel()
	for base, want := range map[string]bool{
		"http://localhost:8080": true, "http://127.0.0.1": true, "http://127.200.3.4:1/a": true, "http://[::1]:80": true,
		"https://api.example.com": false, "http://localhost.example.com": false, "http://192.0.2.1": false, "http://0.0.0.0": false, "": false, ":": false,
	} {
		if got := client.Loopback(base); got != want {
			t.Errorf("Loopback(%q) = %v, want %v", base, got, want)
		}
	}
}
