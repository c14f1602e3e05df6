package plan

import (
	"context"
	"fmt"
	"time"

	"growthworkspace/shared/table"
)

// Retention limits. The live version of a board and the versionsKept versions before it can be read
// and restored.
const (
	versionsKept      = 50
	prunedVersionsMax = 20 // the maximum number of versions that one publish removes
	pruneTimeout      = 2 * time.Second
)

// prune removes the versions of a board that are more than versionsKept versions older than `live`,
// the version just published. It removes the oldest first. It deletes a version's record before its
// chunks, so no reader finds a version whose chunks are gone. If prune is interrupted, the next
// call removes what was left, including orphaned chunks.
func (s Store) prune(ctx context.Context, b storedBoard, live int64) error {
	last := live - versionsKept - 1
	if last < 1 {
		return nil
	}
	ctx, stop := context.WithTimeout(ctx, pruneTimeout)
	defer stop()
	partition := recordKey(b.CompanyID).PK
	old, err := table.List[storedVersion](ctx, s.table, table.Query{
		Partitions: []string{partition}, Prefix: table.JoinKey(versionPrefix, b.ID, ""),
		Until: versionKey(b.CompanyID, b.ID, last).SK, Limit: prunedVersionsMax,
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
	if err := s.table.BatchDelete(ctx, keys); err != nil {
		return fmt.Errorf("remove old versions: %w", err)
	}
	const afterAll = "~" // sorts after every id
	return s.deleteAll(ctx, table.Collection{
		Partition: partition, Prefix: table.JoinKey(chunkKind, b.ID, ""),
		Until: table.JoinKey(chunkKind, b.ID, fmt.Sprintf("%010d", last), afterAll),
	})
}

// deleteChunks deletes the chunks of a snapshot that will never go live.
func (s Store) deleteChunks(ctx context.Context, b storedBoard, version int64, snapshotID string) error {
	return s.deleteAll(ctx, table.Collection{
		Partition: recordKey(b.CompanyID).PK, Prefix: chunkPrefix(b.ID, version, snapshotID), Consistent: true,
	})
}

func (s Store) deleteAll(ctx context.Context, records table.Collection) error {
	found, err := table.ReadAll[sortKey](ctx, s.table, records)
	if err != nil {
		return fmt.Errorf("drop chunks: %w", err)
	}
	keys := make([]table.Key, len(found))
	for n, r := range found {
		keys[n] = table.Key{PK: records.Partition, SK: r.SK}
	}
	if err := s.table.BatchDelete(ctx, keys); err != nil {
		return fmt.Errorf("drop chunks: %w", err)
	}
	return nil
}
