package plan

import (
	"context"

	"growthworkspace/shared/fault"
	"growthworkspace/shared/id"
)

// What follows is the operator's contract of published boards (decisions.md §14): no HTTP operation, but what the
// delivery API and the command `workspace snapshot` read and do. The records and their keys are described at Store.
//
// The delivery API reads a board's live content with Snapshot. The board's record points at it: snapshotVersion,
// snapshotId and snapshotChunks name the records snapshot#<boardId>#<version>#<snapshotId>#<n>, n from 00000, each with
// a part of the items as a gzipped JSON array of SnapshotItem in the attribute `items`. They never change and are kept,
// so whoever has read the pointer reads one version, whole, whatever is published meanwhile. Which board a publicKey
// selects is for the delivery API to remember: no index of this table reaches over companies.

// Snapshot is what visitors see of a board in one of its versions: public content only.
type Snapshot struct {
	BoardID     string         `json:"boardId"`
	Version     float64        `json:"version"`
	PublishedAt *string        `json:"publishedAt"` // null where an import brought a version without its time
	Live        bool           `json:"live"`        // whether it is what visitors see now
	Items       []SnapshotItem `json:"items"`       // in their order
}

// Version is one publish of a board, or a rollback.
type Version struct {
	Version     float64  `json:"version"`
	PublishedAt string   `json:"publishedAt"`
	ItemCount   float64  `json:"itemCount"`
	Restores    *float64 `json:"restores"` // the version whose content a rollback made live again; null: a publish
	Live        bool     `json:"live"`
}

// Snapshot returns a version of a board, or the live one when version is nil. fault.NotFound when there is no such
// board, when it was never published, when it has no such version, and when an import brought its version without what
// is live.
func (s Store) Snapshot(ctx context.Context, companyID, boardID string, version *float64) (Snapshot, error) {
	b, err := s.publishedBoard(ctx, companyID, boardID)
	if err != nil {
		return Snapshot{}, err
	}
	shown := Snapshot{BoardID: boardID, Version: *b.PublishedVersion, PublishedAt: b.PublishedAt, Live: true}
	if version != nil && *version != *b.PublishedVersion {
		v, err := s.version(ctx, b, *version)
		if err != nil {
			return Snapshot{}, err
		}
		b = v.on(b)
		shown = Snapshot{BoardID: boardID, Version: v.Version, PublishedAt: &v.PublishedAt}
	}
	if b.SnapshotID == nil {
		return Snapshot{}, errUnknownSnapshot
	}
	shown.Items, err = s.live(ctx, b)
	return shown, err
}

// Versions returns the versions of a board, the newest first. fault.NotFound when there is no such board or it was
// never published. What was published before the board was imported is not known here.
func (s Store) Versions(ctx context.Context, companyID, boardID string) ([]Version, error) {
	b, err := s.publishedBoard(ctx, companyID, boardID)
	if err != nil {
		return nil, err
	}
	stored, err := s.versions(ctx, b)
	if err != nil {
		return nil, err
	}
	out := make([]Version, len(stored))
	for n, v := range stored {
		live := b.SnapshotID != nil && v.SnapshotID == *b.SnapshotID
		out[len(stored)-1-n] = Version{v.Version, v.PublishedAt, v.ItemCount, v.Restores, live}
	}
	return out, nil
}

// Rollback makes the content of an earlier version live again, with every guarantee of Publish: it is a publish of that
// content under the next version, so versions only grow and items read the version in which they last went live. The
// items themselves stay as they are edited: the next preview shows how they differ from what is live, and the next
// publish makes them live again. An item that was deleted since is visible again until then.
//
// Changed is false, and version and time stay, when that content is what is live; so to repeat a rollback is safe.
// fault.NotFound as of Snapshot, fault.Conflict when others kept publishing the board.
func (s Store) Rollback(ctx context.Context, companyID, boardID string, version float64) (Publication, error) {
	return s.settle(ctx, func() (Planned, error) { return s.planRollback(ctx, companyID, boardID, version) })
}

// publishedBoard reads a board that has a live version.
func (s Store) publishedBoard(ctx context.Context, companyID, boardID string) (storedBoard, error) {
	if !id.Valid(id.Board, boardID) { // what is typed on a command line must not become another key
		return storedBoard{}, fault.ErrNotFound
	}
	b, err := s.board(ctx, companyID, boardID)
	if err == nil && b.PublishedVersion == nil {
		err = errNeverPublished
	}
	return b, err
}

var (
	errNeverPublished  = fault.New(fault.NotFound, "the board was never published")
	errUnknownSnapshot = fault.New(fault.NotFound, "what the board shows is not known: it was imported without its snapshot")
)
