package brand

import (
	"context"
	"errors"

	"growthworkspace/shared/fault"
	"growthworkspace/shared/table"
)

// Store stores the brand kit of each company in the partition <company>#context. The area's other
// record kinds are in the same partition. Each is a bounded collection: a list reads all of its
// records and sorts them in memory.
//
//	access                                    key
//	brand kit: get, modify                    … / brandkit
//	a kind: get, insert, modify, remove, page … / <SortPrefix>#<id>
type Store struct{ table *table.Client }

// NewStore returns a store over the table.
func NewStore(t *table.Client) Store { return Store{t} }

const (
	area            = "context"
	brandKitSortKey = "brandkit"
)

func brandKitKey(companyID string) table.Key {
	return table.Key{PK: table.Partition(companyID, area), SK: brandKitSortKey}
}

func keysOfBrandKit(k BrandKit) table.Keys { return table.Keys{Key: brandKitKey(k.CompanyID)} }

// Get returns the company's brand kit. Returns fault.ErrNotFound when it has none.
func (s Store) Get(ctx context.Context, companyID string) (BrandKit, error) {
	return table.Get[BrandKit](ctx, s.table, brandKitKey(companyID))
}

// brandKitAttemptsMax is the maximum number of attempts in Modify. Nothing deletes a kit, so a
// caller that loses the race to create it finds the winner's kit on the second attempt.
const brandKitAttemptsMax = 3

// Modify changes the company's brand kit by compare-and-set, and creates it when there is none. If
// two callers both find none, one creates the kit and the other then changes it, so both changes
// are kept. Before Modify creates a kit, it calls beforeCreate. If beforeCreate returns an error,
// Modify returns that error and creates nothing.
func (s Store) Modify(ctx context.Context, companyID string, change func(*BrandKit) error, beforeCreate func() error) (BrandKit, error) {
	for range brandKitAttemptsMax {
		kit, err := table.Modify(ctx, s.table, brandKitKey(companyID), keysOfBrandKit, change)
		if !errors.Is(err, fault.ErrNotFound) {
			return kit, err
		}
		if err := beforeCreate(); err != nil {
			return BrandKit{}, err
		}
		now := s.table.Now()
		kit = BrandKit{ID: s.table.NewID(brandKitIDPrefix), CompanyID: companyID, CreatedAt: &now, UpdatedAt: &now}
		if err := change(&kit); err != nil {
			return BrandKit{}, err
		}
		if err := s.table.Insert(ctx, keysOfBrandKit(kit), kit); !errors.Is(err, table.ErrExists) {
			return kit, err
		}
	}
	return BrandKit{}, table.ErrTooMuchContention
}
