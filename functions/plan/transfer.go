package plan

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"

	"growthworkspace/shared/api"
	"growthworkspace/shared/fault"
	"growthworkspace/shared/id"
	"growthworkspace/shared/table"
	"growthworkspace/shared/transfer"
)

const itemIDPrefix = "itm"

// Transfers returns the record types `board` and `item`.
func Transfers(t *table.Client) []transfer.Type {
	s := NewStore(t)
	return []transfer.Type{
		transfer.Define(boards.Name, boards.Prefix, boardKind{s}, transfer.RulesOf[transferBoard, api.CreateBody[Board]]()),
		transfer.Define("item", itemIDPrefix, itemKind{s}, transfer.RulesOf[Item, createItemInput]()),
	}
}

// boardKind imports and exports boards. itemKind imports and exports items, whose boards must
// exist.
type (
	boardKind struct{ Store }
	itemKind  struct{ Store }
)

// Entry implements transfer.Kind.
func (boardKind) Entry(b transferBoard) transfer.Entry { return transfer.Entry{Name: importName(b.ID)} }

// Exist implements transfer.Kind.
func (k boardKind) Exist(ctx context.Context, companyID string, boards []transferBoard) ([]bool, error) {
	return transfer.ExistByKey(ctx, k.table, boards, func(b transferBoard) table.Key { return boardKey(companyID, b.ID) })
}

// Entry implements transfer.Kind.
func (itemKind) Entry(i Item) transfer.Entry {
	return transfer.Entry{Group: importName(i.RoadmapID), Unique: []transfer.UniqueText{
		{Text: "slug " + i.Slug + " on board " + i.RoadmapID}, {Text: "item " + i.ID},
	}}
}

// Exist implements transfer.Kind.
func (k itemKind) Exist(ctx context.Context, companyID string, items []Item) ([]bool, error) {
	return transfer.ExistByKey(ctx, k.table, items, func(i Item) table.Key { return itemKey(companyID, i.ID) })
}

// importName returns the name that identifies a board in an import file.
func importName(boardID string) string { return "board " + boardID }

// missingBoardProblem returns the problem to report for an item whose board does not exist.
func missingBoardProblem(i Item) string { return "there is no board " + i.RoadmapID }

// Check implements transfer.Kind.
func (itemKind) Check(i *Item) (problems []string) {
	if !id.Valid(BoardIDPrefix, i.RoadmapID) {
		problems = append(problems, "record.roadmapId: must be the id of a board")
	}
	return problems
}

// transferBoard is a board in an export or import file, with its live snapshot. Without the
// snapshot, a restored board would show nothing, and its next preview would list every item as
// added.
type transferBoard struct {
	Board

	Snapshot json.RawMessage `json:"snapshot"` // an array of SnapshotItem; null if the board was never published or its snapshot is unknown
}

// Check implements transfer.Kind.
func (boardKind) Check(b *transferBoard) (problems []string) {
	if v := b.PublishedVersion; v != nil && (*v < 1 || *v > versionMax) {
		problems = append(problems, fmt.Sprintf("record.publishedVersion: must be a whole number from 1 to %d", versionMax))
	}
	if b.Snapshot == nil {
		return problems
	}
	if b.PublishedVersion == nil || b.PublishedAt == nil {
		problems = append(problems, "record.snapshot: needs publishedVersion and publishedAt")
	}
	if _, err := decodeSnapshot(b.Snapshot); err != nil {
		problems = append(problems, "record.snapshot: must be an array of the live items: "+err.Error())
	}
	return problems
}

func decodeSnapshot(text []byte) (snapshot, error) {
	content := snapshot{}
	d := json.NewDecoder(bytes.NewReader(text))
	d.DisallowUnknownFields()
	if err := d.Decode(&content); err != nil {
		return nil, err
	}
	return content, nil
}

// Import implements transfer.Kind. If the removal of a board with the same id is unfinished, it first
// completes the removal, which would otherwise delete the imported snapshot.
func (k boardKind) Import(ctx context.Context, companyID string, boards []transferBoard, m transfer.Mode) (skipped int, err error) {
	if m.OnlyNew {
		return k.addBoards(ctx, companyID, boards)
	}
	return 0, k.importBoards(ctx, companyID, boards)
}

// importBoards stores boards and replaces existing ones. A board that is imported without a
// snapshot keeps the stored snapshot if that snapshot has the same version.
func (s Store) importBoards(ctx context.Context, companyID string, boards []transferBoard) error {
	for _, b := range boards {
		b.CompanyID = companyID
		stored, err := s.readBoard(ctx, companyID, b.ID)
		if errors.Is(err, fault.ErrNotFound) {
			err = s.completeRemoval(ctx, b)
		}
		if err != nil {
			return err
		}
		keepSnapshot := stored.SnapshotVersion != nil && b.PublishedVersion != nil && *stored.SnapshotVersion == *b.PublishedVersion
		if !keepSnapshot {
			stored = storedBoard{}
		}
		stored.Board, stored.Lease, stored.LeaseAt = b.Board, nil, nil
		writes, err := s.versionWrites(ctx, &stored, b)
		if err != nil {
			return err
		}
		if err := s.table.BatchPut(ctx, []table.Item{s.table.NewItem(keysOfBoard(stored), stored)}); err != nil {
			return err
		}
		if len(writes) == 0 {
			continue
		}
		if err := s.table.Transact(ctx, writes...); err != nil {
			return err
		}
	}
	return nil
}

var errCreatedMeanwhile = errors.New("another import created the board meanwhile; import again")

// completeRemoval completes an interrupted removal of a board. It returns errCreatedMeanwhile if
// the board is stored.
func (s Store) completeRemoval(ctx context.Context, b transferBoard) error {
	return ignoreNotFound(s.Boards.Remove(ctx, b.CompanyID, b.ID, func(Board) error { return errCreatedMeanwhile }))
}

// addBoards stores boards that are not stored yet, each in one transaction with its live version.
// It returns how many boards it skipped because another caller had created them.
func (s Store) addBoards(ctx context.Context, companyID string, boards []transferBoard) (skipped int, err error) {
	for _, b := range transfer.KeepLast(boards, func(b transferBoard) string { return b.ID }) {
		b.CompanyID = companyID
		err := s.completeRemoval(ctx, b)
		if errors.Is(err, errCreatedMeanwhile) {
			skipped++
			continue
		}
		if err != nil {
			return skipped, err
		}
		stored := storedBoard{Board: b.Board}
		writes, err := s.versionWrites(ctx, &stored, b)
		if err != nil {
			return skipped, err
		}
		err = s.table.Transact(ctx, append(writes, s.table.WriteCreate(keysOfBoard(stored), stored))...)
		var canceled *table.CanceledError
		if errors.As(err, &canceled) {
			skipped++
		} else if err != nil {
			return skipped, err
		}
	}
	return skipped, nil
}

// versionWrites returns the writes for the version and the live version of an imported board. It
// stores the board's snapshot.
func (s Store) versionWrites(ctx context.Context, stored *storedBoard, b transferBoard) (writes []table.Write, err error) {
	if b.Snapshot != nil {
		version, err := s.importSnapshot(ctx, stored, b.Snapshot)
		if err != nil {
			return nil, fmt.Errorf("board %s: %w", b.ID, err)
		}
		writes = append(writes, s.writeVersion(b.CompanyID, b.ID, version))
	}
	if b.PublishedVersion != nil {
		at := ""
		if b.PublishedAt != nil {
			at = *b.PublishedAt
		}
		writes = append(writes, s.writeLiveVersion(b.CompanyID, b.ID, *b.PublishedVersion, at))
	}
	return writes, nil
}

// importSnapshot stores a snapshot under the board's version, makes b refer to the snapshot, and
// returns the version's record.
func (s Store) importSnapshot(ctx context.Context, b *storedBoard, text []byte) (storedVersion, error) {
	content, err := decodeSnapshot(text)
	if err != nil {
		return storedVersion{}, err
	}
	digest, err := content.digest()
	if err != nil {
		return storedVersion{}, err
	}
	snapshotID := s.table.NewID("snp")
	chunks, err := content.splitIntoChunks()
	if err != nil {
		return storedVersion{}, err
	}
	count, records := int64(len(chunks)), make([]table.Item, len(chunks))
	for n, c := range chunks {
		records[n] = s.table.NewItem(table.Keys{Key: chunkKey(b.CompanyID, b.ID, *b.PublishedVersion, snapshotID, n)}, c)
	}
	b.SnapshotVersion, b.SnapshotID, b.SnapshotChunks, b.SnapshotDigest = b.PublishedVersion, &snapshotID, &count, &digest
	return storedVersion{
		Version: *b.PublishedVersion, PublishedAt: *b.PublishedAt, ItemCount: int64(len(content)),
		SnapshotID: snapshotID, SnapshotChunks: count,
	}, s.table.BatchPut(ctx, records)
}

func eachRecord[T any](ctx context.Context, t *table.Client, companyID, kind string, visit func(T) error) error {
	return transfer.ExportEach[T](t, func(companyID string) table.Collection { return collectionOf(companyID, kind) })(ctx, companyID, visit)
}

// Export implements transfer.Kind.
func (k boardKind) Export(ctx context.Context, companyID string, visit func(transferBoard) error) error {
	return eachRecord(ctx, k.table, companyID, boardPart, func(b storedBoard) error {
		exported := transferBoard{Board: b.Board}
		if b.SnapshotID != nil {
			content, err := k.readLiveSnapshot(ctx, b)
			if err != nil {
				return ignoreNotFound(err) // the board was removed after it was listed, so it is not exported
			}
			if exported.Snapshot, err = json.Marshal(content); err != nil {
				return fmt.Errorf("encode a snapshot: %w", err)
			}
		}
		return visit(exported)
	})
}

// Verify implements transfer.Kind. An item's board must exist. An item must not have a slug that
// belongs to another item, and its import must not change the slug or board of a stored item. The
// API enforces the same rules.
func (k itemKind) Verify(ctx context.Context, companyID string, items []Item) ([]transfer.Problem, error) {
	problems, err := transfer.Orphans(ctx, k.table, items, func(i Item) (board table.Key, name, problem string) {
		return boardKey(companyID, i.RoadmapID), importName(i.RoadmapID), "record.roadmapId: " + missingBoardProblem(i)
	})
	if err != nil {
		return nil, err
	}
	keys := map[table.Key]bool{}
	for _, i := range items {
		keys[slugKey(companyID, i.RoadmapID, i.Slug)], keys[itemKey(companyID, i.ID)] = true, true
	}
	found, err := table.BatchGetItems(ctx, k.table, slices.Collect(maps.Keys(keys)))
	stored := map[table.Key]table.Item{}
	for _, item := range found {
		stored[table.KeyOf(item)] = item
	}
	for n, i := range items {
		problem, err1 := i.movedItemProblem(stored[itemKey(companyID, i.ID)])
		if problem == "" && err1 == nil {
			problem, err1 = i.takenSlugProblem(stored[slugKey(companyID, i.RoadmapID, i.Slug)])
		}
		if problem != "" {
			problems = append(problems, transfer.Problem{Index: n, Text: problem})
		}
		err = errors.Join(err, err1)
	}
	return problems, err
}

// movedItemProblem returns a message if the item is already stored with a different slug or on a
// different board. The argument is nil if the item is not stored.
func (i Item) movedItemProblem(stored table.Item) (problem string, err error) {
	var before Item
	if err := decodeIfPresent(stored, &before); err != nil || before.ID == "" || before.Slug == i.Slug && before.RoadmapID == i.RoadmapID {
		return "", err
	}
	return fmt.Sprintf("record.slug: %s already has the slug %s on board %s; neither can change", i.ID, before.Slug, before.RoadmapID), nil
}

// takenSlugProblem returns a message if the item's slug belongs to another item. The argument is
// the slug's record, or nil if the slug is free.
func (i Item) takenSlugProblem(stored table.Item) (problem string, err error) {
	var owner slugReservation
	if err := decodeIfPresent(stored, &owner); err != nil || owner.ItemID == "" || owner.ItemID == i.ID {
		return "", err
	}
	return fmt.Sprintf("record.slug: %s is taken on this board by %s", i.Slug, owner.ItemID), nil
}

// decodeIfPresent decodes a stored item into a record. It does nothing if the item is nil.
func decodeIfPresent(stored table.Item, record any) error {
	if stored == nil {
		return nil
	}
	return table.Decode(stored, record)
}

func ignoreNotFound(err error) error {
	if errors.Is(err, fault.ErrNotFound) {
		return nil
	}
	return err
}

// itemUnit returns the writes for an imported item, and the item's key. The writes are conditional:
// the slug must be free or already belong to this item, and if the item is stored, it must have the
// same slug and board. If mustBeNew is true, the item must not be stored yet. publishedVersion is
// stored as the last live version, so the imported item has the same publishedVersion as the
// exported one. The next publish of the board writes the live state of its live items.
func (s Store) itemUnit(companyID string, i Item, mustBeNew bool) (table.Key, table.Unit) {
	stored := storedItem{Item: i, liveState: liveState{LastVersion: i.PublishedVersion}}
	stored.CompanyID, stored.PublishedVersion = companyID, nil
	keys := keysOfItem(stored)
	write := s.table.WriteCreate(keys, stored)
	if !mustBeNew {
		write = s.table.WritePutIf(keys, stored, "attribute_not_exists(pk) OR (#slug = :slug AND #board = :board)",
			map[string]string{"#slug": slugKind, "#board": boardIDProperty},
			table.Item{":slug": table.String(i.Slug), ":board": table.String(i.RoadmapID)})
	}
	slugWrite := s.table.WritePutIf(table.Keys{Key: slugKey(companyID, i.RoadmapID, i.Slug)}, slugReservation{i.ID},
		"attribute_not_exists(pk) OR itemId = :id", nil, table.Item{":id": table.String(i.ID)})
	return keys.Key, table.Unit{Writes: []table.Write{write, slugWrite}, Parent: new(boardKey(companyID, i.RoadmapID))}
}

// Import implements transfer.Kind. It refuses items whose slug another item has taken since the file
// was checked, and items whose board has been deleted.
func (k itemKind) Import(ctx context.Context, companyID string, items []Item, m transfer.Mode) (skipped int, err error) {
	return transfer.PutUnits(ctx, k.table, items,
		func(i Item) (table.Key, table.Unit) { return k.itemUnit(companyID, i, m.OnlyNew) },
		func(i Item, f table.Failure) (problem string, err error) {
			switch {
			case f.Orphan:
				return "record.roadmapId: " + missingBoardProblem(i), nil
			case f.WriteIndex == 0 && m.OnlyNew:
				return "", nil
			case f.WriteIndex == 0:
				return i.movedItemProblem(f.Stored)
			}
			return i.takenSlugProblem(f.Stored)
		})
}

// Export implements transfer.Kind.
func (k itemKind) Export(ctx context.Context, companyID string, visit func(Item) error) error {
	live, err := table.GetItem(ctx, k.table, liveVersionsKey(companyID)) // read before the items, as liveVersions.withLiveVersion requires
	if err != nil {
		return err
	}
	return eachRecord(ctx, k.table, companyID, itemPart, func(i storedItem) error {
		item, err := liveVersions(live).withLiveVersion(i)
		if err != nil {
			return err
		}
		return visit(item)
	})
}
