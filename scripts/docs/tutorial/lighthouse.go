package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"time"

	"growthworkspace/shared/client"
)

// finding contains the fields of a failed Lighthouse check that the tutorial stores. The API
// accepts any JSON as the findings of an audit.
type finding struct {
	ID    string `json:"id"`
	Title string `json:"title"`
}

// newAuditInput converts a JSON report from Lighthouse to an audit. The audit has the score of the
// report's SEO category in percent, and the checks that failed as findings.
func newAuditInput(report []byte, siteID string) (client.CreateOptimiseAuditInput, error) {
	var lighthouse struct {
		FinalURL   string    `json:"finalUrl"`
		FetchTime  time.Time `json:"fetchTime"`
		Categories struct {
			SEO struct {
				Score *float64 `json:"score"` // from 0 to 1; null if Lighthouse could not compute it
			} `json:"seo"`
		} `json:"categories"`
		Audits map[string]struct {
			Title string   `json:"title"`
			Score *float64 `json:"score"` // null for a check that does not apply to the page
		} `json:"audits"`
	}
	if err := json.Unmarshal(report, &lighthouse); err != nil {
		return client.CreateOptimiseAuditInput{}, fmt.Errorf("read the report: %w", err)
	}
	score := lighthouse.Categories.SEO.Score
	if score == nil {
		return client.CreateOptimiseAuditInput{}, errors.New("the report has no score of the category seo")
	}
	failed := []finding{}
	for _, id := range slices.Sorted(maps.Keys(lighthouse.Audits)) {
		if check := lighthouse.Audits[id]; check.Score != nil && *check.Score < 1 {
			failed = append(failed, finding{id, check.Title})
		}
	}
	findings, err := json.Marshal(failed)
	return client.CreateOptimiseAuditInput{
		RootURL: lighthouse.FinalURL, SiteID: client.Value(siteID), StartedAt: client.Value(lighthouse.FetchTime),
		ScoreSEO: client.Value(*score * 100), PagesAudited: client.Value(1), Findings: client.Value(json.RawMessage(findings)),
		Summary: client.Value(fmt.Sprintf("failed checks: %d", len(failed))),
	}, err
}
