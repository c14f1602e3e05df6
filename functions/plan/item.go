package plan

import (
	"context"

	"growthworkspace/shared/api"
)

// Item is an item of a roadmap board, as editors see it.
type Item struct {
	ID               string   `json:"id" doc:"the item's id"`
	RoadmapID        string   `json:"roadmapId" doc:"the board's id"`
	CompanyID        string   `json:"companyId"`
	Slug             string   `json:"slug" set:"filled,create" max:"100" pattern:"slug" doc:"stable public identifier, unique on its board; derived from the title when left out, and never changes" tool:"unique on its board and fixed; derived from the title when left out"`
	Title            string   `json:"title" set:"required,first" min:"1" max:"200" doc:"what visitors read first"`
	Summary          *string  `json:"summary" set:"optional,first" max:"2000" doc:"what visitors read below the title"`
	ColumnID         *string  `json:"columnId" set:"optional" max:"200" doc:"column on the public board: any id that its page knows, such as now" tool:"column on the public board, such as now"`
	CategoryIDs      []string `json:"categoryIds" set:"optional" items:"50" each:"200" doc:"categories on the public board: ids that its page knows" tool:"categories on the public board"`
	Status           *Status  `json:"status" set:"filled" doc:"editorial: visitors never see it; draft unless sent; any may follow any; published items appear with the next publish" tool:"published items appear with the next publish"`
	SortOrder        *int64   `json:"sortOrder" set:"optional" doc:"lower first; items without one come last"`
	TargetLabel      *string  `json:"targetLabel" set:"optional" max:"60" doc:"free text such as Q3, not a date"`
	PublishedVersion *int64   `json:"publishedVersion" doc:"the last version of the board that showed the item; the item is live when it equals the board's publishedVersion"`
	CreatedAt        *string  `json:"createdAt" format:"date-time"`
	UpdatedAt        *string  `json:"updatedAt" format:"date-time"`
}

// Status is the editorial status of an item.
type Status string

// The statuses of an item. It can change from any status to any other.
const (
	StatusDraft     Status = "draft"
	StatusInReview  Status = "in_review"
	StatusPublished Status = "published"
	StatusArchived  Status = "archived"
)

// Values implements schema.Enum.
func (Status) Values() []string {
	return []string{string(StatusDraft), string(StatusInReview), string(StatusPublished), string(StatusArchived)}
}

type listItemsInput struct {
	BoardID string     `path:"boardId"`
	Limit   int64      `query:"limit" default:"50" min:"1" max:"200"`
	Status  *Status    `query:"status" doc:"only items with this status"`
	Cursor  api.Cursor `query:"cursor"`
}

func (s service) listItems(ctx context.Context, caller api.Caller, in listItemsInput) (api.List[Item], error) {
	page, err := s.store.Items.List(ctx, caller.CompanyID, in.BoardID, in.Status, string(in.Cursor), int(in.Limit))
	if err != nil {
		return api.List[Item]{}, err
	}
	return api.NewList(page), nil
}

type createItemInput struct {
	api.CreateBody[Item]

	BoardID string `path:"boardId"`
}

func (s service) createItem(ctx context.Context, caller api.Caller, in createItemInput) (Item, error) {
	now, i := s.store.table.Now(), in.Record
	i.ID, i.RoadmapID, i.CompanyID, i.CreatedAt, i.UpdatedAt = s.store.table.NewID(itemIDPrefix), in.BoardID, caller.CompanyID, &now, &now
	if i.Status == nil {
		i.Status = new(StatusDraft)
	}
	if i.Slug == "" {
		return s.store.Items.InsertWithFreeSlug(ctx, caller.CompanyID, i, DeriveSlug(i.Title))
	}
	return s.store.Items.Insert(ctx, caller.CompanyID, i)
}

type getItemInput struct {
	ItemID string `path:"itemId"`
}

func (s service) getItem(ctx context.Context, caller api.Caller, in getItemInput) (Item, error) {
	return s.store.Items.Get(ctx, caller.CompanyID, in.ItemID)
}

type updateItemInput struct {
	api.UpdateBody[Item]

	ItemID string `path:"itemId"`
}

func (s service) updateItem(ctx context.Context, caller api.Caller, in updateItemInput) (Item, error) {
	return s.store.Items.Modify(ctx, caller.CompanyID, in.ItemID, in.Change)
}

type deleteItemInput struct {
	api.Condition

	ItemID string `path:"itemId"`
}

func (s service) deleteItem(ctx context.Context, caller api.Caller, in deleteItemInput) (api.Deleted, error) {
	err := s.store.Items.Remove(ctx, caller.CompanyID, in.ItemID, func(i Item) error { return in.Condition.RequireMatch(i) })
	return api.Deleted{ID: in.ItemID, Deleted: true}, err
}

var itemNoun = api.Noun{
	Name: "item", Plural: "items", Prefix: itemIDPrefix, Change: "item",
	Columns: "columnId:column title status publishedVersion:live sortOrder:order targetLabel:target slug",
}
