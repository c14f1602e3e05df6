package plan

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"growthworkspace/shared/api"
	"growthworkspace/shared/fault"
	"growthworkspace/shared/id"
	"growthworkspace/shared/parallel"
	"growthworkspace/shared/table"
)

// The delivery API, the command `workspace snapshot` and the operations below read published
// versions of boards. The comment on Store lists the records and their keys.
//
// The delivery API reads a board's live content with Snapshot. The board's record points to it:
// snapshotVersion, snapshotId and snapshotChunks identify the records
// snapshot#<boardId>#<version>#<snapshotId>#<n>, with n starting at 00000. The attribute `items` of
// each record is a gzipped JSON array that holds a part of the board's items, as SnapshotItem.
// These records never change. The live version and the versionsKept versions before it are kept, so
// a reader gets one complete version even if new versions are published during the read. The
// delivery API must itself store which board a publicKey selects, because no index of this table
// spans more than one company.

// Snapshot is the public content of a board in one version.
type Snapshot struct {
	BoardID     string         `json:"boardId"`
	Version     int64          `json:"version"`
	PublishedAt *string        `json:"publishedAt"` // null when an import did not contain the time
	Live        bool           `json:"live"`        // whether visitors see it now
	Items       []SnapshotItem `json:"items"`       // in the board's order
}

// BoardVersion is one publish or rollback of a board.
type BoardVersion struct {
	Version     int64  `json:"version" doc:"the number of the version"`
	PublishedAt string `json:"publishedAt" format:"date-time" doc:"when it went live"`
	ItemCount   int64  `json:"itemCount" doc:"how many items it shows"`
	Restores    *int64 `json:"restores" doc:"the version whose content a rollback made live again; null for a publish"`
	Live        bool   `json:"live" doc:"whether visitors see it now"`
}

type listVersionsInput struct {
	BoardID string     `path:"boardId"`
	Limit   int64      `query:"limit" default:"25" min:"1" max:"51"`
	Cursor  api.Cursor `query:"cursor"`
}

func (s service) listVersions(ctx context.Context, caller api.Caller, in listVersionsInput) (api.List[BoardVersion], error) {
	page, err := s.store.Versions(ctx, caller.CompanyID, in.BoardID, string(in.Cursor), int(in.Limit))
	if err != nil {
		return api.List[BoardVersion]{}, err
	}
	return api.NewList(page), nil
}

type rollbackBoardInput struct {
	api.Idempotent
	api.Condition

	BoardID string `path:"boardId"`
	Version int64  `json:"version" set:"required" min:"1" max:"9999999999" doc:"the version whose content becomes live again"`
}

func (s service) rollbackBoard(ctx context.Context, caller api.Caller, in rollbackBoardInput) (Publication, error) {
	return s.store.Rollback(ctx, caller.CompanyID, in.BoardID, in.Version, func(b Board) error { return in.Condition.RequireMatch(b) })
}

// Snapshot returns the given version of a board, or the live one if `version` is nil. Returns
// fault.NotFound when the board does not exist, was never published, lacks that version, or was
// imported without its snapshot.
func (s Store) Snapshot(ctx context.Context, companyID, boardID string, version *int64) (Snapshot, error) {
	b, err := s.readPublishedBoard(ctx, companyID, boardID)
	if err != nil {
		return Snapshot{}, err
	}
	shown := Snapshot{BoardID: boardID, Version: *b.PublishedVersion, PublishedAt: b.PublishedAt, Live: true}
	if version != nil && *version != *b.PublishedVersion {
		v, err := s.readVersion(ctx, b, *version)
		if err != nil {
			return Snapshot{}, err
		}
		shown = Snapshot{BoardID: boardID, Version: v.Version, PublishedAt: &v.PublishedAt}
		shown.Items, err = s.readVersionContent(ctx, b, v)
		return shown, err
	}
	if b.SnapshotID == nil {
		return Snapshot{}, errUnknownSnapshot
	}
	shown.Items, err = s.readLiveSnapshot(ctx, b)
	return shown, err
}

// Versions returns a page of the versions of a board, newest first. It does not include versions
// that were published in another table before an import. Returns fault.ErrNotFound when the board
// does not exist.
func (s Store) Versions(ctx context.Context, companyID, boardID, after string, limit int) (table.Page[BoardVersion], error) {
	var b storedBoard
	var stored []storedVersion
	err := parallel.Both(
		func() (err error) { b, err = s.readBoard(ctx, companyID, boardID); return err },
		func() (err error) { stored, err = s.readVersions(ctx, companyID, boardID); return err },
	)
	newestFirst := func(v storedVersion) string { return fmt.Sprintf("%010d", versionMax-v.Version) }
	return table.MapPage(table.PageOf(b.reachedVersions(stored), newestFirst, after, limit), func(v storedVersion) BoardVersion {
		live := b.SnapshotID != nil && v.SnapshotID == *b.SnapshotID
		return BoardVersion{v.Version, v.PublishedAt, v.ItemCount, v.Restores, live}
	}), err
}

// Rollback publishes the content of an earlier version as the next version, with the guarantees of
// Publish. The items keep their edits: the next preview shows how they differ from the live
// content, and the next publish makes the edits live again. Until then, an item that was deleted
// since that version is visible again.
//
// A rollback can be repeated: if the content is already live, Changed is false, and the version and
// its time stay the same. Returns fault.NotFound in the same cases as Snapshot, the error of check
// for the board that the rollback would change, and fault.Conflict when other callers kept editing
// or publishing the board.
func (s Store) Rollback(ctx context.Context, companyID, boardID string, version int64, check func(Board) error) (Publication, error) {
	return s.publishWithRetry(ctx, func() (PublishPlan, error) {
		p, err := s.planRollback(ctx, companyID, boardID, version)
		if err != nil {
			return p, err
		}
		return p, check(p.board.Board)
	})
}

// readPublishedBoard reads a board that has a live version.
func (s Store) readPublishedBoard(ctx context.Context, companyID, boardID string) (storedBoard, error) {
	if !id.Valid(BoardIDPrefix, boardID) { // an id from a command line might otherwise form the key of a different record
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

// storedVersion is the record of a version and points to its snapshot. It is written by the
// transaction that moves the board to this version, so it always points to the snapshot that went
// live, even if crashed publishes left other snapshots under the same version.
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

// boardWithVersion returns the board as if this version were live, so that Store.readLiveSnapshot
// can read the version's snapshot.
func (v storedVersion) boardWithVersion(b storedBoard) storedBoard {
	b.SnapshotVersion, b.SnapshotID, b.SnapshotChunks = &v.Version, &v.SnapshotID, &v.SnapshotChunks
	return b
}

// writeVersion returns the write that stores a version's record. It replaces an existing record: if
// an import has set a board back to an earlier version, the board reaches the same version numbers
// again.
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

// isCommitted reports whether the record of a version points to the given snapshot. A transaction
// is retried after a lost response, but a local engine that was killed and restarted does not
// recognise the retry and rejects it. The publish may nevertheless have succeeded, in which case
// visitors see its chunks.
func (s Store) isCommitted(ctx context.Context, b storedBoard, version int64, snapshotID string) (bool, error) {
	v, err := table.Get[storedVersion](ctx, s.table, versionKey(b.CompanyID, b.ID, version))
	return err == nil && v.SnapshotID == snapshotID, ignoreNotFound(err)
}

// readVersion reads a version that the board has reached, or returns fault.NotFound with a message
// that names the oldest version.
func (s Store) readVersion(ctx context.Context, b storedBoard, version int64) (v storedVersion, err error) {
	err = fault.ErrNotFound
	if version >= 1 && version <= *b.PublishedVersion {
		v, err = table.Get[storedVersion](ctx, s.table, versionKey(b.CompanyID, b.ID, version))
	}
	if !errors.Is(err, fault.ErrNotFound) {
		return v, err
	}
	kept, err := s.readVersions(ctx, b.CompanyID, b.ID)
	if err != nil {
		return v, err
	}
	if kept = b.reachedVersions(kept); len(kept) == 0 {
		return v, fault.New(fault.NotFound, "the board has no version %d; none is kept: the board was imported without its snapshot", version)
	}
	return v, fault.New(fault.NotFound, "the board has no version %d; the oldest that is kept is version %d", version, kept[0].Version)
}

// readVersionContent reads the snapshot of a version. Returns fault.NotFound when a publish has
// removed the version in the meantime.
func (s Store) readVersionContent(ctx context.Context, b storedBoard, v storedVersion) (snapshot, error) {
	content, err := s.readLiveSnapshot(ctx, v.boardWithVersion(b))
	var gone *fault.Error
	if err == nil {
		return content, nil
	}
	if _, versionErr := s.readVersion(ctx, b, v.Version); errors.As(versionErr, &gone) && gone.Code == fault.NotFound {
		return nil, gone
	}
	return content, err
}

// readVersions reads the stored versions of a board, oldest first.
func (s Store) readVersions(ctx context.Context, companyID, boardID string) ([]storedVersion, error) {
	return table.ReadAll[storedVersion](ctx, s.table, table.Collection{
		Partition: recordKey(companyID).PK, Prefix: table.JoinKey(versionPrefix, boardID, ""), Consistent: true,
	})
}

// reachedVersions returns the versions that the board has reached. If an import has set the board
// back to an earlier version, later ones are stored, too.
func (b storedBoard) reachedVersions(stored []storedVersion) []storedVersion {
	return slices.DeleteFunc(stored, func(v storedVersion) bool { return b.PublishedVersion == nil || v.Version > *b.PublishedVersion })
}

// planRollback is like PlanPublish, but takes the content from an earlier version instead of from
// the items.
func (s Store) planRollback(ctx context.Context, companyID, boardID string, version int64) (PublishPlan, error) {
	p, err := s.readPlan(ctx, companyID, boardID)
	if err != nil {
		return p, err
	}
	if p.board.PublishedVersion == nil {
		return p, errNeverPublished
	}
	v, err := s.readVersion(ctx, p.board, version)
	if err != nil {
		return p, err
	}
	var live snapshot
	err = parallel.Both(
		func() (err error) { p.content, err = s.readVersionContent(ctx, p.board, v); return err },
		func() (err error) { live, err = s.readLiveSnapshot(ctx, p.board); return err },
	)
	if err != nil {
		return p, err
	}
	p.rollback = &rollback{version, p.board.Rev}
	p.contentDiff = p.content.diffFrom(live, p.board.PublishedVersion, p.items)
	p.digest, err = p.content.digest()
	return p, err
}
