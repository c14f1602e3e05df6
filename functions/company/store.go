package company

import (
	"context"

	"growthworkspace/shared/table"
)

// Store keeps the profiles of companies:
//
//	access        key
//	get, modify   <company>#company / profile
type Store struct{ table *table.Client }

// NewStore returns a store over the table.
func NewStore(t *table.Client) Store { return Store{t} }

func profileKey(companyID string) table.Key {
	return table.Key{PK: table.Partition(companyID, "company"), SK: "profile"}
}

func keysOf(c Company) table.Keys { return table.Keys{Key: profileKey(c.ID)} }

// Get returns the company. fault.ErrNotFound when there is none.
func (s Store) Get(ctx context.Context, companyID string) (Company, error) {
	return table.Get[Company](ctx, s.table, profileKey(companyID))
}

// Modify changes the company by compare-and-set (table.Modify).
func (s Store) Modify(ctx context.Context, companyID string, change func(*Company) error) (Company, error) {
	return table.Modify(ctx, s.table, profileKey(companyID), keysOf, change)
}

// Create writes a new company. table.ErrExists when its id is taken.
func (s Store) Create(ctx context.Context, c Company) error {
	return s.table.Insert(ctx, keysOf(c), c)
}
