package plan

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"growthworkspace/shared/fault"
	"growthworkspace/shared/id"
	"growthworkspace/shared/parallel"
	"growthworkspace/shared/table"
)

// Published versions of boards, for the delivery API and the command `workspace snapshot`. No HTTP
// operation uses them. Store lists the records and their keys.
//
// The delivery API reads a board's live content with Snapshot. The board's record points to it:
// snapshotVersion, snapshotId and snapshotChunks name the records
// snapshot#<boardId>#<version>#<snapshotId>#<n>, with n from 00000. The attribute `items` of each
// is a part of the items: a gzipped JSON array of SnapshotItem. These records never change. The
// live version and the versionsKept before it are kept, so a reader gets one whole version even if
// others are published during the read. The delivery API itself must store which board a publicKey
// selects, because no index of this table covers more than one company.

// Snapshot is the public content of a board in one version.
type Snapshot struct {
	BoardID     string         `json:"boardId"`
	Version     int64          `json:"version"`
	PublishedAt *string        `json:"publishedAt"` // null when an import gave no time
	Live        bool           `json:"live"`        // whether visitors see it now
	Items       []SnapshotItem `json:"items"`       // in the board's order
}

// Version is one publish or rollback of a board.
type Version struct {
	Version     int64  `json:"version"`
	PublishedAt string `json:"publishedAt"`
	ItemCount   int64  `json:"itemCount"`
	Restores    *int64 `json:"restores"` // the version that a rollback restored; null for a publish
	Live        bool   `json:"live"`
}

// Snapshot returns a version of a board, or the live one when version is nil. Returns
// fault.NotFound when the board does not exist, was never published, lacks that version, or was
// imported without its snapshot.
func (s Store) Snapshot(ctx context.Context, companyID, boardID string, version *int64) (Snapshot, error) {
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
		shown = Snapshot{BoardID: boardID, Version: v.Version, PublishedAt: &v.PublishedAt}
		shown.Items, err = s.versionContent(ctx, b, v)
		return shown, err
	}
	if b.SnapshotID == nil {
		return Snapshot{}, errUnknownSnapshot
	}
	shown.Items, err = s.liveSnapshot(ctx, b)
	return shown, err
}

// Versions returns the versions of a board, newest first. It does not know versions that were
// published in another table before an import. Returns fault.NotFound when the board does not exist
// or was never published.
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

// Rollback publishes the content of an earlier version as the next version, with the guarantees of
// Publish. The items keep their edits: the next preview shows how they differ from the live
// content, and the next publish makes the edits live again. Until then, an item that was deleted
// since that version is visible again.
//
// A rollback can be repeated: when the content is already live, Changed is false, and version and
// time stay. Returns fault.NotFound in the same cases as Snapshot, and fault.Conflict when others
// kept editing or publishing the board.
func (s Store) Rollback(ctx context.Context, companyID, boardID string, version int64) (Publication, error) {
	return s.publishWithRetry(ctx, func() (PublishPlan, error) { return s.planRollback(ctx, companyID, boardID, version) })
}

// publishedBoard reads a board that has a live version.
func (s Store) publishedBoard(ctx context.Context, companyID, boardID string) (storedBoard, error) {
	if !id.Valid(BoardIDs, boardID) { // text from a command line must not form another key
		return storedBoard{}, fault.ErrNotFound
	}
	b, err := s.readBoard(ctx, companyID, boardID)
	if err == nil && b.PublishedVersion == nil {
		err = errNeverPublished
	}
	return b, err
}

var (
	errNeverPublished  = fault.New(fault.NotFound, "the board was never published")
	errUnknownSnapshot = fault.New(fault.NotFound, "the live content is unknown: the board was imported without its snapshot")
)

// storedVersion is the record of a version and names its snapshot. The transaction that moves the
// board writes it, so it names exactly the snapshot that went live, even if crashed publishes left
// others under the same version.
type storedVersion struct {
	Version        int64  `store:"version"`
	PublishedAt    string `store:"publishedAt"`
	ItemCount      int64  `store:"itemCount"`
	Restores       *int64 `store:"restores"`
	SnapshotID     string `store:"snapshotId"`
	SnapshotChunks int64  `store:"snapshotChunks"`
}

func versionKey(companyID, boardID string, version int64) table.Key {
	return recordKey(companyID, versionPrefix, boardID, fmt.Sprintf("%010d", version))
}

// boardAt returns the board as if this version were live, so that Store.liveSnapshot reads its
// snapshot.
func (v storedVersion) boardAt(b storedBoard) storedBoard {
	b.SnapshotVersion, b.SnapshotID, b.SnapshotChunks = &v.Version, &v.SnapshotID, &v.SnapshotChunks
	return b
}

// writeVersion returns the write of a version's record. It replaces an existing record, because a
// board that was imported at an earlier version reaches the same versions again.
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

// isCommitted reports whether a version has this snapshot. After a lost response the transaction is
// retried. A local engine that was killed and restarted no longer recognises the retry and rejects
// it. The publish succeeded nevertheless, and visitors see its chunks.
func (s Store) isCommitted(ctx context.Context, b storedBoard, version int64, snapshotID string) (bool, error) {
	v, err := table.Get[storedVersion](ctx, s.table, versionKey(b.CompanyID, b.ID, version))
	return err == nil && v.SnapshotID == snapshotID, ignoreNotFound(err)
}

// version reads a version that the board has reached, or returns fault.NotFound.
func (s Store) version(ctx context.Context, b storedBoard, version int64) (storedVersion, error) {
	none := fault.New(fault.NotFound, "the board has no version %d; the live one and the %d before it are kept", version, versionsKept)
	if version < 1 || version > *b.PublishedVersion {
		return storedVersion{}, none
	}
	v, err := table.Get[storedVersion](ctx, s.table, versionKey(b.CompanyID, b.ID, version))
	if errors.Is(err, fault.ErrNotFound) {
		err = none
	}
	return v, err
}

// versionContent reads the snapshot of a version, or returns fault.NotFound when a publish removed
// the version before it was read.
func (s Store) versionContent(ctx context.Context, b storedBoard, v storedVersion) (snapshot, error) {
	content, err := s.liveSnapshot(ctx, v.boardAt(b))
	var gone *fault.Error
	if err == nil {
		return content, nil
	}
	if _, now := s.version(ctx, b, v.Version); errors.As(now, &gone) && gone.Code == fault.NotFound {
		return nil, gone
	}
	return content, err
}

// versions reads the versions that the board has reached, oldest first.
func (s Store) versions(ctx context.Context, b storedBoard) ([]storedVersion, error) {
	at := versionKey(b.CompanyID, b.ID, 0)
	all, err := table.ReadAll[storedVersion](ctx, s.table, table.Collection{
		Partition: at.PK, Prefix: table.Join(versionPrefix, b.ID, ""), Consistent: true,
	})
	reached := all[:0]
	for _, v := range all {
		if v.Version <= *b.PublishedVersion {
			reached = append(reached, v)
		}
	}
	return reached, err
}

// planRollback is like PlanPublish, but with the content of an earlier version instead of the
// items'.
func (s Store) planRollback(ctx context.Context, companyID, boardID string, version int64) (PublishPlan, error) {
	if !id.Valid(BoardIDs, boardID) {
		return PublishPlan{}, fault.ErrNotFound
	}
	p, err := s.readPlan(ctx, companyID, boardID)
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
	err = parallel.Both(
		func() (err error) { p.content, err = s.versionContent(ctx, p.board, v); return err },
		func() (err error) { live, err = s.liveSnapshot(ctx, p.board); return err },
	)
	if err != nil {
		return p, err
	}
	p.rollbackOf = &version
	p.contentDiff = p.content.diffFrom(live, p.board.PublishedVersion, p.items)
	p.digest, err = p.content.digest()
	return p, err
}
