// Package brand serves the context area, which contains what a writer needs to know about a
// company: its brand kit, content types and brand goals. It is not called context because its files
// import the standard library's package of that name.
package brand

import (
	"growthworkspace/shared/api"
	"growthworkspace/shared/auth"
	"growthworkspace/shared/resource"
	"growthworkspace/shared/table"
)

// Operations returns the operations of the area.
func Operations(t *table.Client) []api.Operation {
	s := service{NewStore(t)}
	contentTypes := resource.New(ContentTypes, ContentTypes.Store(t))
	goals := resource.New(Goals, Goals.Store(t))
	return []api.Operation{
		api.Define(api.Spec{
			ID: "get_context_brand_kit", Noun: kitNoun,
			Method: "GET", Path: "/v1/companies/{companyId}/context/brand-kit", Scope: auth.ContextRead,
			Summary: "Get the brand kit: how the company sounds and looks", Description: "Read it before you write anything for the company: voice, words to avoid, looks. Not found when there is none yet.",
		}, s.getBrandKit),
		api.Define(api.Spec{
			ID: "update_context_brand_kit", Noun: kitNoun, Method: "PATCH", Path: "/v1/companies/{companyId}/context/brand-kit",
			Scope: auth.ContextWrite, Effect: api.Write,
			Summary: "Update the brand kit, or create it",
			Description: "Changes only what is sent. New guidelines apply to every future draft. " +
				"Returns the kit.",
		}, s.updateBrandKit),
		contentTypes.List("list_context_content_types", "List the content types by name",
			"Each is a kind of post, with guidance for its writers. By character code, nameless ones last."),
		contentTypes.Get("get_context_content_type", "Get a content type", "Its guidance explains how to write such a post."),
		contentTypes.Create("create_context_content_type", "Create a content type", "At most 200 (conflict). Creates no post."),
		contentTypes.Update("update_context_content_type", "Update a content type", "Changes only what is sent."),
		contentTypes.Delete("delete_context_content_type", "Delete a content type",
			"Content plans and ideas that name it keep its id. To retire it instead, update active to false."),
		goals.List("list_context_goals", "List the brand goals, oldest first",
			"Each says from which value a metric should come to which, and until when."),
		goals.Get("get_context_goal", "Get a brand goal", "Its metric, baseline, target and deadline."),
		goals.Create("create_context_goal", "Create a brand goal",
			"At most 200 (conflict). Nothing compares it with its metric: update status yourself once it is achieved or missed."),
		goals.Update("update_context_goal", "Update a brand goal", "Changes only what is sent. Any status may follow any."),
		goals.Delete("delete_context_goal", "Delete a brand goal",
			"Content plans that name it keep its id. To keep it on record instead, update status to archived."),
	}
}

type service struct{ store Store }
