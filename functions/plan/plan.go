// Package plan serves roadmap boards and their items. Visitors see edits only after a publish. A
// preview shows what a publish would change.
package plan

import (
	"growthworkspace/shared/api"
	"growthworkspace/shared/auth"
	"growthworkspace/shared/change"
	"growthworkspace/shared/fault"
	"growthworkspace/shared/resource"
	"growthworkspace/shared/table"
)

const (
	boardPath = "/v1/companies/{companyId}/plan/boards/{boardId}"
	itemsPath = boardPath + "/items"
	itemPath  = "/v1/companies/{companyId}/plan/items/{itemId}"
)

// Operations returns the operations of the area.
func Operations(t *table.Client) []api.Operation {
	s := service{NewStore(t)}
	boardNoun := resource.Noun(boards)
	boards := resource.New(boards, s.store.Boards)
	return []api.Operation{
		boards.ListShortPages("list_plan_boards", "List the roadmap boards",
			"Oldest first. publishedVersion is the version that visitors see, null before the first publish."),
		boards.Get("get_plan_board", "Get a roadmap board",
			"publishedVersion and publishedAt describe what visitors see. A preview shows what the next publish would change."),
		boards.Create("create_plan_board", "Create a roadmap board",
			"Returns it with a new publicKey, which never changes. Visitors see nothing of it before it is published. At most 200."),
		boards.Update("update_plan_board", "Update a roadmap board", "Changes only what is sent. Publishes nothing."),
		boards.Delete("delete_plan_board", "Delete a roadmap board and its versions",
			"conflict while it has items of any status or visitors see one: delete the items, publish it empty, then delete it. Cannot be undone.",
			fault.Conflict),
		api.Define(api.Spec{
			ID: "list_plan_items", Noun: itemNoun, Method: "GET", Path: itemsPath, Scope: auth.PlanRead,
			Summary:     "List the items of a board",
			Description: "The editors' copy: items of every status, with edits that are not published yet.",
		}, s.listItems),
		api.ExplainEmpty(api.Define(api.Spec{
			ID: "list_plan_live_items", Method: "GET", Path: boardPath + "/live", Scope: auth.PlanRead,
			Summary:     "List what visitors see of a board now",
			Description: "The content of the last publish, in its order, without later edits. Empty when the board was never published. When it is published between two pages, start again without cursor.",
		}, s.listLiveItems), s.explainNoLiveItems),
		api.Define(api.Spec{
			ID: "create_plan_item", Noun: itemNoun, Method: "POST", Path: itemsPath, Scope: auth.PlanWrite, Effect: api.Create,
			Errors:      []fault.Code{fault.Conflict},
			Summary:     "Create an item on a board",
			Description: "A draft unless status is sent. Publishes nothing: visitors see items with status published after the next publish.",
		}, s.createItem),
		api.Define(api.Spec{
			ID: "get_plan_item", Noun: itemNoun, Method: "GET", Path: itemPath, Scope: auth.PlanRead,
			Summary:     "Get an item",
			Description: "The editors' copy, with edits that are not published yet. It is live when its publishedVersion equals that of its board.",
		}, s.getItem),
		api.Define(api.Spec{
			ID: "update_plan_item", Noun: itemNoun, Method: "PATCH", Path: itemPath, Scope: auth.PlanWrite, Effect: api.Write,
			Summary:     "Update an item",
			Description: "Changes only what is sent. The slug cannot change. Publishes nothing: visitors see the change after the next publish.",
		}, s.updateItem),
		api.Define(api.Spec{
			ID: "delete_plan_item", Noun: itemNoun,
			Method: "DELETE", Path: itemPath, Scope: auth.PlanWrite, Effect: api.Destructive,
			Summary:     "Delete an item",
			Description: "Cannot be undone. If it is live, visitors see it until the next publish.",
		}, s.deleteItem),
		api.Define(api.Spec{
			ID: "preview_plan_publish", Noun: boardNoun,
			Method: "POST", Path: boardPath + "/publish/preview", Scope: auth.PlanRead, Effect: api.Read,
			Summary:     "Preview what publishing a board would make visible",
			Description: "Changes nothing. Returns the items that would appear, change and disappear. To publish exactly this, send its ETag with the publish.",
		}, s.previewPublish),
		api.Define(api.Spec{
			ID: "publish_plan_board", Noun: boardNoun,
			Method: "POST", Path: boardPath + "/publish", Scope: auth.PlanPublish, Effect: api.Destructive, Class: auth.ClassPublish,
			Errors:      []fault.Code{fault.Conflict},
			Changes:     []change.Type{publishChange},
			Summary:     "Publish a board",
			Description: "Shows visitors its items with status published and no others, all at once. Undo it with service_rollback_plan_board. Preview it first.",
		}, s.publishBoard),
		api.Define(api.Spec{
			ID: "list_plan_versions", Method: "GET", Path: boardPath + "/versions", Scope: auth.PlanRead,
			Summary:     "List the published versions of a board",
			Description: "Newest first: each publish that changed something, and each rollback. The live one and the 50 before it are kept.",
		}, s.listVersions),
		api.Define(api.Spec{
			ID: "rollback_plan_board", Noun: boardNoun, Method: "POST", Path: boardPath + "/rollback", Scope: auth.PlanPublish, Effect: api.Destructive, Class: auth.ClassPublish,
			Errors:      []fault.Code{fault.Conflict},
			Changes:     []change.Type{publishChange},
			Summary:     "Make an earlier version of a board live again",
			Description: "Publishes its content as the next version, all at once. Items keep their edits; the next preview shows the difference.",
		}, s.rollbackBoard),
	}
}

type service struct{ store Store }
