// Package optimise is the area of site optimisation (spec.md, Optimise): measured sites, their goals, and audits with
// scores and findings. The interface only reads; sites and goals are kept by the company's own app, audits by whatever
// runs them, and both arrive through an import (Transfers).
package optimise

import (
	"growthworkspace/shared/api"
	"growthworkspace/shared/auth"
	"growthworkspace/shared/table"
)

const (
	optimise = "/v1/companies/{companyId}/optimise"
	sites    = optimise + "/sites"
	audits   = optimise + "/audits"
)

// Operations returns the operations of the area.
func Operations(t *table.Client) []api.Operation {
	s := service{NewStore(t)}
	return []api.Operation{
		api.Define(api.Spec{
			ID: "list_optimise_sites", Method: "GET", Path: sites, Scope: auth.OptimiseRead,
			Summary:     "List the measured sites",
			Description: "All of them, in the order in which they were created.",
		}, s.listSites),
		api.Define(api.Spec{
			ID: "list_optimise_goals", Method: "GET", Path: sites + "/{siteId}/goals", Scope: auth.OptimiseRead,
			Summary:     "List the goals of a site",
			Description: "All of them, by their field order.",
		}, s.listGoals),
		api.Define(api.Spec{
			ID: "list_optimise_audits", Method: "GET", Path: audits, Scope: auth.OptimiseRead,
			Summary:     "List site audits with their scores and summaries, newest first",
			Description: "Findings are left out: get a single audit for them.",
		}, s.listAudits),
		api.Define(api.Spec{
			ID: "get_optimise_audit", Method: "GET", Path: audits + "/{auditId}", Scope: auth.OptimiseRead,
			Summary:     "Get an audit with its findings",
			Description: "Findings are per page and may be several megabytes.",
		}, s.getAudit),
	}
}

type service struct{ store Store }
