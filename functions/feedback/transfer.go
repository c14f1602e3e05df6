package feedback

import (
	"growthworkspace/shared/table"
	"growthworkspace/shared/transfer"
)

// feedbackIDs is the prefix of ids.
const feedbackIDs = "fbk"

// Transfers returns the types of records that can be imported and exported. What becomes part of a key is a value of a
// closed list, a number, a timestamp or the id, so only the size of a record is checked here.
func Transfers(t *table.Client) []transfer.Type {
	return []transfer.Type{
		transfer.Define("feedback", feedbackIDs, transfer.CheckSize,
			transfer.Put(t, keysOf, func(f *Feedback) *string { return &f.CompanyID }),
			transfer.Each[Feedback](t, func(companyID string) table.Collection {
				return table.Collection{Partition: table.Partition(companyID, area), Prefix: table.Join(kind, "")}
			})),
	}
}
