package broadcast

import (
	"context"

	"growthworkspace/shared/api"
	"growthworkspace/shared/fault"
	"growthworkspace/shared/table"
	"growthworkspace/shared/timestamp"
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

// PlanStatus is the state of a plan. Any state may follow any.
type PlanStatus string

// Values implements schema.Enum.
func (PlanStatus) Values() []string {
	return []string{"draft", "active", "paused", "complete", "archived"}
}

// newestFirst returns the position of a plan in a list: newest first, then by id.
func (p Plan) newestFirst() string { return table.Join(table.Newest(p.CreatedAt), p.ID) }

type listPlansInput struct {
	Limit  int64      `query:"limit" default:"25" min:"1" max:"100"`
	Cursor api.Cursor `query:"cursor"`
}

func (s service) listPlans(ctx context.Context, caller api.Caller, in listPlansInput) (api.List[Plan], error) {
	plans, err := s.store.ListPlans(ctx, caller.CompanyID, string(in.Cursor), int(in.Limit))
	if err != nil {
		return api.List[Plan]{}, err
	}
	return api.NewList(plans), nil
}

type getPlanInput struct {
	PlanID string `path:"planId"`
}

func (s service) getPlan(ctx context.Context, caller api.Caller, in getPlanInput) (Plan, error) {
	return s.store.GetPlan(ctx, caller.CompanyID, in.PlanID)
}

type createPlanInput struct {
	api.Idempotent

	Name           string     `json:"name" min:"1" max:"200" doc:"in a few words"`
	Brief          *string    `json:"brief" max:"2000" doc:"what it is about"`
	Objective      *string    `json:"objective" max:"2000" doc:"what it is for"`
	GoalID         *string    `json:"goalId" ref:"bgl" doc:"the goal it serves"`
	Audience       *string    `json:"audience" max:"2000" doc:"whom it addresses"`
	Platforms      []Platform `json:"platforms" items:"50" doc:"platforms of its posts"`
	ContentTypeIDs []string   `json:"contentTypeIds" items:"50" ref:"cty" doc:"content types of its posts"`
	Cadence        *string    `json:"cadence" max:"200" doc:"how often to post, in words"`
	Status         PlanStatus `json:"status" default:"draft" doc:"the plan's state"`
	StartsAt       *string    `json:"startsAt" format:"date-time" doc:"start"`
	EndsAt         *string    `json:"endsAt" format:"date-time" doc:"end, not before startsAt"`
}

// Check implements api.Checker.
func (in createPlanInput) Check() []string {
	if in.StartsAt == nil || in.EndsAt == nil {
		return nil
	}
	starts, ok1 := timestamp.Parse(*in.StartsAt)
	ends, ok2 := timestamp.Parse(*in.EndsAt)
	if ok1 && ok2 && ends.Before(starts) {
		return []string{"body.endsAt: must not be before startsAt"}
	}
	return nil
}

// createPlan creates a plan. Records that it names need not exist: they may be deleted at any time, so a check would prove nothing.
func (s service) createPlan(ctx context.Context, caller api.Caller, in createPlanInput) (Plan, error) {
	return s.store.InsertPlan(ctx, caller.CompanyID, Plan{
		Name: &in.Name, Brief: in.Brief, Objective: in.Objective, GoalID: in.GoalID, Audience: in.Audience,
		Platforms: names(in.Platforms), ContentTypeIDs: in.ContentTypeIDs, Cadence: in.Cadence, Status: &in.Status,
		StartsAt: in.StartsAt, EndsAt: in.EndsAt,
	})
}

type updatePlanInput struct {
	api.Condition

	PlanID         string                    `path:"planId"`
	Name           *string                   `json:"name" min:"1" max:"200" doc:"in a few words"`
	Brief          api.Clearable[*string]    `json:"brief" max:"2000" doc:"what it is about"`
	Objective      api.Clearable[*string]    `json:"objective" max:"2000" doc:"what it is for"`
	GoalID         api.Clearable[*string]    `json:"goalId" ref:"bgl" doc:"the goal it serves"`
	Audience       api.Clearable[*string]    `json:"audience" max:"2000" doc:"whom it addresses"`
	Platforms      api.Clearable[[]Platform] `json:"platforms" items:"50" doc:"replaces the list"`
	ContentTypeIDs api.Clearable[[]string]   `json:"contentTypeIds" items:"50" ref:"cty" doc:"replaces the list"`
	Cadence        api.Clearable[*string]    `json:"cadence" max:"200" doc:"how often to post, in words"`
	Status         *PlanStatus               `json:"status" doc:"any may follow any"`
	StartsAt       api.Clearable[*string]    `json:"startsAt" format:"date-time" doc:"start"`
	EndsAt         api.Clearable[*string]    `json:"endsAt" format:"date-time" doc:"end, not before startsAt"`
}

func (s service) updatePlan(ctx context.Context, caller api.Caller, in updatePlanInput) (Plan, error) {
	return s.store.ModifyPlan(ctx, caller.CompanyID, in.PlanID, in.apply)
}

func (in updatePlanInput) apply(p *Plan) error {
	if err := in.Condition.Check(*p); err != nil {
		return err
	}
	api.Set(&p.Name, in.Name)
	in.Brief.Apply(&p.Brief)
	in.Objective.Apply(&p.Objective)
	in.GoalID.Apply(&p.GoalID)
	in.Audience.Apply(&p.Audience)
	if in.Platforms.Sent {
		p.Platforms = names(in.Platforms.Value)
	}
	in.ContentTypeIDs.Apply(&p.ContentTypeIDs)
	in.Cadence.Apply(&p.Cadence)
	api.Set(&p.Status, in.Status)
	in.StartsAt.Apply(&p.StartsAt)
	in.EndsAt.Apply(&p.EndsAt)
	return in.checkPeriod(*p)
}

// checkPeriod rejects an update after which the plan would end before it starts. An earlier version may have imported such a plan;
// its other properties can be changed.
func (in updatePlanInput) checkPeriod(p Plan) error {
	switch {
	case p.StartsAt == nil || p.EndsAt == nil || *p.EndsAt >= *p.StartsAt:
		return nil
	case in.EndsAt.Sent:
		return fault.Invalid("body.endsAt", "must not be before startsAt, %s", *p.StartsAt)
	case in.StartsAt.Sent:
		return fault.Invalid("body.startsAt", "must not be after endsAt, %s", *p.EndsAt)
	}
	return nil
}

type deletePlanInput struct {
	api.Condition

	PlanID string `path:"planId"`
}

func (s service) deletePlan(ctx context.Context, caller api.Caller, in deletePlanInput) (api.Deleted, error) {
	check := func(p Plan) error { return in.Condition.Check(p) }
	if err := s.store.RemovePlan(ctx, caller.CompanyID, in.PlanID, check); err != nil {
		return api.Deleted{}, err
	}
	return api.Deleted{ID: in.PlanID, Deleted: true}, nil
}
