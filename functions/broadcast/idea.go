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

// IdeaStatus is the state of an idea. Any state may follow any.
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
	Limit  int64       `query:"limit" default:"50" min:"1" max:"200"`
	PlanID *string     `query:"planId" max:"50" doc:"ideas of this plan"`
	Status *IdeaStatus `query:"status" doc:"ideas with this status"`
	Cursor api.Cursor  `query:"cursor"`
}

// listIdeas lists ideas. A malformed planId matches nothing, like an unknown one.
func (s service) listIdeas(ctx context.Context, caller api.Caller, in listIdeasInput) (api.List[Idea], error) {
	if in.PlanID != nil && !id.Valid(planIDs, *in.PlanID) {
		return api.List[Idea]{}, nil
	}
	filter := IdeaFilter{PlanID: in.PlanID, Status: in.Status}
	ideas, err := s.store.ListIdeas(ctx, caller.CompanyID, filter, string(in.Cursor), int(in.Limit))
	if err != nil {
		return api.List[Idea]{}, err
	}
	return api.NewTextList[Idea](ideas), nil
}

type getIdeaInput struct {
	IdeaID string `path:"ideaId"`
}

func (s service) getIdea(ctx context.Context, caller api.Caller, in getIdeaInput) (Idea, error) {
	return s.store.GetIdea(ctx, caller.CompanyID, in.IdeaID)
}

type createIdeaInput struct {
	api.Idempotent

	Title         string     `json:"title" min:"1" max:"200" doc:"in a line"`
	PlanID        *string    `json:"planId" ref:"pln" doc:"its plan"`
	ContentTypeID *string    `json:"contentTypeId" ref:"cty" doc:"kind of post it would become"`
	Summary       *string    `json:"summary" max:"2000" doc:"what the post would say"`
	Rationale     *string    `json:"rationale" max:"2000" doc:"why to post it"`
	Platforms     []Platform `json:"platforms" items:"50" doc:"suggested platforms"`
	SourceKind    SourceKind `json:"sourceKind" default:"manual" doc:"where it comes from"`
	SourceID      *string    `json:"sourceId" max:"200" doc:"id of that record"`
	SuggestedFor  *string    `json:"suggestedFor" format:"date-time" doc:"when to post it"`
	Status        IdeaStatus `json:"status" default:"suggested" doc:"the decision"`
}

// createIdea creates an idea. Records that it names need not exist, as in createPlan.
func (s service) createIdea(ctx context.Context, caller api.Caller, in createIdeaInput) (Idea, error) {
	return s.store.InsertIdea(ctx, caller.CompanyID, Idea{
		PlanID: in.PlanID, ContentTypeID: in.ContentTypeID, Title: &in.Title, Summary: in.Summary, Rationale: in.Rationale,
		Platforms: names(in.Platforms), SourceKind: &in.SourceKind, SourceID: in.SourceID, SuggestedFor: in.SuggestedFor, Status: &in.Status,
	})
}

type updateIdeaInput struct {
	api.Condition

	IdeaID        string                    `path:"ideaId"`
	Title         *string                   `json:"title" min:"1" max:"200" doc:"in a line"`
	PlanID        api.Clearable[*string]    `json:"planId" ref:"pln" doc:"its plan"`
	ContentTypeID api.Clearable[*string]    `json:"contentTypeId" ref:"cty" doc:"kind of post it would become"`
	Summary       api.Clearable[*string]    `json:"summary" max:"2000" doc:"what the post would say"`
	Rationale     api.Clearable[*string]    `json:"rationale" max:"2000" doc:"why to post it"`
	Platforms     api.Clearable[[]Platform] `json:"platforms" items:"50" doc:"replaces the list"`
	SourceKind    *SourceKind               `json:"sourceKind" doc:"where it comes from"`
	SourceID      api.Clearable[*string]    `json:"sourceId" max:"200" doc:"id of that record"`
	SuggestedFor  api.Clearable[*string]    `json:"suggestedFor" format:"date-time" doc:"when to post it"`
	Status        *IdeaStatus               `json:"status" doc:"the decision; any may follow any"`
}

func (s service) updateIdea(ctx context.Context, caller api.Caller, in updateIdeaInput) (Idea, error) {
	return s.store.ModifyIdea(ctx, caller.CompanyID, in.IdeaID, in.apply)
}

func (in updateIdeaInput) apply(i *Idea) error {
	if err := in.Condition.Check(*i); err != nil {
		return err
	}
	api.Set(&i.Title, in.Title)
	in.PlanID.Apply(&i.PlanID)
	in.ContentTypeID.Apply(&i.ContentTypeID)
	in.Summary.Apply(&i.Summary)
	in.Rationale.Apply(&i.Rationale)
	if in.Platforms.Sent {
		i.Platforms = names(in.Platforms.Value)
	}
	api.Set(&i.SourceKind, in.SourceKind)
	in.SourceID.Apply(&i.SourceID)
	in.SuggestedFor.Apply(&i.SuggestedFor)
	api.Set(&i.Status, in.Status)
	return nil
}

type deleteIdeaInput struct {
	api.Condition

	IdeaID string `path:"ideaId"`
}

func (s service) deleteIdea(ctx context.Context, caller api.Caller, in deleteIdeaInput) (api.Deleted, error) {
	check := func(i Idea) error { return in.Condition.Check(i) }
	if err := s.store.RemoveIdea(ctx, caller.CompanyID, in.IdeaID, check); err != nil {
		return api.Deleted{}, err
	}
	return api.Deleted{ID: in.IdeaID, Deleted: true}, nil
}
