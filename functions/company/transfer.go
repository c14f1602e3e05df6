package company

import (
	"growthworkspace/shared/table"
	"growthworkspace/shared/transfer"
)

// Transfers returns the record type `company`, the profile. An import replaces the profile of the
// company that it runs for. It ignores the id in the file.
func Transfers(t *table.Client) []transfer.Type {
	profiles := transfer.Stored[Company]{Table: t, KeysOf: func(companyID string, c *Company) table.Keys {
		c.ID = companyID
		return keysOf(*c)
	}, Each: transfer.ExportOne(NewStore(t).Get)}
	return []transfer.Type{transfer.Define("company", "", profiles, transfer.RulesOf[Company, updateCompanyInput]())}
}
