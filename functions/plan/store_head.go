package plan

import (
	"context"
	"strconv"
	"time"

	"growthworkspace/shared/table"
	"growthworkspace/shared/timestamp"
)

// head is the live version of a board, and when it was published; both null when it never was.
type head struct {
	Version *float64
	At      *string
}

// heads returns the head of each board of the company.
func (s Store) heads(ctx context.Context, companyID string) (func(boardID string) head, error) {
	stored, err := table.GetItem(ctx, s.table, key(companyID, headsKind))
	if err != nil {
		return nil, err
	}
	return func(boardID string) head {
		var record struct {
			Head []string `store:"head"` // version, time
		}
		if stored[boardID] == nil || table.Decode(table.Item{"head": stored[boardID]}, &record) != nil || len(record.Head) != 2 {
			return head{}
		}
		version, err := strconv.ParseFloat(record.Head[0], 64)
		if err != nil {
			return head{}
		}
		return head{&version, &record.Head[1]}
	}, nil
}

// headsBeside starts to read the heads and returns what waits for them.
func (s Store) headsBeside(ctx context.Context, companyID string) func() (func(boardID string) head, error) {
	var headOf func(string) head
	var err error
	done := make(chan struct{})
	go func() {
		defer close(done)
		err = table.Parallel(1, 1, func(int) (err error) { headOf, err = s.heads(ctx, companyID); return err })
	}()
	return func() (func(string) head, error) { <-done; return headOf, err }
}

// settling is how long after a publish an item is read once more when it was read beside the board's version: the two
// reads are one round trip but not one moment, and a publish may fall between them. It is far longer than a request, and
// than the clocks of two functions differ.
const settling = time.Minute

// moved tells whether the board may have been published while a request read it.
func (s Store) moved(publishedAt *string) bool {
	return publishedAt != nil && *publishedAt > timestamp.Format(s.table.Clock()().Add(-settling))
}

// writeHead tells the readers of single items which version their board is at.
func (s Store) writeHead(companyID, boardID string, version float64, at string) table.Write {
	record := struct {
		Head []string `store:":head"`
	}{[]string{strconv.FormatFloat(version, 'f', -1, 64), at}}
	return s.table.WriteUpdate(key(companyID, headsKind), "SET #board = :head", "", map[string]string{"#board": boardID}, table.Encode(record))
}
