package api

import (
	"slices"
	"strings"

	"growthworkspace/shared/fault"
	"growthworkspace/shared/schema"
)

// DraftRule is the rule for records of type T that keys with a DraftScope (see Spec) can change.
// Such a key changes only drafts, and nobody may approve content without having read it. So the
// record stores the names of the properties that were last written by such a key. This list is
// hidden from clients.
type DraftRule[T any] struct {
	IsDraft func(T) bool  // reports whether a key that can only draft can change the record
	Check   func(T) error // returns why nobody can change the record; nil if everybody always can

	// The content that must be read before an approval. All are empty if there is no such content.
	IsApproved func(T) bool       // reports whether a record is approved, or a request approves it
	Properties []string           // the properties that can be in the list
	Decided    string             // a property that need not have been read if the request sends it
	Drafted    func(*T) *[]string // returns the record's list
}

// EditDrafted is Change for a record with a DraftRule. It is for a function that is passed to
// table.Modify, because it waits until the key is verified. An empty update is accepted in every
// state. Any other update is refused if the rule's Check refuses it, even if it sends the stored
// values, because the caller assumes that the record can still change.
func (in *UpdateBody[T]) EditDrafted(record *T, caller Caller, rule *DraftRule[T]) error {
	missingScope := caller.requireDecider()
	if missingScope != nil && !rule.IsDraft(*record) && !in.Empty() {
		return missingScope
	}
	if err := in.RequireMatch(record); err != nil || in.Empty() {
		return err
	}
	if rule.Check != nil {
		if err := rule.Check(*record); err != nil {
			return err
		}
	}
	if rule.Drafted != nil {
		drafted := rule.Drafted(record)
		if rule.IsApproved(in.Record) && !rule.IsApproved(*record) {
			if err := in.requireRead(*record, *drafted, rule.Decided); err != nil {
				return err
			}
		}
		*drafted = draftedProperties(&in.Properties, in.Changes(*record), *drafted, rule.Properties, missingScope == nil)
	}
	return in.Edit(record)
}

// MarkDrafted sets the list of a new record.
func (in *CreateBody[T]) MarkDrafted(record *T, caller Caller, rule *DraftRule[T]) {
	var empty T
	*rule.Drafted(record) = draftedProperties(&in.Properties, in.Changes(empty), nil, rule.Properties, caller.requireDecider() == nil)
}

// draftedProperties returns the names of a record's properties whose last writer will be a
// draft-only key once the request is applied to the record. changes are the properties that the
// request changes, before is the stored list, and all are the names that can be in the list. A
// draft-only key adds the properties that it changes. A key that may decide removes the properties
// that it sends, even if their values are the stored ones.
func draftedProperties(in *schema.Properties, changes, before, all []string, mayDecide bool) (names []string) {
	for _, name := range all {
		isDrafted := slices.Contains(before, name)
		switch {
		case mayDecide && in.Sent(name):
			isDrafted = false
		case !mayDecide && slices.Contains(changes, name):
			isDrafted = true
		}
		if isDrafted {
			names = append(names, name)
		}
	}
	return names
}

// requireRead returns conflict unless the request proves that the caller has read the drafted
// properties of a record. The proof is either an If-Match with the record's current ETag, or a body
// that contains each of these properties with its stored value. The property decided needs no proof
// if the request sends it.
func (in *UpdateBody[T]) requireRead(record T, drafted []string, decided string) error {
	if in.IfMatch != nil && !strings.Contains(*in.IfMatch, "*") { // RequireMatch has already compared the tag
		return nil
	}
	unread := slices.DeleteFunc(slices.Clone(drafted), func(name string) bool { return name == decided && in.Sent(name) })
	changes := in.Changes(record)
	for _, name := range unread {
		if !in.Sent(name) || slices.Contains(changes, name) {
			names := strings.Join(unread, ", ")
			return fault.New(fault.Conflict, "header.If-Match: is required, because a key that may only draft wrote %s last: read the record again and send its ETag, or send %s as stored", names, names)
		}
	}
	return nil
}
