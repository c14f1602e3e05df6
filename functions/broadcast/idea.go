package broadcast

import (
	"context"

	"growthworkspace/shared/api"
	"growthworkspace/shared/id"
	"growthworkspace/shared/record"
	"growthworkspace/shared/table"
)

// Idea is an idea for a post. The records that it refers to need not exist (see Plan).
type Idea struct {
	ID            string         `json:"id"`
	CompanyID     string         `json:"companyId"`
	PlanID        *string        `json:"planId" set:"optional" ref:"pln" doc:"the content plan that it belongs to" tool:"its plan"`
	ContentTypeID *string        `json:"contentTypeId" set:"optional" ref:"cty" doc:"the content type of the post that it would become" tool:"kind of post it would become"`
	Title         *string        `json:"title" set:"required,first" min:"1" max:"200" doc:"in a line"`
	Summary       *string        `json:"summary" set:"optional" max:"2000" doc:"what the post would say"`
	Rationale     *string        `json:"rationale" set:"optional" max:"2000" doc:"why to post it"`
	Platforms     []PlatformName `json:"platforms" set:"optional" items:"50" doc:"suggested platforms; names as in posts"`
	SourceKind    *SourceKind    `json:"sourceKind" default:"manual" doc:"the kind of source that it comes from" tool:"where it comes from"`
	SourceID      *string        `json:"sourceId" set:"optional" max:"200" doc:"the id of the record that it comes from" tool:"id of that record"`
	SuggestedFor  *string        `json:"suggestedFor" set:"optional" format:"date-time" doc:"suggested time of the post" tool:"when to post it"`
	Status        *IdeaStatus    `json:"status" default:"suggested" doc:"the decision; any may follow any" tool:"the decision; any may follow any"`
	CreatedAt     *string        `json:"createdAt" format:"date-time"`
	UpdatedAt     *string        `json:"updatedAt" format:"date-time"`
}

// IdeaStatus is the state of an idea. An idea can change from any state to any other.
type IdeaStatus string

// Values implements schema.Enum.
func (IdeaStatus) Values() []string {
	return []string{string(ideaStatusSuggested), "accepted", "rejected"}
}

// ideaStatusSuggested is the status of an idea that nobody has accepted or rejected yet.
const ideaStatusSuggested IdeaStatus = "suggested"

// Drafts implements schema.DraftEnum: a key that may only draft can suggest ideas, but not accept
// or reject them.
func (IdeaStatus) Drafts() []string { return []string{string(ideaStatusSuggested)} }

// SourceKind is the kind of source that an idea comes from.
type SourceKind string

// Values implements schema.Enum.
func (SourceKind) Values() []string {
	return []string{"manual", "generated", "feedback", "metric", "audit", "roadmap"}
}

var ideas = record.Kind[Idea]{
	Name: "content-idea", Plural: "content ideas", Prefix: "ida", Path: "broadcast/ideas", Parameter: "ideaId", SortPrefix: "idea",
	Change: "idea", Columns: "title status suggestedFor platforms sourceKind:source planId",
	Indexes: Idea.indexKeys,
}

// sortKey returns the sort position of an idea in a list: newest first, then by id.
func (i Idea) sortKey() string { return table.JoinKey(table.DescendingTimeKey(i.CreatedAt), i.ID) }

type listIdeasInput struct {
	Limit  int64       `query:"limit" default:"50" min:"1" max:"200"`
	PlanID *string     `query:"planId" max:"50" doc:"ideas of this plan"`
	Status *IdeaStatus `query:"status" doc:"ideas with this status"`
	Cursor api.Cursor  `query:"cursor"`
}

// listIdeas lists ideas. Like an unknown planId, a malformed one matches nothing.
func (s service) listIdeas(ctx context.Context, caller api.Caller, in listIdeasInput) (api.List[Idea], error) {
	if in.PlanID != nil && !id.Valid(plans.Prefix, *in.PlanID) {
		return api.List[Idea]{}, nil
	}
	filter := IdeaFilter{PlanID: in.PlanID, Status: in.Status}
	page, err := s.store.Ideas.List(ctx, caller.CompanyID, filter, string(in.Cursor), int(in.Limit))
	if err != nil {
		return api.List[Idea]{}, err
	}
	return api.NewJSONList[Idea](page), nil
}

type createIdeaInput struct{ api.CreateBody[Idea] }

func (s service) createIdea(ctx context.Context, caller api.Caller, in createIdeaInput) (Idea, error) {
	return s.store.Ideas.Insert(ctx, caller.CompanyID, in.Record)
}

type updateIdeaInput struct {
	api.UpdateBody[Idea]

	IdeaID string `path:"ideaId"`
}

func (s service) updateIdea(ctx context.Context, caller api.Caller, in updateIdeaInput) (Idea, error) {
	return s.store.Ideas.Modify(ctx, caller.CompanyID, in.IdeaID, func(i *Idea) error {
		return in.EditDrafted(i, caller, &ideaDrafts)
	})
}

// ideaDrafts is the rule for keys that may only draft: they can change only suggested ideas.
var ideaDrafts = api.DraftRule[Idea]{IsDraft: Idea.isSuggested}

func (i Idea) isSuggested() bool { return i.Status != nil && *i.Status == ideaStatusSuggested }
