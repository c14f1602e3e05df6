package keys

import (
	"context"
	"errors"
	"fmt"

	"growthworkspace/shared/fault"
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
	return table.Key{PK: table.Partition(companyID, area), SK: "suspension"}
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

// add writes a new key, beside other writes, as suspended as the company is in that very moment.
func (s *Store) add(ctx context.Context, key storedKey, others ...table.Write) error {
	mark := suspensionKey(key.CompanyID)
	for range attemptsMax {
		at, err := s.SuspendedAt(ctx, key.CompanyID)
		if err != nil {
			return err
		}
		key.SuspendedAt = at
		guard := s.table.CheckAbsent(mark)
		if at != nil {
			guard = s.table.CheckExists(mark)
		}
		err = s.table.Transact(ctx, append([]table.Write{guard, s.table.WriteNew(keysOf(key), key)}, others...)...)
		var canceled *table.CanceledError
		if errors.As(err, &canceled) {
			if _, moved := canceled.Failed(0); moved {
				continue // the company was suspended or resumed in between
			}
		}
		return err
	}
	return table.ErrContended
}
