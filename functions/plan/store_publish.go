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

// Publish makes the board's published items visible, all at once. If the process crashes, visitors
// see the old content or the new content, never a mixture (see
// scripts/docs/explanation/publish.md). It has five steps, and each has a method below:
//
//  1. readPlan: read the board and its items. `check` may reject the digest of their content.
//  2. acquireLease: lock the board for this publish, and write the snapshot under the next version,
//     where nobody reads it yet. If another publish has a fresh lease, wait and start again.
//  3. rereadPlan: read the board and its items again. If the content is the same, the board had
//     that content at one moment between the two reads.
//  4. prepareItems: write the future live state of the items that appear or disappear. Readers
//     ignore that state until step 5.
//  5. commit: move the board to the new version in one transaction. From then on everyone sees the
//     whole new version.
//
// After a conflict with other callers in steps 2 to 5, Publish starts again at step 1. Returns
// fault.ErrNotFound when the board does not exist, and fault.Conflict when other callers kept
// editing or publishing it.
func (s Store) Publish(ctx context.Context, companyID, boardID string, check func(digest string) error) (Publication, error) {
	return s.publishWithRetry(ctx, func() (PublishPlan, error) {
		p, err := s.PlanPublish(ctx, companyID, boardID)
		if err != nil {
			return p, err
		}
		return p, check(p.digest)
	})
}

// publishAttemptsMax is the maximum number of times a publish is attempted while other callers edit
// or publish the board.
const publishAttemptsMax = 40

var (
	// errConflict means that another caller has edited, published or removed the board since it was
	// read.
	errConflict = errors.New("conflict")

	errLeaseHeld = fault.RetryableConflict("the board is being edited or published by others; try again")
)

// publishWithRetry publishes the content that the function `plan` returns. That function does step
// 1 of Publish, or its equivalent for a rollback.
func (s Store) publishWithRetry(ctx context.Context, plan func() (PublishPlan, error)) (Publication, error) {
	// The leases that an attempt may replace: `own` is the lease of the previous attempt, and
	// `stale` is the lease of a crashed publish.
	own, stale := "", ""
	var p PublishPlan
	for range publishAttemptsMax {
		var err error
		p, err = plan()
		if err != nil || !p.hasChanges() {
			if p.board.leasedBy(own) {
				s.releaseLease(ctx, p.board, own)
			}
			if err != nil {
				return Publication{}, err
			}
			return p.publication(*p.board.PublishedVersion, *p.board.PublishedAt, false), nil
		}
		// Another publish holds the lease and may still commit.
		if s.leaseIsFresh(p.board) && !p.board.leasedBy(own) && !p.board.leasedBy(stale) {
			if stale, err = s.waitForLease(ctx, p.board); err != nil {
				return Publication{}, err
			}
			continue
		}
		own = s.table.NewID("snp")
		done, err := s.publishLeased(ctx, p, own)
		if errors.Is(err, errConflict) {
			continue
		}
		if err != nil {
			s.releaseLease(ctx, p.board, own)
		}
		return done, err
	}
	s.releaseLease(ctx, p.board, own)
	return Publication{}, errLeaseHeld
}

// publishAttempt is one pass through the steps of Publish. Its lease is also the id of the snapshot
// that it writes.
type publishAttempt struct {
	PublishPlan

	version int64 // the version that the attempt publishes
	lease   string
	chunks  []snapshotChunk
}

// publishLeased does steps 2 to 5 of Publish. If it returns errConflict, it has published nothing,
// but the board may still have the lease.
func (s Store) publishLeased(ctx context.Context, p PublishPlan, lease string) (Publication, error) {
	chunks, err := p.content.splitIntoChunks()
	if err != nil {
		return Publication{}, err
	}
	a := publishAttempt{p, p.nextVersion(), lease, chunks}
	a.contentDiff = a.contentDiff.withPublishedVersion(a.version)
	at, err := s.publishSteps(ctx, a)
	if errors.Is(err, errConflict) {
		if err := s.deleteChunks(ctx, a.board, a.version, lease); err != nil {
			return Publication{}, err
		}
	}
	if err != nil {
		return Publication{}, err
	}
	table.RequestOf(ctx).AddFailure(s.prune(ctx, a.board, a.version)) // a failure is only logged, because the publish has succeeded
	return a.publication(a.version, at, true), nil
}

// publishSteps does steps 2 to 5 of Publish and returns the time of the publish.
func (s Store) publishSteps(ctx context.Context, a publishAttempt) (at string, err error) {
	if err := s.acquireLease(ctx, a); err != nil {
		return "", err
	}
	a, err = s.rereadPlan(ctx, a)
	if err != nil {
		return "", err
	}
	if err := s.prepareItems(ctx, a); err != nil {
		return "", err
	}
	at = s.table.NowAfter(a.board.UpdatedAt)
	return at, s.commit(ctx, a, at)
}

// PublishPlan describes what publishing a board would do.
type PublishPlan struct {
	board   storedBoard
	content snapshot
	digest  string
	items   []storedItem
	contentDiff

	rollback *rollback // nil for a publish
}

// rollback is the part of a PublishPlan that only a rollback has.
type rollback struct {
	version  int64 // the version that it restores
	boardRev int64 // the revision of the board that the caller's precondition was checked against
}

// restores returns the version that a rollback restores, or nil for a publish.
func (p PublishPlan) restores() *int64 {
	if p.rollback == nil {
		return nil
	}
	return &p.rollback.version
}

// hasChanges reports whether the content differs from what is live.
func (p PublishPlan) hasChanges() bool {
	b := p.board
	return b.PublishedVersion == nil || b.PublishedAt == nil || b.SnapshotDigest == nil || *b.SnapshotDigest != p.digest
}

func (p PublishPlan) nextVersion() int64 {
	if p.board.PublishedVersion == nil {
		return 1
	}
	return *p.board.PublishedVersion + 1
}

func (p PublishPlan) publication(version int64, at string, changed bool) Publication {
	updated := make([]PublishedItem, len(p.updated))
	for n, i := range p.updated {
		updated[n] = i.PublishedItem
	}
	return Publication{
		BoardID: p.board.ID, PublishedVersion: version, PublishedAt: at, Changed: changed, ItemCount: int64(len(p.content)),
		Added: p.added, Updated: updated, Removed: p.removed, UnchangedCount: int64(p.unchangedCount), digest: p.digest,
	}
}

// PlanPublish returns a description of what publishing a board would do. Its reads are strongly
// consistent. Returns fault.ErrNotFound when the board does not exist.
func (s Store) PlanPublish(ctx context.Context, companyID, boardID string) (PublishPlan, error) {
	p, err := s.readPlan(ctx, companyID, boardID)
	if err != nil {
		return p, err
	}
	live, err := s.readLiveSnapshot(ctx, p.board)
	if err != nil {
		return p, err
	}
	p.contentDiff = p.content.diffFrom(live, p.board.PublishedVersion, p.items)
	return p, nil
}

// readPlan is step 1 of Publish: it reads a board and all of its items, and computes the content
// that a publish would make live.
func (s Store) readPlan(ctx context.Context, companyID, boardID string) (p PublishPlan, err error) {
	err = parallel.Both(
		func() (err error) { p.board, err = s.readBoard(ctx, companyID, boardID); return err },
		func() (err error) {
			p.items, err = table.ReadAll[storedItem](ctx, s.table, itemsOfBoard(companyID, boardID))
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

// Conditions on a board's record. Its attribute `claim` holds the board's lease. :claim is the
// lease of this publish, and :old is the lease that it replaces.
const (
	ifBoardExists    = "attribute_exists(pk)"
	ifNeverPublished = "attribute_not_exists(publishedVersion)"
	ifSameVersion    = "publishedVersion = :version"
	ifNoLease        = "attribute_not_exists(claim)"
	ifSameLease      = "claim = :old"
	ifOwnLease       = "claim = :claim"
	ifSameRevision   = "rev = :rev"
	ifEditedBefore   = "(attribute_not_exists(updatedAt) OR updatedAt < :at)"
)

// chunksPerTransaction is the maximum number of chunks that are written in one transaction, whose
// size DynamoDB limits to 4 MB.
const chunksPerTransaction = 10

// acquireLease is step 2 of Publish. It leases the board and writes the chunks of the snapshot. The
// chunks are written in the same transaction, or in further ones that check the lease, so that none
// is written for a board that was removed. The new lease replaces the one that was read with the
// board. The publish that held the old lease can then no longer commit, and its chunks are deleted.
// Returns errConflict when another caller has leased, published or removed the board since it was
// read.
func (s Store) acquireLease(ctx context.Context, a publishAttempt) error {
	b := a.board
	values := table.Item{":claim": table.String(a.lease), ":at": table.String(s.table.Now())}
	versionCondition, leaseCondition := ifNeverPublished, ifNoLease
	if b.PublishedVersion != nil {
		versionCondition, values[":version"] = ifSameVersion, table.Number(*b.PublishedVersion)
	}
	if b.Lease != nil {
		leaseCondition, values[":old"] = ifSameLease, table.String(*b.Lease)
	}
	// If the response to this write is lost, the retry finds that the board already has the new
	// lease.
	condition := ifBoardExists + " AND " + versionCondition + " AND (" + ifOwnLease + " OR " + leaseCondition + ")"
	leaseWrite := s.table.WriteUpdate(boardKey(b.CompanyID, b.ID), "SET claim = :claim, claimAt = :at", condition, nil, values)
	for n := 0; n < len(a.chunks); n += chunksPerTransaction {
		writes := []table.Write{leaseWrite}
		for m := n; m < min(n+chunksPerTransaction, len(a.chunks)); m++ {
			writes = append(writes, s.table.WritePut(table.Keys{Key: chunkKey(b.CompanyID, b.ID, a.version, a.lease, m)}, a.chunks[m]))
		}
		if err := conflictOf(s.table.Transact(ctx, writes...)); err != nil {
			return err
		}
		leaseWrite = s.writeLeaseCheck(a)
	}
	if b.Lease != nil {
		return s.deleteChunks(ctx, b, a.version, *b.Lease)
	}
	return nil
}

// writeLeaseCheck returns a condition check that the board still has the attempt's lease.
func (s Store) writeLeaseCheck(a publishAttempt) table.Write {
	return s.table.WriteCheck(boardKey(a.board.CompanyID, a.board.ID), ifOwnLease, nil, table.Item{":claim": table.String(a.lease)})
}

// rereadPlan is step 3 of Publish. It returns the attempt with the current board and items. Returns
// errConflict when the content to publish has changed. The content of a rollback does not depend on
// the items, but the board must be the one that its caller has checked.
func (s Store) rereadPlan(ctx context.Context, a publishAttempt) (publishAttempt, error) {
	current, err := s.readPlan(ctx, a.board.CompanyID, a.board.ID)
	if err != nil {
		return a, err
	}
	if a.rollback == nil && current.digest != a.digest || a.rollback != nil && current.board.Rev != a.rollback.boardRev {
		return a, errConflict
	}
	a.board, a.items = current.board, current.items
	return a, nil
}

// prepareItems is step 4 of Publish. It writes the live state of the items that this version adds
// or removes, in transactions that check the lease. It skips items that have been deleted. Returns
// errConflict when the board no longer has the lease.
func (s Store) prepareItems(ctx context.Context, a publishAttempt) error {
	live := make(map[string]bool, len(a.content))
	for _, i := range a.content {
		live[i.ID] = true
	}
	var writes []table.Write
	for _, i := range a.items {
		if prepared, changed := i.prepareVersion(a.board.PublishedVersion, a.version, live[i.ID]); changed {
			writes = append(writes, s.writeLiveState(itemKey(i.CompanyID, i.ID), prepared))
		}
	}
	for len(writes) > 0 {
		batch := writes[:min(len(writes), table.TransactionMax-1)]
		err := s.table.Transact(ctx, append([]table.Write{s.writeLeaseCheck(a)}, batch...)...)
		var canceled *table.CanceledError
		switch {
		case err == nil:
			writes = writes[len(batch):]
		case !errors.As(err, &canceled):
			return fmt.Errorf("prepare items: %w", err)
		default:
			if _, lost := canceled.Failed(0); lost {
				return errConflict
			}
			var remaining []table.Write
			for n, w := range writes {
				if _, deleted := canceled.Failed(n + 1); !deleted {
					remaining = append(remaining, w)
				}
			}
			writes = remaining
		}
	}
	return nil
}

func (s Store) writeLiveState(item table.Key, l liveState) table.Write {
	values := table.Item{}
	for name, value := range table.Encode(l) {
		values[":"+name] = value
	}
	update := "SET live = :live, preparedVersion = :preparedVersion, preparedLive = :preparedLive"
	if l.LastVersion != nil {
		update += ", lastVersion = :lastVersion"
	}
	return s.table.WriteUpdate(item, update, "attribute_exists(pk)", nil, values)
}

// commitExpression is the update that a commit makes to the board.
const commitExpression = "SET publishedVersion = :version, publishedAt = :at, updatedAt = :at, " +
	"snapshotVersion = :version, snapshotId = :claim, snapshotChunks = :chunks, snapshotDigest = :digest " +
	"REMOVE claim, claimAt ADD rev :one"

// commit is step 5 of Publish. It points the board to the new snapshot. Returns errConflict when
// the board no longer has the lease, or was edited at or after the time of this commit, or at all
// since the caller of a rollback checked it.
func (s Store) commit(ctx context.Context, a publishAttempt, at string) error {
	b, chunkCount := a.board, int64(len(a.chunks))
	condition, values := ifOwnLease+" AND "+ifEditedBefore, table.Item{
		":version": table.Number(a.version), ":at": table.String(at), ":claim": table.String(a.lease),
		":chunks": table.Number(chunkCount), ":digest": table.String(a.digest), ":one": table.Number(1),
	}
	if a.rollback != nil {
		condition, values[":rev"] = condition+" AND "+ifSameRevision, table.Number(a.rollback.boardRev)
	}
	err := conflictOf(idempotency.Transact(ctx, s.table, a.publication(a.version, at, true),
		s.table.WriteUpdate(boardKey(b.CompanyID, b.ID), commitExpression, condition, nil, values),
		s.writeLiveVersion(b.CompanyID, b.ID, a.version, at),
		s.writeVersion(b.CompanyID, b.ID, storedVersion{
			Version: a.version, PublishedAt: at, ItemCount: int64(len(a.content)), Restores: a.restores(),
			SnapshotID: a.lease, SnapshotChunks: chunkCount,
		}),
	))
	if errors.Is(err, errConflict) {
		if done, readErr := s.isCommitted(ctx, b, a.version, a.lease); done || readErr != nil {
			return readErr
		}
	}
	return err
}

// conflictOf returns errConflict if a condition of a transaction was not met, and any other error
// unchanged.
func conflictOf(err error) error {
	var canceled *table.CanceledError
	if errors.As(err, &canceled) {
		return errConflict
	}
	return err
}

// A publish waits while another publish has a lease on the board. Afterwards it either finds that
// its content is live or leases the board itself, so all concurrent publishes finish. A lease that
// is older than leaseDuration belongs to a process that crashed or hangs, and is replaced.
const (
	leaseDuration     = 2 * time.Second
	leasePollInterval = 25 * time.Millisecond // the pause between two reads of the lease
)

func (b storedBoard) leasedBy(lease string) bool { return b.Lease != nil && *b.Lease == lease }

// leaseIsFresh reports whether a board has a lease that is younger than leaseDuration, by this
// process's clock.
func (s Store) leaseIsFresh(b storedBoard) bool {
	if b.Lease == nil || b.LeaseAt == nil {
		return false
	}
	at, err := time.Parse(time.RFC3339, *b.LeaseAt)
	return err == nil && s.table.Clock()().Sub(at) < leaseDuration
}

// waitForLease waits until a board no longer has the lease that was read with it, and then returns
// "". After leaseDuration it stops waiting and returns that lease, which counts as stale even if it
// looks fresh because clocks differ. Returns errLeaseHeld when the request runs out of time.
func (s Store) waitForLease(ctx context.Context, b storedBoard) (stale string, err error) {
	for range int(leaseDuration / leasePollInterval) {
		if table.SleepJittered(ctx, leasePollInterval) != nil {
			return "", errLeaseHeld
		}
		current, err := s.readBoard(ctx, b.CompanyID, b.ID)
		if err != nil || !current.leasedBy(*b.Lease) {
			return "", err
		}
	}
	return *b.Lease, nil
}

// releaseLease removes the lease of a publish that will not commit, so that no other publish waits
// for it. If a different lease has replaced this one, it does nothing. A failure is only logged: it
// delays other publishes by at most leaseDuration.
func (s Store) releaseLease(ctx context.Context, b storedBoard, lease string) {
	err := conflictOf(s.table.Transact(ctx, s.table.WriteUpdate(boardKey(b.CompanyID, b.ID), "REMOVE claim, claimAt", ifOwnLease, nil,
		table.Item{":claim": table.String(lease)})))
	if err != nil && !errors.Is(err, errConflict) {
		table.RequestOf(ctx).AddFailure(fmt.Errorf("release the board: %w", err))
	}
}
