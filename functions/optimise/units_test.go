package optimise_test

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"growthworkspace/functions/optimise"
	"growthworkspace/shared/table"
	"growthworkspace/shared/testkit/apitest"
)

// unitsUsed calls `read` and returns the number of table calls and capacity units it used.
func unitsUsed(t *testing.T, s *apitest.Service, read func(ctx context.Context, store optimise.Store, companyID string) error) table.Usage {
	t.Helper()
	ctx, m := apitest.NewRequest(t)
	if err := read(ctx, optimise.NewStore(s.Table), s.CompanyID); err != nil {
		t.Fatal(err)
	}
	return m.Usage()
}

// manyAudits returns n audits of about 500 bytes for each combination of a site and a status. There
// are two sites, and null is one of the statuses.
func manyAudits(n int, findings string) (out []optimise.Audit) {
	for i := range 8 * n {
		a := optimise.Audit{AuditSummary: optimise.AuditSummary{
			ID: fmt.Sprintf("aud_%026d", i), SiteID: new([]string{"sit_a", "sit_b"}[i%2]), RootURL: new("https://shop.example.com/"),
			StartedAt: new(fmt.Sprintf("2026-03-01T%02d:%02d:%02d.000Z", i/3600%24, i/60%60, i%60)), Summary: new(strings.Repeat("x", 40)),
		}}
		if status := append(optimise.AuditStatus("").Values(), "")[i/2%4]; status != "" {
			a.Status = new(optimise.AuditStatus(status))
		}
		if findings != "" {
			a.Findings = json.RawMessage(findings)
		}
		out = append(out, a)
	}
	return out
}

// Ensure the cost of a list of audits does not grow with the company's data. With every combination
// of filters, ten times as many audits must take the same number of calls and units. Findings must
// not add to the cost.
func TestAuditUnits(t *testing.T) {
	t.Parallel()
	apitest.SkipIfShort(t)
	const n = 3 // for each site and status: a page of two, and one more to detect a next page
	small, large, withFindings := start(t), start(t), start(t)
	importAudits(t, small, manyAudits(n, "")...)
	importAudits(t, large, manyAudits(10*n, "")...)
	importAudits(t, withFindings, manyAudits(n, realisticFindings(30_000))...)
	for _, c := range []struct {
		site   *string
		status *optimise.AuditStatus
		want   table.Usage
	}{
		{nil, nil, table.Usage{Calls: 1, Read: 0.5}},
		{nil, new(optimise.AuditStatusFailed), table.Usage{Calls: 1, Read: 0.5}},
		{new("sit_a"), nil, table.Usage{Calls: 4, Read: 2}},
		{new("sit_a"), new(optimise.AuditStatusFailed), table.Usage{Calls: 1, Read: 0.5}},
		{new("sit_none"), nil, table.Usage{Calls: 4, Read: 2}},
		{new("sit_none"), new(optimise.AuditStatusFailed), table.Usage{Calls: 1, Read: 0.5}},
	} {
		list := func(limit int) func(context.Context, optimise.Store, string) error {
			return func(ctx context.Context, store optimise.Store, companyID string) error {
				_, err := store.Audits.List(ctx, companyID, optimise.AuditFilter{SiteID: c.site, Status: c.status}, "", limit)
				return err
			}
		}
		name := fmt.Sprintf("site %q, status %q", valueOrZero(c.site), valueOrZero(c.status))
		for size, s := range map[string]*apitest.Service{"N": small, "10 N": large, "N with findings": withFindings} {
			if got := unitsUsed(t, s, list(2)); got != c.want {
				t.Errorf("%s at %s: %+v, want %+v", name, size, got, c.want)
			}
		}
		t.Logf("%s: %+v at the default limit", name, unitsUsed(t, large, list(20)))
	}
}

// Ensure the cost of sites, goals and a single audit does not depend on the company's other
// records.
func TestUnitsAmongManyRecords(t *testing.T) {
	t.Parallel()
	apitest.SkipIfShort(t)
	few, much := start(t), start(t)
	for _, s := range []*apitest.Service{few, much} {
		importRecords(t, s, "site", `{"id":"sit_a"}`, `{"id":"sit_b"}`)
		importRecords(t, s, "site-goal", `{"id":"gol_a","siteId":"sit_a"}`, `{"id":"gol_b","siteId":"sit_a"}`)
		importRecords(t, s, "audit", `{"id":"aud_a"}`, `{"id":"aud_b","findings":`+realisticFindings(30_000)+`}`, `{"id":"aud_c","findings":`+realisticFindings(1_000_000)+`}`)
	}
	importAudits(t, much, manyAudits(30, `"x"`)...)
	var goals []string
	for n := range 200 {
		goals = append(goals, fmt.Sprintf(`{"id":"gol_c%d","siteId":"sit_b","name":"%0200d"}`, n, n))
	}
	importRecords(t, much, "site-goal", goals...)
	sites := func(ctx context.Context, s optimise.Store, companyID string) error {
		_, err := s.Sites.Page(ctx, companyID, "", 200)
		return err
	}
	goalsOfSite := func(ctx context.Context, s optimise.Store, companyID string) error {
		_, err := s.Goals("sit_a").Page(ctx, companyID, "", 200)
		return err
	}
	audit := func(id string) func(context.Context, optimise.Store, string) error {
		return func(ctx context.Context, s optimise.Store, companyID string) error {
			_, err := s.Audits.Get(ctx, companyID, id)
			return err
		}
	}
	for name, c := range map[string]struct {
		read func(context.Context, optimise.Store, string) error
		want table.Usage
	}{
		"sites":                             {sites, table.Usage{Calls: 1, Read: 0.5}},
		"goals":                             {goalsOfSite, table.Usage{Calls: 2, Read: 1.5}},
		"audit without findings":            {audit("aud_a"), table.Usage{Calls: 2, Read: 1.5}},
		"audit with findings of 30 kB":      {audit("aud_b"), table.Usage{Calls: 2, Read: 1.5}},
		"audit with findings of a megabyte": {audit("aud_c"), table.Usage{Calls: 2, Read: 6}},
	} {
		for size, s := range map[string]*apitest.Service{"few": few, "much": much} {
			if got := unitsUsed(t, s, c.read); got != c.want {
				t.Errorf("%s beside %s: %+v, want %+v", name, size, got, c.want)
			}
		}
	}
}
