// Package auth defines keys: their format, their scopes, their quotas, and the errors for rejected
// keys. It does not access the table; package keys does.
package auth

import "slices"

// Scope is a permission of a key. An operation requires one scope, or only a valid key.
type Scope string

// The scopes. The specification lists all but metrics:write, optimise:write, keys:read and
// keys:write.
const (
	CompanyRead    Scope = "company:read"
	CompanyWrite   Scope = "company:write"
	PlanRead       Scope = "plan:read"
	PlanWrite      Scope = "plan:write"
	PlanPublish    Scope = "plan:publish"
	FeedbackRead   Scope = "feedback:read"
	FeedbackWrite  Scope = "feedback:write"
	MetricsRead    Scope = "metrics:read"
	MetricsWrite   Scope = "metrics:write"
	OptimiseRead   Scope = "optimise:read"
	OptimiseWrite  Scope = "optimise:write"
	BroadcastRead  Scope = "broadcast:read"
	BroadcastWrite Scope = "broadcast:write"
	ContextRead    Scope = "context:read"
	ContextWrite   Scope = "context:write"
	KeysRead       Scope = "keys:read"
	KeysWrite      Scope = "keys:write"
)

var scopes = []Scope{
	CompanyRead, CompanyWrite, PlanRead, PlanWrite, PlanPublish, FeedbackRead, FeedbackWrite, MetricsRead, MetricsWrite,
	OptimiseRead, OptimiseWrite, BroadcastRead, BroadcastWrite, ContextRead, ContextWrite, KeysRead, KeysWrite,
}

// Scopes returns every scope, in the order of the specification.
func Scopes() []Scope { return slices.Clone(scopes) }

// Values implements schema.Enum.
func (Scope) Values() []string {
	out := make([]string, len(scopes))
	for i, s := range scopes {
		out[i] = string(s)
	}
	return out
}

// IsKnown reports whether s is a scope.
func (s Scope) IsKnown() bool { return slices.Contains(scopes, s) }
