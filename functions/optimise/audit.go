package optimise

import (
	"context"
	"encoding/json"

	"growthworkspace/shared/api"
	"growthworkspace/shared/id"
)

// AuditSummary is an audit without its findings, as lists return it.
type AuditSummary struct {
	ID           string       `json:"id"`
	CompanyID    string       `json:"companyId"`
	SiteID       *string      `json:"siteId" doc:"the id of the site in list_optimise_sites; null when the audited site is not in that list"`
	RootURL      *string      `json:"rootUrl" doc:"the URL at which the audit started"`
	Status       *AuditStatus `json:"status" doc:"the state of the audit"`
	StartedAt    *string      `json:"startedAt" format:"date-time"`
	FinishedAt   *string      `json:"finishedAt" format:"date-time"`
	ScoreSEO     *float64     `json:"scoreSeo" doc:"how well search engines can use the site"`
	ScoreAEO     *float64     `json:"scoreAeo" doc:"how well answer engines can use the site"`
	ScoreGEO     *float64     `json:"scoreGeo" doc:"how well generative engines can use the site"`
	PagesAudited *float64     `json:"pagesAudited" doc:"the number of audited pages"`
	Summary      *string      `json:"summary" doc:"the result in words"`
	Error        *string      `json:"error" doc:"why the audit failed"`
	CreatedAt    *string      `json:"createdAt" format:"date-time"`
	UpdatedAt    *string      `json:"updatedAt" format:"date-time"`
}

// Audit is an audit with its findings. Lists return AuditSummary, so they cannot contain findings by accident.
type Audit struct {
	AuditSummary

	Findings json.RawMessage `json:"findings" doc:"the findings for each web page, any JSON value, at most 5 MB in total; not in lists"`
}

// AuditStatus is the state of an audit.
type AuditStatus string

// The states of an audit.
const (
	AuditStatusRunning  AuditStatus = "running"
	AuditStatusComplete AuditStatus = "complete"
	AuditStatusFailed   AuditStatus = "failed"
)

// Values implements schema.Enum.
func (AuditStatus) Values() []string {
	return []string{string(AuditStatusRunning), string(AuditStatusComplete), string(AuditStatusFailed)}
}

type listAuditsInput struct {
	Limit  int64        `query:"limit" default:"20" min:"1" max:"50" doc:"maximum number of records per page"`
	SiteID *string      `query:"siteId" max:"50" doc:"only audits of this site"`
	Status *AuditStatus `query:"status" doc:"only audits in this state"`
	Cursor api.Cursor   `query:"cursor" doc:"cursor of the next page, from the previous response"`
}

func (s service) listAudits(ctx context.Context, caller api.Caller, in listAuditsInput) (api.List[AuditSummary], error) {
	if in.SiteID != nil && !id.Valid(siteIDs, *in.SiteID) {
		return api.NewList[AuditSummary](nil, ""), nil // an invalid id matches no site, and must not become part of a table key
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
