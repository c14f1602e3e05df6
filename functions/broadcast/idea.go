package broadcast

import (
	"context"

	"growthworkspace/shared/api"
	"growthworkspace/shared/id"
	"growthworkspace/shared/table"
)

// Idea is an idea for a post.
type Idea struct {
	ID            string      `json:"id"`
	CompanyID     string      `json:"companyId"`
	PlanID        *string     `json:"planId" doc:"the content plan it belongs to"`
	ContentTypeID *string     `json:"contentTypeId" doc:"the content type of the post it would become"`
	Title         *string     `json:"title"`
	Summary       *string     `json:"summary"`
	Rationale     *string     `json:"rationale" doc:"why it was suggested"`
	Platforms     []string    `json:"platforms" doc:"suggested platforms; names as in posts"`
	SourceKind    *SourceKind `json:"sourceKind" doc:"the kind of source it comes from"`
	SourceID      *string     `json:"sourceId" doc:"the id of the record it comes from"`
	SuggestedFor  *string     `json:"suggestedFor" format:"date-time" doc:"suggested time of the post"`
	Status        *IdeaStatus `json:"status" doc:"whether the idea was accepted"`
	CreatedAt     *string     `json:"createdAt" format:"date-time"`
	UpdatedAt     *string     `json:"updatedAt" format:"date-time"`
}

// IdeaStatus is the state of an idea.
type IdeaStatus string

// Values implements schema.Enum.
func (IdeaStatus) Values() []string { return []string{"suggested", "accepted", "rejected"} }

// SourceKind is the kind of source of an idea.
type SourceKind string

// Values implements schema.Enum.
func (SourceKind) Values() []string {
	return []string{"manual", "generated", "feedback", "metric", "audit", "roadmap"}
}

// newestFirst returns the position of an idea in a list: newest first, then by id.
func (i Idea) newestFirst() string { return table.Join(table.Newest(i.CreatedAt), i.ID) }

type listIdeasInput struct {
	Limit  int64       `query:"limit" default:"50" min:"1" max:"200" doc:"maximum number of records per page"`
	PlanID *string     `query:"planId" max:"50" doc:"only ideas of this content plan"`
	Status *IdeaStatus `query:"status" doc:"only ideas with this status"`
	Cursor api.Cursor  `query:"cursor" doc:"cursor of the next page, from the previous response"`
}

// listIdeas lists ideas. A malformed planId matches nothing, like an unknown one.
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
