package studio_test

import (
	"encoding/json"
	"fmt"
	"net/http"
	"net/url"
	"strings"
	"testing"

	"growthworkspace/shared/testkit/apitest"
)

// createAudit stores an audit and returns its id.
func (s *testStudio) createAudit(t *testing.T, site, day string, seo int, findings string) string {
	t.Helper()
	return s.create(t, "/optimise/audits", fmt.Sprintf(`{"rootUrl":"https://a.example","siteId":%q,"startedAt":"%sT08:00:00Z","scoreSeo":%d,"scoreAeo":50,"findings":%s}`, site, day, seo, findings))["id"].(string)
}

const oldFindings = `[{"url":"https://a.example/","score":90,"findings":[{"rule":"title","severity":"low","text":"The title is long."}]},
	{"url":"https://a.example/pricing","score":88,"findings":[{"rule":"author","severity":"low","text":"Nobody is named."}]}]`

const newFindings = `[{"url":"https://a.example/","score":60,"findings":[{"rule":"title","severity":"low","text":"The title is very long."},{"rule":"canonical","severity":"high","text":"Another page is <named>."}]},
	{"url":"https://a.example/pricing","score":95,"findings":[]},{"url":"https://a.example/blog","score":70,"findings":[{"rule":"canonical","severity":"high","text":"Another page is <named>."}]}]`

// Ensure the list of audits marks an audit with a lower score than the previous one. The audit's
// page says which scores changed and which issues are new or gone, even if its address does not
// contain the id of the previous audit.
func TestWhyAScoreFell(t *testing.T) {
	t.Parallel()
	w := newTestStudio(t)
	site := w.create(t, "/optimise/sites", `{"name":"Website","domains":["a.example"]}`)["id"].(string)
	other := w.create(t, "/optimise/sites", `{"name":"Help"}`)["id"].(string)
	before := w.createAudit(t, site, "2026-07-01", 84, oldFindings)
	w.createAudit(t, other, "2026-07-02", 20, newFindings)
	now := w.createAudit(t, site, "2026-07-03", 71, newFindings)
	list := w.page(t, "/sites?site="+site, "Website", "Jul 3, 2026", "SEO 71 −13", "AEO 50 ±0", "Why it fell", "Scores over time")
	if n := strings.Count(list, "Why it fell"); n != 1 {
		t.Errorf("%d audits are explained, want 1: %s", n, visibleText(list))
	}
	if strings.Index(list, "Jul 3, 2026") > strings.Index(list, "Jul 1, 2026") {
		t.Errorf("the list does not begin with the newest audit: %s", visibleText(list))
	}
	w.page(t, "/sites?site=all", "SEO 20", "SEO 71 −13")
	for _, path := range []string{"/audits/" + now, "/audits/" + now + "?before=" + before} {
		body := w.page(t, path, "SEO fell from 84 to 71.", "2 issues are new, 1 is gone.", "Another page is <named>. on 2 pages canonical /, /blog", "Nobody is named.", "2 high 1 low")
		fresh, gone, _ := strings.Cut(body, "Issues that are gone")
		gone, _, _ = strings.Cut(gone, `id="findings"`)
		if strings.Contains(fresh, "Nobody is named.") || !strings.Contains(gone, "Nobody is named.") || strings.Contains(gone, "The title") {
			t.Errorf("gone are %s, want only: Nobody is named. New are %s", visibleText(gone), visibleText(fresh))
		}
	}
	w.page(t, "/audits/"+now+"?by=page", "/ score 60 −30", "1 page has no issue.")
	w.page(t, "/audits/"+before, "nothing to compare with")
	body := w.page(t, "/audits/"+now+"?before="+w.createAudit(t, other, "2026-06-01", 1, "[]"))
	checkNotContains(t, "of another site", body, "What changed", "fell from")
	file := w.page(t, "/audits/"+now+"/findings.json")
	if !json.Valid([]byte(file)) || !strings.Contains(file, `"score": 95`) {
		t.Errorf("the file is no JSON, or lacks the score of 95: %s", file)
	}
}

// Ensure the page shows findings in an unknown format unchanged, but escapes them and limits their
// size.
func TestFindingsOfAnyShape(t *testing.T) {
	t.Parallel()
	apitest.SkipIfShort(t)
	w := newTestStudio(t)
	site := w.create(t, "/optimise/sites", `{"name":"Website"}`)["id"].(string)
	w.page(t, "/audits/"+w.createAudit(t, site, "2026-07-01", 1, `{"depth":3,"<script>":{"a":[1,true,null]}}`), "depth: 3", "<script>:", "a shape of their own")
	w.page(t, "/audits/"+w.createAudit(t, site, "2026-07-02", 1, `[]`), "The audit found no issues.")
	w.page(t, "/audits/"+w.createAudit(t, site, "2026-07-03", 1, `null`), "No findings are stored with this audit.")
	many := make([]string, 1500)
	for i := range many {
		many[i] = fmt.Sprintf(`{"page":"/%d","severity":"<s>","text":%q}`, i, strings.Repeat("<&\"long", 40)+fmt.Sprint(i))
	}
	large := w.createAudit(t, site, "2026-07-04", 1, "["+strings.Join(many, ",")+"]")
	for _, by := range []string{"severity", "page"} {
		body := w.page(t, "/audits/"+large+"?by="+by, "more issues are in the JSON file.")
		if len(body) > bytesMax || strings.Contains(body, "<s>") {
			t.Errorf("%s: %d bytes", by, len(body))
		}
	}
	body := w.page(t, "/audits/"+w.createAudit(t, site, "2026-07-05", 1, `{"x":`+string(marshalJSON(t, strings.Repeat("y", 1<<19)))+`}`), "This is the beginning")
	if len(body) > bytesMax {
		t.Errorf("%d bytes, want at most %d", len(body), bytesMax)
	}
}

// Ensure sites and goals can be created and deleted. Sending a form twice creates one record.
func TestSitesAndGoals(t *testing.T) {
	t.Parallel()
	w := newTestStudio(t)
	w.page(t, "/sites", "There is no site yet")
	form := fields(t, w.page(t, "/sites/new"), "profile")
	form.Set("name", "Website")
	form.Set("domains", "a.example\r\nb.example")
	form.Set("active", "true")
	for range 2 {
		_, body := w.submit(t, "/sites", form)
		checkContains(t, "created", body, "Saved.", "Website", "No audits yet", "workspace api create_optimise_audit")
	}
	sites := w.Send(t, w.key, "GET", "/v1/companies/{companyId}/optimise/sites", "").Items(t)
	if len(sites) != 1 {
		t.Fatalf("%d sites, want 1: %v", len(sites), sites)
	}
	if diff := recordDiff(map[string]any{"domains": []any{"a.example", "b.example"}, "active": true}, sites[0]); diff != "" {
		t.Fatalf("stored site (-want +got):\n%s", diff)
	}
	site := sites[0]["id"].(string)
	goals := "/sites/" + site + "/goals"
	form = w.editForm(t, goals+"/new")
	form.Set("name", "Trial started")
	form.Set("pattern", "/welcome")
	form.Set("value", "a lot")
	form.Set("active", "true")
	status, body := w.submit(t, goals, form)
	checkContains(t, "refused", body, "must be a number such as 12.5", `value="a lot"`)
	if status != http.StatusBadRequest {
		t.Errorf("status %d, want 400", status)
	}
	form.Set("value", "12.5")
	_, body = w.submit(t, goals, form)
	checkContains(t, "goal", body, "Saved.", "Trial started", "exact /welcome", "worth 12.5")
	goal := w.Send(t, w.key, "GET", "/v1/companies/{companyId}/optimise"+goals, "").Items(t)[0]
	path := goals + "/" + goal["id"].(string)
	latestForm := w.editForm(t, path)
	_, body = w.submit(t, path+"/delete", url.Values{"form": latestForm["form"], "etag": latestForm["etag"]})
	checkContains(t, "goal deleted", body, "Deleted.", "There is none yet")
	latestForm = w.editForm(t, "/sites/"+site)
	_, body = w.submit(t, "/sites/"+site+"/delete", url.Values{"form": latestForm["form"], "etag": latestForm["etag"]})
	checkContains(t, "site deleted", body, "Deleted.", "There is no site yet")
	for _, path := range []string{"/sites/sit_none", "/sites?site=sit_none", "/audits/aud_none", "/sites/sit_none/goals/gol_none"} {
		if status, body := w.get(t, path); status != http.StatusNotFound {
			t.Errorf("%s: status %d, want 404: %s", path, status, visibleText(body))
		}
	}
}
