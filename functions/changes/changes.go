// Package changes lists what happened to a company's records. Package recorder records those
// changes from the table's stream.
package changes

import (
	"growthworkspace/shared/api"
	"growthworkspace/shared/fault"
	"growthworkspace/shared/table"
	"growthworkspace/shared/transfer"
)

// Operations returns the operations of the area.
func Operations(t *table.Client) []api.Operation {
	s := service{NewStore(t), t}
	return []api.Operation{
		api.Define(api.Spec{
			ID: "list_changes", Noun: changeNoun, Method: "GET", Path: "/v1/companies/{companyId}/changes",
			Errors:  []fault.Code{fault.NotImplemented},
			Summary: "List what happened to the company's records, oldest first",
			Description: "Changes of the last 30 days that your key may see. They tell which records to read. " +
				"Keep Service-After of each response and send it as after: you miss no change and get none twice.",
		}, s.listChanges),
	}
}

// Transfers returns no types: the feed is neither imported nor exported.
func Transfers(*table.Client) []transfer.Type { return nil }

type service struct {
	store Store
	table *table.Client
}

var changeNoun = api.Noun{
	Name: "change", Plural: "changes", Columns: "occurredAt:when type action recordId:record status keyId:key",
}
