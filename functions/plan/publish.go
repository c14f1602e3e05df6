package plan

import (
	"context"

	"growthworkspace/shared/api"
	"growthworkspace/shared/fault"
)

// Preview is what publishing a board would change.
type Preview struct {
	BoardID        string          `json:"boardId" doc:"the board's id"`
	CurrentVersion *int64          `json:"currentVersion" doc:"the version that is live; null when the board was never published"`
	NextVersion    int64           `json:"nextVersion" doc:"the version that a publish would create; currentVersion when nothing would change"`
	HasChanges     bool            `json:"hasChanges" doc:"whether publishing would change what visitors see"`
	ItemCount      int64           `json:"itemCount" doc:"how many items would be visible"`
	Added          []PublishedItem `json:"added" doc:"items that would appear"`
	Updated        []ChangedItem   `json:"updated" doc:"items that would stay visible, with other public content"`
	Removed        []PublishedItem `json:"removed" doc:"items that would disappear"`
	UnchangedCount int64           `json:"unchangedCount" doc:"how many items would stay as they are"`

	digest string
}

// ETag returns the digest of the content that would be live.
func (p Preview) ETag() string { return p.digest }

// Publication is the result of publishing a board.
type Publication struct {
	BoardID          string          `json:"boardId" doc:"the board's id"`
	PublishedVersion int64           `json:"publishedVersion" doc:"the version that is live now"`
	PublishedAt      string          `json:"publishedAt" format:"date-time" doc:"when the live version was published"`
	Changed          bool            `json:"changed" doc:"false: the content was already live; version and time stay"`
	ItemCount        int64           `json:"itemCount" doc:"how many items are visible"`
	Added            []PublishedItem `json:"added" doc:"items that appeared"`
	Updated          []PublishedItem `json:"updated" doc:"items that stayed visible, with other public content"`
	Removed          []PublishedItem `json:"removed" doc:"items that disappeared"`
	UnchangedCount   int64           `json:"unchangedCount" doc:"how many items stayed as they were"`

	digest string
}

// ETag returns the digest of the content that is live.
func (p Publication) ETag() string { return p.digest }

type previewPublishInput struct {
	BoardID string `path:"boardId"`
}

func (s service) previewPublish(ctx context.Context, caller api.Caller, in previewPublishInput) (Preview, error) {
	plan, err := s.store.PlanPublish(ctx, caller.CompanyID, in.BoardID)
	if err != nil {
		return Preview{}, err
	}
	p := Preview{
		BoardID: in.BoardID, CurrentVersion: plan.board.PublishedVersion, NextVersion: plan.nextVersion(), HasChanges: plan.hasChanges(),
		ItemCount: int64(len(plan.content)), Added: plan.added, Updated: plan.updated, Removed: plan.removed,
		UnchangedCount: int64(plan.unchangedCount), digest: plan.digest,
	}
	if !p.HasChanges {
		p.NextVersion = *p.CurrentVersion
	}
	return p, nil
}

type publishBoardInput struct {
	api.Idempotent

	BoardID string  `path:"boardId"`
	IfMatch *string `header:"If-Match" max:"2000" doc:"the ETag of a preview; the publish fails with precondition_failed if the content has changed since" tool:"ETag of service_preview_plan_publish; fails if it changed"`
}

func (s service) publishBoard(ctx context.Context, caller api.Caller, in publishBoardInput) (Publication, error) {
	return s.store.Publish(ctx, caller.CompanyID, in.BoardID, func(digest string) error {
		if in.IfMatch == nil || api.IfMatchHas(*in.IfMatch, digest) {
			return nil
		}
		return fault.New(fault.PreconditionFailed, "header.If-Match: the content has changed since that preview; preview again")
	})
}
