package functions_test

import (
	"bytes"
	"encoding/json"
	"io"
	"math/rand/v2"
	"net/http"
	"net/http/httptest"
	"path"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"growthworkspace/functions"
	"growthworkspace/shared/api"
	"growthworkspace/shared/auth"
	"growthworkspace/shared/client"
	"growthworkspace/shared/id"
	"growthworkspace/shared/testkit/apitest"
)

// inProcessTransport is a transport to a service in this process. It keeps the body of the last
// response.
type inProcessTransport struct {
	service      *apitest.Service
	lastResponse []byte
}

func (p *inProcessTransport) RoundTrip(r *http.Request) (*http.Response, error) {
	w := httptest.NewRecorder()
	p.service.Handler.ServeHTTP(w, r)
	p.lastResponse = bytes.Clone(w.Body.Bytes())
	return w.Result(), nil
}

func clientOf(t *testing.T, s *apitest.Service, options ...client.Option) (*client.Client, *inProcessTransport) {
	t.Helper()
	transport := &inProcessTransport{service: s}
	options = append([]client.Option{client.WithHTTPClient(&http.Client{Transport: transport})}, options...)
	c, err := client.New("http://service.example", s.IssueKey(t), options...)
	if err != nil {
		t.Fatal(err)
	}
	return c, transport
}

// Ensure the client and the service agree on which scopes contain which other scopes.
func TestClientScopesMatchService(t *testing.T) {
	t.Parallel()
	for _, own := range auth.Scopes() {
		for _, scope := range auth.Scopes() {
			want := scope == own || slices.Contains(containedScopes[own], scope)
			key := client.Key{Scopes: client.Value([]string{string(own)})}
			if byClient, byService := key.Allows(string(scope)), scope.IsGrantedBy([]auth.Scope{own}); byClient != want || byService != want {
				t.Errorf("%s allows %s: %t in the client, %t in the service, want %t", own, scope, byClient, byService, want)
			}
		}
	}
}

// methodOf returns the client method for an operation, and the method's arguments, built from args.
func methodOf(t *testing.T, c *client.Client, prefix, operation string, args map[string]any) (reflect.Value, []reflect.Value) {
	t.Helper()
	wanted := prefix + strings.ReplaceAll(operation, "_", "")
	v := reflect.ValueOf(c)
	i := -1
	for n := range v.NumMethod() {
		if strings.EqualFold(v.Type().Method(n).Name, wanted) {
			i = n
		}
	}
	if i < 0 {
		t.Fatalf("the client has no method for %s: run go run ./scripts/gen", operation)
	}
	method := v.Method(i)
	in := []reflect.Value{reflect.ValueOf(t.Context())}
	if method.Type().NumIn() > 2 { // the parameters are a context, an input and the options
		in = append(in, inputOf(t, method.Type().In(1), args))
	} else if len(args) > 0 {
		t.Fatalf("%s has no input", operation)
	}
	return method, in
}

func inputOf(t *testing.T, inputType reflect.Type, args map[string]any) reflect.Value {
	t.Helper()
	in := reflect.New(inputType).Elem()
	left := len(args)
	for _, f := range reflect.VisibleFields(inputType) {
		name, _, _ := strings.Cut(f.Tag.Get("json"), ",")
		for _, tag := range []string{"path", "query"} {
			if other := f.Tag.Get(tag); other != "" {
				name = other
			}
		}
		value, ok := args[name]
		if !ok {
			continue
		}
		left--
		text, err := json.Marshal(value)
		if err == nil {
			err = json.Unmarshal(text, in.FieldByIndex(f.Index).Addr().Interface())
		}
		if err != nil {
			t.Fatalf("%s.%s is not set: %v", inputType, f.Name, err)
		}
	}
	if left != 0 {
		t.Fatalf("%s does not have all of the fields %v", inputType, args)
	}
	return in
}

func errorOf(v reflect.Value) error {
	err, _ := v.Interface().(error) // nil if v holds no error
	return err
}

// withParsedTimes replaces each timestamp in a JSON value with a time.Time. The strings can differ
// for the same time, because the service always writes milliseconds and time.Time omits trailing
// zeros.
func withParsedTimes(value any) any {
	switch value := value.(type) {
	case string:
		if at, err := time.Parse(time.RFC3339, value); err == nil {
			return at.UTC()
		}
	case []any:
		for i := range value {
			value[i] = withParsedTimes(value[i])
		}
	case map[string]any:
		for name := range value {
			value[name] = withParsedTimes(value[name])
		}
	}
	return value
}

// Ensure the Go client has a method for each operation. The record that the method returns must
// have exactly the fields of the response.
func TestClient(t *testing.T) {
	t.Parallel()
	s := start(t, nil)
	c, transport := clientOf(t, s)
	for _, op := range functions.Operations(nil) {
		s.Clock.Advance(10 * time.Second)
		method, in := methodOf(t, c, "", op.ID, fixtureArguments[op.ID])
		out := method.Call(in)
		if err := errorOf(out[1]); err != nil {
			t.Errorf("%s fails: %v", op.ID, err)
			continue
		}
		var got, want any
		text, err := json.Marshal(out[0].Interface())
		if err == nil {
			err = json.Unmarshal(text, &got)
		}
		if err != nil {
			t.Fatalf("%s: the result is no JSON: %v", op.ID, err)
		}
		if err := json.Unmarshal(transport.lastResponse, &want); err != nil {
			t.Fatalf("%s: the response is not JSON: %v", op.ID, err)
		}
		if !reflect.DeepEqual(withParsedTimes(got), withParsedTimes(want)) {
			t.Errorf("%s: the response %s was decoded as %s", op.ID, transport.lastResponse, text)
		}
	}
}

// isPaged reports whether an operation is a list that accepts a limit.
func isPaged(op api.Operation) bool {
	for _, f := range op.Input {
		if f.Name == "limit" {
			return op.IsList()
		}
	}
	return false
}

// importCopies imports copies of the fixture's records, so that every list has several pages when
// the limit is 1.
func importCopies(t *testing.T, s *apitest.Service) {
	t.Helper()
	for _, one := range fixtureLines(t) {
		record := one.properties(t)
		if one.Type == "company" || one.Type == "brand-kit" {
			continue
		}
		for _, suffix := range []string{"a", "b"} {
			for _, name := range []string{"id", "slug", "key", "externalId"} {
				if value, ok := record[name].(string); ok {
					record[name] = value + suffix
				}
			}
			if _, ok := record["ts"]; ok {
				record["ts"] = map[string]string{"a": "2026-08-09T00:00:00Z", "b": "2026-08-08T00:00:00Z"}[suffix]
			}
			importLines(t, s, one.Type, marshal(t, record))
		}
	}
}

// Ensure the iterator for each list returns the same records as one large page, in the same order.
func TestClientPages(t *testing.T) {
	t.Parallel()
	s := start(t, nil)
	importCopies(t, s)
	key := s.IssueKey(t)
	for range 2 { // two versions more
		callTool(t, s, key, "create_plan_item", map[string]any{"boardId": "brd_1", "title": "New", "status": "published"})
		callTool(t, s, key, "publish_plan_board", map[string]any{"boardId": "brd_1"})
	}
	c, _ := clientOf(t, s, client.WithCompany(s.CompanyID))
	for _, op := range functions.Operations(nil) {
		if !isPaged(op) {
			continue
		}
		s.Clock.Advance(10 * time.Second)
		method, in := methodOf(t, c, "", op.ID, fixtureArguments[op.ID])
		out := method.Call(in)
		if err := errorOf(out[1]); err != nil {
			t.Fatalf("%s fails: %v", op.ID, err)
		}
		want := out[0].FieldByName("Items")
		if want.Len() < 3 || out[0].FieldByName("Next").String() != "" {
			t.Errorf("%s lists %d records, and pages need 3: run go run ./scripts/gen, which adds an example to functions/testdata/company.jsonl", op.ID, want.Len())
		}
		allMethod, in := methodOf(t, c, "all", strings.TrimPrefix(op.ID, "list"), fixtureArguments[op.ID])
		in[1].FieldByName("Limit").Set(reflect.ValueOf(client.Value(1)))
		var got []any
		for record, errValue := range allMethod.Call(in)[0].Seq2() {
			if err := errorOf(errValue); err != nil {
				t.Fatalf("%s: the next record fails: %v", op.ID, err)
			}
			got = append(got, record.Interface())
		}
		if op.ID == "list_metric_points" { // each page contains older points than the one before
			slices.Reverse(got)
		}
		if len(got) != want.Len() {
			t.Errorf("%s: %d records in pages of one, %d in one page", op.ID, len(got), want.Len())
			continue
		}
		for i, record := range got {
			if op.ID != "list_keys" && !reflect.DeepEqual(record, want.Index(i).Interface()) { // lastUsedAt of a key changes with each request
				t.Errorf("%s: record %d is %+v, want %+v", op.ID, i, record, want.Index(i))
			}
		}
	}
}

// loseFirstResponseTransport is a transport that loses the response to the first POST.
type loseFirstResponseTransport struct {
	inProcessTransport

	sentCount int
}

func (l *loseFirstResponseTransport) RoundTrip(r *http.Request) (*http.Response, error) {
	out, err := l.inProcessTransport.RoundTrip(r)
	if r.Method == http.MethodPost {
		if l.sentCount++; l.sentCount == 1 {
			return nil, io.ErrUnexpectedEOF
		}
	}
	return out, err
}

// Ensure the client works with a key that has only one scope. The client takes the company's id
// from the key, so it needs no scope to find the company.
func TestClientReadsTheKey(t *testing.T) {
	t.Parallel()
	s := start(t, nil)
	transport := &inProcessTransport{service: s}
	c, err := client.New("http://service.example", s.IssueKey(t, auth.MetricsWrite), client.WithHTTPClient(&http.Client{Transport: transport}))
	if err != nil {
		t.Fatal(err)
	}
	point := client.PushMetricPointsPoint{MetricKey: "growth.signups", TS: "2026-08-11", Value: 1, Dims: client.Value(client.Dims{"country": "DE"})}
	if got, err := c.PushMetricPoints(t.Context(), client.PushMetricPointsInput{Points: []client.PushMetricPointsPoint{point}}); err != nil || got.Accepted != 1 {
		t.Errorf("the push returns %+v, error %v; want 1 accepted", got, err)
	}
	random := rand.NewChaCha8([32]byte{7})
	for range 1000 {
		next := id.NewGenerator(func() time.Time { return time.UnixMilli(int64(random.Uint64() >> 17)) }, random)
		company := next(id.CompanyPrefix)
		key, err := auth.Mint(company, next(id.KeyPrefix), random)
		if err != nil {
			t.Fatal(err)
		}
		c, err := client.New("http://service.example", key)
		if err != nil {
			t.Fatal(err)
		}
		if got, err := c.CompanyID(t.Context()); err != nil || got != company {
			t.Fatalf("the key of %s has the company %s: %v", company, got, err)
		}
	}
}

// Ensure a create that is retried after its response was lost creates only one record.
func TestClientCreatesOnce(t *testing.T) {
	t.Parallel()
	s := start(t, nil)
	transport := &loseFirstResponseTransport{inProcessTransport: inProcessTransport{service: s}}
	c, _ := clientOf(t, s, client.WithHTTPClient(&http.Client{Transport: transport}), client.WithBackoff(func(int) time.Duration { return 0 }))
	var response client.Response
	made, err := c.CreatePlanItem(t.Context(), client.CreatePlanItemInput{BoardID: "brd_1", Title: "Once"}, client.Into(&response))
	if err != nil || transport.sentCount != 2 || response.Header.Get("Idempotent-Replayed") != "true" {
		t.Fatalf("error %v, %d requests, Idempotent-Replayed %q; want no error, 2 and true", err, transport.sentCount, response.Header.Get("Idempotent-Replayed"))
	}
	n := 0
	for item, err := range c.AllPlanItems(t.Context(), client.ListPlanItemsInput{BoardID: "brd_1"}) {
		if err != nil {
			t.Fatal(err)
		}
		if item.Title == "Once" {
			n++
		}
	}
	if n != 1 {
		t.Errorf("%d items", n)
	}
	// The ETag from the create's response is valid in the If-Match of an update.
	if _, err := c.UpdatePlanItem(t.Context(), client.UpdatePlanItemInput{ItemID: made.ID, Title: client.Value("Twice")}, client.IfMatch(response.ETag())); err != nil {
		t.Error(err)
	}
}

// Ensure the client imports only the standard library, so that its folder can be copied into
// another program.
func TestClientImportsOnlyStandardLibrary(t *testing.T) {
	t.Parallel()
	seen := 0
	eachGoFile(t, func(name string, imports []string, _ string) {
		if path.Dir(name) != "shared/client" || strings.HasSuffix(name, "_test.go") {
			return
		}
		seen++
		for _, i := range imports {
			if strings.HasPrefix(i, modulePath) || strings.Contains(strings.Split(i, "/")[0], ".") {
				t.Errorf("%s imports %s", name, i)
			}
		}
	})
	if seen == 0 {
		t.Error("shared/client has no files")
	}
}
