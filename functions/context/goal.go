package context

import (
	stdcontext "context"

	"growthworkspace/shared/api"
	"growthworkspace/shared/table"
)

// Goal is what the brand wants to reach (decisions.md §2, Brand goal).
type Goal struct {
	ID            string      `json:"id"`
	CompanyID     string      `json:"companyId"`
	Name          *string     `json:"name"`
	Description   *string     `json:"description" doc:"what is to be reached, in words"`
	MetricKey     *string     `json:"metricKey" doc:"the key of the metric that measures it"`
	BaselineValue *float64    `json:"baselineValue" doc:"where the metric was when the goal was set"`
	TargetValue   *float64    `json:"targetValue" doc:"where the metric is to be"`
	DueAt         *string     `json:"dueAt" format:"date-time" doc:"by when"`
	Status        *GoalStatus `json:"status" doc:"how the goal stands"`
	Priority      *float64    `json:"priority"`
	CreatedAt     *string     `json:"createdAt" format:"date-time"`
	UpdatedAt     *string     `json:"updatedAt" format:"date-time"`
}

// GoalStatus is how a goal stands (decisions.md §2).
type GoalStatus string

// Values is schema.Enum.
func (GoalStatus) Values() []string { return []string{"active", "achieved", "missed", "archived"} }

type listGoalsInput struct {
	Limit  int64      `query:"limit" default:"50" min:"1" max:"200" doc:"how many records at most"`
	Cursor api.Cursor `query:"cursor" doc:"where to go on: the cursor of the page before"`
}

func (s service) listGoals(ctx stdcontext.Context, caller api.Caller, in listGoalsInput) (api.List[Goal], error) {
	all, err := s.store.Goals(ctx, caller.CompanyID)
	if err != nil {
		return api.List[Goal]{}, err
	}
	return api.NewList(table.Page(all, goalOrder, string(in.Cursor), int(in.Limit))), nil
}

// goalOrder is by createdAt, null last.
func goalOrder(g Goal) string { return table.Join(table.SortTime(g.CreatedAt), g.ID) }
