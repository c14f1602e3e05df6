// Package company is the area of the company's profile (spec.md, Company).
package company

import (
	"growthworkspace/shared/api"
	"growthworkspace/shared/auth"
	"growthworkspace/shared/table"
)

// Operations returns the operations of the area.
func Operations(t *table.Client) []api.Operation {
	s := service{NewStore(t)}
	return []api.Operation{
		api.Define(api.Spec{
			ID: "list_companies", Method: "GET", Path: "/v1/companies", Scope: auth.CompanyRead,
			Summary:     "List the companies that the key opens: always exactly one",
			Description: "Its id is what every other path begins with.",
		}, s.listCompanies),
		api.Define(api.Spec{
			ID: "get_company", Method: "GET", Path: "/v1/companies/{companyId}", Scope: auth.CompanyRead,
			Summary:     "Get the company's profile",
			Description: "What nobody has filled in is null.",
		}, s.getCompany),
		api.Define(api.Spec{
			ID: "update_company", Method: "PATCH", Path: "/v1/companies/{companyId}", Scope: auth.CompanyWrite, Effect: api.Write,
			Summary:     "Update the company's profile",
			Description: "Changes the properties that are sent and leaves the others alone.",
		}, s.updateCompany),
	}
}

type service struct{ store Store }
