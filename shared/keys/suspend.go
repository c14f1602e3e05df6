package keys

import (
	"context"
	"errors"
	"fmt"

	"growthworkspace/shared/fault"
	"growthworkspace/shared/idempotency"
	"growthworkspace/shared/table"
	"growthworkspace/shared/timestamp"
)

// suspension says that the company is suspended. Admission never reads it: what it must know is on each key. It is
// there so that a key which is issued later, or rotated at the same time, is suspended as well.
type suspension struct {
	SuspendedAt string `store:"suspendedAt"`
}

// suspensionKey is where a suspension is, beside the company's keys.
func suspensionKey(companyID string) table.Key {
	return table.Key{PK: table.Partition(companyID, table.KeysArea), SK: "suspension"}
}

// SuspendedAt returns since when the company is suspended; nil: it is not.
func (s *Store) SuspendedAt(ctx context.Context, companyID string) (*string, error) {
	stored, err := table.Get[suspension](ctx, s.table, suspensionKey(companyID))
	if errors.Is(err, fault.ErrNotFound) {
		return nil, nil
	}
	return text(stored.SuspendedAt), err
}

// Suspend refuses all of the company's keys with 403 until Resume, those that are issued meanwhile included; it returns
// how many there are. A second suspension changes nothing.
func (s *Store) Suspend(ctx context.Context, companyID string) (int, error) {
	// The mark comes first: a key that is added after it reads it, one that was added before it is found below.
	record := suspension{timestamp.Format(s.now())}
	err := s.table.Insert(ctx, table.Keys{Key: suspensionKey(companyID)}, record)
	if err != nil && !errors.Is(err, table.ErrExists) {
		return 0, fmt.Errorf("suspend company %s: %w", companyID, err)
	}
	return s.each(ctx, companyID, func(k *storedKey) error {
		if k.SuspendedAt == nil {
			k.SuspendedAt = text(record.SuspendedAt)
		}
		return nil
	})
}

// Resume ends a suspension; it returns how many keys the company has.
func (s *Store) Resume(ctx context.Context, companyID string) (int, error) {
	if err := s.table.Delete(ctx, []table.Key{suspensionKey(companyID)}); err != nil {
		return 0, fmt.Errorf("resume company %s: %w", companyID, err)
	}
	return s.each(ctx, companyID, func(k *storedKey) error {
		k.SuspendedAt = nil
		return nil
	})
}

func (s *Store) each(ctx context.Context, companyID string, change func(*storedKey) error) (int, error) {
	keys, err := s.all(ctx, companyID)
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

// add writes the key that prepare makes, beside other writes, as suspended as the company is in that very moment. prepare
// reads beside it; when a condition fails, because something was changed in between, both begin again.
func (s *Store) add(ctx context.Context, companyID string, prepare func() (fresh storedKey, secret string, others []table.Write, err error)) (IssuedKey, error) {
	mark := suspensionKey(companyID)
	for range attemptsMax {
		var at *string
		var fresh storedKey
		var secret string
		var others []table.Write
		err := table.Both(
			func() (err error) { at, err = s.SuspendedAt(ctx, companyID); return err },
			func() (err error) { fresh, secret, others, err = prepare(); return err },
		)
		if err != nil {
			return IssuedKey{}, err
		}
		fresh.SuspendedAt = at
		guard := s.table.CheckAbsent(mark)
		if at != nil {
			guard = s.table.CheckExists(mark)
		}
		issued := IssuedKey{fresh.Key, secret}
		err = idempotency.Transact(ctx, s.table, issued, append([]table.Write{guard, s.table.WriteNew(keysOf(fresh), fresh)}, others...)...)
		var canceled *table.CanceledError
		if !errors.As(err, &canceled) {
			return issued, err
		}
	}
	return IssuedKey{}, table.ErrContended
}
