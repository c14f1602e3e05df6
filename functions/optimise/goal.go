package optimise

import (
	"regexp"

	"growthworkspace/shared/change"
	"growthworkspace/shared/record"
	"growthworkspace/shared/table"
)

// SiteGoal defines what counts as a success on a site.
type SiteGoal struct {
	ID        string     `json:"id"`
	CompanyID string     `json:"companyId"`
	SiteID    string     `json:"siteId"`
	Name      *string    `json:"name" set:"required" min:"1" max:"200" doc:"a name for people"`
	Kind      *GoalKind  `json:"kind" set:"required" doc:"what the pattern is matched against: the path of a page view, or the name of an event" tool:"what is matched: a page view's path, or an event's name"`
	MatchType *GoalMatch `json:"matchType" set:"required" doc:"how the pattern is matched; regex is RE2"`
	Pattern   *string    `json:"pattern" set:"required" min:"1" max:"500" doc:"the text to match"`
	Value     *float64   `json:"value" set:"optional" doc:"what one success is worth"`
	Order     *int64     `json:"order" set:"optional" doc:"lower comes first in the list"`
	Active    *bool      `json:"active" default:"true" doc:"whether the goal is in use" tool:"whether it is in use"`
	CreatedAt *string    `json:"createdAt" format:"date-time"`
	UpdatedAt *string    `json:"updatedAt" format:"date-time"`
}

// GoalKind says what a goal's pattern is matched against.
type GoalKind string

// Values implements schema.Enum.
func (GoalKind) Values() []string { return []string{"path", "event"} }

// GoalMatch says how a goal's pattern is matched.
type GoalMatch string

// goalMatchRegex means that the pattern is a regular expression.
const goalMatchRegex GoalMatch = "regex"

// Values implements schema.Enum.
func (GoalMatch) Values() []string {
	return []string{"exact", "prefix", "contains", string(goalMatchRegex)}
}

// Problems implements schema.RecordValidator. If matchType is "regex", the pattern must be a valid
// regular expression.
func (g SiteGoal) Problems(sent func(string) bool) []string {
	field := "body.pattern"
	if !sent("pattern") {
		field = "body.matchType"
	}
	if g.MatchType == nil || *g.MatchType != goalMatchRegex || g.Pattern == nil || !sent("pattern") && !sent("matchType") {
		return nil
	}
	if _, err := regexp.Compile(*g.Pattern); err != nil {
		return []string{field + ": with matchType regex, pattern must be a regular expression of RE2: " + err.Error()}
	}
	return nil
}

const siteGoalChange change.Type = "site_goal"

// goals describes goal records. The limit applies to the goals of each site.
var goals = record.Kind[SiteGoal]{
	Name: "site-goal", Plural: "goals of this site", Prefix: "gol", Path: "optimise/sites/{siteId}/goals", Parameter: "goalId",
	SortPrefix: "goal", Change: siteGoalChange, Limit: 200,
	Columns: "name kind matchType:match pattern value active order",
	Indexes: func(g SiteGoal) table.Keys {
		return table.Keys{GSI1: table.Key{PK: partition(g.CompanyID, goalsPart, g.SiteID), SK: g.sortPosition()}}
	},
}

// sortPosition returns the position of a goal in the list of its site.
func (g SiteGoal) sortPosition() string { return table.JoinKey(table.NumberKey(g.Order), g.ID) }
