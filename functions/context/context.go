// Package brand is the area context: a company's brand kit, content types and brand goals, which a writer needs. It is not called
// context because its files need the standard library's package of that name.
package brand

import (
	"growthworkspace/shared/api"
	"growthworkspace/shared/auth"
	"growthworkspace/shared/fault"
	"growthworkspace/shared/table"
)

// Operations returns the operations of the area.
func Operations(t *table.Client) []api.Operation {
	s := service{NewStore(t)}
	const contentTypes, goals = "/v1/companies/{companyId}/context/content-types", "/v1/companies/{companyId}/context/goals"
	return []api.Operation{
		api.Define(api.Spec{
			ID: "get_context_brand_kit", Method: "GET", Path: "/v1/companies/{companyId}/context/brand-kit", Scope: auth.ContextRead,
			Summary: "Get the brand kit: how the company sounds and looks", Description: "Read it before you write anything for the company: voice, words to avoid, looks. Not found when there is none yet.",
		}, s.getBrandKit),
		api.Define(api.Spec{
			ID: "update_context_brand_kit", Method: "PATCH", Path: "/v1/companies/{companyId}/context/brand-kit",
			Scope: auth.ContextWrite, Effect: api.Write,
			Summary: "Update the brand kit, or create it",
			Description: "Changes only what is sent. New guidelines apply to every future draft. " +
				"Returns the kit.",
		}, s.updateBrandKit),
		api.Define(api.Spec{
			ID: "list_context_content_types", Method: "GET", Path: contentTypes, Scope: auth.ContextRead,
			Summary:     "List the content types by name",
			Description: "Each is a kind of post, with guidance for its writers. By character code, nameless ones last.",
		}, s.listContentTypes),
		api.Define(api.Spec{
			ID: "get_context_content_type", Method: "GET", Path: contentTypes + "/{contentTypeId}", Scope: auth.ContextRead,
			Summary: "Get a content type", Description: "Its guidance tells how to write such a post.",
		}, s.getContentType),
		api.Define(api.Spec{
			ID: "create_context_content_type", Method: "POST", Path: contentTypes,
			Scope: auth.ContextWrite, Effect: api.Create, Errors: []fault.Code{fault.Conflict},
			Summary:     "Create a content type",
			Description: "At most 200 (conflict). Creates no post.",
		}, s.createContentType),
		api.Define(api.Spec{
			ID: "update_context_content_type", Method: "PATCH", Path: contentTypes + "/{contentTypeId}",
			Scope: auth.ContextWrite, Effect: api.Write,
			Summary:     "Update a content type",
			Description: "Changes only what is sent.",
		}, s.updateContentType),
		api.Define(api.Spec{
			ID: "delete_context_content_type", Method: "DELETE", Path: contentTypes + "/{contentTypeId}",
			Scope: auth.ContextWrite, Effect: api.Destructive,
			Summary:     "Delete a content type",
			Description: "Content plans and ideas that name it keep its id. To retire it instead, update active to false.",
		}, s.deleteContentType),
		api.Define(api.Spec{
			ID: "list_context_goals", Method: "GET", Path: goals, Scope: auth.ContextRead,
			Summary:     "List the brand goals, oldest first",
			Description: "Each says from which value a metric should come to which, and until when.",
		}, s.listGoals),
		api.Define(api.Spec{
			ID: "get_context_goal", Method: "GET", Path: goals + "/{goalId}", Scope: auth.ContextRead,
			Summary: "Get a brand goal", Description: "Its metric, baseline, target and deadline.",
		}, s.getGoal),
		api.Define(api.Spec{
			ID: "create_context_goal", Method: "POST", Path: goals,
			Scope: auth.ContextWrite, Effect: api.Create, Errors: []fault.Code{fault.Conflict},
			Summary:     "Create a brand goal",
			Description: "At most 200 (conflict). Nothing compares it with its metric: update status yourself once it is achieved or missed.",
		}, s.createGoal),
		api.Define(api.Spec{
			ID: "update_context_goal", Method: "PATCH", Path: goals + "/{goalId}",
			Scope: auth.ContextWrite, Effect: api.Write,
			Summary:     "Update a brand goal",
			Description: "Changes only what is sent. Any status may follow any.",
		}, s.updateGoal),
		api.Define(api.Spec{
			ID: "delete_context_goal", Method: "DELETE", Path: goals + "/{goalId}",
			Scope: auth.ContextWrite, Effect: api.Destructive,
			Summary:     "Delete a brand goal",
			Description: "Content plans that name it keep its id. To keep it on record instead, update status to archived.",
		}, s.deleteGoal),
	}
}

type service struct{ store Store }
