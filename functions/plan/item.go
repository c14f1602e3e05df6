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
	Slug             string   `json:"slug" doc:"stable public identifier; never changes"`
	Title            string   `json:"title" doc:"the title that visitors see"`
	Summary          *string  `json:"summary" doc:"the text that visitors see below the title"`
	ColumnID         *string  `json:"columnId" doc:"the item's column on the public board"`
	CategoryIDs      []string `json:"categoryIds" doc:"the item's categories on the public board"`
	Status           *Status  `json:"status" doc:"editorial; visitors never see it"`
	SortOrder        *int64   `json:"sortOrder" doc:"lower numbers come first; items without one come last"`
	TargetLabel      *string  `json:"targetLabel" doc:"free text such as a quarter label; deliberately not a date"`
	PublishedVersion *int64   `json:"publishedVersion" doc:"the last version of the board that showed the item; the item is live when it equals the board's publishedVersion"`
	CreatedAt        *string  `json:"createdAt" format:"date-time"`
	UpdatedAt        *string  `json:"updatedAt" format:"date-time"`
}

// Status is the editorial status of an item.
type Status string

// The statuses of an item. Any status may follow any other.
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
	page, err := s.store.Items(ctx, caller.CompanyID, in.BoardID, in.Status, string(in.Cursor), int(in.Limit))
	if err != nil {
		return api.List[Item]{}, err
	}
	return api.NewList(page), nil
}

type createItemInput struct {
	api.Idempotent

	BoardID     string   `path:"boardId"`
	Title       string   `json:"title" min:"1" max:"200" doc:"what visitors read first"`
	Summary     *string  `json:"summary" max:"2000" doc:"what visitors read below the title"`
	Slug        *string  `json:"slug" max:"100" pattern:"slug" doc:"unique on its board and fixed; derived from the title when left out"`
	ColumnID    *string  `json:"columnId" max:"200" doc:"column on the public board: any id that its page knows, such as now" tool:"column on the public board, such as now"`
	CategoryIDs []string `json:"categoryIds" items:"50" each:"200" doc:"categories on the public board: ids that its page knows" tool:"categories on the public board"`
	Status      *Status  `json:"status" doc:"draft when left out"`
	SortOrder   *int64   `json:"sortOrder" doc:"lower first; items without one come last"`
	TargetLabel *string  `json:"targetLabel" max:"60" doc:"free text such as Q3, not a date"`
}

func (s service) createItem(ctx context.Context, caller api.Caller, in createItemInput) (Item, error) {
	now, status := s.store.table.Now(), StatusDraft
	if in.Status != nil {
		status = *in.Status
	}
	fresh := Item{
		ID: s.store.table.NewID(itemIDs), RoadmapID: in.BoardID, CompanyID: caller.CompanyID,
		Title: in.Title, Summary: in.Summary, ColumnID: in.ColumnID, CategoryIDs: in.CategoryIDs, Status: &status,
		SortOrder: in.SortOrder, TargetLabel: in.TargetLabel, CreatedAt: &now, UpdatedAt: &now,
	}
	if in.Slug != nil {
		fresh.Slug = *in.Slug
		return s.store.CreateItem(ctx, caller.CompanyID, fresh)
	}
	return s.store.CreateItemWithFreeSlug(ctx, caller.CompanyID, fresh, deriveSlug(in.Title))
}

type getItemInput struct {
	ItemID string `path:"itemId"`
}

func (s service) getItem(ctx context.Context, caller api.Caller, in getItemInput) (Item, error) {
	return s.store.Item(ctx, caller.CompanyID, in.ItemID)
}

type updateItemInput struct {
	api.Condition

	ItemID      string                  `path:"itemId"`
	Title       *string                 `json:"title" min:"1" max:"200" doc:"what visitors read first"`
	Summary     api.Clearable[*string]  `json:"summary" max:"2000" doc:"what visitors read below the title"`
	ColumnID    api.Clearable[*string]  `json:"columnId" max:"200" doc:"column on the public board: any id that its page knows, such as now" tool:"column on the public board, such as now"`
	CategoryIDs api.Clearable[[]string] `json:"categoryIds" items:"50" each:"200" doc:"replaces the list"`
	Status      *Status                 `json:"status" doc:"any may follow any; published items appear with the next publish"`
	SortOrder   api.Clearable[*int64]   `json:"sortOrder" doc:"lower first; items without one come last"`
	TargetLabel api.Clearable[*string]  `json:"targetLabel" max:"60" doc:"free text such as Q3, not a date"`
}

func (s service) updateItem(ctx context.Context, caller api.Caller, in updateItemInput) (Item, error) {
	return s.store.ModifyItem(ctx, caller.CompanyID, in.ItemID, func(i *Item) error {
		if err := in.Condition.Check(*i); err != nil {
			return err
		}
		if in.Title != nil {
			i.Title = *in.Title
		}
		in.Summary.Apply(&i.Summary)
		in.ColumnID.Apply(&i.ColumnID)
		in.CategoryIDs.Apply(&i.CategoryIDs)
		api.Set(&i.Status, in.Status)
		in.SortOrder.Apply(&i.SortOrder)
		in.TargetLabel.Apply(&i.TargetLabel)
		return nil
	})
}

type deleteItemInput struct {
	api.Condition

	ItemID string `path:"itemId"`
}

func (s service) deleteItem(ctx context.Context, caller api.Caller, in deleteItemInput) (api.Deleted, error) {
	if err := s.store.DeleteItem(ctx, caller.CompanyID, in.ItemID, func(i Item) error { return in.Condition.Check(i) }); err != nil {
		return api.Deleted{}, err
	}
	return api.Deleted{ID: in.ItemID, Deleted: true}, nil
}
