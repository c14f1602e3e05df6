package plan

import (
	"context"
	"errors"
	"fmt"
	"math"
	"strings"

	"growthworkspace/shared/fault"
	"growthworkspace/shared/id"
	"growthworkspace/shared/table"
)

// Published boards, for the delivery API and the command `workspace snapshot`. No HTTP operation does this. Store describes the
// records and their keys.
//
// The delivery API reads a board's live content with Snapshot. The board's record points at it: snapshotVersion,
// snapshotId and snapshotChunks name the records snapshot#<boardId>#<version>#<snapshotId>#<n>, n from 00000, each with
// a part of the items as a gzipped JSON array of SnapshotItem in the attribute `items`. They never change and are kept,
// so a reader of the pointer gets one version, whole, whatever is published meanwhile. The delivery API remembers which board a
// publicKey selects: no index of this table reaches over companies.

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
	if !id.Valid(BoardIDs, boardID) { // what is typed on a command line must not become another key
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

// storedVersion tells where the snapshot of a version is. It is written in the transaction that moves the board, so it
// names exactly what went live, among what publishes that died have left under the same number.
type storedVersion struct {
	Version        float64  `store:"version"`
	PublishedAt    string   `store:"publishedAt"`
	ItemCount      float64  `store:"itemCount"`
	Restores       *float64 `store:"restores"`
	SnapshotID     string   `store:"snapshotId"`
	SnapshotChunks float64  `store:"snapshotChunks"`
}

func versionKey(companyID, boardID string, version float64) table.Key {
	return key(companyID, versionOf, boardID, fmt.Sprintf("%010.0f", version))
}

// on returns the board as if this version were live, to read its snapshot.
func (v storedVersion) on(b storedBoard) storedBoard {
	b.SnapshotVersion, b.SnapshotID, b.SnapshotChunks = &v.Version, &v.SnapshotID, &v.SnapshotChunks
	return b
}

// writeVersion replaces what is there: a board that was imported at an earlier version counts on from it.
func (s Store) writeVersion(companyID, boardID string, v storedVersion) table.Write {
	sets, names, values := []string{}, map[string]string{"#restores": "restores"}, table.Item{}
	for name, value := range table.Encode(v) {
		sets = append(sets, "#"+name+" = :"+name)
		names["#"+name], values[":"+name] = name, value
	}
	update := "SET " + strings.Join(sets, ", ")
	if v.Restores == nil {
		update += " REMOVE #restores"
	}
	return s.table.WriteUpdate(versionKey(companyID, boardID, v.Version), update, "", names, values)
}

// committed tells whether a version shows this snapshot. A transaction whose answer was lost is repeated, and a table that
// has forgotten it meanwhile, as a local engine does that was killed and started again, refuses the repetition: then the
// publish was not overtaken but done, and its chunks are what visitors see.
func (s Store) committed(ctx context.Context, b storedBoard, version float64, snapshotID string) (bool, error) {
	v, err := table.Get[storedVersion](ctx, s.table, versionKey(b.CompanyID, b.ID, version))
	return err == nil && v.SnapshotID == snapshotID, absent(err)
}

// version reads a version that the board has reached.
func (s Store) version(ctx context.Context, b storedBoard, version float64) (storedVersion, error) {
	none := fault.New(fault.NotFound, "the board has no version %.0f that is kept", version)
	if version < 1 || version > *b.PublishedVersion || version != math.Trunc(version) {
		return storedVersion{}, none
	}
	v, err := table.Get[storedVersion](ctx, s.table, versionKey(b.CompanyID, b.ID, version))
	if errors.Is(err, fault.ErrNotFound) {
		err = none
	}
	return v, err
}

// versions reads the versions that the board has reached, the oldest first.
func (s Store) versions(ctx context.Context, b storedBoard) ([]storedVersion, error) {
	at := versionKey(b.CompanyID, b.ID, 0)
	all, err := table.Whole[storedVersion](ctx, s.table, table.Collection{
		Partition: at.PK, Prefix: table.Join(versionOf, b.ID, ""), Consistent: true,
	})
	reached := all[:0]
	for _, v := range all {
		if v.Version <= *b.PublishedVersion {
			reached = append(reached, v)
		}
	}
	return reached, err
}

// planRollback is Plan for the content of an earlier version in place of that of the items.
func (s Store) planRollback(ctx context.Context, companyID, boardID string, version float64) (Planned, error) {
	if !id.Valid(BoardIDs, boardID) {
		return Planned{}, fault.ErrNotFound
	}
	p, err := s.collect(ctx, companyID, boardID)
	if err != nil {
		return p, err
	}
	if p.board.PublishedVersion == nil {
		return p, errNeverPublished
	}
	v, err := s.version(ctx, p.board, version)
	if err != nil {
		return p, err
	}
	var live snapshot
	err = table.Both(
		func() (err error) { p.content, err = s.live(ctx, v.on(p.board)); return err },
		func() (err error) { live, err = s.live(ctx, p.board); return err },
	)
	if err != nil {
		return p, err
	}
	p.restores = &version
	p.difference = p.content.compare(live, p.board.PublishedVersion, p.items)
	p.digest, err = p.content.digest()
	return p, err
}
