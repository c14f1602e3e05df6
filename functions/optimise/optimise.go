// Package optimise is the area of site optimisation: measured sites, their goals, and audits with scores and findings.
// The service runs no audit and measures no site: others do, and store the results here, through the API or by an import (Transfers).
package optimise

import (
	"growthworkspace/shared/api"
	"growthworkspace/shared/auth"
	"growthworkspace/shared/fault"
	"growthworkspace/shared/table"
)

const (
	optimise = "/v1/companies/{companyId}/optimise"
	sites    = optimise + "/sites"
	goals    = sites + "/{siteId}/goals"
	audits   = optimise + "/audits"
)

// auditBodyMax is the largest body with an audit: its findings and a quarter of a megabyte for space and the rest.
const auditBodyMax = findingsBytesMax + 256<<10

// Operations returns the operations of the area.
func Operations(t *table.Client) []api.Operation {
	s := service{NewStore(t)}
	return []api.Operation{
		api.Define(api.Spec{
			ID: "list_optimise_sites", Method: "GET", Path: sites, Scope: auth.OptimiseRead,
			Summary:     "List the measured sites",
			Description: "Oldest first.",
		}, s.listSites),
		api.Define(api.Spec{
			ID: "get_optimise_site", Method: "GET", Path: sites + "/{siteId}", Scope: auth.OptimiseRead,
			Summary:     "Get a site",
			Description: "Its domains, time zone and siteKey.",
		}, s.getSite),
		api.Define(api.Spec{
			ID: "create_optimise_site", Method: "POST", Path: sites, Scope: auth.OptimiseWrite, Effect: api.Create,
			Errors:      []fault.Code{fault.Conflict},
			Summary:     "Create a site",
			Description: "Returns it with a new siteKey, which never changes. At most 200. Measures nothing.",
		}, s.createSite),
		api.Define(api.Spec{
			ID: "update_optimise_site", Method: "PATCH", Path: sites + "/{siteId}", Scope: auth.OptimiseWrite, Effect: api.Write,
			Summary:     "Update a site",
			Description: "Changes only what is sent.",
		}, s.updateSite),
		api.Define(api.Spec{
			ID: "delete_optimise_site", Method: "DELETE", Path: sites + "/{siteId}", Scope: auth.OptimiseWrite, Effect: api.Destructive,
			Summary:     "Delete a site and its goals",
			Description: "Its audits stay.",
		}, s.deleteSite),
		api.Define(api.Spec{
			ID: "list_optimise_goals", Method: "GET", Path: goals, Scope: auth.OptimiseRead,
			Summary:     "List the goals of a site",
			Description: "By their order.",
		}, s.listGoals),
		api.Define(api.Spec{
			ID: "get_optimise_goal", Method: "GET", Path: goals + "/{goalId}", Scope: auth.OptimiseRead,
			Summary:     "Get a goal of a site",
			Description: "What counts as a success on the site, and what it is worth.",
		}, s.getGoal),
		api.Define(api.Spec{
			ID: "create_optimise_goal", Method: "POST", Path: goals, Scope: auth.OptimiseWrite, Effect: api.Create,
			Errors:      []fault.Code{fault.Conflict},
			Summary:     "Create a goal of a site",
			Description: "It says what counts as a success there. At most 200 for each site. Measures nothing.",
		}, s.createGoal),
		api.Define(api.Spec{
			ID: "update_optimise_goal", Method: "PATCH", Path: goals + "/{goalId}", Scope: auth.OptimiseWrite, Effect: api.Write,
			Summary:     "Update a goal of a site",
			Description: "Changes only what is sent.",
		}, s.updateGoal),
		api.Define(api.Spec{
			ID: "delete_optimise_goal", Method: "DELETE", Path: goals + "/{goalId}", Scope: auth.OptimiseWrite, Effect: api.Destructive,
			Summary:     "Delete a goal of a site",
			Description: "The site stays.",
		}, s.deleteGoal),
		api.Define(api.Spec{
			ID: "list_optimise_audits", Method: "GET", Path: audits, Scope: auth.OptimiseRead,
			Summary:     "List site audits with their scores and summaries, newest first",
			Description: "Without findings; get a single audit to read its findings.",
		}, s.listAudits),
		api.Define(api.Spec{
			ID: "get_optimise_audit", Method: "GET", Path: audits + "/{auditId}", Scope: auth.OptimiseRead,
			Summary:     "Get an audit with its findings",
			Description: "The findings can have 4 MB.",
		}, s.getAudit),
		api.Define(api.Spec{
			ID: "create_optimise_audit", Method: "POST", Path: audits, Scope: auth.OptimiseWrite, Effect: api.Create,
			Class: auth.ClassPush, BodyBytes: auditBodyMax,
			Summary:     "Store an audit of a site",
			Description: "Runs none: somebody else did. Returns it without its findings.",
		}, s.createAudit),
		api.Define(api.Spec{
			ID: "update_optimise_audit", Method: "PATCH", Path: audits + "/{auditId}", Scope: auth.OptimiseWrite, Effect: api.Write,
			Class: auth.ClassPush, BodyBytes: auditBodyMax, Errors: []fault.Code{fault.Conflict},
			Summary:     "Update an audit",
			Description: "Changes only what is sent; returns it without its findings.",
		}, s.updateAudit),
		api.Define(api.Spec{
			ID: "delete_optimise_audit", Method: "DELETE", Path: audits + "/{auditId}", Scope: auth.OptimiseWrite, Effect: api.Destructive,
			Summary:     "Delete an audit and its findings",
			Description: "The site stays.",
		}, s.deleteAudit),
	}
}

type service struct{ store Store }
