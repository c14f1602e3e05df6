package optimise

import (
	"context"
	"encoding/json"

	"growthworkspace/shared/api"
	"growthworkspace/shared/id"
)

// AuditSummary is an audit as a list shows it: everything but its findings (spec.md, Audit).
type AuditSummary struct {
	ID           string       `json:"id"`
	CompanyID    string       `json:"companyId"`
	SiteID       *string      `json:"siteId" doc:"the measured site; null for another address"`
	RootURL      *string      `json:"rootUrl" doc:"the address at which the audit began"`
	Status       *AuditStatus `json:"status" doc:"how far the audit is"`
	StartedAt    *string      `json:"startedAt" format:"date-time"`
	FinishedAt   *string      `json:"finishedAt" format:"date-time"`
	ScoreSEO     *float64     `json:"scoreSeo" doc:"how well search engines can use the site"`
	ScoreAEO     *float64     `json:"scoreAeo" doc:"how well answer engines can use the site"`
	ScoreGEO     *float64     `json:"scoreGeo" doc:"how well generative engines can use the site"`
	PagesAudited *float64     `json:"pagesAudited" doc:"how many pages were looked at"`
	Summary      *string      `json:"summary" doc:"the result in words"`
	Error        *string      `json:"error" doc:"why the audit failed"`
	CreatedAt    *string      `json:"createdAt" format:"date-time"`
	UpdatedAt    *string      `json:"updatedAt" format:"date-time"`
}

// Audit is one audit with its findings. Lists have another type, so that findings cannot appear in one by accident.
type Audit struct {
	AuditSummary

	Findings json.RawMessage `json:"findings" doc:"per-page findings, any JSON value; large; returned only when fetching a single audit"`
}

// AuditStatus is how far an audit is.
type AuditStatus string

// The states of an audit.
const (
	AuditStatusRunning  AuditStatus = "running"
	AuditStatusComplete AuditStatus = "complete"
	AuditStatusFailed   AuditStatus = "failed"
)

// Values is schema.Enum.
func (AuditStatus) Values() []string {
	return []string{string(AuditStatusRunning), string(AuditStatusComplete), string(AuditStatusFailed)}
}

type listAuditsInput struct {
	Limit  int64        `query:"limit" default:"20" min:"1" max:"50" doc:"how many records at most"`
	SiteID *string      `query:"siteId" max:"50" doc:"audits of this site only"`
	Status *AuditStatus `query:"status" doc:"audits in this state only"`
	Cursor api.Cursor   `query:"cursor" doc:"where to go on: the cursor of the page before"`
}

func (s service) listAudits(ctx context.Context, caller api.Caller, in listAuditsInput) (api.List[AuditSummary], error) {
	if in.SiteID != nil && !id.Valid(siteIDs, *in.SiteID) {
		return api.NewList[AuditSummary](nil, ""), nil // no site has it, and it must not become part of a key
	}
	audits, next, err := s.store.ListAudits(ctx, caller.CompanyID, AuditFilter{in.SiteID, in.Status}, string(in.Cursor), int(in.Limit))
	if err != nil {
		return api.List[AuditSummary]{}, err
	}
	return api.NewTextList[AuditSummary](audits, next), nil
}

type getAuditInput struct {
	AuditID string `path:"auditId" doc:"the audit's id"`
}

func (s service) getAudit(ctx context.Context, caller api.Caller, in getAuditInput) (Audit, error) {
	return s.store.GetAudit(ctx, caller.CompanyID, in.AuditID)
}
