package optimise

import (
	"context"

	"growthworkspace/shared/api"
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
	Order     *float64   `json:"order" doc:"lower sorts first"`
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

// Values implements schema.Enum.
func (GoalMatch) Values() []string { return []string{"exact", "prefix", "contains", "regex"} }

type listGoalsInput struct {
	SiteID string `path:"siteId" doc:"the site's id"`
}

func (s service) listGoals(ctx context.Context, caller api.Caller, in listGoalsInput) (api.List[SiteGoal], error) {
	goals, err := s.store.ListGoals(ctx, caller.CompanyID, in.SiteID)
	if err != nil {
		return api.List[SiteGoal]{}, err
	}
	return api.NewList(goals, ""), nil
}
