// Package plan serves roadmap boards and their items. Visitors see edits only after a publish, and a preview shows what a
// publish would change.
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
			Description: "Oldest first.",
		}, s.listBoards),
		api.Define(api.Spec{
			ID: "get_plan_board", Method: "GET", Path: board, Scope: auth.PlanRead,
			Summary:     "Get a roadmap board",
			Description: "publishedVersion and publishedAt describe the live version. A preview shows what the next publish would change.",
		}, s.getBoard),
		api.Define(api.Spec{
			ID: "list_plan_items", Method: "GET", Path: items, Scope: auth.PlanRead,
			Summary:     "List the items of a board",
			Description: "The editors' view: it includes items of every status, not only what visitors see.",
		}, s.listItems),
		api.Define(api.Spec{
			ID: "create_plan_item", Method: "POST", Path: items, Scope: auth.PlanWrite, Effect: api.Create,
			Errors:      []fault.Code{fault.Conflict},
			Summary:     "Create an item on a board",
			Description: "The item is a draft unless status is sent. Visitors do not see it until the board is published.",
		}, s.createItem),
		api.Define(api.Spec{
			ID: "get_plan_item", Method: "GET", Path: item, Scope: auth.PlanRead,
			Summary:     "Get an item",
			Description: "Returns the latest edit. The item is live when its publishedVersion equals that of its board.",
		}, s.getItem),
		api.Define(api.Spec{
			ID: "update_plan_item", Method: "PATCH", Path: item, Scope: auth.PlanWrite, Effect: api.Write,
			Summary:     "Update an item",
			Description: "Changes only the properties that are sent. The slug cannot change. Visitors see the changes after the next publish.",
		}, s.updateItem),
		api.Define(api.Spec{
			ID: "delete_plan_item", Method: "DELETE", Path: item, Scope: auth.PlanWrite, Effect: api.Destructive,
			Summary:     "Delete an item",
			Description: "A live item stays visible until the next publish.",
		}, s.deleteItem),
		api.Define(api.Spec{
			ID: "preview_plan_publish", Method: "POST", Path: board + "/publish/preview", Scope: auth.PlanRead, Effect: api.Read,
			Summary:     "Preview what publishing a board would make visible",
			Description: "Changes nothing. To publish exactly what was reviewed, send the response's ETag as If-Match when publishing.",
		}, s.previewPublish),
		api.Define(api.Spec{
			ID: "publish_plan_board", Method: "POST", Path: board + "/publish", Scope: auth.PlanPublish, Effect: api.Destructive, Class: auth.ClassPublish,
			Errors:      []fault.Code{fault.Conflict},
			Summary:     "Publish a board",
			Description: "Makes the items with status published visible to the delivery API, all at once. The only way to undo it is to publish again.",
		}, s.publishBoard),
	}
}

type service struct{ store Store }
