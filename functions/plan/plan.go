// Package plan is the area of the roadmap boards and their items, with preview, then publish (spec.md, Plan).
package plan

import (
	"growthworkspace/shared/api"
	"growthworkspace/shared/auth"
	"growthworkspace/shared/fault"
	"growthworkspace/shared/table"
)

const (
	boards = "/v1/companies/{companyId}/plan/boards"
	board  = boards + "/{boardId}"
	items  = board + "/items"
	item   = "/v1/companies/{companyId}/plan/items/{itemId}"
)

// Operations returns the operations of the area.
func Operations(t *table.Client) []api.Operation {
	s := service{NewStore(t)}
	return []api.Operation{
		api.Define(api.Spec{
			ID: "list_plan_boards", Method: "GET", Path: boards, Scope: auth.PlanRead,
			Summary:     "List the roadmap boards",
			Description: "The oldest first.",
		}, s.listBoards),
		api.Define(api.Spec{
			ID: "get_plan_board", Method: "GET", Path: board, Scope: auth.PlanRead,
			Summary:     "Get a roadmap board",
			Description: "publishedVersion and publishedAt say what is live; see the preview for what would be.",
		}, s.getBoard),
		api.Define(api.Spec{
			ID: "list_plan_items", Method: "GET", Path: items, Scope: auth.PlanRead,
			Summary:     "List the items of a board",
			Description: "The authoring view: it includes drafts and whatever else is not published.",
		}, s.listItems),
		api.Define(api.Spec{
			ID: "create_plan_item", Method: "POST", Path: items, Scope: auth.PlanWrite, Effect: api.Write,
			Errors:      []fault.Code{fault.Conflict},
			Summary:     "Create an item on a board",
			Description: "An item is a draft unless a status is given. Nothing becomes visible until the board is published.",
		}, s.createItem),
		api.Define(api.Spec{
			ID: "get_plan_item", Method: "GET", Path: item, Scope: auth.PlanRead,
			Summary:     "Get an item",
			Description: "As it is edited now. It is live when its publishedVersion is that of its board.",
		}, s.getItem),
		api.Define(api.Spec{
			ID: "update_plan_item", Method: "PATCH", Path: item, Scope: auth.PlanWrite, Effect: api.Write,
			Summary:     "Update an item",
			Description: "Changes the properties that are sent. The slug is frozen. What is published stays as it is until the board is published again.",
		}, s.updateItem),
		api.Define(api.Spec{
			ID: "delete_plan_item", Method: "DELETE", Path: item, Scope: auth.PlanWrite, Effect: api.Destructive,
			Summary:     "Delete an item",
			Description: "Anything already published stays visible until the next publish.",
		}, s.deleteItem),
		api.Define(api.Spec{
			ID: "preview_plan_publish", Method: "POST", Path: board + "/publish/preview", Scope: auth.PlanRead, Effect: api.Read,
			Summary:     "Preview what publishing a board would make visible",
			Description: "Changes nothing. Send the ETag of the answer as If-Match when publishing, so that what was reviewed is what goes live.",
		}, s.previewPublish),
		api.Define(api.Spec{
			ID: "publish_plan_board", Method: "POST", Path: board + "/publish", Scope: auth.PlanPublish, Effect: api.Destructive, Class: auth.ClassPublish,
			Errors:      []fault.Code{fault.Conflict},
			Summary:     "Publish a board",
			Description: "Makes the items with status published visible to the delivery API, all at once. There is no undo except publishing again.",
		}, s.publishBoard),
	}
}

type service struct{ store Store }
