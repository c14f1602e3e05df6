package keys

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"growthworkspace/shared/fault"
	"growthworkspace/shared/idempotency"
	"growthworkspace/shared/parallel"
	"growthworkspace/shared/table"
	"growthworkspace/shared/timestamp"
	"growthworkspace/shared/trail"
)

// suspension marks a company as suspended. Admission does not read it, because each key has its own
// suspendedAt. It exists so that a key issued or rotated during a suspension is suspended, too.
type suspension struct {
	SuspendedAt string `store:"suspendedAt"`
}

// suspensionKey returns the table key of a suspension, in the partition of the company's keys.
func suspensionKey(companyID string) table.Key {
	return table.Key{PK: table.Partition(companyID, table.KeysArea), SK: "suspension"}
}

// SuspendedAt returns when the company was suspended, or nil if it is not suspended.
func (s *Store) SuspendedAt(ctx context.Context, companyID string) (*string, error) {
	stored, err := table.Get[suspension](ctx, s.table, suspensionKey(companyID))
	if errors.Is(err, fault.ErrNotFound) {
		return nil, nil
	}
	return nilIfEmpty(stored.SuspendedAt), err
}

// SuspensionTimes returns, for each suspended company among companyIDs, the time at which it was
// suspended.
func (s *Store) SuspensionTimes(ctx context.Context, companyIDs []string) (map[string]string, error) {
	keys := make([]table.Key, len(companyIDs))
	for n, companyID := range companyIDs {
		keys[n] = suspensionKey(companyID)
	}
	items, err := table.BatchGetItems(ctx, s.table, keys)
	out := make(map[string]string, len(items))
	for _, item := range items {
		var stored suspension
		if err := table.Decode(item, &stored); err != nil {
			return nil, err
		}
		companyID, _, _ := strings.Cut(table.KeyOf(item).PK, "#")
		out[companyID] = stored.SuspendedAt
	}
	return out, err
}

// Suspend makes the service refuse all of the company's keys with 403 until Resume, including keys
// issued in the meantime. It returns how many keys the company has. Repeating it changes nothing.
func (s *Store) Suspend(ctx context.Context, companyID string) (int, error) {
	// The suspension is written first. insertKey reads it for every key added later; modifyAll
	// finds the keys that were added earlier.
	record := suspension{timestamp.Format(s.now())}
	running, err := trail.Begin(ctx, s.table, companyID, trail.CompanySuspend,
		s.table.WriteCreate(table.Keys{Key: suspensionKey(companyID)}, record))
	var alreadySuspended *table.CanceledError
	if errors.As(err, &alreadySuspended) { // an earlier call may have stopped before it had suspended every key
		running, err = trail.Begin(ctx, s.table, companyID, trail.CompanySuspend)
	}
	if err != nil {
		return 0, fmt.Errorf("suspend company %s: %w", companyID, err)
	}
	n, err := s.modifyAll(ctx, companyID, func(k *storedKey) error {
		if k.SuspendedAt == nil {
			k.SuspendedAt = nilIfEmpty(record.SuspendedAt)
		}
		return nil
	})
	return n, running.End(ctx, trail.Details{Keys: n}, err)
}

// Resume ends a suspension. It returns how many keys the company has.
func (s *Store) Resume(ctx context.Context, companyID string) (int, error) {
	running, err := trail.Begin(ctx, s.table, companyID, trail.CompanyResume,
		s.table.WriteDelete(suspensionKey(companyID), "", nil, nil))
	if err != nil {
		return 0, fmt.Errorf("resume company %s: %w", companyID, err)
	}
	n, err := s.modifyAll(ctx, companyID, func(k *storedKey) error {
		k.SuspendedAt = nil
		return nil
	})
	return n, running.End(ctx, trail.Details{Keys: n}, err)
}

func (s *Store) modifyAll(ctx context.Context, companyID string, change func(*storedKey) error) (int, error) {
	keys, err := s.listStored(ctx, companyID)
	if err != nil {
		return 0, err
	}
	for _, key := range keys {
		if _, err := s.modify(ctx, companyID, key.ID, change); err != nil {
			return 0, fmt.Errorf("key %s: %w", key.ID, err)
		}
	}
	return len(keys), nil
}

// insertKey writes the key that prepare returns, together with otherWrites. The key is suspended if
// the company is suspended at the time of the write. prepare runs in parallel with the check for a
// suspension. If a condition of the write fails because of a concurrent change, both run again.
func (s *Store) insertKey(ctx context.Context, companyID string, prepare func() (fresh storedKey, secret string, otherWrites []table.Write, err error)) (IssuedKey, error) {
	key := suspensionKey(companyID)
	for range attemptsMax {
		var suspendedAt *string
		var fresh storedKey
		var secret string
		var otherWrites []table.Write
		err := parallel.Both(
			func() (err error) { suspendedAt, err = s.SuspendedAt(ctx, companyID); return err },
			func() (err error) { fresh, secret, otherWrites, err = prepare(); return err },
		)
		if err != nil {
			return IssuedKey{}, err
		}
		fresh.SuspendedAt = suspendedAt
		guard := s.table.WriteCheckAbsent(key)
		if suspendedAt != nil {
			guard = s.table.WriteCheckExists(key)
		}
		issued := IssuedKey{fresh.Key, secret}
		err = idempotency.Transact(ctx, s.table, issued, append([]table.Write{guard, s.table.WriteCreate(keysOf(fresh), fresh)}, otherWrites...)...)
		var canceled *table.CanceledError
		if !errors.As(err, &canceled) {
			return issued, err
		}
	}
	return IssuedKey{}, table.ErrTooMuchContention
}
