// Package optimise serves site optimisation: measured sites, their goals, and audits with scores
// and findings. The service itself does not run audits or measure sites. Other systems do that, and
// store the results here through the API or by an import (Transfers).
package optimise

import (
	"growthworkspace/shared/api"
	"growthworkspace/shared/auth"
	"growthworkspace/shared/fault"
	"growthworkspace/shared/resource"
	"growthworkspace/shared/table"
)

const auditPath = "/v1/companies/{companyId}/optimise/audits"

// auditBodyMax is the maximum size of a request body that contains an audit: the maximum size of
// its findings, plus 256 KB for whitespace and the other properties.
const auditBodyMax = findingsBytesMax + 256<<10

// Operations returns the operations of the area.
func Operations(t *table.Client) []api.Operation {
	s := service{NewStore(t)}
	auditNoun := resource.Noun(audits)
	sites, goals := resource.New(sites, s.store.Sites), resource.NewNested(goals, s.store.Goals)
	return []api.Operation{
		sites.ListAll("list_optimise_sites", "List the measured sites", "Oldest first."),
		sites.Get("get_optimise_site", "Get a site", "Its domains, time zone and siteKey."),
		sites.Create("create_optimise_site", "Create a site",
			"Returns it with a new siteKey, which never changes. At most 200. Measures nothing."),
		sites.Update("update_optimise_site", "Update a site", "Changes only what is sent."),
		sites.Delete("delete_optimise_site", "Delete a site and its goals", "Its audits stay."),
		goals.ListAll("list_optimise_goals", "List the goals of a site", "By their order."),
		goals.Get("get_optimise_goal", "Get a goal of a site", "What counts as a success on the site, and what it is worth."),
		goals.Create("create_optimise_goal", "Create a goal of a site",
			"It says what counts as a success there. At most 200 for each site. Measures nothing."),
		goals.Update("update_optimise_goal", "Update a goal of a site", "Changes only what is sent."),
		goals.Delete("delete_optimise_goal", "Delete a goal of a site", "The site stays."),
		api.Define(api.Spec{
			ID: "list_optimise_audits", Noun: auditNoun, Method: "GET", Path: auditPath, Scope: auth.OptimiseRead,
			Summary:     "List site audits with their scores and summaries, newest first",
			Description: "Without findings; get a single audit to read its findings.",
		}, s.listAudits),
		api.Define(api.Spec{
			ID: "get_optimise_audit", Noun: auditNoun, Method: "GET", Path: auditPath + "/{auditId}", Scope: auth.OptimiseRead,
			Summary:     "Get an audit with its findings",
			Description: "The findings can have 4 MB.",
		}, s.getAudit),
		api.Define(api.Spec{
			ID: "create_optimise_audit", Method: "POST", Path: auditPath, Scope: auth.OptimiseWrite, Effect: api.Create,
			Noun: auditNoun, Class: auth.ClassPush, BodyBytesMax: auditBodyMax,
			Summary:     "Store an audit of a site",
			Description: "Runs none: somebody else did. Returns it without its findings.",
		}, s.createAudit),
		api.Define(api.Spec{
			ID: "update_optimise_audit", Method: "PATCH", Path: auditPath + "/{auditId}", Scope: auth.OptimiseWrite, Effect: api.Write,
			Noun: auditNoun, Class: auth.ClassPush, BodyBytesMax: auditBodyMax, Errors: []fault.Code{fault.Conflict},
			Summary:     "Update an audit",
			Description: "Changes only what is sent; returns it without its findings.",
		}, s.updateAudit),
		api.Define(api.Spec{
			ID: "delete_optimise_audit", Noun: auditNoun,
			Method: "DELETE", Path: auditPath + "/{auditId}", Scope: auth.OptimiseWrite, Effect: api.Destructive,
			Summary:     "Delete an audit and its findings",
			Description: "The site stays.",
		}, s.deleteAudit),
	}
}

type service struct{ store Store }
