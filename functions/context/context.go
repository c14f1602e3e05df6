// Package context is the area of a company's brand kit, content types and brand goals: the context that a writer needs.
// The standard library's package context is imported as stdcontext here.
package context

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
			ID: "get_context_brand_kit", Method: "GET", Path: "/v1/companies/{companyId}/context/brand-kit", Scope: auth.ContextRead,
			Summary: "Get the brand kit: how the company sounds and looks", Description: "not_found when the company has none yet.",
		}, s.getBrandKit),
		api.Define(api.Spec{
			ID: "update_context_brand_kit", Method: "PATCH", Path: "/v1/companies/{companyId}/context/brand-kit",
			Scope: auth.ContextWrite, Effect: api.Write,
			Summary: "Update the brand kit, or create it",
			Description: "Changes only the properties that are sent; an array replaces the whole stored list. New voice " +
				"guidelines apply to every future draft.",
		}, s.updateBrandKit),
		api.Define(api.Spec{
			ID: "list_context_content_types", Method: "GET", Path: "/v1/companies/{companyId}/context/content-types", Scope: auth.ContextRead,
			Summary:     "List the content types by name",
			Description: "Ordered by name in Unicode code point order; content types without a name come last.",
		}, s.listContentTypes),
		api.Define(api.Spec{
			ID: "create_context_content_type", Method: "POST", Path: "/v1/companies/{companyId}/context/content-types",
			Scope: auth.ContextWrite, Effect: api.Create,
			Summary:     "Create a content type",
			Description: "Writers of such posts follow its guidance.",
		}, s.createContentType),
		api.Define(api.Spec{
			ID: "update_context_content_type", Method: "PATCH", Path: "/v1/companies/{companyId}/context/content-types/{contentTypeId}",
			Scope: auth.ContextWrite, Effect: api.Write,
			Summary:     "Update a content type",
			Description: "Changes only the properties that are sent; an array replaces the whole stored list.",
		}, s.updateContentType),
		api.Define(api.Spec{
			ID: "list_context_goals", Method: "GET", Path: "/v1/companies/{companyId}/context/goals", Scope: auth.ContextRead,
			Summary:     "List the brand goals, oldest first",
			Description: "metricKey is the metric that measures a goal; null when there is none.",
		}, s.listGoals),
	}
}

type service struct{ store Store }
