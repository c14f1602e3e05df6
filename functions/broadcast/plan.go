package broadcast

import (
	"context"

	"growthworkspace/shared/api"
	"growthworkspace/shared/table"
)

// Plan is a content plan (decisions.md §2).
type Plan struct {
	ID             string      `json:"id"`
	CompanyID      string      `json:"companyId"`
	Name           *string     `json:"name"`
	Brief          *string     `json:"brief" doc:"what the plan is about"`
	Objective      *string     `json:"objective" doc:"what it is to reach"`
	GoalID         *string     `json:"goalId" doc:"the brand goal that it serves"`
	Audience       *string     `json:"audience" doc:"whom it addresses"`
	Platforms      []string    `json:"platforms" doc:"where its posts go; names as in posts"`
	ContentTypeIDs []string    `json:"contentTypeIds" doc:"the kinds of posts it is made of"`
	Cadence        *string     `json:"cadence" doc:"how often, in free text"`
	Status         *PlanStatus `json:"status"`
	StartsAt       *string     `json:"startsAt" format:"date-time" doc:"when it begins"`
	EndsAt         *string     `json:"endsAt" format:"date-time" doc:"when it ends"`
	CreatedAt      *string     `json:"createdAt" format:"date-time"`
	UpdatedAt      *string     `json:"updatedAt" format:"date-time"`
}

// PlanStatus is how far a plan is.
type PlanStatus string

// Values is schema.Enum.
func (PlanStatus) Values() []string {
	return []string{"draft", "active", "paused", "complete", "archived"}
}

// newestFirst is the order of plans (decisions.md §1).
func (p Plan) newestFirst() string { return table.Join(table.Newest(p.CreatedAt), p.ID) }

type listPlansInput struct {
	Limit  int64      `query:"limit" default:"25" min:"1" max:"100" doc:"how many records at most"`
	Cursor api.Cursor `query:"cursor" doc:"where to go on: the cursor of the page before"`
}

func (s service) listPlans(ctx context.Context, caller api.Caller, in listPlansInput) (api.List[Plan], error) {
	plans, next, err := s.store.ListPlans(ctx, caller.CompanyID, string(in.Cursor), int(in.Limit))
	if err != nil {
		return api.List[Plan]{}, err
	}
	return api.NewList(plans, next), nil
}
