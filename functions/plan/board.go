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
	PublishedVersion *float64 `json:"publishedVersion" doc:"the version that is live; null when the board was never published"`
	PublishedAt      *string  `json:"publishedAt" format:"date-time" doc:"when the live version was published"`
	Active           *bool    `json:"active" doc:"whether the board is in use"`
	CreatedAt        *string  `json:"createdAt" format:"date-time"`
	UpdatedAt        *string  `json:"updatedAt" format:"date-time"`
}

type listBoardsInput struct {
	Limit  int64      `query:"limit" default:"25" min:"1" max:"100" doc:"maximum number of records per page"`
	Cursor api.Cursor `query:"cursor" doc:"cursor of the next page, from the previous response"`
}

func (s service) listBoards(ctx context.Context, caller api.Caller, in listBoardsInput) (api.List[Board], error) {
	all, err := s.store.Boards(ctx, caller.CompanyID)
	if err != nil {
		return api.List[Board]{}, err
	}
	return api.NewList(table.Page(all, boardOrder, string(in.Cursor), int(in.Limit))), nil
}

func boardOrder(b Board) string { return table.Join(table.SortTime(b.CreatedAt), b.ID) }

type getBoardInput struct {
	BoardID string `path:"boardId"`
}

func (s service) getBoard(ctx context.Context, caller api.Caller, in getBoardInput) (Board, error) {
	b, err := s.store.board(ctx, caller.CompanyID, in.BoardID)
	return b.Board, err
}
