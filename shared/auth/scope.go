// Package auth defines keys: their format, their scopes, their quotas, and the errors for rejected
// keys. It does not access the table; package keys does.
package auth

import "slices"

// Scope is a permission of a key. An operation requires one scope, or just a valid key.
type Scope string

// The scopes. The specification lists all but feedback:draft, feedback:send, metrics:write,
// optimise:write, broadcast:draft, broadcast:send, keys:read and keys:write.
const (
	CompanyRead    Scope = "company:read"
	CompanyWrite   Scope = "company:write"
	PlanRead       Scope = "plan:read"
	PlanWrite      Scope = "plan:write"
	PlanPublish    Scope = "plan:publish"
	FeedbackRead   Scope = "feedback:read"
	FeedbackDraft  Scope = "feedback:draft"
	FeedbackWrite  Scope = "feedback:write"
	FeedbackSend   Scope = "feedback:send"
	MetricsRead    Scope = "metrics:read"
	MetricsWrite   Scope = "metrics:write"
	OptimiseRead   Scope = "optimise:read"
	OptimiseWrite  Scope = "optimise:write"
	BroadcastRead  Scope = "broadcast:read"
	BroadcastDraft Scope = "broadcast:draft"
	BroadcastWrite Scope = "broadcast:write"
	BroadcastSend  Scope = "broadcast:send"
	ContextRead    Scope = "context:read"
	ContextWrite   Scope = "context:write"
	KeysRead       Scope = "keys:read"
	KeysWrite      Scope = "keys:write"
)

var scopes = []Scope{
	CompanyRead, CompanyWrite, PlanRead, PlanWrite, PlanPublish, FeedbackRead, FeedbackDraft, FeedbackWrite, FeedbackSend, MetricsRead, MetricsWrite,
	OptimiseRead, OptimiseWrite, BroadcastRead, BroadcastDraft, BroadcastWrite, BroadcastSend, ContextRead, ContextWrite, KeysRead, KeysWrite,
}

// containedIn maps a scope to the next larger scope, which contains it. No scope contains the send
// scopes. They allow a program to claim a record and to report what happened to it outside this
// service.
var containedIn = map[Scope]Scope{
	FeedbackRead: FeedbackDraft, FeedbackDraft: FeedbackWrite,
	BroadcastRead: BroadcastDraft, BroadcastDraft: BroadcastWrite,
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

// AdmittingScopes returns s and the scopes that contain it, starting with s. A key with any of them
// may do what s allows.
func (s Scope) AdmittingScopes() []Scope {
	out := []Scope{s}
	for larger := containedIn[s]; larger != ""; larger = containedIn[larger] {
		out = append(out, larger)
	}
	return out
}

// IsGrantedBy reports whether a key with these scopes may do what s allows.
func (s Scope) IsGrantedBy(scopes []Scope) bool {
	return slices.ContainsFunc(s.AdmittingScopes(), func(one Scope) bool { return slices.Contains(scopes, one) })
}

// DraftingAgentScopes returns the scopes of a key for an agent that reads everything except the
// keys, and writes drafts that people then decide on.
func DraftingAgentScopes() []Scope {
	return []Scope{CompanyRead, PlanRead, FeedbackDraft, MetricsRead, OptimiseRead, BroadcastDraft, ContextRead}
}
