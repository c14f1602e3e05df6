package optimise

import (
	"context"
	"encoding/json"

	"growthworkspace/shared/api"
	"growthworkspace/shared/fault"
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
	PagesAudited *int64       `json:"pagesAudited" doc:"the number of audited pages"`
	Summary      *string      `json:"summary" doc:"the result in words"`
	Error        *string      `json:"error" doc:"why the audit failed"`
	CreatedAt    *string      `json:"createdAt" format:"date-time"`
	UpdatedAt    *string      `json:"updatedAt" format:"date-time"`

	Generation *string `json:"-" store:"findingsGeneration"` // null: no findings
}

// ETag implements api.Tagged. An audit has the same tag with its findings and without them, so it is of their generation.
func (a AuditSummary) ETag() string {
	generation := ""
	if a.Generation != nil {
		generation = *a.Generation
	}
	return api.Digest(a, generation)
}

// Audit is an audit with its findings. Everything but a read of one audit returns AuditSummary, so it cannot contain findings by
// accident.
type Audit struct {
	AuditSummary

	Findings json.RawMessage `json:"findings" doc:"what the audit found, any JSON value of at most 4 MB; not in lists"`
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
	Limit  int64        `query:"limit" default:"20" min:"1" max:"50"`
	SiteID *string      `query:"siteId" max:"50" doc:"only audits of this site"`
	Status *AuditStatus `query:"status" doc:"only audits in this state"`
	Cursor api.Cursor   `query:"cursor"`
}

func (s service) listAudits(ctx context.Context, caller api.Caller, in listAuditsInput) (api.List[AuditSummary], error) {
	if in.SiteID != nil && !id.Valid(siteIDs, *in.SiteID) {
		return api.List[AuditSummary]{}, nil // an invalid id matches no site, and must not become part of a table key
	}
	audits, err := s.store.ListAudits(ctx, caller.CompanyID, AuditFilter{in.SiteID, in.Status}, string(in.Cursor), int(in.Limit))
	if err != nil {
		return api.List[AuditSummary]{}, err
	}
	return api.NewTextList[AuditSummary](audits), nil
}

type getAuditInput struct {
	AuditID string `path:"auditId"`
}

func (s service) getAudit(ctx context.Context, caller api.Caller, in getAuditInput) (Audit, error) {
	return s.store.GetAudit(ctx, caller.CompanyID, in.AuditID)
}

type createAuditInput struct {
	api.Idempotent

	RootURL      string          `json:"rootUrl" max:"2000" format:"web" doc:"the URL at which the audit started"`
	SiteID       *string         `json:"siteId" ref:"sit" doc:"from service_list_optimise_sites"`
	Status       AuditStatus     `json:"status" default:"complete" doc:"running: it has no result yet"`
	StartedAt    *string         `json:"startedAt" format:"date-time" doc:"when it began; now if left out"`
	FinishedAt   *string         `json:"finishedAt" format:"date-time" doc:"when it ended; now if left out; not while running"`
	ScoreSEO     *float64        `json:"scoreSeo" min:"0" max:"100" doc:"how well search engines can use the site" tool:"for search engines"`
	ScoreAEO     *float64        `json:"scoreAeo" min:"0" max:"100" doc:"how well answer engines can use the site" tool:"for answer engines"`
	ScoreGEO     *float64        `json:"scoreGeo" min:"0" max:"100" doc:"how well generative engines can use the site" tool:"for generative engines"`
	PagesAudited *int64          `json:"pagesAudited" min:"0" doc:"the number of audited pages"`
	Summary      *string         `json:"summary" max:"2000" doc:"the result in words"`
	Error        *string         `json:"error" max:"2000" doc:"why the audit failed"`
	Findings     json.RawMessage `json:"findings" max:"4194304" doc:"what the audit found, any JSON; at most 4 MB as compact JSON, 256 KB by a tool" tool:"what it found, any JSON, at most 256 KB"`
}

func (s service) createAudit(ctx context.Context, caller api.Caller, in createAuditInput) (AuditSummary, error) {
	now := s.store.table.Now()
	a := AuditSummary{
		SiteID: in.SiteID, RootURL: &in.RootURL, Status: &in.Status, StartedAt: in.StartedAt, FinishedAt: in.FinishedAt,
		ScoreSEO: in.ScoreSEO, ScoreAEO: in.ScoreAEO, ScoreGEO: in.ScoreGEO, PagesAudited: in.PagesAudited,
		Summary: in.Summary, Error: in.Error,
	}
	if a.StartedAt == nil {
		a.StartedAt = &now
	}
	if err := a.finish(in.StartedAt, in.FinishedAt, now); err != nil {
		return AuditSummary{}, err
	}
	return s.store.CreateAudit(ctx, caller.CompanyID, a, in.Findings)
}

// finish gives an audit that ended its time of that: now, but not before it started, because startedAt may be of a clock that is
// ahead. started and finished are those of the request, nil when it has none. It does not check times that the request leaves alone,
// because an earlier version may have imported others.
func (a *AuditSummary) finish(started, finished *string, now string) error {
	if a.Status != nil && *a.Status == AuditStatusRunning {
		a.FinishedAt = nil
		if finished != nil {
			return fault.Invalid("body.finishedAt", "must be left out while status is running")
		}
		return nil
	}
	if a.FinishedAt == nil {
		a.FinishedAt = &now
		if a.StartedAt != nil {
			a.FinishedAt = new(max(now, *a.StartedAt))
		}
	}
	switch {
	case a.StartedAt == nil || *a.FinishedAt >= *a.StartedAt:
		return nil
	case finished != nil:
		return fault.Invalid("body.finishedAt", "must not be before startedAt, which is %s", *a.StartedAt)
	case started != nil:
		return fault.Invalid("body.startedAt", "must not be after finishedAt, which is %s", *a.FinishedAt)
	}
	return nil
}

type updateAuditInput struct {
	api.Condition

	AuditID      string                         `path:"auditId"`
	RootURL      *string                        `json:"rootUrl" max:"2000" format:"web" doc:"the URL at which the audit started"`
	SiteID       api.Clearable[*string]         `json:"siteId" ref:"sit" doc:"from service_list_optimise_sites"`
	Status       *AuditStatus                   `json:"status" doc:"only running can change, to complete or failed"`
	StartedAt    *string                        `json:"startedAt" format:"date-time" doc:"when it began"`
	FinishedAt   *string                        `json:"finishedAt" format:"date-time" doc:"when it ended; now if left out when status changes; not while running"`
	ScoreSEO     api.Clearable[*float64]        `json:"scoreSeo" min:"0" max:"100" doc:"how well search engines can use the site" tool:"for search engines"`
	ScoreAEO     api.Clearable[*float64]        `json:"scoreAeo" min:"0" max:"100" doc:"how well answer engines can use the site" tool:"for answer engines"`
	ScoreGEO     api.Clearable[*float64]        `json:"scoreGeo" min:"0" max:"100" doc:"how well generative engines can use the site" tool:"for generative engines"`
	PagesAudited api.Clearable[*int64]          `json:"pagesAudited" min:"0" doc:"the number of audited pages"`
	Summary      api.Clearable[*string]         `json:"summary" max:"2000" doc:"the result in words"`
	Error        api.Clearable[*string]         `json:"error" max:"2000" doc:"why the audit failed"`
	Findings     api.Clearable[json.RawMessage] `json:"findings" max:"4194304" doc:"what the audit found, any JSON; replaces all findings; at most 4 MB as compact JSON, 256 KB by a tool" tool:"what it found, any JSON, at most 256 KB; replaces all"`
}

func (s service) updateAudit(ctx context.Context, caller api.Caller, in updateAuditInput) (AuditSummary, error) {
	change := func(a *AuditSummary) error { return in.apply(a, s.store.table.Now()) }
	return s.store.ModifyAudit(ctx, caller.CompanyID, in.AuditID, change, in.Findings)
}

// apply edits an audit, all but its findings. An audit without a status, which an import may bring, can get any.
func (in updateAuditInput) apply(a *AuditSummary, now string) error {
	if err := in.Condition.Check(*a); err != nil {
		return err
	}
	if in.Status != nil && a.Status != nil && *in.Status != *a.Status && *a.Status != AuditStatusRunning {
		return fault.New(fault.Conflict, "the audit is %s; only a running audit can change its status", *a.Status)
	}
	if a.Status != nil && *a.Status == AuditStatusRunning && in.Status != nil {
		a.FinishedAt = nil // only an import brings one
	}
	api.Set(&a.RootURL, in.RootURL)
	in.SiteID.Apply(&a.SiteID)
	api.Set(&a.Status, in.Status)
	api.Set(&a.StartedAt, in.StartedAt)
	api.Set(&a.FinishedAt, in.FinishedAt)
	in.ScoreSEO.Apply(&a.ScoreSEO)
	in.ScoreAEO.Apply(&a.ScoreAEO)
	in.ScoreGEO.Apply(&a.ScoreGEO)
	in.PagesAudited.Apply(&a.PagesAudited)
	in.Summary.Apply(&a.Summary)
	in.Error.Apply(&a.Error)
	if in.Status == nil && in.StartedAt == nil && in.FinishedAt == nil {
		return nil
	}
	return a.finish(in.StartedAt, in.FinishedAt, now)
}

type deleteAuditInput struct {
	api.Condition

	AuditID string `path:"auditId"`
}

func (s service) deleteAudit(ctx context.Context, caller api.Caller, in deleteAuditInput) (api.Deleted, error) {
	check := func(a AuditSummary) error { return in.Condition.Check(a) }
	if err := s.store.RemoveAudit(ctx, caller.CompanyID, in.AuditID, check); err != nil {
		return api.Deleted{}, err
	}
	return api.Deleted{ID: in.AuditID, Deleted: true}, nil
}
