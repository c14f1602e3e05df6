package main

import (
	"errors"
	"net/http"
	"net/http/httptest"
	"net/url"
	"os"
	"os/exec"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/credentials"
	"github.com/aws/aws-sdk-go-v2/service/cloudformation/types"
	"github.com/aws/aws-sdk-go-v2/service/lambda"

	"growthworkspace/infra"
	"growthworkspace/shared/fault"
)

// Ensure a response passes only if it has the required status, envelope and header.
func TestSmokeResponses(t *testing.T) {
	t.Parallel()
	envelope := `{"errors":[{"code":"internal","message":"internal error; safe to retry"}]}`
	for _, c := range []struct {
		got  smokeResponse
		want string
	}{
		{smokeResponse{500, http.Header{"Retry-After": {"1"}}, []byte(envelope)}, ""},
		{smokeResponse{502, http.Header{"Retry-After": {"1"}}, []byte(envelope)}, "should be 500"},
		{smokeResponse{500, http.Header{"Retry-After": {"1"}}, []byte(`{"message":"Internal server error"}`)}, "should be 500"},
		{smokeResponse{500, http.Header{"Retry-After": {"1"}}, []byte(strings.Replace(envelope, "internal", "conflict", 1))}, "should be 500"},
		{smokeResponse{500, http.Header{}, []byte(envelope)}, "should have Retry-After"},
		{smokeResponse{500, http.Header{"Retry-After": {"0"}}, []byte(envelope)}, "should have Retry-After"},
	} {
		err := errors.Join(c.got.requireError(fault.Internal), c.got.requireRetryAfter())
		if c.want == "" && err != nil || c.want != "" && (err == nil || !strings.Contains(err.Error(), c.want)) {
			t.Errorf("%d %v %s: %v, want %q", c.got.status, c.got.header, c.got.body, err, c.want)
		}
	}
}

// Ensure every check has a different name, because --skip selects checks by name.
func TestSmokeCheckNames(t *testing.T) {
	t.Parallel()
	seen := map[string]bool{}
	for _, c := range accountChecks() {
		if seen[c.name] || c.name == "" || c.description == "" {
			t.Errorf("the check %q comes twice, or proves nothing", c.name)
		}
		seen[c.name] = true
	}
}

// Ensure smoke refuses a stack that cannot serve requests, and leaves no folder behind.
func TestErrSmokeStack(t *testing.T) {
	for want, set := range map[string]func(*fakeAWS){
		"there is no deployed stack":             func(w *fakeAWS) { w.status = "ROLLBACK_COMPLETE" },
		"is UPDATE_IN_PROGRESS":                  func(w *fakeAWS) { w.status = "UPDATE_IN_PROGRESS" },
		"does not belong to this service":        func(w *fakeAWS) { w.isForeign = true },
		"is stopped (ReservedConcurrency=0)":     func(w *fakeAWS) { w.parameters = settings{{infra.ParamConcurrency, "0"}} },
		"nothing was done: without a terminal, ": func(*fakeAWS) {},
	} {
		w := newFakeAWS(t)
		w.status = "UPDATE_COMPLETE"
		set(w)
		folder := t.TempDir()
		t.Setenv("TMPDIR", folder)
		requireContains(t, w.deploy(1, "smoke"), want)
		if left, err := os.ReadDir(folder); err != nil || len(left) > 0 {
			t.Errorf("%s: %v left, %v", want, left, err)
		}
	}
}

// Ensure the operator's commands use the credentials of this program instead of those in the
// environment.
func TestCommandEnvironment(t *testing.T) {
	a := &account{config: aws.Config{Region: "eu-central-1", Credentials: credentials.NewStaticCredentialsProvider("id", "secret", "token")}}
	cmd := exec.Command("none")
	own, err := a.environment(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	cmd.Env = append([]string{"AWS_ACCESS_KEY_ID=other", "AWS_SESSION_TOKEN=other", "AWS_REGION=us-east-1"}, own...)
	env := cmd.Environ()
	for _, want := range []string{"AWS_ACCESS_KEY_ID=id", "AWS_SECRET_ACCESS_KEY=secret", "AWS_SESSION_TOKEN=token", "AWS_REGION=eu-central-1"} {
		if !slices.Contains(env, want) {
			t.Errorf("%s is not in %v", want, env)
		}
	}
}

// Ensure checkSaturation removes the reservation even if the response to the call that set it was
// lost.
func TestReservationIsRemoved(t *testing.T) {
	var methods []string
	server := httptest.NewServer(http.HandlerFunc(func(rw http.ResponseWriter, r *http.Request) {
		methods = append(methods, r.Method)
		if r.Method == http.MethodPut || len(methods) == 2 {
			rw.WriteHeader(http.StatusInternalServerError)
		}
	}))
	defer server.Close()
	elapsed := make(chan time.Time)
	close(elapsed)
	client := lambda.New(lambda.Options{Region: "eu-central-1", BaseEndpoint: &server.URL, Retryer: aws.NopRetryer{}, Credentials: credentials.NewStaticCredentialsProvider("id", "secret", "")})
	parameter := types.Parameter{ParameterKey: aws.String(infra.ParamConcurrency), ParameterValue: aws.String("-1")}
	w := newFakeAWS(t)
	w.status = "UPDATE_COMPLETE"
	d := &deployer{options: options{stack: "growth-workspace"}, after: func(time.Duration) <-chan time.Time { return elapsed }}
	var err error
	if d.account, err = openAccount(t.Context(), "", ""); err != nil {
		t.Fatal(err)
	}
	d.account.functions = client
	a := &acceptance{d: d, smoke: &smoke{}, stack: deployedStack{types.Stack{Parameters: []types.Parameter{parameter}}}}
	if err := checkSaturation(t.Context(), a); err == nil {
		t.Error("no error")
	}
	if want := []string{http.MethodPut, http.MethodDelete, http.MethodDelete}; !slices.Equal(methods, want) {
		t.Errorf("calls %v instead of %v", methods, want)
	}
}

// Ensure a burst ends with the first response that is throttled, and is inconclusive if none is.
func TestThrottle(t *testing.T) {
	for _, throttledFrom := range []int64{100, burstRequests + 1} {
		var count atomic.Int64
		server := httptest.NewServer(http.HandlerFunc(func(rw http.ResponseWriter, _ *http.Request) {
			if count.Add(1) >= throttledFrom {
				rw.Header().Set("Retry-After", "1")
				rw.WriteHeader(http.StatusTooManyRequests)
			}
		}))
		base, err := url.Parse(server.URL)
		if err != nil {
			t.Fatal(err)
		}
		err = checkThrottle(t.Context(), &acceptance{smoke: &smoke{base: base, client: server.Client()}})
		server.Close()
		if wantInconclusive := throttledFrom > burstRequests; errors.Is(err, errInconclusive) != wantInconclusive || !wantInconclusive && err != nil {
			t.Errorf("throttled from request %d: %v", throttledFrom, err)
		}
		if n := count.Load(); n > burstRequests || throttledFrom < burstRequests && n > throttledFrom+2*burstAtOnce {
			t.Errorf("throttled from request %d: %d requests", throttledFrom, n)
		}
	}
}

// Ensure the id of a response must be that of the gateway, and not the caller's.
func TestIDs(t *testing.T) {
	for id, isRight := range map[string]bool{"TWegAcC4EowCHnA=": true, "": false, "another": false} {
		server := httptest.NewServer(http.HandlerFunc(func(rw http.ResponseWriter, _ *http.Request) {
			rw.Header().Set("Service-Request-Id", id)
			rw.Header().Set("X-Amz-Apigw-Id", "TWegAcC4EowCHnA=")
		}))
		base, err := url.Parse(server.URL)
		if err != nil {
			t.Fatal(err)
		}
		if err := checkIDs(t.Context(), &acceptance{smoke: &smoke{base: base, client: server.Client()}}); (err == nil) != isRight {
			t.Errorf("the id %q: %v", id, err)
		}
		server.Close()
	}
}
