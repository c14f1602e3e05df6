// Package auth knows what a key is: its scopes, how it is spelled, and how the rest of a request waits for it. It does
// no table access (package keys does), so that what only describes the service links no AWS code.
package auth

import "slices"

// Scope names what a key may do. Each operation needs exactly one (spec.md, Authentication 5).
type Scope string

// The scopes of spec.md, and the three that decisions.md §5 and §6 add.
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
	BroadcastRead  Scope = "broadcast:read"
	BroadcastWrite Scope = "broadcast:write"
	ContextRead    Scope = "context:read"
	ContextWrite   Scope = "context:write"
	KeysRead       Scope = "keys:read"
	KeysWrite      Scope = "keys:write"
)

var scopes = []Scope{
	CompanyRead, CompanyWrite, PlanRead, PlanWrite, PlanPublish, FeedbackRead, FeedbackWrite, MetricsRead, MetricsWrite,
	OptimiseRead, BroadcastRead, BroadcastWrite, ContextRead, ContextWrite, KeysRead, KeysWrite,
}

// Scopes returns every scope, in the order of spec.md.
func Scopes() []Scope { return slices.Clone(scopes) }

// Values is schema.Enum.
func (Scope) Values() []string {
	out := make([]string, len(scopes))
	for i, s := range scopes {
		out[i] = string(s)
	}
	return out
}

// Known tells whether s is a scope.
func (s Scope) Known() bool { return slices.Contains(scopes, s) }
