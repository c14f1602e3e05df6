package context

import (
	stdcontext "context"

	"growthworkspace/shared/api"
	"growthworkspace/shared/table"
)

// Goal is a target that the brand wants to reach.
type Goal struct {
	ID            string      `json:"id"`
	CompanyID     string      `json:"companyId"`
	Name          *string     `json:"name"`
	Description   *string     `json:"description" doc:"the goal in words"`
	MetricKey     *string     `json:"metricKey" doc:"the key of the metric that measures it"`
	BaselineValue *float64    `json:"baselineValue" doc:"the value of the metric when the goal was set"`
	TargetValue   *float64    `json:"targetValue" doc:"the value that the metric should reach"`
	DueAt         *string     `json:"dueAt" format:"date-time" doc:"the deadline"`
	Status        *GoalStatus `json:"status" doc:"the state of the goal"`
	Priority      *float64    `json:"priority"`
	CreatedAt     *string     `json:"createdAt" format:"date-time"`
	UpdatedAt     *string     `json:"updatedAt" format:"date-time"`
}

// GoalStatus is the state of a goal. Only imports set it.
type GoalStatus string

// Values implements schema.Enum.
func (GoalStatus) Values() []string { return []string{"active", "achieved", "missed", "archived"} }

type listGoalsInput struct {
	Limit  int64      `query:"limit" default:"50" min:"1" max:"200" doc:"maximum number of records per page"`
	Cursor api.Cursor `query:"cursor" doc:"cursor of the next page, from the previous response"`
}

func (s service) listGoals(ctx stdcontext.Context, caller api.Caller, in listGoalsInput) (api.List[Goal], error) {
	all, err := s.store.Goals(ctx, caller.CompanyID)
	if err != nil {
		return api.List[Goal]{}, err
	}
	return api.NewList(table.Page(all, goalOrder, string(in.Cursor), int(in.Limit))), nil
}

// goalOrder returns the sort key of a goal: by createdAt, null last, then by id.
func goalOrder(g Goal) string { return table.Join(table.SortTime(g.CreatedAt), g.ID) }
