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
	SiteID       *string      `json:"siteId" set:"optional" ref:"sit" doc:"the id of the site in list_optimise_sites; null when the audited site is not in that list" tool:"from service_list_optimise_sites"`
	RootURL      *string      `json:"rootUrl" set:"required,first" max:"2000" format:"web" doc:"the URL at which the audit started"`
	Status       *AuditStatus `json:"status" default:"complete" doc:"running: it has no result yet; only running can change, to complete or failed" tool:"only running (no result yet) can change"`
	StartedAt    *string      `json:"startedAt" set:"filled" format:"date-time" doc:"when it began; of a new audit now if left out" tool:"when it began"`
	FinishedAt   *string      `json:"finishedAt" set:"filled" format:"date-time" doc:"when it ended; not while running; now if a create or a change of status leaves it out" tool:"when it ended; now if left out; not while running"`
	ScoreSEO     *float64     `json:"scoreSeo" set:"optional" min:"0" max:"100" doc:"how well search engines can use the site" tool:"for search engines"`
	ScoreAEO     *float64     `json:"scoreAeo" set:"optional" min:"0" max:"100" doc:"how well answer engines can use the site" tool:"for answer engines"`
	ScoreGEO     *float64     `json:"scoreGeo" set:"optional" min:"0" max:"100" doc:"how well generative engines can use the site" tool:"for generative engines"`
	PagesAudited *int64       `json:"pagesAudited" set:"optional" min:"0" doc:"the number of audited pages"`
	Summary      *string      `json:"summary" set:"optional" max:"2000" doc:"the result in words"`
	Error        *string      `json:"error" set:"optional" max:"2000" doc:"why the audit failed"`
	CreatedAt    *string      `json:"createdAt" format:"date-time"`
	UpdatedAt    *string      `json:"updatedAt" format:"date-time"`

	Generation *string `json:"-" store:"findingsGeneration"` // nil if there are no findings
}

// ETag implements api.ETagger. An audit must have the same tag in responses with and without its
// findings. The tag is therefore derived not from the findings, but from their generation id, which
// changes with them.
func (a AuditSummary) ETag() string {
	generation := ""
	if a.Generation != nil {
		generation = *a.Generation
	}
	return api.ETagDigest(a, generation)
}

// Audit is an audit with its findings. Only a read of a single audit returns it. All other
// operations return AuditSummary, which has no field for findings.
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
	if in.SiteID != nil && !id.Valid(sites.Prefix, *in.SiteID) {
		return api.List[AuditSummary]{}, nil // an invalid id matches no site, and must not become part of a table key
	}
	page, err := s.store.Audits.List(ctx, caller.CompanyID, AuditFilter{in.SiteID, in.Status}, string(in.Cursor), int(in.Limit))
	if err != nil {
		return api.List[AuditSummary]{}, err
	}
	return api.NewJSONList[AuditSummary](page), nil
}

type getAuditInput struct {
	AuditID string `path:"auditId"`
}

func (s service) getAudit(ctx context.Context, caller api.Caller, in getAuditInput) (Audit, error) {
	return s.store.Audits.Get(ctx, caller.CompanyID, in.AuditID)
}

type createAuditInput struct {
	api.CreateBody[AuditSummary]

	Findings json.RawMessage `json:"findings" max:"4194304" doc:"what the audit found, any JSON; at most 4 MB as compact JSON, 256 KB by a tool" tool:"what it found, any JSON, at most 256 KB"`
}

func (s service) createAudit(ctx context.Context, caller api.Caller, in createAuditInput) (AuditSummary, error) {
	now, a := s.store.table.Now(), in.Record
	if a.StartedAt == nil {
		a.StartedAt = &now
	}
	if err := a.setFinishedAt(in.Record.StartedAt, in.Record.FinishedAt, now); err != nil {
		return AuditSummary{}, err
	}
	return s.store.Audits.Insert(ctx, caller.CompanyID, a, in.Findings)
}

// setFinishedAt sets finishedAt if the audit is not running and has no finishedAt. The value is the
// current time or, if startedAt is later because the caller's clock is ahead, startedAt. The
// arguments `started` and `finished` are the times in the request, or nil. If both are nil, the
// stored times are not checked.
func (a *AuditSummary) setFinishedAt(started, finished *string, now string) error {
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
	api.UpdateBody[AuditSummary]

	AuditID  string                         `path:"auditId"`
	Findings api.Clearable[json.RawMessage] `json:"findings" max:"4194304" doc:"what the audit found, any JSON; replaces all findings; at most 4 MB as compact JSON, 256 KB by a tool" tool:"what it found, any JSON, at most 256 KB; replaces all"`
}

func (s service) updateAudit(ctx context.Context, caller api.Caller, in updateAuditInput) (AuditSummary, error) {
	change := func(a *AuditSummary) error { return in.edit(a, s.store.table.Now()) }
	return s.store.Audits.Modify(ctx, caller.CompanyID, in.AuditID, change, in.Findings)
}

// edit applies an update to an audit, except to its findings. If an imported audit has no status,
// the update may set any status.
func (in *updateAuditInput) edit(a *AuditSummary, now string) error {
	if err := in.Condition.RequireMatch(*a); err != nil {
		return err
	}
	sent := in.Record
	if sent.Status != nil && a.Status != nil && *sent.Status != *a.Status && *a.Status != AuditStatusRunning {
		return fault.New(fault.Conflict, "the audit is %s; only a running audit can change its status", *a.Status)
	}
	if a.Status != nil && *a.Status == AuditStatusRunning && sent.Status != nil {
		a.FinishedAt = nil // a running audit has a finishedAt only if an import set it
	}
	in.Apply(a)
	if sent.Status == nil && sent.StartedAt == nil && sent.FinishedAt == nil {
		return nil
	}
	return a.setFinishedAt(sent.StartedAt, sent.FinishedAt, now)
}

type deleteAuditInput struct {
	api.Condition

	AuditID string `path:"auditId"`
}

func (s service) deleteAudit(ctx context.Context, caller api.Caller, in deleteAuditInput) (api.Deleted, error) {
	err := s.store.Audits.Remove(ctx, caller.CompanyID, in.AuditID, func(a AuditSummary) error { return in.Condition.RequireMatch(a) })
	return api.Deleted{ID: in.AuditID, Deleted: true}, err
}
