// Package optimise is the area of site optimisation: measured sites, their goals, and audits with scores and findings.
// The API only reads them. Sites and goals come from the company's own app and audits from the system that runs them,
// both through imports (Transfers).
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
			Description: "Returns all sites, ordered by createdAt.",
		}, s.listSites),
		api.Define(api.Spec{
			ID: "list_optimise_goals", Method: "GET", Path: sites + "/{siteId}/goals", Scope: auth.OptimiseRead,
			Summary:     "List the goals of a site",
			Description: "Returns all goals of the site, ordered by their `order` field.",
		}, s.listGoals),
		api.Define(api.Spec{
			ID: "list_optimise_audits", Method: "GET", Path: audits, Scope: auth.OptimiseRead,
			Summary:     "List site audits with their scores and summaries, newest first",
			Description: "Without findings; get a single audit to read its findings.",
		}, s.listAudits),
		api.Define(api.Spec{
			ID: "get_optimise_audit", Method: "GET", Path: audits + "/{auditId}", Scope: auth.OptimiseRead,
			Summary:     "Get an audit with its findings",
			Description: "The findings are grouped by page and can be up to 5 MB.",
		}, s.getAudit),
	}
}

type service struct{ store Store }
