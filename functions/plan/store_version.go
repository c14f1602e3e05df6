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
	if !id.Valid(id.Board, boardID) {
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
