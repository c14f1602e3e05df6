package studio_test

import (
	"testing"

	"growthworkspace/scripts/workspace/demo"
	"growthworkspace/scripts/workspace/demo/demotest"
)

// Ensure all pages show times in the company's time zone and name it. If the company has none,
// times are in UTC, and the pages say why.
func TestOneTimeZone(t *testing.T) {
	t.Parallel()
	w := newTestStudio(t)
	w.page(t, "/keys", "Aug 11, 09:30 UTC", "Times are in UTC, because the company has no time zone: set it.")
	w.Send(t, w.key, "PATCH", "/v1/companies/{companyId}", `{"timezone": "Pacific/Kiritimati"}`)
	demotest.Load(t, w.Service,
		demo.Line{Type: "board", Record: demo.Record{"id": "brd_one", "name": "Roadmap"}},
		demo.Line{Type: "site", Record: demo.Record{"id": "sit_one", "name": "Site", "lastEventAt": "2026-08-10T23:00:00Z"}},
		demo.Line{Type: "channel", Record: demo.Record{"id": "chn_one", "platform": "x", "handle": "@one", "status": "disconnected", "lastCheckedAt": "2026-08-10T23:00:00Z"}},
		demo.Line{Type: "audit", Record: demo.Record{"id": "aud_one", "siteId": "sit_one", "rootUrl": "https://one.example", "status": "complete", "startedAt": "2026-08-10T23:00:00Z", "finishedAt": "2026-08-10T23:10:00Z"}})
	w.addReview(t, "one", demo.Record{"postedAt": "2026-08-10T23:00:00Z"})
	w.Send(t, w.key, "POST", "/v1/companies/{companyId}/plan/boards/brd_one/items", `{"title": "Item", "status": "published", "columnId": "now"}`)
	w.Send(t, w.key, "POST", "/v1/companies/{companyId}/plan/boards/brd_one/publish", "")
	for path, texts := range map[string][]string{
		"/":               {"X @one account", `href="/posts/accounts#chn_one"`, "checked Aug 11, 2026", "Metric dates are in UTC."},
		"/keys":           {"Aug 11, 23:3", "+14"},
		"/reviews":        {"Aug 11, 2026"},
		"/sites":          {"last event Aug 11, 13:00 +14", "Aug 11, 2026"},
		"/audits/aud_one": {"started Aug 11, 13:00 +14", "finished Aug 11, 13:10 +14"},
		"/roadmap":        {"Version 1 is live, Aug 11, 23:3", "This is the first version, so there is none to go back to."},
		"/company":        {}, "/changes": {}, "/brand": {}, "/posts": {}, "/start/board": {},
	} {
		body := w.page(t, path, append(texts, "Times are in Pacific/Kiritimati.")...)
		checkNotContains(t, path, body, ":00 UTC", ":30 UTC", ":31 UTC", "because the company")
	}
}
