package company

import (
	"context"
	"errors"

	"growthworkspace/shared/fault"
	"growthworkspace/shared/table"
	"growthworkspace/shared/transfer"
)

// Transfers returns the record type `company`: the profile. An import changes the profile of the company that it goes
// to; the id in the file is not used.
func Transfers(t *table.Client) []transfer.Type {
	s := NewStore(t)
	return []transfer.Type{transfer.Define("company", "", nil,
		func(ctx context.Context, companyID string, records []Company) error {
			c := records[len(records)-1] // a company has one profile: the last one of the file stays
			c.ID = companyID
			return t.Put(ctx, []table.Item{t.NewItem(keysOf(c), c)})
		},
		func(ctx context.Context, companyID string, visit func(Company) error) error {
			c, err := s.Get(ctx, companyID)
			if errors.Is(err, fault.ErrNotFound) {
				return nil
			}
			if err != nil {
				return err
			}
			return visit(c)
		},
	)}
}
