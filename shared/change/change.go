// Package change defines the feed of a company's changes: what a change is, which table items are
// records that the feed covers, and how the feed is stored and read. The feed is derived from the
// table's stream. See scripts/docs/explanation/changes.md.
package change

import "growthworkspace/shared/table"

// Change is one change to a record, as the API returns it.
type Change struct {
	ID         string  `json:"id" doc:"the change's id"`
	CompanyID  string  `json:"companyId"`
	Type       Type    `json:"type" doc:"the type of the record"`
	RecordID   string  `json:"recordId" doc:"the record's id; of metric_points, the metric definition's id; of publish, the board's id"`
	Action     Action  `json:"action"`
	Status     *string `json:"status" doc:"the record's status after the change, or its reply status; of publish, the version"`
	KeyID      *string `json:"keyId" doc:"the key that made the change; null if it was an operator or a deletion, or if the calling key may not see it"`
	OccurredAt string  `json:"occurredAt" format:"date-time"`
}

// Type is the type of a changed record. The kinds of records declare them (api.Noun).
type Type string

// Action is what happened to the record.
type Action string

// The actions. The action Unknown means that the stored record could not be read, or that changes
// are missing (see AppendGap).
const (
	Created Action = "created"
	Updated Action = "updated"
	Deleted Action = "deleted"
	Unknown Action = "unknown"
)

// Write is a write to one item of the table, as the table's stream reports it. Old is nil if the
// write created the item, and New is nil if it deleted the item.
type Write struct {
	CompanyID    string
	Area         string   // the second part of the partition key
	SubPartition []string // the remaining parts of the partition key
	SK           string
	Old, New     table.Item
}

// Source recognises the writes that change records of one type.
type Source struct {
	Type    Type
	SortKey string // the beginning of the sort keys of the items that it recognises; infra derives the filter of the stream from it

	// Recognise reports whether w changed a record of this type, and returns the event. An error
	// means that the item cannot be read.
	Recognise func(w Write) (e Event, ok bool, err error)
}

// Event is a change that does not yet have an id and a time. Events in one stream batch that have
// the same type, record and non-empty Group become one change.
type Event struct {
	RecordID string
	Action   Action
	Status   string // empty if there is none
	Group    string
}
