package follow_test

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"growthworkspace/scripts/workspace/follow"
	"growthworkspace/scripts/workspace/follow/feedtest"
	"growthworkspace/scripts/workspace/webhook"
	"growthworkspace/shared/client"
)

// handlerTransport is a transport that calls a handler in this process.
type handlerTransport struct{ http.Handler }

func (h handlerTransport) RoundTrip(r *http.Request) (*http.Response, error) {
	w := httptest.NewRecorder()
	h.ServeHTTP(w, r)
	return w.Result(), nil
}

// receiver keeps the changes that it receives, and the notes and errors of its followers.
type receiver struct {
	ids   []string
	fail  func(id string) error // may be nil
	notes []string
	errs  []string
	slept []time.Duration
}

var origin = follow.Origin{BaseURL: "http://feed.example", CompanyID: feedtest.CompanyID, KeyID: feedtest.KeyID}

// newFollower returns a follower of a feed, with its file locked until the test ends or release is
// called.
func (r *receiver) newFollower(t *testing.T, feed http.Handler, path string) (f *follow.Follower, release func()) {
	t.Helper()
	api, err := client.New(origin.BaseURL, "sk_test", client.WithHTTPClient(&http.Client{Transport: handlerTransport{feed}}), client.WithCompany(origin.CompanyID), client.WithAttempts(1))
	if err != nil {
		t.Fatal(err)
	}
	file, err := follow.OpenFile(path)
	if err != nil {
		t.Fatal(err)
	}
	f = &follow.Follower{
		API: api, Origin: origin, File: file, Since: "1h", From: time.Now().Add(-time.Hour), Started: time.Now().Add(-time.Minute), Period: 10 * time.Second,
		Deliver: func(_ context.Context, c follow.Change) error {
			if r.fail != nil {
				if err := r.fail(c.ID); err != nil {
					return err
				}
			}
			r.ids = append(r.ids, c.ID)
			return nil
		},
		Report: func(err error, next string) { r.errs = append(r.errs, err.Error()+"; "+next) },
		Note:   func(format string, args ...any) { r.notes = append(r.notes, fmt.Sprintf(format, args...)) },
		Sleep: func(ctx context.Context, d time.Duration) error {
			r.slept = append(r.slept, d)
			select {
			case <-ctx.Done():
				return ctx.Err()
			case <-time.After(d):
				return nil
			}
		},
	}
	return f, func() { _ = file.Close() }
}

// runFor runs a follower for the duration d.
func runFor(t *testing.T, f *follow.Follower, d time.Duration) error {
	t.Helper()
	ctx, stop := context.WithTimeout(t.Context(), d)
	defer stop()
	return f.Run(ctx)
}

// Ensure a follower delivers all changes in order, including those added later. After a stop, it
// must continue where it stopped.
func TestFollower(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		feed, recv, path := feedtest.New(), &receiver{}, filepath.Join(t.TempDir(), "folder", "position.json")
		for n := range 5 {
			feed.Add("feedback", fmt.Sprintf("fbk_%d", n), "created")
		}
		for range 3 {
			f, release := recv.newFollower(t, feed, path)
			time.AfterFunc(15*time.Second, func() { feed.Add("post", "pst_1", "updated") })
			if err := runFor(t, f, time.Minute); err != nil {
				t.Error(err)
			}
			release()
		}
		if diff := cmp.Diff(feed.IDs(), recv.ids); diff != "" || len(recv.ids) != 8 {
			t.Errorf("received changes (-want +got):\n%s", diff)
		}
		for _, d := range recv.slept {
			if d < 7*time.Second || d > 13*time.Second {
				t.Errorf("a pause of %s, want about 10 s", d)
			}
		}
	})
}

// errDied simulates the death of the process.
var errDied = errors.New("died")

// Ensure a follower that is killed before or after any delivery, or before any page, misses no
// change. A receiver that ignores ids it already has must receive each change once, in order.
func TestFollowerThroughDeaths(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		feed, recv, path := feedtest.New(), &receiver{}, filepath.Join(t.TempDir(), "position.json")
		feed.PageMax = 3
		deaths, steps := 0, 0
		for n := 1; deaths == n-1; n++ { // the process dies at step n; the loop ends once n is past the last step
			for range 4 {
				feed.Add("feedback", "fbk_1", "updated")
			}
			f, release := recv.newFollower(t, feed, path)
			deliver := f.Deliver
			steps = 0
			step := func() error {
				if steps++; steps == n {
					deaths++
					return follow.Final(errDied)
				}
				return nil
			}
			f.Deliver = func(ctx context.Context, c follow.Change) error {
				return errors.Join(step(), deliver(ctx, c), step())
			}
			feed.Fail = func(w http.ResponseWriter, _ *http.Request) bool {
				if step() == nil {
					return false
				}
				feedtest.Refuse(w, http.StatusUnauthorized, "unauthorised", "died")
				return true
			}
			if err := runFor(t, f, 5*time.Second); (err != nil) != (deaths == n) {
				t.Errorf("run %d: %v", n, err)
			}
			release()
		}
		var first []string
		for _, id := range recv.ids {
			if !slices.Contains(first, id) {
				first = append(first, id)
			}
		}
		if diff := cmp.Diff(feed.IDs(), first); diff != "" {
			t.Errorf("received changes (-want +got):\n%s", diff)
		}
		if len(recv.ids)-len(first) > deaths || deaths < 6 {
			t.Errorf("%d changes were received %d times through %d deaths, want at most one more for each", len(first), len(recv.ids), deaths)
		}
	})
}

// Ensure the delivery of a change is retried until it succeeds, with pauses that grow to five
// minutes. No later change may be delivered first.
func TestFollowerRetriesDelivery(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		feed, recv := feedtest.New(), &receiver{}
		first, _ := feed.Add("post", "pst_1", "created"), feed.Add("post", "pst_2", "created")
		failures := 0
		recv.fail = func(id string) error {
			if id == first && failures < 20 {
				failures++
				return errors.New("exit status 1")
			}
			return nil
		}
		f, _ := recv.newFollower(t, feed, filepath.Join(t.TempDir(), "position.json"))
		if err := runFor(t, f, 3*time.Hour); err != nil {
			t.Error(err)
		}
		if diff := cmp.Diff(feed.IDs(), recv.ids); diff != "" || failures != 20 {
			t.Errorf("%d failures; received changes (-want +got):\n%s", failures, diff)
		}
		if len(recv.errs) != 20 || !strings.HasPrefix(recv.errs[0], first+": exit status 1; attempt 2 follows in ") {
			t.Errorf("%d reports, the first: %.1q", len(recv.errs), recv.errs)
		}
		for n, want := range []time.Duration{time.Second, 2 * time.Second, 4 * time.Second} {
			if got := recv.slept[n]; got < want*3/4 || got > want*5/4 {
				t.Errorf("pause %d: %s, want about %s", n, got, want)
			}
		}
		if longest := slices.Max(recv.slept); longest > 375*time.Second || longest < 225*time.Second {
			t.Errorf("the longest pause is %s, want about 5 minutes", longest)
		}
	})
}

// Ensure the follower retries an unavailable service or webhook after the time in Retry-After. If a
// request is refused, the follower must end.
func TestFollowerFailures(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name    string
		status  int
		code    string
		wantEnd bool
	}{
		{"throttled", 429, "rate_limited", false}, {"unavailable", 503, "unavailable", false}, {"failed", 500, "internal", false},
		{"no feed", 501, "not_implemented", true}, {"revoked key", 401, "unauthorised", true}, {"unknown type", 400, "bad_request", true}, {"no route", 404, "not_found", true},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				feed, recv := feedtest.New(), &receiver{}
				feed.Add("post", "pst_1", "created")
				failures := 0
				feed.Fail = func(w http.ResponseWriter, _ *http.Request) bool {
					if failures++; failures > 3 {
						return false
					}
					w.Header().Set("Retry-After", "30")
					feedtest.Refuse(w, c.status, c.code, "no")
					return true
				}
				f, _ := recv.newFollower(t, feed, filepath.Join(t.TempDir(), "position.json"))
				err := runFor(t, f, 10*time.Minute)
				if (err != nil) != c.wantEnd || len(recv.ids) == 0 != c.wantEnd {
					t.Errorf("%v after %d requests, received %q; want it to end: %t", err, failures, recv.ids, c.wantEnd)
				}
				if !c.wantEnd && (len(recv.slept) < 3 || slices.Min(recv.slept[:3]) < 30*time.Second) {
					t.Errorf("pauses %v, want 30 s first", recv.slept)
				}
			})
		})
	}
	synctest.Test(t, func(t *testing.T) {
		feed, recv := feedtest.New(), &receiver{}
		id := feed.Add("post", "pst_1", "created")
		asked := []time.Duration{18 * time.Hour, time.Minute}
		recv.fail = func(string) error {
			if len(asked) == 0 {
				return follow.Final(webhook.ErrGone)
			}
			var after time.Duration
			after, asked = asked[0], asked[1:]
			return &webhook.StatusError{Status: 429, RetryAfter: after}
		}
		f, _ := recv.newFollower(t, feed, filepath.Join(t.TempDir(), "position.json"))
		if err := runFor(t, f, 2*time.Hour); !errors.Is(err, webhook.ErrGone) || !slices.Equal(recv.slept, []time.Duration{time.Hour, time.Minute}) || !strings.HasPrefix(recv.errs[0], id) {
			t.Errorf("a webhook that is gone: %v, pauses %v", err, recv.slept)
		}
	})
}

// Ensure the follower ends if the service no longer accepts its position, or if a change reports
// lost changes. It must end again when it is restarted without --since. With --since, even with the
// same value, it must start over, and must not stop at the same gap again.
func TestFollowerBroken(t *testing.T) {
	t.Parallel()
	for _, name := range []string{"gap", "too old"} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				feed, recv, path := feedtest.New(), &receiver{}, filepath.Join(t.TempDir(), "position.json")
				start := func(since string, started time.Time) error {
					f, release := recv.newFollower(t, feed, path)
					defer release()
					f.Since, f.Started = since, started
					return runFor(t, f, time.Minute)
				}
				before := feed.Add("post", "pst_1", "created")
				begun := time.Now().Add(-time.Minute)
				if err := start("1h", begun); err != nil {
					t.Fatal(err)
				}
				want := "is older than 30 days"
				if name == "gap" {
					feed.Add("company", feedtest.CompanyID, "unknown")
					want = "has lost changes before"
				} else {
					feed.Fail = func(w http.ResponseWriter, r *http.Request) bool {
						if r.URL.Query().Has("after") {
							feedtest.Refuse(w, http.StatusBadRequest, "bad_request", "query.after: is older than 30 days")
						}
						return r.URL.Query().Has("after")
					}
				}
				last := feed.Add("post", "pst_2", "created")
				for _, since := range []string{"1h", ""} {
					if err := start(since, begun); !errors.Is(err, follow.ErrBroken) || !strings.Contains(err.Error(), want) {
						t.Errorf("with --since %q: %v, want %q", since, err, want)
					}
				}
				feed.Fail = nil
				if err := start("1h", time.Now().Add(time.Minute)); err != nil {
					t.Errorf("a new start: %v", err)
				}
				if diff := cmp.Diff([]string{before, before, last}, recv.ids); diff != "" {
					t.Errorf("received changes (-want +got):\n%s", diff)
				}
			})
		})
	}
}

// Ensure a follower that never delivered its first page reports an error if the service no longer
// has the changes at the beginning of that page.
func TestFollowerBeginTooOld(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		feed, recv, path := feedtest.New(), &receiver{}, filepath.Join(t.TempDir(), "position.json")
		feed.Add("post", "pst_1", "created")
		recv.fail = func(string) error { return follow.Final(errDied) }
		for _, c := range []struct {
			later time.Duration
			want  error
		}{{0, errDied}, {29 * 24 * time.Hour, errDied}, {2 * 24 * time.Hour, follow.ErrBroken}} {
			time.Sleep(c.later)
			f, release := recv.newFollower(t, feed, path)
			if err := runFor(t, f, time.Minute); !errors.Is(err, c.want) {
				t.Errorf("%s later: %v, want %v", c.later, err, c.want)
			}
			release()
		}
	})
}

// Ensure a follower pauses while the service has a change that is not visible yet.
func TestFollowerWaitsForHiddenChange(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		feed, recv := feedtest.New(), &receiver{}
		feed.Add("post", "pst_1", "created")
		requests := 0
		feed.Fail = func(w http.ResponseWriter, r *http.Request) bool {
			after := r.URL.Query().Get("after")
			if requests++; after == "" || requests > 4 {
				return false
			}
			w.Header().Set("Service-After", after)
			w.Header().Set("Service-Has-More", "true")
			_, _ = w.Write([]byte(`{"items":[]}`))
			return true
		}
		f, _ := recv.newFollower(t, feed, filepath.Join(t.TempDir(), "position.json"))
		if err := runFor(t, f, time.Minute); err != nil || len(recv.slept) < 4 || len(recv.ids) != 1 {
			t.Errorf("%v, %d requests with %d pauses, received %q; want a pause after each", err, requests, len(recv.slept), recv.ids)
		}
		if requests > len(recv.slept) {
			t.Errorf("%d requests and %d pauses", requests, len(recv.slept))
		}
	})
}

// Ensure a follower refuses a file that is damaged, that another follower uses, or that belongs to
// a different service, company or key. It must accept a new key if the user allows it.
func TestFile(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		feed, recv, path := feedtest.New(), &receiver{}, filepath.Join(t.TempDir(), "position.json")
		f, release := recv.newFollower(t, feed, path)
		if err := runFor(t, f, time.Second); err != nil {
			t.Fatal(err)
		}
		if _, err := follow.OpenFile(path); !errors.Is(err, follow.ErrLocked) {
			t.Errorf("a second follower: %v, want ErrLocked", err)
		}
		release()
		for _, c := range []struct {
			change func(*follow.Follower)
			want   string
		}{
			{func(f *follow.Follower) { f.Origin.BaseURL = "http://other.example" }, "belongs to the service http://feed.example, not to http://other.example"},
			{func(f *follow.Follower) { f.Origin.CompanyID = "co_2" }, "belongs to the company " + feedtest.CompanyID},
			{func(f *follow.Follower) { f.Origin.KeyID = "key_2" }, "continue with --new-key"},
			{func(f *follow.Follower) { f.Origin.KeyID, f.Since = "key_2", "2h" }, "continue with --new-key"},
			{func(f *follow.Follower) { f.Types = "post" }, "has read the types (all), not post"},
			{func(f *follow.Follower) { f.Origin.KeyID, f.AllowNewKey = "key_2", true }, ""},
			{func(f *follow.Follower) { f.Origin.KeyID = "key_2" }, ""},
		} {
			f, release := recv.newFollower(t, feed, path)
			c.change(f)
			err := runFor(t, f, time.Minute)
			if (c.want == "") != (err == nil) || err != nil && !strings.Contains(err.Error(), c.want) {
				t.Errorf("%v, want %q", err, c.want)
			}
			release()
			if c.want == "" {
				feed.Add("post", "pst_1", "created")
			}
		}
		for _, text := range []string{"", "{}", "{", `{"baseUrl":"http://feed.example"}`} {
			if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
				t.Fatal(err)
			}
			f, release := recv.newFollower(t, feed, path)
			if err := f.Run(t.Context()); err == nil || !strings.Contains(err.Error(), "damaged") {
				t.Errorf("file %q: %v", text, err)
			}
			release()
		}
	})
}
