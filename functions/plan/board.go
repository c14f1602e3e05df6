package plan

import (
	"context"

	"growthworkspace/shared/api"
	"growthworkspace/shared/table"
)

// Board is a roadmap board: a list of items that the company publishes together.
type Board struct {
	ID               string   `json:"id" doc:"the board's id"`
	CompanyID        string   `json:"companyId"`
	Name             *string  `json:"name" doc:"the board's name"`
	PublicKey        *string  `json:"publicKey" doc:"publishable; selects this board for the delivery API; authorises nothing"`
	AllowedOrigins   []string `json:"allowedOrigins" doc:"domains permitted to submit feedback; an empty list allows any origin"`
	PublishedVersion *int64   `json:"publishedVersion" doc:"the version that is live; null when the board was never published"`
	PublishedAt      *string  `json:"publishedAt" format:"date-time" doc:"when the live version was published"`
	Active           *bool    `json:"active" doc:"whether the board is in use"`
	CreatedAt        *string  `json:"createdAt" format:"date-time"`
	UpdatedAt        *string  `json:"updatedAt" format:"date-time"`
}

type listBoardsInput struct {
	Limit  int64      `query:"limit" default:"25" min:"1" max:"100"`
	Cursor api.Cursor `query:"cursor"`
}

func (s service) listBoards(ctx context.Context, caller api.Caller, in listBoardsInput) (api.List[Board], error) {
	all, err := s.store.Boards(ctx, caller.CompanyID)
	if err != nil {
		return api.List[Board]{}, err
	}
	return api.NewList(table.PageOf(all, boardOrder, string(in.Cursor), int(in.Limit))), nil
}

func boardOrder(b Board) string { return table.Join(table.SortTime(b.CreatedAt), b.ID) }

type getBoardInput struct {
	BoardID string `path:"boardId"`
}

func (s service) getBoard(ctx context.Context, caller api.Caller, in getBoardInput) (Board, error) {
	b, err := s.store.board(ctx, caller.CompanyID, in.BoardID)
	return b.Board, err
}

type createBoardInput struct {
	api.Idempotent

	Name           string   `json:"name" min:"1" max:"200" doc:"the board's name"`
	AllowedOrigins []string `json:"allowedOrigins" items:"50" each:"267" format:"origin" doc:"sites that may submit feedback, such as https://example.com; an empty list, the default, allows any"`
	Active         bool     `json:"active" default:"true" doc:"whether the board is in use"`
}

func (s service) createBoard(ctx context.Context, caller api.Caller, in createBoardInput) (Board, error) {
	origins := append([]string{}, in.AllowedOrigins...) // [] when omitted, never null
	return s.store.CreateBoard(ctx, caller.CompanyID, Board{Name: &in.Name, AllowedOrigins: origins, Active: &in.Active})
}

type updateBoardInput struct {
	api.Condition

	BoardID        string   `path:"boardId"`
	Name           *string  `json:"name" min:"1" max:"200" doc:"the board's name"`
	AllowedOrigins []string `json:"allowedOrigins" items:"50" each:"267" format:"origin" doc:"replaces the list of sites that may submit feedback, such as https://example.com; an empty list allows any"`
	Active         *bool    `json:"active" doc:"whether the board is in use"`
}

func (s service) updateBoard(ctx context.Context, caller api.Caller, in updateBoardInput) (Board, error) {
	return s.store.ModifyBoard(ctx, caller.CompanyID, in.BoardID, func(b *Board) error {
		if err := in.Condition.Check(*b); err != nil {
			return err
		}
		api.Set(&b.Name, in.Name)
		api.SetList(&b.AllowedOrigins, in.AllowedOrigins)
		api.Set(&b.Active, in.Active)
		return nil
	})
}

type deleteBoardInput struct {
	api.Condition

	BoardID string `path:"boardId"`
}

func (s service) deleteBoard(ctx context.Context, caller api.Caller, in deleteBoardInput) (api.Deleted, error) {
	if err := s.store.RemoveBoard(ctx, caller.CompanyID, in.BoardID, func(b Board) error { return in.Condition.Check(b) }); err != nil {
		return api.Deleted{}, err
	}
	return api.Deleted{ID: in.BoardID, Deleted: true}, nil
}
