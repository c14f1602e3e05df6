package plan

import (
	"context"
	"errors"
	"reflect"

	"growthworkspace/shared/fault"
	"growthworkspace/shared/idempotency"
	"growthworkspace/shared/parallel"
	"growthworkspace/shared/record"
	"growthworkspace/shared/table"
)

// Store keeps boards, items and snapshots in the partition <company>#plan:
//
//	access                             key
//	board; list of boards              board#<boardId>; the prefix board#, bounded. The record counts the items created on the board
//	board whose removal is unfinished  removed#board#<boardId>
//	item                               item#<itemId>
//	items of a board, in order         GSI1 <company>#plan#board#<boardId> / sortOrder#createdAt#itemId
//	... with a status                  GSI2 <company>#plan#board#<boardId>#<status> / the same sort key
//	items of a board, consistent       the prefix item#, filtered; consistent because a publish must include the latest edits
//	slug; taken slugs of a board       slug#<boardId>#<slug>; its prefix
//	live versions of all boards        heads, one attribute per board. It is one record for all boards because it is read together with an item, before the item's board is known
//	snapshot                           snapshot#<boardId>#<version>#<snapshotId>#<n>
//	versions of a board                version#<boardId>#<version>, which points to the version's snapshot
type Store struct {
	Boards boardStore
	Items  itemStore

	table *table.Client
}

// NewStore returns a store over the table.
func NewStore(t *table.Client) Store {
	boards := boards.Store(t)
	return Store{boardStore{boards, t}, itemStore{boards, t}, t}
}

const (
	area             = "plan"
	boardPart        = "board"
	itemPart         = "item"
	slugKind         = "slug"
	liveVersionsKind = "heads"
	chunkKind        = "snapshot"
	versionPrefix    = "version"
	noStatus         = "none" // the index partition of items without a status, which only an import can create
	boardIDProperty  = "roadmapId"
)

func recordKey(companyID string, parts ...string) table.Key {
	return table.Key{PK: table.Partition(companyID, area), SK: table.JoinKey(parts...)}
}

// collectionOf returns the records of a kind, ordered by id.
func collectionOf(companyID, kind string) table.Collection {
	return table.Collection{Partition: recordKey(companyID).PK, Prefix: table.JoinKey(kind, "")}
}

func boardKey(companyID, boardID string) table.Key { return boards.Key(companyID, boardID) }

func itemKey(companyID, itemID string) table.Key { return recordKey(companyID, itemPart, itemID) }

func liveVersionsKey(companyID string) table.Key { return recordKey(companyID, liveVersionsKind) }

func slugKey(companyID, boardID, slug string) table.Key {
	return recordKey(companyID, slugKind, boardID, slug)
}

func boardPartition(companyID, boardID string, moreParts ...string) string {
	return table.Partition(companyID, area, append([]string{boardPart, boardID}, moreParts...)...)
}

// storedBoard is a board as stored, with the location of its live snapshot.
type storedBoard struct {
	Board

	Rev             int64   `store:"rev"`
	SnapshotVersion *int64  `store:"snapshotVersion"`
	SnapshotID      *string `store:"snapshotId"`
	SnapshotChunks  *int64  `store:"snapshotChunks"`
	SnapshotDigest  *string `store:"snapshotDigest"`
	Lease           *string `store:"claim"` // the id of the snapshot that the publish in progress is about to commit
	LeaseAt         *string `store:"claimAt"`
}

func keysOfBoard(b storedBoard) table.Keys { return boards.Keys(b.Board) }

// storedItem is an item as stored. Its PublishedVersion is null, because it is computed from the
// item's live state and the board's live version.
type storedItem struct {
	Item
	liveState

	Rev     int64  `store:"rev"`
	WriteID string `store:"writeId"`
}

func (i storedItem) withVersion(current *int64) Item {
	i.PublishedVersion = i.publishedVersion(current)
	return i.Item
}

func itemOrder(i Item) string {
	return table.JoinKey(table.NumberKey(i.SortOrder), table.TimeKey(i.CreatedAt), i.ID)
}

func keysOfItem(i storedItem) table.Keys {
	status, order := noStatus, itemOrder(i.Item)
	if i.Status != nil {
		status = string(*i.Status)
	}
	return table.Keys{
		Key:  itemKey(i.CompanyID, i.ID),
		GSI1: table.Key{PK: boardPartition(i.CompanyID, i.RoadmapID), SK: order},
		GSI2: table.Key{PK: boardPartition(i.CompanyID, i.RoadmapID, status), SK: order},
	}
}

func (s Store) readBoard(ctx context.Context, companyID, boardID string) (storedBoard, error) {
	return table.Get[storedBoard](ctx, s.table, boardKey(companyID, boardID))
}

// boardStore stores boards. Modify writes only the fields that change, so it neither takes the
// lease away from a publish in progress nor moves the board back to an earlier version. If a
// publish is in progress, it commits with a later updatedAt.
type boardStore struct {
	record.Store[Board]

	table *table.Client
}

// Insert stores a new board like record.Store.Insert, with a new public key.
func (s boardStore) Insert(ctx context.Context, companyID string, b Board) (Board, error) {
	b.PublicKey = new(s.table.NewPublicKey())
	b.AllowedOrigins = append([]string{}, b.AllowedOrigins...) // never null
	return s.Store.Insert(ctx, companyID, b)
}

// Remove deletes a board that has no items and shows none, unless `check` returns an error. A
// publish or rollback in progress then finds that the board does not exist. Returns
// fault.ErrNotFound when the board does not exist, and fault.Conflict when it has items or shows
// any. An interrupted removal can be completed by calling Remove again.
func (s boardStore) Remove(ctx context.Context, companyID, boardID string, check func(Board) error) error {
	return table.RemoveParent(ctx, s.table, boardKey(companyID, boardID), table.ParentRemoval[storedBoard]{
		Check: func(b storedBoard) error {
			if err := check(b.Board); err != nil {
				return err
			}
			return b.checkNoLiveItems()
		},
		CheckNoChildren: func(ctx context.Context) error {
			return table.ForEach(ctx, s.table, itemsOfBoard(companyID, boardID), func(sortKey) error { return errHasItems })
		},
		ExtraWrites:    []table.Write{s.writeLiveVersionRemoval(companyID, boardID)},
		RemoveChildren: func(ctx context.Context) error { return s.removeContents(ctx, companyID, boardID) },
	})
}

var (
	errHasItems       = fault.New(fault.Conflict, "the board has items; delete them first")
	errShowsLiveItems = fault.New(fault.Conflict, "visitors see items of the board; publish it empty first")
)

// removeContents deletes what is left of a deleted board: its snapshots, its version records, and
// slug records that an import left without their items. It finds most snapshots through their
// version records, because listing the chunks would read megabytes.
func (s boardStore) removeContents(ctx context.Context, companyID, boardID string) error {
	recordsOfKind := func(kind string) table.Collection {
		return table.Collection{Partition: recordKey(companyID).PK, Prefix: table.JoinKey(kind, boardID, ""), Consistent: true}
	}
	versions, err := table.ReadAll[storedVersion](ctx, s.table, recordsOfKind(versionPrefix))
	if err != nil {
		return err
	}
	var chunks []table.Key
	for _, v := range versions {
		for n := range int(v.SnapshotChunks) {
			chunks = append(chunks, chunkKey(companyID, boardID, v.Version, v.SnapshotID, n))
		}
	}
	if err := s.table.BatchDelete(ctx, chunks); err != nil {
		return err
	}
	rest := []string{chunkKind, versionPrefix, slugKind}
	return parallel.Do(len(rest), len(rest), func(n int) error { return Store{table: s.table}.deleteAll(ctx, recordsOfKind(rest[n])) })
}

// sortKey is the only part of a record that is needed to count or delete it.
type sortKey struct {
	SK string `store:"sk"`
}

// itemsOfBoard returns the items of a board with strong consistency, ordered by id.
func itemsOfBoard(companyID, boardID string) table.Collection {
	items := collectionOf(companyID, itemPart)
	items.Consistent, items.Filter = true, table.Filter{boardIDProperty: table.Is(boardID)}
	return items
}

type itemStore struct {
	boards record.Store[Board]
	table  *table.Client
}

// List returns a page of a board's items. Returns fault.ErrNotFound when the board does not exist.
//
// The page comes from an index, which lags a write by milliseconds, and the board is read in
// parallel. While a publish goes live, a page may therefore show a removed item as if it were live
// in the new version, or an added item as if it were not live yet. Get never does.
func (s itemStore) List(ctx context.Context, companyID, boardID string, status *Status, after string, limit int) (table.Page[Item], error) {
	q := table.Query{Index: table.GSI1, Partitions: []string{boardPartition(companyID, boardID)}, After: after, Limit: limit}
	if status != nil {
		q.Index, q.Partitions = table.GSI2, []string{boardPartition(companyID, boardID, string(*status))}
	}
	var stored table.Page[storedItem]
	var b Board
	err := parallel.Both(
		func() (err error) { stored, err = table.List[storedItem](ctx, s.table, q); return err },
		func() (err error) { b, err = s.boards.Get(ctx, companyID, boardID); return err },
	)
	page := table.Page[Item]{Next: stored.Next, PositionAfter: stored.PositionAfter}
	for _, i := range stored.Records {
		page.Records = append(page.Records, i.withVersion(b.PublishedVersion))
	}
	return page, err
}

// Get returns an item, or fault.ErrNotFound.
func (s itemStore) Get(ctx context.Context, companyID, itemID string) (Item, error) {
	var stored storedItem
	found, live, err := s.readItemAndLiveVersions(ctx, companyID, itemID)
	if err == nil {
		err = table.Decode(found, &stored)
	}
	if err != nil {
		return Item{}, err
	}
	return live.withLiveVersion(stored)
}

// Modify changes an item by compare-and-set (see table.Modify). It passes the item to `change` as
// the API returns it.
func (s itemStore) Modify(ctx context.Context, companyID, itemID string, change func(*Item) error) (Item, error) {
	found, live, err := s.readItemAndLiveVersions(ctx, companyID, itemID)
	if err != nil {
		return Item{}, err
	}
	stored, err := table.ModifyItem(ctx, s.table, itemKey(companyID, itemID), found, keysOfItem, func(i *storedItem) error {
		item, err := live.withLiveVersion(*i)
		if err != nil {
			return err
		}
		err = change(&item)
		item.PublishedVersion = nil // not stored, because it is computed from the live state
		i.Item = item
		return err
	})
	if err != nil {
		return Item{}, err
	}
	current, err := live.ofBoard(stored.RoadmapID)
	if err != nil {
		return Item{}, err
	}
	if stored.isTooNewFor(current) {
		return s.Get(ctx, companyID, itemID)
	}
	return stored.withVersion(current), nil
}

// Insert creates an item, increments the item count in its board's record, and reserves its slug.
// Returns fault.ErrNotFound when the board does not exist, and fault.Conflict when the slug is
// taken on that board.
func (s itemStore) Insert(ctx context.Context, companyID string, i Item) (Item, error) {
	err := idempotency.Transact(ctx, s.table, i,
		s.table.WriteChild(boardKey(companyID, i.RoadmapID)),
		s.table.WriteCreate(table.Keys{Key: slugKey(companyID, i.RoadmapID, i.Slug)}, slugReservation{i.ID}),
		s.table.WriteCreate(keysOfItem(storedItem{Item: i}), storedItem{Item: i}),
	)
	var canceled *table.CanceledError
	if errors.As(err, &canceled) {
		if _, noBoard := canceled.Failed(0); noBoard {
			return Item{}, fault.ErrNotFound
		}
		if taken, _ := canceled.Failed(1); reflect.DeepEqual(taken["itemId"], table.String(i.ID)) {
			return i, nil // this create already succeeded, but its response was lost
		}
		return Item{}, errSlugTaken
	}
	return i, err
}

var errSlugTaken = fault.New(fault.Conflict, "body.slug: is taken on this board")

// writeAttemptsMax is the maximum number of attempts to write while concurrent writes make it fail.
const writeAttemptsMax = 100

// Remove deletes an item and frees its slug, unless `check` returns an error. It passes the item to
// `check` as the API returns it. Returns fault.ErrNotFound when the item does not exist.
func (s itemStore) Remove(ctx context.Context, companyID, itemID string, check func(Item) error) error {
	foreignSlug := false // whether the slug record points to a different item and so must stay
	for range writeAttemptsMax {
		var i storedItem
		found, live, err := s.readItemAndLiveVersions(ctx, companyID, itemID)
		if err == nil {
			err = table.Decode(found, &i)
		}
		if err != nil {
			return err
		}
		item, err := live.withLiveVersion(i)
		if err != nil {
			return err
		}
		if err := check(item); err != nil {
			return err
		}
		writes := []table.Write{s.table.WriteDelete(itemKey(companyID, itemID), "rev = :rev AND writeId = :write", nil,
			table.Item{":rev": table.Number(i.Rev), ":write": table.String(i.WriteID)})}
		if !foreignSlug {
			writes = append(writes, s.table.WriteDelete(slugKey(companyID, i.RoadmapID, i.Slug), "attribute_not_exists(pk) OR itemId = :id", nil,
				table.Item{":id": table.String(itemID)}))
		}
		err = s.table.Transact(ctx, writes...)
		var canceled *table.CanceledError
		if !errors.As(err, &canceled) {
			return err
		}
		if stored, failed := canceled.Failed(0); failed && len(stored) == 0 {
			return fault.ErrNotFound
		}
		if !foreignSlug {
			_, foreignSlug = canceled.Failed(1)
		}
	}
	return table.ErrTooMuchContention
}
