package change

import "growthworkspace/shared/auth"

// scopes maps each type to the scope that a key needs to see its changes.
var scopes = map[Type]auth.Scope{
	Company: auth.CompanyRead,
	Board:   auth.PlanRead, Item: auth.PlanRead, Publish: auth.PlanRead,
	Feedback:         auth.FeedbackRead,
	MetricDefinition: auth.MetricsRead, MetricPoints: auth.MetricsRead,
	Site: auth.OptimiseRead, SiteGoal: auth.OptimiseRead, Audit: auth.OptimiseRead,
	Plan: auth.BroadcastRead, Idea: auth.BroadcastRead, Post: auth.BroadcastRead, Channel: auth.BroadcastRead,
	BrandKit: auth.ContextRead, ContentType: auth.ContextRead, BrandGoal: auth.ContextRead,
	Key: auth.KeysRead,
}

// Types returns every type, in the order of the areas.
func Types() []Type {
	return []Type{
		Company, Board, Item, Publish, Feedback, MetricDefinition, MetricPoints, Site, SiteGoal, Audit,
		Plan, Idea, Post, Channel, BrandKit, ContentType, BrandGoal, Key,
	}
}

// Scope returns the scope that a key needs to see changes of the type.
func (t Type) Scope() auth.Scope { return scopes[t] }

// Values implements schema.Enum.
func (Type) Values() []string {
	var out []string
	for _, t := range Types() {
		out = append(out, string(t))
	}
	return out
}

// Values implements schema.Enum.
func (Action) Values() []string {
	return []string{string(Created), string(Updated), string(Deleted), string(Unknown)}
}
