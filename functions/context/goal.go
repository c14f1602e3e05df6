package brand

import (
	"growthworkspace/shared/record"
	"growthworkspace/shared/table"
)

// Goal is a target that the brand wants to reach.
type Goal struct {
	ID            string      `json:"id"`
	CompanyID     string      `json:"companyId"`
	Name          *string     `json:"name" set:"required" min:"1" max:"200" doc:"a few words, such as 1,000 teams a month"`
	Description   *string     `json:"description" set:"optional" max:"2000" doc:"the goal in words"`
	MetricKey     *string     `json:"metricKey" set:"optional" max:"127" pattern:"metricKey" doc:"key of the metric that measures it"`
	BaselineValue *float64    `json:"baselineValue" set:"optional" doc:"the metric's value when the goal was set"`
	TargetValue   *float64    `json:"targetValue" set:"optional" doc:"the value to reach"`
	DueAt         *string     `json:"dueAt" set:"optional" format:"date-time" doc:"the deadline"`
	Status        *GoalStatus `json:"status" default:"active" doc:"the state of the goal"`
	Priority      *int64      `json:"priority" set:"optional" doc:"1 is the most important"`
	CreatedAt     *string     `json:"createdAt" format:"date-time"`
	UpdatedAt     *string     `json:"updatedAt" format:"date-time"`
}

// GoalStatus is the state of a goal. A goal may change from any state to any other.
type GoalStatus string

// Values implements schema.Enum.
func (GoalStatus) Values() []string { return []string{"active", "achieved", "missed", "archived"} }

// Goals declares how brand goals are stored, and at which path the API serves them.
var Goals = record.Kind[Goal]{
	Name: "brand-goal", Plural: "brand goals", Prefix: "bgl", Path: "context/goals", Parameter: "goalId", SortPrefix: "goal",
	Change: "brand_goal", Limit: 200,
	Columns: "name status targetValue:target metricKey dueAt:due priority baselineValue:baseline",
	Order:   func(g Goal) string { return table.JoinKey(table.TimeKey(g.CreatedAt), g.ID) }, // oldest first, null last
}
