package plan

import (
	"growthworkspace/shared/change"
	"growthworkspace/shared/record"
	"growthworkspace/shared/table"
)

// Board is a roadmap board: a list of items that are published together.
type Board struct {
	ID               string   `json:"id" doc:"the board's id"`
	CompanyID        string   `json:"companyId"`
	Name             *string  `json:"name" set:"required" min:"1" max:"200" doc:"the board's name"`
	PublicKey        *string  `json:"publicKey" doc:"publishable; selects this board for the delivery API; authorises nothing"`
	AllowedOrigins   []string `json:"allowedOrigins" set:"filled" items:"50" each:"267" format:"origin" doc:"sites that may submit feedback, such as https://example.com; an empty list, the default, allows any" tool:"sites that may submit feedback, such as https://example.com; [] allows any"`
	PublishedVersion *int64   `json:"publishedVersion" doc:"the version that is live; null when the board was never published"`
	PublishedAt      *string  `json:"publishedAt" format:"date-time" doc:"when the live version was published"`
	Active           *bool    `json:"active" default:"true" doc:"whether the board is in use"`
	CreatedAt        *string  `json:"createdAt" format:"date-time"`
	UpdatedAt        *string  `json:"updatedAt" format:"date-time"`
}

// BoardIDPrefix is the prefix of board ids.
const BoardIDPrefix = "brd"

var boards = record.Kind[Board]{
	Name: "board", Plural: "boards", Prefix: BoardIDPrefix, Path: "plan/boards", Parameter: "boardId", SortPrefix: boardPart, Change: "board", Also: []change.Type{publishChange}, Limit: 200,
	Columns: "name publishedVersion:version publishedAt:published active publicKey",
	Order:   func(b Board) string { return table.JoinKey(table.TimeKey(b.CreatedAt), b.ID) },
}
