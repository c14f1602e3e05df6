package scores

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"growthworkspace/shared/client"
)

// Ensure an audit is compared with the newest complete audit of its site. Only the scores that both
// audits have are compared.
func TestScores(t *testing.T) {
	t.Parallel()
	audit := func(id, site string, status client.OptimiseAuditStatus, seo float64) client.AuditSummary {
		return client.AuditSummary{ID: id, RootURL: client.Value(site), Status: client.Value(status), ScoreSEO: client.Value(seo)}
	}
	const complete, failed = client.OptimiseAuditStatusComplete, client.OptimiseAuditStatusFailed
	newest := audit("aud_4", "https://a.example", complete, 81.5)
	newest.ScoreAEO = client.Value(70.0)
	older := []client.AuditSummary{
		newest, audit("aud_3", "https://a.example", failed, 10), audit("aud_2", "https://b.example", complete, 20), audit("aud_1", "https://a.example", complete, 90), audit("aud_0", "https://a.example", complete, 30),
	}
	before := Previous(older, newest)
	if before == nil || before.ID != "aud_1" {
		t.Fatalf("compared with %+v, want aud_1", before)
	}
	want := []Score{{Name: "SEO", Text: "81.5", Before: "90", Change: "−8.5", Good: "bad"}, {Name: "AEO", Text: "70"}, {Name: "GEO"}}
	if diff := cmp.Diff(want, Of(newest, before)); diff != "" {
		t.Errorf("scores (-want +got):\n%s", diff)
	}
	withSiteID := client.AuditSummary{SiteID: client.Value("sit_1"), RootURL: client.Value("https://a.example")}
	if Previous(older, audit("aud_9", "https://c.example", complete, 1)) != nil || SameSite(withSiteID, newest) || SameSite(client.AuditSummary{}, client.AuditSummary{}) {
		t.Error("two audits of different sites are compared")
	}
	for _, c := range []struct {
		now, before float64
		text, good  string
	}{{2, 1, "+1", "good"}, {1, 1.04, "±0", "even"}, {1, 1.1, "−0.1", "bad"}} {
		if text, good := Difference(c.now, c.before); text != c.text || good != c.good {
			t.Errorf("from %v to %v: %s, %s; want %s, %s", c.before, c.now, text, good, c.text, c.good)
		}
	}
}
