package table_test

import (
	"errors"
	"net/http"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/aws/aws-sdk-go-v2/credentials"

	"growthworkspace/shared/table"
)

// Ensure Warm opens its connections in parallel, sends one read on each, and no write.
func TestWarm(t *testing.T) {
	t.Parallel()
	var both sync.WaitGroup
	both.Add(2)
	proxy := &faultProxy{respond: func(call string, pass func() (*http.Response, error), _ *http.Request) (*http.Response, error) {
		both.Done()
		both.Wait() // blocks until the other call has arrived, too
		return pass()
	}}
	c, _ := newTestClient(t, proxy)
	c.Warm(t.Context(), 2)
	if proxy.count("GetItem") != 2 || proxy.count("") != 2 {
		t.Errorf("%d calls, %d of them reads; want 2", proxy.count(""), proxy.count("GetItem"))
	}
}

// Ensure Warm returns if the table cannot be reached, and does not retry.
func TestWarmFails(t *testing.T) {
	t.Parallel()
	proxy := &faultProxy{respond: func(string, func() (*http.Response, error), *http.Request) (*http.Response, error) {
		return nil, errors.New("no way to the table")
	}}
	newOfflineClient(proxy).Warm(t.Context(), 2)
	if n := proxy.count(""); n != 2 {
		t.Errorf("%d calls, want 2", n)
	}
}

// Ensure Warm returns after one second if the table does not respond.
func TestWarmHangs(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		c := table.New(table.Options{
			Name: "none", Endpoint: "http://engine.invalid", Region: "eu-central-1", Transport: silentProxy(), Now: time.Now, Timeout: time.Hour,
			Credentials: credentials.NewStaticCredentialsProvider("local", "local", ""),
		})
		begin := time.Now()
		c.Warm(t.Context(), 2)
		if took := time.Since(begin); took != time.Second {
			t.Errorf("%s, want one second", took)
		}
	})
}
