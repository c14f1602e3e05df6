package studio_test

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"growthworkspace/scripts/workspace/demo"
	"growthworkspace/scripts/workspace/demo/demotest"
	"growthworkspace/shared/auth"
	"growthworkspace/shared/testkit/apitest"
)

// withFeed makes the service respond to list_changes with the given changes. Each change has a
// type, a record id, an action, a status, and the id of a key or "".
func withFeed(w *testStudio, changes ...[5]string) {
	var items []string
	for n, c := range changes {
		key := "null"
		if c[4] != "" {
			key = fmt.Sprintf("%q", c[4])
		}
		items = append(items, fmt.Sprintf(`{"id":"chg_%d","companyId":%q,"type":%q,"recordId":%q,"action":%q,"status":%q,"keyId":%s,"occurredAt":%q}`,
			n, w.CompanyID, c[0], c[1], c[2], c[3], key, apitest.Epoch.Add(time.Duration(n)*time.Minute).Format(time.RFC3339)))
	}
	w.transport.respondWith(func(r *http.Request) *http.Response {
		if !strings.HasSuffix(r.URL.Path, "/changes") {
			return nil
		}
		recorder := httptest.NewRecorder()
		recorder.Header().Set("Service-After", "a")
		recorder.Header().Set("Service-Has-More", "false")
		fmt.Fprintf(recorder, `{"items":[%s]}`, strings.Join(items, ","))
		return recorder.Result()
	})
}

// ownKeyID returns the id of the studio's key.
func ownKeyID(t *testing.T, w *testStudio) string {
	t.Helper()
	var key struct{ ID string }
	w.Send(t, w.key, "GET", "/v1/companies/{companyId}/keys/current", "").Decode(t, &key)
	return key.ID
}

// Ensure the studio shows what changed and which key changed it on the activity page, on the
// overview, and beside a review, a post and an item. Without the scope keys:read, it must not show
// the names of keys.
func TestActivity(t *testing.T) {
	t.Parallel()
	for _, named := range []bool{true, false} {
		t.Run(fmt.Sprintf("keys:read %t", named), func(t *testing.T) {
			t.Parallel()
			scopes := []auth.Scope{auth.FeedbackWrite, auth.PlanRead, auth.PlanWrite, auth.BroadcastWrite, auth.CompanyRead}
			if named {
				scopes = append(scopes, auth.KeysRead, auth.KeysWrite)
			}
			w := newTestStudio(t, scopes...)
			demotest.Load(t, w.Service,
				demo.Line{Type: "feedback", Record: demo.Record{"id": "fbk_1", "source": "reddit", "externalId": "1", "body": "Slow", "replyBody": "Thanks", "replyStatus": "approved", "updatedAt": "2026-08-11T09:00:00Z"}},
				demo.Line{Type: "post", Record: demo.Record{"id": "pst_1", "platform": "x", "body": "Words", "status": "draft", "updatedAt": "2026-08-11T09:00:00Z"}},
				demo.Line{Type: "board", Record: demo.Record{"id": "brd_1", "name": "Roadmap"}},
				demo.Line{Type: "item", Record: demo.Record{"id": "itm_1", "roadmapId": "brd_1", "title": "Dark mode", "slug": "dark-mode", "status": "draft", "updatedAt": "2026-08-11T09:00:00Z"}})
			other, own := "", ownKeyID(t, w)
			if named {
				var phone struct{ ID string }
				w.Send(t, w.key, "POST", "/v1/companies/{companyId}/keys", `{"name":"phone","scopes":["company:read"]}`).Decode(t, &phone)
				other = phone.ID
			}
			withFeed(w,
				[5]string{"feedback", "fbk_1", "updated", "needs_review", own}, [5]string{"feedback", "fbk_1", "updated", "approved", other},
				[5]string{"post", "pst_1", "updated", "draft", own}, [5]string{"item", "itm_1", "created", "draft", other}, [5]string{"plan", "pln_1", "deleted", "", ""})
			want := map[string]string{"/reviews?show=all&id=fbk_1": "Reply approved", "/roadmap/items/itm_1": "Created", "/activity": "Review reply approved", "/": "Content plan deleted"}
			for path, text := range want {
				body := w.page(t, path, text)
				if by := "by the key phone"; strings.Contains(visibleText(body), by) != named {
					t.Errorf("%s: named %t, want %t: %s", path, !named, named, visibleText(body))
				}
			}
			w.page(t, "/posts/pst_1", "Changed by this studio")
			w.page(t, "/activity?type=posts&since=month", `aria-current="true">30 days`, `href="/posts/pst_1"`)
		})
	}
}

// Ensure a record's page does not show who made an earlier change if the last change is not in the
// feed. An import is never in the feed, and a recent approval may not be there yet.
func TestLastChangeIsOfThisVersion(t *testing.T) {
	t.Parallel()
	w := newTestStudio(t)
	feedback := func(id, status, updatedAt string) demo.Line {
		return demo.Line{Type: "feedback", Record: demo.Record{"id": id, "source": "reddit", "externalId": id, "body": "Slow", "replyBody": "Thanks", "replyStatus": status, "updatedAt": updatedAt}}
	}
	demotest.Load(t, w.Service, feedback("fbk_now", "approved", "2026-08-11T09:30:00.900Z"), feedback("fbk_imported", "approved", "2026-08-11T10:30:00Z"), feedback("fbk_new", "approved", "2026-08-11T09:32:01Z"))
	withFeed(w,
		[5]string{"feedback", "fbk_now", "updated", "approved", ""}, [5]string{"feedback", "fbk_imported", "updated", "approved", ""},
		[5]string{"feedback", "fbk_new", "updated", "needs_review", ""})
	for id, known := range map[string]bool{"fbk_now": true, "fbk_imported": false, "fbk_new": false} {
		if body := w.page(t, "/reviews?show=all&id="+id, "Thanks"); strings.Contains(body, "lastchange") != known {
			t.Errorf("%s: the page names the last change: %t, want %t", id, !known, known)
		}
	}
}

// Ensure pages work without the feed of changes, and a failure of the feed does not hide the rest
// of a page.
func TestActivityWithoutFeed(t *testing.T) {
	t.Parallel()
	w := newTestStudio(t)
	demotest.Load(t, w.Service, demo.Line{Type: "post", Record: demo.Record{"id": "pst_1", "platform": "x", "body": "Words", "status": "draft"}})
	for _, status := range []int{http.StatusNotImplemented, http.StatusNotFound, http.StatusInternalServerError} {
		w.transport.respondWith(func(r *http.Request) *http.Response {
			if !strings.HasSuffix(r.URL.Path, "/changes") {
				return nil
			}
			return refusal(status, "code", "no feed")(r)
		})
		missing := status != http.StatusInternalServerError
		if body := w.page(t, "/", "No metrics yet"); strings.Contains(body, "All activity") == missing || strings.Contains(body, "no feed") == missing {
			t.Errorf("%d: the overview shows the feed: %t, want %t", status, missing, !missing)
		}
		if body := w.page(t, "/posts/pst_1", "Words"); strings.Contains(body, "lastchange") || strings.Contains(body, "no feed") {
			t.Errorf("%d: the post shows a failure of the feed", status)
		}
		if got, body := w.get(t, "/activity"); missing && (got != http.StatusOK || !strings.Contains(body, "keeps no feed of changes")) || !missing && got != http.StatusBadGateway {
			t.Errorf("%d: the page of activities: status %d", status, got)
		}
	}
}
