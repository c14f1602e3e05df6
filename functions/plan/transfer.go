package plan

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"regexp"
	"sync"

	"growthworkspace/shared/fault"
	"growthworkspace/shared/id"
	"growthworkspace/shared/table"
	"growthworkspace/shared/transfer"
)

// Transfers returns the record types `board`, `item` and `snapshot`. The last one is the live snapshot of a board:
// without it a restored board would show nothing, and its next preview would call every item new.
func Transfers(t *table.Client) []transfer.Type {
	s := NewStore(t)
	items := transfer.Define("item", id.Item, checkItem, s.importItems, s.eachItem)
	items = transfer.Unique(items, func(i Item) string { return "slug " + i.Slug + " on board " + i.RoadmapID })
	return []transfer.Type{
		transfer.Define("board", id.Board, nil, s.importBoards, s.eachBoard),
		transfer.Verify(items, s.verifyItems),
		transfer.Define("snapshot", "", checkSnapshot, s.importSnapshots, s.eachSnapshot),
	}
}

// slugForm is the pattern "slug" of package api, which checks what a request sends.
var slugForm = regexp.MustCompile(`^[a-z0-9]+(-[a-z0-9]+)*$`)

func checkItem(i *Item) (problems []string) {
	if !id.Valid(id.Board, i.RoadmapID) {
		problems = append(problems, "record.roadmapId: must be the id of a board")
	}
	if !slugForm.MatchString(i.Slug) || len(i.Slug) > slugChars {
		problems = append(problems, fmt.Sprintf("record.slug: must match %s and have at most %d characters", slugForm, slugChars))
	}
	if i.Title == "" {
		problems = append(problems, "record.title: must not be empty")
	}
	return problems
}

// importBoards replaces boards, but keeps what a snapshot's import or a publish noted on them.
func (s Store) importBoards(ctx context.Context, companyID string, boards []Board) error {
	for _, b := range boards {
		b.CompanyID = companyID
		stored, err := s.board(ctx, companyID, b.ID)
		if err != nil && !errors.Is(err, fault.ErrNotFound) {
			return err
		}
		stored.Board = b
		if err := s.table.Put(ctx, []table.Item{s.table.NewItem(keysOfBoard(stored), stored)}); err != nil {
			return err
		}
		if b.PublishedVersion != nil {
			if err := s.table.Transact(ctx, s.writeHead(companyID, b.ID, *b.PublishedVersion)); err != nil {
				return err
			}
		}
	}
	return nil
}

func (s Store) eachBoard(ctx context.Context, companyID string, visit func(Board) error) error {
	boards, err := s.Boards(ctx, companyID)
	if err != nil {
		return err
	}
	for _, b := range boards {
		if err := visit(b); err != nil {
			return err
		}
	}
	return nil
}

// verifyItems refuses what the API would refuse too: a slug that another item has, and a change of a slug or board.
func (s Store) verifyItems(ctx context.Context, companyID string, items []Item) ([]string, error) {
	problems, errs := make([]string, len(items)), make([]error, len(items))
	slots := make(chan struct{}, 8)
	var wait sync.WaitGroup
	for n, i := range items {
		slots <- struct{}{}
		wait.Go(func() {
			defer func() { <-slots }()
			problems[n], errs[n] = s.verifyItem(ctx, companyID, i)
		})
	}
	wait.Wait()
	return problems, errors.Join(errs...)
}

func (s Store) verifyItem(ctx context.Context, companyID string, i Item) (problem string, err error) {
	var owner reservation
	var stored storedItem
	err = both(
		func() (err error) {
			owner, err = table.Get[reservation](ctx, s.table, slugKey(companyID, i.RoadmapID, i.Slug))
			return absent(err)
		},
		func() (err error) {
			stored, err = table.Get[storedItem](ctx, s.table, itemKey(companyID, i.ID))
			return absent(err)
		},
	)
	switch {
	case stored.ID != "" && (stored.Slug != i.Slug || stored.RoadmapID != i.RoadmapID):
		problem = fmt.Sprintf("record.slug: %s exists with the slug %s on board %s, and both are frozen", i.ID, stored.Slug, stored.RoadmapID)
	case owner.ItemID != "" && owner.ItemID != i.ID:
		problem = fmt.Sprintf("record.slug: %s is taken on this board by %s", i.Slug, owner.ItemID)
	}
	return problem, err
}

func absent(err error) error {
	if errors.Is(err, fault.ErrNotFound) {
		return nil
	}
	return err
}

// importItems replaces items. publishedVersion becomes the item's last live version: the same reading, and the next
// publish of its board makes the mark that tells it is live.
func (s Store) importItems(ctx context.Context, companyID string, items []Item) error {
	last := make(map[string]int, len(items))
	for n, i := range items {
		last[i.ID] = n
	}
	var writes []table.Item
	for n, i := range items {
		if last[i.ID] != n {
			continue
		}
		stored := storedItem{Item: i, marks: marks{LastVersion: i.PublishedVersion}, Rev: 1}
		stored.CompanyID, stored.PublishedVersion = companyID, nil
		writes = append(writes, s.table.NewItem(keysOfItem(stored), stored),
			s.table.NewItem(table.Keys{Key: slugKey(companyID, i.RoadmapID, i.Slug)}, reservation{i.ID}))
	}
	return s.table.Put(ctx, writes)
}

func (s Store) eachItem(ctx context.Context, companyID string, visit func(Item) error) error {
	head, err := s.heads(ctx, companyID)
	if err != nil {
		return err
	}
	return table.Each(ctx, s.table, table.Collection{Partition: key(companyID).PK, Prefix: table.Join(itemKind, "")}, func(page []storedItem) error {
		for _, i := range page {
			if err := visit(i.seen(head(i.RoadmapID))); err != nil {
				return err
			}
		}
		return nil
	})
}

// Snapshot is the live snapshot of a board as it is moved.
type Snapshot struct {
	BoardID string          `json:"boardId"`
	Version float64         `json:"version"`
	Items   json.RawMessage `json:"items"` // an array of SnapshotItem
}

func checkSnapshot(p *Snapshot) (problems []string) {
	if !id.Valid(id.Board, p.BoardID) {
		problems = append(problems, "record.boardId: must be the id of a board")
	}
	if p.Version < 1 || p.Version != float64(int64(p.Version)) {
		problems = append(problems, "record.version: must be a whole number from 1")
	}
	if _, err := p.content(); err != nil {
		problems = append(problems, "record.items: must be the items of a snapshot: "+err.Error())
	}
	return problems
}

func (p Snapshot) content() (snapshot, error) {
	content := snapshot{}
	d := json.NewDecoder(bytes.NewReader(p.Items))
	d.DisallowUnknownFields()
	if err := d.Decode(&content); err != nil {
		return nil, err
	}
	if content == nil {
		return nil, errors.New("null")
	}
	return content, nil
}

// importSnapshots makes each snapshot the live one of its board.
func (s Store) importSnapshots(ctx context.Context, companyID string, snapshots []Snapshot) error {
	for _, p := range snapshots {
		content, err := p.content()
		if err != nil {
			return err
		}
		digest, err := content.digest()
		if err != nil {
			return err
		}
		snapshotID := s.table.NewID("snp")
		chunks, err := s.chunks(companyID, p.BoardID, p.Version, snapshotID, content)
		if err != nil {
			return err
		}
		if err := s.table.Put(ctx, chunks); err != nil {
			return err
		}
		err = s.table.Transact(ctx, s.table.WriteUpdate(boardKey(companyID, p.BoardID),
			"SET snapshotVersion = :version, snapshotId = :id, snapshotChunks = :chunks, snapshotDigest = :digest", "attribute_exists(pk)", nil,
			table.Item{":version": table.Float(p.Version), ":id": table.String(snapshotID), ":chunks": table.Number(int64(len(chunks))), ":digest": table.String(digest)}))
		if err != nil {
			return fmt.Errorf("snapshot of board %s: %w", p.BoardID, err)
		}
	}
	return nil
}

func (s Store) eachSnapshot(ctx context.Context, companyID string, visit func(Snapshot) error) error {
	return table.Each(ctx, s.table, table.Collection{Partition: key(companyID).PK, Prefix: table.Join(boardKind, "")}, func(page []storedBoard) error {
		for _, b := range page {
			if b.SnapshotID == nil {
				continue
			}
			content, err := s.live(ctx, b)
			if err != nil {
				return err
			}
			text, err := json.Marshal(content)
			if err != nil {
				return fmt.Errorf("encode a snapshot: %w", err)
			}
			if err := visit(Snapshot{BoardID: b.ID, Version: *b.SnapshotVersion, Items: text}); err != nil {
				return err
			}
		}
		return nil
	})
}
