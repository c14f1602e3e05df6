package optimise

import (
	"context"
	"regexp"

	"growthworkspace/shared/api"
	"growthworkspace/shared/fault"
)

// SiteGoal defines what counts as a success on a site.
type SiteGoal struct {
	ID        string     `json:"id"`
	CompanyID string     `json:"companyId"`
	SiteID    string     `json:"siteId"`
	Name      *string    `json:"name"`
	Kind      *GoalKind  `json:"kind" doc:"what the pattern is matched against: the path of a page view, or the name of an event"`
	MatchType *GoalMatch `json:"matchType" doc:"how the pattern is matched"`
	Pattern   *string    `json:"pattern" doc:"the text to match"`
	Value     *float64   `json:"value" doc:"what one success is worth"`
	Order     *int64     `json:"order" doc:"lower sorts first"`
	Active    *bool      `json:"active" doc:"whether the goal is in use"`
	CreatedAt *string    `json:"createdAt" format:"date-time"`
	UpdatedAt *string    `json:"updatedAt" format:"date-time"`
}

// GoalKind is what a goal's pattern is matched against.
type GoalKind string

// Values implements schema.Enum.
func (GoalKind) Values() []string { return []string{"path", "event"} }

// GoalMatch is how a goal's pattern is matched.
type GoalMatch string

// goalMatchRegex is the match whose pattern is a regular expression.
const goalMatchRegex GoalMatch = "regex"

// Values implements schema.Enum.
func (GoalMatch) Values() []string {
	return []string{"exact", "prefix", "contains", string(goalMatchRegex)}
}

type listGoalsInput struct {
	SiteID string     `path:"siteId"`
	Cursor api.Cursor `query:"cursor"`
}

func (s service) listGoals(ctx context.Context, caller api.Caller, in listGoalsInput) (api.List[SiteGoal], error) {
	goals, err := s.store.ListGoals(ctx, caller.CompanyID, in.SiteID, string(in.Cursor))
	if err != nil {
		return api.List[SiteGoal]{}, err
	}
	return api.NewList(goals), nil
}

// checkPattern returns the problem of a goal's pattern and match together, "" when there is none. field is the path of the property
// that the caller sent.
func checkPattern(field string, match *GoalMatch, pattern *string) string {
	if match == nil || *match != goalMatchRegex || pattern == nil {
		return ""
	}
	if _, err := regexp.Compile(*pattern); err != nil {
		return field + ": with matchType regex, pattern must be a regular expression of RE2: " + err.Error()
	}
	return ""
}

type getGoalInput struct {
	SiteID string `path:"siteId"`
	GoalID string `path:"goalId"`
}

func (s service) getGoal(ctx context.Context, caller api.Caller, in getGoalInput) (SiteGoal, error) {
	return s.store.GetGoal(ctx, caller.CompanyID, in.SiteID, in.GoalID)
}

type createGoalInput struct {
	api.Idempotent

	SiteID    string    `path:"siteId"`
	Name      string    `json:"name" min:"1" max:"200" doc:"a name for people"`
	Kind      GoalKind  `json:"kind" doc:"what the pattern is matched against: the path of a page view, or the name of an event" tool:"what the pattern is for: the path of a page view, or an event's name"`
	MatchType GoalMatch `json:"matchType" doc:"how the pattern is matched; regex is RE2"`
	Pattern   string    `json:"pattern" min:"1" max:"500" doc:"the text to match"`
	Value     *float64  `json:"value" doc:"what one success is worth"`
	Order     *int64    `json:"order" doc:"lower comes first in the list"`
	Active    bool      `json:"active" default:"true" doc:"whether it is in use"`
}

// Check implements api.Checker.
func (in createGoalInput) Check() (out []string) {
	if problem := checkPattern("body.pattern", &in.MatchType, &in.Pattern); problem != "" {
		out = append(out, problem)
	}
	return out
}

func (s service) createGoal(ctx context.Context, caller api.Caller, in createGoalInput) (SiteGoal, error) {
	return s.store.CreateGoal(ctx, caller.CompanyID, in.SiteID, SiteGoal{
		Name: &in.Name, Kind: &in.Kind, MatchType: &in.MatchType, Pattern: &in.Pattern, Value: in.Value, Order: in.Order, Active: &in.Active,
	})
}

type updateGoalInput struct {
	api.Condition

	SiteID    string                  `path:"siteId"`
	GoalID    string                  `path:"goalId"`
	Name      *string                 `json:"name" min:"1" max:"200" doc:"a name for people"`
	Kind      *GoalKind               `json:"kind" doc:"what the pattern is matched against: the path of a page view, or the name of an event" tool:"what the pattern is for: the path of a page view, or an event's name"`
	MatchType *GoalMatch              `json:"matchType" doc:"how the pattern is matched; regex is RE2"`
	Pattern   *string                 `json:"pattern" min:"1" max:"500" doc:"the text to match"`
	Value     api.Clearable[*float64] `json:"value" doc:"what one success is worth"`
	Order     api.Clearable[*int64]   `json:"order" doc:"lower comes first in the list"`
	Active    *bool                   `json:"active" doc:"whether it is in use"`
}

func (s service) updateGoal(ctx context.Context, caller api.Caller, in updateGoalInput) (SiteGoal, error) {
	return s.store.ModifyGoal(ctx, caller.CompanyID, in.SiteID, in.GoalID, in.apply)
}

// apply edits a goal. It checks the pattern only when it or the match changes, because an earlier version may have imported an invalid one.
func (in updateGoalInput) apply(g *SiteGoal) error {
	if err := in.Condition.Check(*g); err != nil {
		return err
	}
	api.Set(&g.Name, in.Name)
	api.Set(&g.Kind, in.Kind)
	api.Set(&g.MatchType, in.MatchType)
	api.Set(&g.Pattern, in.Pattern)
	in.Value.Apply(&g.Value)
	in.Order.Apply(&g.Order)
	api.Set(&g.Active, in.Active)
	problem := ""
	switch {
	case in.Pattern != nil:
		problem = checkPattern("body.pattern", g.MatchType, g.Pattern)
	case in.MatchType != nil:
		problem = checkPattern("body.matchType", g.MatchType, g.Pattern)
	}
	if problem != "" {
		return &fault.Error{Code: fault.BadRequest, Messages: []string{problem}}
	}
	return nil
}

type deleteGoalInput struct {
	api.Condition

	SiteID string `path:"siteId"`
	GoalID string `path:"goalId"`
}

func (s service) deleteGoal(ctx context.Context, caller api.Caller, in deleteGoalInput) (api.Deleted, error) {
	check := func(g SiteGoal) error { return in.Condition.Check(g) }
	if err := s.store.RemoveGoal(ctx, caller.CompanyID, in.SiteID, in.GoalID, check); err != nil {
		return api.Deleted{}, err
	}
	return api.Deleted{ID: in.GoalID, Deleted: true}, nil
}
