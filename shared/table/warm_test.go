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

// Ensure a start opens its connections side by side, asks once on each, and changes nothing.
func TestWarm(t *testing.T) {
	t.Parallel()
	var both sync.WaitGroup
	both.Add(2)
	seen := &proxy{answer: func(call string, pass func() (*http.Response, error), _ *http.Request) (*http.Response, error) {
		both.Done()
		both.Wait() // hangs, and is cut off, unless the other is on its way, too
		return pass()
	}}
	c, _ := client(t, seen)
	c.Warm(t.Context(), 2)
	if seen.count("GetItem") != 2 || seen.count("") != 2 {
		t.Errorf("%d calls, %d of them reads; want 2", seen.count(""), seen.count("GetItem"))
	}
}

// Ensure a table that refuses does not keep a function from starting, and is not asked again and again.
func TestWarmFails(t *testing.T) {
	t.Parallel()
	broken := &proxy{answer: func(string, func() (*http.Response, error), *http.Request) (*http.Response, error) {
		return nil, errors.New("no way to the table")
	}}
	offline(broken).Warm(t.Context(), 2)
	if n := broken.count(""); n != 2 {
		t.Errorf("%d calls, want 2", n)
	}
}

// Ensure a table that never answers does not keep a function from starting for more than a second.
func TestWarmHangs(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		c := table.New(table.Options{
			Name: "none", Endpoint: "http://engine.invalid", Region: "eu-central-1", Transport: hangs(), Now: time.Now, Timeout: time.Hour,
			Credentials: credentials.NewStaticCredentialsProvider("local", "local", ""),
		})
		begin := time.Now()
		c.Warm(t.Context(), 2)
		if took := time.Since(begin); took != time.Second {
			t.Errorf("%s, want one second", took)
		}
	})
}
