package plan

import (
	"context"
	"errors"
	"fmt"
	"time"

	"growthworkspace/shared/fault"
	"growthworkspace/shared/idempotency"
	"growthworkspace/shared/parallel"
	"growthworkspace/shared/table"
)

// Planned is what publishing a board would do.
type Planned struct {
	board   storedBoard
	content snapshot
	digest  string
	items   []storedItem
	difference

	restores *int64 // the version that a rollback restores; nil for a publish
}

func (p Planned) changes() bool {
	b := p.board
	return b.PublishedVersion == nil || b.PublishedAt == nil || b.SnapshotDigest == nil || *b.SnapshotDigest != p.digest
}

func (p Planned) next() int64 {
	if p.board.PublishedVersion == nil {
		return 1
	}
	return *p.board.PublishedVersion + 1
}

// Plan returns what publishing a board would do. Its reads are strongly consistent. Returns fault.ErrNotFound when the board does
// not exist.
func (s Store) Plan(ctx context.Context, companyID, boardID string) (Planned, error) {
	p, err := s.collect(ctx, companyID, boardID)
	if err != nil {
		return p, err
	}
	live, err := s.live(ctx, p.board)
	if err != nil {
		return p, err
	}
	p.difference = p.content.compare(live, p.board.PublishedVersion, p.items)
	return p, nil
}

// collect reads a board and all of its items, and computes the content that a publish would make live.
func (s Store) collect(ctx context.Context, companyID, boardID string) (p Planned, err error) {
	err = parallel.Both(
		func() (err error) { p.board, err = s.board(ctx, companyID, boardID); return err },
		func() (err error) {
			p.items, err = table.Whole[storedItem](ctx, s.table, itemsOf(companyID, boardID))
			return err
		},
	)
	if err != nil {
		return p, err
	}
	p.content = takeSnapshot(p.items)
	p.digest, err = p.content.digest()
	return p, err
}

// publishAttemptsMax is how often a publish is tried while others edit or publish the board.
const publishAttemptsMax = 40

// A publish waits while another one has claimed the board, so that of many at once each finishes: the others then find their content
// live, or claim the board in turn. A claim that is as old as claimLease is of a process that died or hangs, and is replaced.
const (
	claimLease = 2 * time.Second
	claimPause = 25 * time.Millisecond // between two looks at the claim
)

// errOvertaken means that others edited or published the board meanwhile.
var errOvertaken = errors.New("overtaken")

// Publish makes the board's published items visible, all at once. If the process dies, visitors see the old state or the new one
// (scripts/docs/explanation/publish.md):
//
//  1. Collect the items; check may reject their digest.
//  2. Claim the board, or wait while another publish has claimed it. Write the snapshot with the claim, under the next version, where
//     nobody reads it yet.
//  3. Collect again. If nothing changed, both collections are the state of one moment between them.
//  4. Prepare the marks of the items that appear or disappear, which readers still ignore (see marks).
//  5. Move the board's pointer and version in one transaction. From here on everyone sees all of it.
//
// Returns fault.ErrNotFound when the board does not exist, and fault.Conflict when others kept editing or publishing it.
func (s Store) Publish(ctx context.Context, companyID, boardID string, check func(digest string) error) (Publication, error) {
	return s.settle(ctx, func() (Planned, error) {
		p, err := s.Plan(ctx, companyID, boardID)
		if err != nil {
			return p, err
		}
		return p, check(p.digest)
	})
}

// settle publishes the result of plan. When others edited or published the board meanwhile, it calls plan again.
func (s Store) settle(ctx context.Context, plan func() (Planned, error)) (Publication, error) {
	mine, dead := "", "" // claims that may be replaced: of the last attempt, and of a publish that did not finish in time
	for range publishAttemptsMax {
		p, err := plan()
		if err != nil || !p.changes() {
			if c := p.board.Claim; c != nil && *c == mine {
				table.RequestOf(ctx).Note(s.release(ctx, p.board, mine))
			}
			if err != nil {
				return Publication{}, err
			}
			return p.result(*p.board.PublishedVersion, *p.board.PublishedAt, false), nil
		}
		if c := p.board.Claim; c != nil && *c != mine && *c != dead && s.fresh(p.board) {
			ended, err := s.await(ctx, p.board)
			if err != nil {
				return Publication{}, err
			}
			if !ended {
				dead = *c
			}
			continue
		}
		mine = s.table.NewID("snp")
		done, err := s.publish(ctx, p, mine)
		if err != nil && !errors.Is(err, errOvertaken) {
			table.RequestOf(ctx).Note(s.release(ctx, p.board, mine))
		}
		if !errors.Is(err, errOvertaken) {
			return done, err
		}
	}
	return Publication{}, errBusy
}

var errBusy = fault.Busy("the board is being edited or published by others; try again")

// fresh reports whether the claim of a board is younger than claimLease, by this process's clock.
func (s Store) fresh(b storedBoard) bool {
	if b.ClaimAt == nil {
		return false
	}
	at, err := time.Parse(time.RFC3339, *b.ClaimAt)
	return err == nil && s.table.Clock()().Sub(at) < claimLease
}

// await waits until a board no longer has the claim that was read. ended is false when it still has after claimLease: clocks may
// differ, so fresh alone would wait for ever. Returns errBusy when the request's time is over.
func (s Store) await(ctx context.Context, b storedBoard) (ended bool, err error) {
	for range int(claimLease / claimPause) {
		if table.Pause(ctx, claimPause) != nil {
			return false, errBusy
		}
		now, err := s.board(ctx, b.CompanyID, b.ID)
		if err != nil || now.Claim == nil || *now.Claim != *b.Claim {
			return true, err
		}
	}
	return false, nil
}

// release removes a claim that will not be committed, so that nobody waits for it. A claim that others have replaced stays.
func (s Store) release(ctx context.Context, b storedBoard, claim string) error {
	err := overtaken(s.table.Transact(ctx, s.table.WriteUpdate(boardKey(b.CompanyID, b.ID), "REMOVE claim, claimAt", "claim = :claim", nil,
		table.Item{":claim": table.String(claim)})))
	if err != nil && !errors.Is(err, errOvertaken) {
		return fmt.Errorf("release the board: %w", err)
	}
	return nil
}

func (p Planned) result(version int64, at string, changed bool) Publication {
	updated := make([]PublishedItem, len(p.updated))
	for n, i := range p.updated {
		updated[n] = i.PublishedItem
	}
	return Publication{
		BoardID: p.board.ID, PublishedVersion: version, PublishedAt: at, Changed: changed, ItemCount: int64(len(p.content)),
		Added: p.added, Updated: updated, Removed: p.removed, UnchangedCount: int64(p.unchanged), digest: p.digest,
	}
}

// publish does steps 2 to 5 of Publish, with snapshotID as the claim. If it returns errOvertaken, nothing was published.
func (s Store) publish(ctx context.Context, p Planned, snapshotID string) (Publication, error) {
	version := p.next()
	chunks, err := p.content.chunks()
	if err != nil {
		return Publication{}, err
	}
	at, err := s.commit(ctx, p, version, snapshotID, chunks)
	if errors.Is(err, errOvertaken) {
		if err := s.dropChunks(ctx, p.board, version, snapshotID); err != nil {
			return Publication{}, err
		}
	}
	if err != nil {
		return Publication{}, err
	}
	table.RequestOf(ctx).Note(s.prune(ctx, p.board, version)) // the publish has succeeded, whatever this does
	p.difference = p.difference.committed(version)
	return p.result(version, at, true), nil
}

// Retention: the live version of a board and the versionsKept before it can be read and restored.
const (
	versionsKept = 50
	pruneMax     = 20 // versions that one publish removes at most
	pruneTime    = 2 * time.Second
)

// prune removes the versions of a board that are too old once live is published, oldest first. A version's record goes before its
// chunks, so nobody finds a version whose chunks are gone. What a prune that died has left, the next one removes, also chunks
// without a record.
func (s Store) prune(ctx context.Context, b storedBoard, live int64) error {
	last := live - versionsKept - 1
	if last < 1 {
		return nil
	}
	ctx, stop := context.WithTimeout(ctx, pruneTime)
	defer stop()
	partition := key(b.CompanyID).PK
	old, err := table.List[storedVersion](ctx, s.table, table.Query{
		Partitions: []string{partition}, Prefix: table.Join(versionOf, b.ID, ""), Until: versionKey(b.CompanyID, b.ID, last).SK, Limit: pruneMax,
	})
	if err != nil {
		return fmt.Errorf("remove old versions: %w", err)
	}
	if old.Next != "" {
		last = old.Records[len(old.Records)-1].Version
	}
	keys := make([]table.Key, len(old.Records))
	for n, v := range old.Records {
		keys[n] = versionKey(b.CompanyID, b.ID, v.Version)
	}
	if err := s.table.Delete(ctx, keys); err != nil {
		return fmt.Errorf("remove old versions: %w", err)
	}
	const afterAll = "~" // sorts after every id
	return s.drop(ctx, table.Collection{
		Partition: partition, Prefix: table.Join(chunkKind, b.ID, ""), Until: table.Join(chunkKind, b.ID, fmt.Sprintf("%010d", last), afterAll),
	})
}

// commit does steps 2 to 5 of Publish and returns the time of the publish. If it returns errOvertaken, nothing was published.
func (s Store) commit(ctx context.Context, p Planned, version int64, snapshotID string, chunks []chunk) (at string, err error) {
	if err := s.claim(ctx, p.board, version, snapshotID, chunks); err != nil {
		return "", err
	}
	if p.board.Claim != nil { // that publish died or lost its claim: it can never commit
		if err := s.dropChunks(ctx, p.board, version, *p.board.Claim); err != nil {
			return "", err
		}
	}
	again, err := s.collect(ctx, p.board.CompanyID, p.board.ID)
	if err != nil {
		return "", err
	}
	if p.restores != nil { // the content of a rollback does not depend on the items
		again.content, again.digest = p.content, p.digest
	}
	if again.digest != p.digest {
		return "", errOvertaken
	}
	if err := s.prepareMarks(ctx, again, version, snapshotID); err != nil {
		return "", err
	}
	at = s.table.NowAfter(again.board.UpdatedAt)
	return at, s.move(ctx, p, version, snapshotID, len(chunks), at)
}

// chunksAtOnce is how many chunks are written in one transaction, which DynamoDB bounds at 4 MB.
const chunksAtOnce = 10

// claim makes this snapshot the only one that can be committed next, and writes its chunks in the same transaction, or in more that
// check the claim. So no chunk is written for a board that was removed. It replaces the claim that was read, whose publish then
// fails. Returns errOvertaken when others claimed, published or removed the board meanwhile.
func (s Store) claim(ctx context.Context, b storedBoard, next int64, snapshotID string, chunks []chunk) error {
	values := table.Item{":claim": table.String(snapshotID), ":at": table.String(s.table.Now())}
	version, claim := "attribute_not_exists(publishedVersion)", "attribute_not_exists(claim)"
	if b.PublishedVersion != nil {
		version, values[":version"] = "publishedVersion = :version", table.Number(*b.PublishedVersion)
	}
	if b.Claim != nil {
		claim, values[":old"] = "claim = :old", table.String(*b.Claim)
	}
	claim = "(claim = :claim OR " + claim + ")" // or this very claim, in a retry after a lost response
	owner := s.table.WriteUpdate(boardKey(b.CompanyID, b.ID),
		"SET claim = :claim, claimAt = :at", "attribute_exists(pk) AND "+version+" AND "+claim, nil, values)
	for n := 0; n < len(chunks); n += chunksAtOnce {
		writes := []table.Write{owner}
		for m := n; m < min(n+chunksAtOnce, len(chunks)); m++ {
			writes = append(writes, s.table.WriteAny(table.Keys{Key: chunkKey(b.CompanyID, b.ID, next, snapshotID, m)}, chunks[m]))
		}
		if err := overtaken(s.table.Transact(ctx, writes...)); err != nil {
			return err
		}
		owner = s.ownsClaim(b, snapshotID)
	}
	return nil
}

// ownsClaim returns the check that the board still has this claim.
func (s Store) ownsClaim(b storedBoard, snapshotID string) table.Write {
	return s.table.WriteCheck(boardKey(b.CompanyID, b.ID), "claim = :claim", nil, table.Item{":claim": table.String(snapshotID)})
}

// prepareMarks writes the marks that this version changes, in transactions that check the claim. It skips items that were
// deleted meanwhile. Returns errOvertaken when the claim is no longer valid.
func (s Store) prepareMarks(ctx context.Context, p Planned, version int64, snapshotID string) error {
	live := make(map[string]bool, len(p.content))
	for _, i := range p.content {
		live[i.ID] = true
	}
	var writes []table.Write
	for _, i := range p.items {
		if prepared, changed := i.prepare(p.board.PublishedVersion, version, live[i.ID]); changed {
			writes = append(writes, s.writeMarks(itemKey(i.CompanyID, i.ID), prepared))
		}
	}
	ownsClaim := s.ownsClaim(p.board, snapshotID)
	for len(writes) > 0 {
		n := min(len(writes), table.TransactionMax-1)
		err := s.table.Transact(ctx, append([]table.Write{ownsClaim}, writes[:n]...)...)
		var canceled *table.CanceledError
		if errors.As(err, &canceled) {
			if _, lost := canceled.Failed(0); lost {
				return errOvertaken
			}
			kept := writes[:0:0]
			for m, w := range writes {
				if _, deleted := canceled.Failed(m + 1); m >= n || !deleted {
					kept = append(kept, w)
				}
			}
			writes = kept
			continue
		}
		if err != nil {
			return fmt.Errorf("prepare marks: %w", err)
		}
		writes = writes[n:]
	}
	return nil
}

func (s Store) writeMarks(at table.Key, m marks) table.Write {
	values := table.Item{}
	for name, value := range table.Encode(m) {
		values[":"+name] = value
	}
	update := "SET live = :live, preparedVersion = :preparedVersion, preparedLive = :preparedLive"
	if m.LastVersion != nil {
		update += ", lastVersion = :lastVersion"
	}
	return s.table.WriteUpdate(at, update, "attribute_exists(pk)", nil, values)
}

// move points the board to the snapshot. Returns errOvertaken when the claim is no longer valid, or the board was edited at a
// later time than at.
func (s Store) move(ctx context.Context, p Planned, version int64, snapshotID string, chunks int, at string) error {
	b := p.board
	p.difference = p.difference.committed(version)
	err := overtaken(idempotency.Transact(ctx, s.table, p.result(version, at, true),
		s.table.WriteUpdate(boardKey(b.CompanyID, b.ID),
			"SET publishedVersion = :version, publishedAt = :at, updatedAt = :at, snapshotVersion = :version, snapshotId = :claim, snapshotChunks = :chunks, snapshotDigest = :digest REMOVE claim, claimAt ADD rev :one",
			"claim = :claim AND (attribute_not_exists(updatedAt) OR updatedAt < :at)", nil, table.Item{
				":version": table.Number(version), ":at": table.String(at), ":claim": table.String(snapshotID),
				":chunks": table.Number(int64(chunks)), ":digest": table.String(p.digest), ":one": table.Number(1),
			}),
		s.writeHead(b.CompanyID, b.ID, version, at),
		s.writeVersion(b.CompanyID, b.ID, storedVersion{
			Version: version, PublishedAt: at, ItemCount: int64(len(p.content)), Restores: p.restores,
			SnapshotID: snapshotID, SnapshotChunks: int64(chunks),
		}),
	))
	if errors.Is(err, errOvertaken) {
		if done, failed := s.committed(ctx, b, version, snapshotID); done || failed != nil {
			return failed
		}
	}
	return err
}

// dropChunks deletes the chunks of a snapshot that can never be committed.
func (s Store) dropChunks(ctx context.Context, b storedBoard, version int64, snapshotID string) error {
	return s.drop(ctx, table.Collection{Partition: key(b.CompanyID).PK, Prefix: chunkPrefix(b.ID, version, snapshotID), Consistent: true})
}

// drop deletes chunks.
func (s Store) drop(ctx context.Context, chunks table.Collection) error {
	found, err := table.Whole[sortKey](ctx, s.table, chunks)
	if err != nil {
		return fmt.Errorf("drop chunks: %w", err)
	}
	keys := make([]table.Key, len(found))
	for n, r := range found {
		keys[n] = table.Key{PK: chunks.Partition, SK: r.SK}
	}
	if err := s.table.Delete(ctx, keys); err != nil {
		return fmt.Errorf("drop chunks: %w", err)
	}
	return nil
}

func overtaken(err error) error {
	var canceled *table.CanceledError
	if errors.As(err, &canceled) {
		return errOvertaken
	}
	return err
}
