package company

import (
	"growthworkspace/shared/table"
	"growthworkspace/shared/transfer"
)

// Transfers returns the record type `company`, the profile. An import replaces the profile of the
// company that it runs for. It ignores the id in the file.
func Transfers(t *table.Client) []transfer.Type {
	profile := transfer.DefineStored("company", "", transfer.CheckSize, t, keysOf, func(c *Company) *string { return &c.ID }, transfer.ExportOne(NewStore(t).Get))
	return []transfer.Type{transfer.WithRulesOf[updateCompanyInput](profile)}
}
