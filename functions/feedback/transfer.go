package feedback

import (
	"growthworkspace/shared/table"
	"growthworkspace/shared/transfer"
)

// feedbackIDs is the prefix of ids.
const feedbackIDs = "fbk"

// Transfers returns the record types that can be imported and exported. Only the size of a record needs a check here: all
// parts of its keys are values of closed lists, numbers, timestamps and the id, which are already valid.
func Transfers(t *table.Client) []transfer.Type {
	return []transfer.Type{
		transfer.Define("feedback", feedbackIDs, transfer.CheckSize,
			transfer.Put(t, keysOf, func(f *Feedback) *string { return &f.CompanyID }),
			transfer.Each[Feedback](t, func(companyID string) table.Collection {
				return table.Collection{Partition: table.Partition(companyID, area), Prefix: table.Join(kind, "")}
			})),
	}
}
