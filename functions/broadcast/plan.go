package broadcast

import (
	"context"

	"growthworkspace/shared/api"
	"growthworkspace/shared/table"
)

// Plan is a content plan.
type Plan struct {
	ID             string      `json:"id"`
	CompanyID      string      `json:"companyId"`
	Name           *string     `json:"name"`
	Brief          *string     `json:"brief" doc:"what the plan is about"`
	Objective      *string     `json:"objective" doc:"what the plan should achieve"`
	GoalID         *string     `json:"goalId" doc:"the brand goal it serves"`
	Audience       *string     `json:"audience" doc:"the people it addresses"`
	Platforms      []string    `json:"platforms" doc:"platforms of its posts; names as in posts"`
	ContentTypeIDs []string    `json:"contentTypeIds" doc:"content types of its posts"`
	Cadence        *string     `json:"cadence" doc:"how often to post, as free text"`
	Status         *PlanStatus `json:"status"`
	StartsAt       *string     `json:"startsAt" format:"date-time" doc:"when the plan starts"`
	EndsAt         *string     `json:"endsAt" format:"date-time" doc:"when the plan ends"`
	CreatedAt      *string     `json:"createdAt" format:"date-time"`
	UpdatedAt      *string     `json:"updatedAt" format:"date-time"`
}

// PlanStatus is the state of a plan.
type PlanStatus string

// Values implements schema.Enum.
func (PlanStatus) Values() []string {
	return []string{"draft", "active", "paused", "complete", "archived"}
}

// newestFirst returns the position of a plan in a list: newest first, then by id.
func (p Plan) newestFirst() string { return table.Join(table.Newest(p.CreatedAt), p.ID) }

type listPlansInput struct {
	Limit  int64      `query:"limit" default:"25" min:"1" max:"100" doc:"maximum number of records per page"`
	Cursor api.Cursor `query:"cursor" doc:"cursor of the next page, from the previous response"`
}

func (s service) listPlans(ctx context.Context, caller api.Caller, in listPlansInput) (api.List[Plan], error) {
	plans, next, err := s.store.ListPlans(ctx, caller.CompanyID, string(in.Cursor), int(in.Limit))
	if err != nil {
		return api.List[Plan]{}, err
	}
	return api.NewList(plans, next), nil
}
