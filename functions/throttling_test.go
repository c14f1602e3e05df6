package functions_test

import (
	"encoding/json"
	"fmt"
	"io"
	"log/slog"
	"math/rand/v2"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"growthworkspace/functions"
	"growthworkspace/shared/api"
	"growthworkspace/shared/gateway"
	"growthworkspace/shared/table"
	"growthworkspace/shared/testkit/apitest"
)

// These tests use the fake clock of package synctest, so pauses between attempts take no real time,
// and a request takes exactly as long as its pauses.

// throttlingTransport is a transport from a synctest bubble to the engine. It refuses calls as
// DynamoDB does when it is overloaded.
type throttlingTransport struct {
	engine *http.Transport

	mu          sync.Mutex
	calls       int
	refused     int
	chooseError func(call string, n int) (code string) // returns the error code for the n-th call, counted from 0, or "" to let the call through
}

// newThrottlingTransport returns a transport for the synctest bubble in which it is called.
func newThrottlingTransport(choose func(call string, n int) (code string)) *throttlingTransport {
	return &throttlingTransport{engine: apitest.BubbleTransport(), chooseError: choose}
}

const (
	codeThrottling = "ThrottlingException"
	codeThroughput = "ProvisionedThroughputExceededException"
	codeConflict   = "TransactionConflictException"
)

// throttleMessage is part of the message of every refused call.
const throttleMessage = "the table has too much to do"

// RoundTrip implements http.RoundTripper.
func (t *throttlingTransport) RoundTrip(r *http.Request) (*http.Response, error) {
	_, call, _ := strings.Cut(r.Header.Get("X-Amz-Target"), ".")
	t.mu.Lock()
	code := t.chooseError(call, t.calls)
	if t.calls++; code != "" {
		t.refused++
	}
	t.mu.Unlock()
	if code == "" {
		return t.engine.RoundTrip(r)
	}
	var sent struct{ TransactItems []json.RawMessage }
	if err := json.NewDecoder(r.Body).Decode(&sent); err != nil {
		return nil, err
	}
	const namespace = "com.amazonaws.dynamodb.v20120810#"
	body := map[string]any{"__type": namespace + code, "message": throttleMessage}
	if len(sent.TransactItems) > 0 && code != codeThrottling { // DynamoDB cancels the transaction and gives a reason for each of its writes
		reasons := slices.Repeat([]map[string]string{{"Code": "None"}}, len(sent.TransactItems))
		reasons[0] = map[string]string{"Code": map[string]string{codeConflict: "TransactionConflict", codeThroughput: "ThrottlingError"}[code], "Message": throttleMessage}
		body = map[string]any{"__type": namespace + "TransactionCanceledException", "message": throttleMessage, "CancellationReasons": reasons}
	}
	text, err := json.Marshal(body)
	if err != nil {
		return nil, err
	}
	return &http.Response{
		StatusCode: http.StatusBadRequest, Request: r, Header: http.Header{"Content-Type": {"application/x-amz-json-1.0"}},
		ContentLength: int64(len(text)), Body: io.NopCloser(strings.NewReader(string(text))),
	}, nil
}

// requestTimeMax is the maximum time that a request may take in these tests. The actual timeout of
// a request is a second longer.
const requestTimeMax = 8 * time.Second

// newThrottledProcess returns a process of s that serves operations with the timeouts of a Lambda
// function, which follow the fake clock of the synctest bubble.
func newThrottledProcess(t *testing.T, s *apitest.Service, transport *throttlingTransport, operations api.Operations) *apitest.Service {
	t.Helper()
	process := *s
	options := apitest.Options(t, s.Clock.Now, transport)
	options.Timeout = 0
	process.ServingTable = table.New(options)
	config := api.NewConfig(process.ServingTable, slog.New(slog.DiscardHandler))
	config.BaseURL = gateway.BaseURL
	process.Handler = gateway.Local(api.New(operations(process.ServingTable), config), process.ServingTable.NewID)
	return &process
}

// areaOperations returns the operations of the area that serves the operation.
func areaOperations(op api.Operation) api.Operations {
	byName := map[string]api.Operations{}
	for _, a := range functions.All() {
		byName[a.Name] = a.Operations
	}
	if operations := byName[op.Area]; operations != nil {
		return operations
	}
	return byName[api.CompanyArea]
}

// callWithFakeClock calls an operation in a new process of s, which has its own retry budget. The
// response must arrive in time and be either a 200, or a 503 that isUnavailable accepts.
func callWithFakeClock(t *testing.T, s *apitest.Service, transport *throttlingTransport, key string, op api.Operation, args map[string]any, where string) apitest.Response {
	t.Helper()
	s.Clock.Advance(time.Minute) // so that no rate limit is reached
	began := time.Now()
	r := newThrottledProcess(t, s, transport, areaOperations(op)).Call(t, key, op.ID, args)
	if took := time.Since(began); took > requestTimeMax {
		t.Errorf("%s, %s: a response after %s", op.ID, where, took)
	}
	if r.Status != http.StatusOK && !isUnavailable(t, r) {
		t.Errorf("%s, %s: %d %s, Retry-After %q", op.ID, where, r.Status, r.Body, r.Header.Get("Retry-After"))
	}
	return r
}

// isUnavailable reports whether a response is a 503 that has the error envelope and a Retry-After
// header, and reveals nothing about the table.
func isUnavailable(t *testing.T, r apitest.Response) bool {
	t.Helper()
	seconds, err := strconv.Atoi(r.Header.Get("Retry-After"))
	code, messages := r.Messages(t)
	return r.Status == http.StatusServiceUnavailable && err == nil && seconds >= 1 && code == "unavailable" && len(messages) == 1 &&
		!strings.Contains(r.Body, throttleMessage) && !strings.Contains(r.Body, "Exception")
}

// toleratesRefusal reports whether toleratedRefusals lists a call of the operation.
func toleratesRefusal(operation string) bool {
	return slices.ContainsFunc(toleratedRefusals, func(u [3]string) bool { return u[0] == operation })
}

// Ensure a request gets a 503 with the error envelope in time if the table starts to refuse all
// calls at any point of the request. The request must succeed once the table accepts calls again. A
// create with an Idempotency-Key must have created exactly one record.
func TestOutageFromAnyCall(t *testing.T) {
	t.Parallel()
	apitest.SkipIfShort(t)
	for _, area := range functions.All() {
		t.Run(area.Name, func(t *testing.T) {
			t.Parallel()
			s := start(t, nil)
			key := s.IssueKey(t)
			publishFixtureBoard(t, s, key)
			for _, op := range area.Operations(nil) {
				args := fixtureArgumentsWith(op, nil)
				if acceptsHeader(op, "Idempotency-Key") {
					args["Idempotency-Key"] = "once"
				}
				if op.ID == "publish_plan_board" { // so that the publish has a new item
					s.Call(t, key, "create_plan_item", map[string]any{"boardId": "brd_1", "title": "New", "status": "published"})
				}
				before := countRecordsOf(t, s, op)
				synctest.Test(t, func(t *testing.T) {
					for from := 0; ; from++ {
						transport := newThrottlingTransport(func(_ string, n int) string { return map[bool]string{true: codeThrottling}[n >= from] })
						r := callWithFakeClock(t, s, transport, key, op, args, fmt.Sprintf("from call %d on", from))
						if r.Status == http.StatusOK {
							if transport.refused > 0 && !toleratesRefusal(op.ID) {
								t.Errorf("%s: 200, with %d calls refused", op.ID, transport.refused)
							}
							break
						}
						s.Clock.Advance(time.Minute) // so that any claim has expired
					}
				})
				if created := countRecordsOf(t, s, op) - before; op.Effect == api.Create && created != 1 {
					t.Errorf("%s: %d records", op.ID, created)
				}
			}
		})
	}
}

// Ensure 99.9 % of the requests succeed while the table refuses a fifth of the calls, and that they
// make at most 1.5 times as many calls as they would without refusals.
func TestFifthOfTheCallsThrottled(t *testing.T) {
	t.Parallel()
	apitest.SkipIfShort(t)
	const requests, seed = 1000, 1
	random := rand.New(rand.NewPCG(seed, 0))
	refuseNone := func(string, int) string { return "" }
	refuseFifth := func(call string, _ int) string {
		kind := random.Float64()
		switch {
		case random.Float64() >= 0.2:
			return ""
		case kind < 0.5 && (strings.HasPrefix(call, "Transact") || strings.HasSuffix(call, "Item") && call != "GetItem"):
			return codeConflict
		case kind < 0.75:
			return codeThroughput
		}
		return codeThrottling
	}
	callsPerRequest, failures := callAllThrottled(t, refuseNone, requests/10)
	if len(failures) > 0 {
		t.Fatalf("%d failures while nothing is refused: %s", len(failures), failures[0])
	}
	throttledCallsPerRequest, failures := callAllThrottled(t, refuseFifth, requests)
	if float64(len(failures)) > 0.001*requests {
		t.Errorf("%d of %d requests fail, such as %s", len(failures), requests, failures[0])
	}
	if ratio := throttledCallsPerRequest / callsPerRequest; ratio > 1.5 || ratio < 1.1 {
		t.Errorf("requests take %.2f calls, and %.2f while nothing is refused: %.2f times as many, want 1.1 to 1.5", throttledCallsPerRequest, callsPerRequest, ratio)
	}
}

// callAllThrottled sends the given number of requests. It cycles through the operations whose
// requests can be repeated. It returns the average number of table calls per request, and the
// failures.
func callAllThrottled(t *testing.T, choose func(call string, n int) string, requests int) (calls float64, failures []string) {
	t.Helper()
	s := start(t, nil)
	key := s.IssueKey(t)
	publishFixtureBoard(t, s, key)
	operations := slices.DeleteFunc(functions.Operations(nil), func(op api.Operation) bool {
		unrepeatable := strings.HasPrefix(op.ID, "claim_") || strings.HasPrefix(op.ID, "report_") || op.ID == "create_metric_definition" || op.ID == "rotate_key"
		return op.Effect == api.Destructive || unrepeatable
	})
	synctest.Test(t, func(t *testing.T) {
		transport := newThrottlingTransport(choose)
		process := newThrottledProcess(t, s, transport, functions.Operations)
		for n := range requests {
			op := operations[n%len(operations)]
			s.Clock.Advance(time.Minute) // so that no rate limit is reached
			if r := process.Call(t, key, op.ID, fixtureArguments[op.ID]); r.Status != http.StatusOK {
				failures = append(failures, fmt.Sprintf("%s: %d %s", op.ID, r.Status, r.Body))
			}
		}
		calls = float64(transport.calls) / float64(requests)
	})
	return calls, failures
}
