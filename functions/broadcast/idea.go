package broadcast

import (
	"context"

	"growthworkspace/shared/api"
	"growthworkspace/shared/id"
	"growthworkspace/shared/table"
)

// Idea is a content idea (decisions.md §2).
type Idea struct {
	ID            string      `json:"id"`
	CompanyID     string      `json:"companyId"`
	PlanID        *string     `json:"planId" doc:"the content plan that it belongs to"`
	ContentTypeID *string     `json:"contentTypeId" doc:"the kind of post it would become"`
	Title         *string     `json:"title"`
	Summary       *string     `json:"summary"`
	Rationale     *string     `json:"rationale" doc:"why it was suggested"`
	Platforms     []string    `json:"platforms" doc:"where it could go; names as in posts"`
	SourceKind    *SourceKind `json:"sourceKind" doc:"what it was drawn from"`
	SourceID      *string     `json:"sourceId" doc:"the record that it was drawn from"`
	SuggestedFor  *string     `json:"suggestedFor" format:"date-time" doc:"when to post it"`
	Status        *IdeaStatus `json:"status" doc:"what became of it"`
	CreatedAt     *string     `json:"createdAt" format:"date-time"`
	UpdatedAt     *string     `json:"updatedAt" format:"date-time"`
}

// IdeaStatus is what became of an idea (spec.md, States).
type IdeaStatus string

// Values is schema.Enum.
func (IdeaStatus) Values() []string { return []string{"suggested", "accepted", "rejected"} }

// SourceKind is what an idea was drawn from (decisions.md §2).
type SourceKind string

// Values is schema.Enum.
func (SourceKind) Values() []string {
	return []string{"manual", "generated", "feedback", "metric", "audit", "roadmap"}
}

// newestFirst is the order of ideas (decisions.md §1).
func (i Idea) newestFirst() string { return table.Join(table.Newest(i.CreatedAt), i.ID) }

type listIdeasInput struct {
	Limit  int64       `query:"limit" default:"50" min:"1" max:"200" doc:"how many records at most"`
	PlanID *string     `query:"planId" max:"50" doc:"of this content plan only"`
	Status *IdeaStatus `query:"status" doc:"with this status only"`
	Cursor api.Cursor  `query:"cursor" doc:"where to go on: the cursor of the page before"`
}

// listIdeas lists ideas. A planId that no plan can have is a filter that matches nothing, as one that no plan has.
func (s service) listIdeas(ctx context.Context, caller api.Caller, in listIdeasInput) (api.List[Idea], error) {
	if in.PlanID != nil && !id.Valid(planIDs, *in.PlanID) {
		return api.NewList[Idea](nil, ""), nil
	}
	filter := IdeaFilter{PlanID: in.PlanID, Status: in.Status}
	ideas, next, err := s.store.ListIdeas(ctx, caller.CompanyID, filter, string(in.Cursor), int(in.Limit))
	if err != nil {
		return api.List[Idea]{}, err
	}
	return api.NewTextList[Idea](ideas, next), nil
}
