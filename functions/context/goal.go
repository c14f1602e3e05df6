package brand

import (
	"context"

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
	Priority      *int64      `json:"priority"`
	CreatedAt     *string     `json:"createdAt" format:"date-time"`
	UpdatedAt     *string     `json:"updatedAt" format:"date-time"`
}

// GoalStatus is the state of a goal. Any state may follow any.
type GoalStatus string

// Values implements schema.Enum.
func (GoalStatus) Values() []string { return []string{"active", "achieved", "missed", "archived"} }

type listGoalsInput struct {
	Limit  int64      `query:"limit" default:"50" min:"1" max:"200"`
	Cursor api.Cursor `query:"cursor"`
}

func (s service) listGoals(ctx context.Context, caller api.Caller, in listGoalsInput) (api.List[Goal], error) {
	all, err := s.store.Goals(ctx, caller.CompanyID)
	if err != nil {
		return api.List[Goal]{}, err
	}
	return api.NewList(table.PageOf(all, goalOrder, string(in.Cursor), int(in.Limit))), nil
}

// goalOrder returns the sort key of a goal: by createdAt, null last, then by id.
func goalOrder(g Goal) string { return table.Join(table.SortTime(g.CreatedAt), g.ID) }

type getGoalInput struct {
	GoalID string `path:"goalId"`
}

func (s service) getGoal(ctx context.Context, caller api.Caller, in getGoalInput) (Goal, error) {
	return s.store.Goal(ctx, caller.CompanyID, in.GoalID)
}

type createGoalInput struct {
	api.Idempotent

	Name          string     `json:"name" min:"1" max:"200" doc:"a few words, such as 1,000 teams a month"`
	Description   *string    `json:"description" max:"2000" doc:"the goal in words"`
	MetricKey     *string    `json:"metricKey" max:"127" pattern:"metricKey" doc:"key of the metric that measures it"`
	BaselineValue *float64   `json:"baselineValue" doc:"the metric's value when the goal was set"`
	TargetValue   *float64   `json:"targetValue" doc:"the value to reach"`
	DueAt         *string    `json:"dueAt" format:"date-time" doc:"the deadline"`
	Status        GoalStatus `json:"status" default:"active" doc:"the state of the goal"`
	Priority      *int64     `json:"priority" doc:"1 is the most important"`
}

func (s service) createGoal(ctx context.Context, caller api.Caller, in createGoalInput) (Goal, error) {
	return s.store.CreateGoal(ctx, caller.CompanyID, Goal{
		Name: &in.Name, Description: in.Description, MetricKey: in.MetricKey, BaselineValue: in.BaselineValue,
		TargetValue: in.TargetValue, DueAt: in.DueAt, Status: &in.Status, Priority: in.Priority,
	})
}

type updateGoalInput struct {
	api.Condition

	GoalID        string                  `path:"goalId"`
	Name          *string                 `json:"name" min:"1" max:"200" doc:"a few words"`
	Description   api.Clearable[*string]  `json:"description" max:"2000" doc:"the goal in words"`
	MetricKey     api.Clearable[*string]  `json:"metricKey" max:"127" pattern:"metricKey" doc:"key of the metric that measures it"`
	BaselineValue api.Clearable[*float64] `json:"baselineValue" doc:"the metric's value when the goal was set"`
	TargetValue   api.Clearable[*float64] `json:"targetValue" doc:"the value to reach"`
	DueAt         api.Clearable[*string]  `json:"dueAt" format:"date-time" doc:"the deadline"`
	Status        *GoalStatus             `json:"status" doc:"the state of the goal"`
	Priority      api.Clearable[*int64]   `json:"priority" doc:"1 is the most important"`
}

func (s service) updateGoal(ctx context.Context, caller api.Caller, in updateGoalInput) (Goal, error) {
	return s.store.ModifyGoal(ctx, caller.CompanyID, in.GoalID, func(g *Goal) error {
		if err := in.Condition.Check(*g); err != nil {
			return err
		}
		api.Set(&g.Name, in.Name)
		in.Description.Apply(&g.Description)
		in.MetricKey.Apply(&g.MetricKey)
		in.BaselineValue.Apply(&g.BaselineValue)
		in.TargetValue.Apply(&g.TargetValue)
		in.DueAt.Apply(&g.DueAt)
		api.Set(&g.Status, in.Status)
		in.Priority.Apply(&g.Priority)
		return nil
	})
}

type deleteGoalInput struct {
	api.Condition

	GoalID string `path:"goalId"`
}

func (s service) deleteGoal(ctx context.Context, caller api.Caller, in deleteGoalInput) (api.Deleted, error) {
	check := func(g Goal) error { return in.Condition.Check(g) }
	if err := s.store.RemoveGoal(ctx, caller.CompanyID, in.GoalID, check); err != nil {
		return api.Deleted{}, err
	}
	return api.Deleted{ID: in.GoalID, Deleted: true}, nil
}
