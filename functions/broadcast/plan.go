package broadcast

import (
	"growthworkspace/shared/record"
	"growthworkspace/shared/table"
	"growthworkspace/shared/timestamp"
)

// Plan is a content plan. The records that it refers to need not exist: they can be deleted at any
// time, so a check would guarantee nothing.
type Plan struct {
	ID             string         `json:"id"`
	CompanyID      string         `json:"companyId"`
	Name           *string        `json:"name" set:"required" min:"1" max:"200" doc:"in a few words"`
	Brief          *string        `json:"brief" set:"optional" max:"2000" doc:"what the plan is about" tool:"what it is about"`
	Objective      *string        `json:"objective" set:"optional" max:"2000" doc:"what the plan should achieve" tool:"what it is for"`
	GoalID         *string        `json:"goalId" set:"optional" ref:"bgl" doc:"the brand goal that it serves" tool:"the goal it serves"`
	Audience       *string        `json:"audience" set:"optional" max:"2000" doc:"the people whom it addresses" tool:"whom it addresses"`
	Platforms      []PlatformName `json:"platforms" set:"optional" items:"50" doc:"platforms of its posts; names as in posts"`
	ContentTypeIDs []string       `json:"contentTypeIds" set:"optional" items:"50" ref:"cty" doc:"content types of its posts"`
	Cadence        *string        `json:"cadence" set:"optional" max:"200" doc:"how often to post, in words"`
	Status         *PlanStatus    `json:"status" default:"draft" doc:"the plan's state; any may follow any" tool:"the plan's state; any may follow any"`
	StartsAt       *string        `json:"startsAt" set:"optional" format:"date-time" doc:"when the plan starts" tool:"start"`
	EndsAt         *string        `json:"endsAt" set:"optional" format:"date-time" doc:"when the plan ends, not before startsAt" tool:"end, not before startsAt"`
	CreatedAt      *string        `json:"createdAt" format:"date-time"`
	UpdatedAt      *string        `json:"updatedAt" format:"date-time"`
}

// PlanStatus is the state of a plan. A plan can change from any state to any other.
type PlanStatus string

// Values implements schema.Enum.
func (PlanStatus) Values() []string {
	return []string{"draft", "active", "paused", "complete", "archived"}
}

var plans = record.Kind[Plan]{
	Name: "content-plan", Plural: "content plans", Prefix: "pln", Path: "broadcast/plans", Parameter: "planId", SortPrefix: "plan",
	Change: "plan", Columns: "name status startsAt:starts endsAt:ends platforms objective",
	Limit: 200, Consistent: true, Order: func(p Plan) string { return table.JoinKey(table.DescendingTimeKey(p.CreatedAt), p.ID) },
}

// Problems implements schema.RecordValidator: a plan must not end before it starts.
func (p Plan) Problems(sent func(string) bool) []string {
	if p.StartsAt == nil || p.EndsAt == nil {
		return nil
	}
	starts, ok1 := timestamp.Parse(*p.StartsAt)
	ends, ok2 := timestamp.Parse(*p.EndsAt)
	switch {
	case !ok1 || !ok2 || !ends.Before(starts):
		return nil
	case p.ID == "": // the plan is new, so both times were sent
		return []string{"body.endsAt: must not be before startsAt"}
	case sent("endsAt"):
		return []string{"body.endsAt: must not be before startsAt, " + *p.StartsAt}
	case sent("startsAt"):
		return []string{"body.startsAt: must not be after endsAt, " + *p.EndsAt}
	}
	return nil
}
