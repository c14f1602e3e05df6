package api

import (
	"slices"
	"strings"

	"growthworkspace/shared/fault"
	"growthworkspace/shared/schema"
)

// Nobody may approve content without having read it. If keys with a DraftScope (see Spec) can
// change a record, the record stores the names of the properties that were last written by such a
// key. This list is hidden from clients. DraftedProperties computes the new list, and RequireRead
// checks the list before an approval.

// DraftedProperties returns the names of a record's properties whose last writer will be a
// draft-only key once the body is applied to the record. The parameter before is the stored list.
// properties are the names of all properties that can be in the list. mayDecide is false if the
// request's key may only draft. Such a key adds the properties that it changes. Any other key
// removes the properties that it sends, even if their values are the stored ones.
func DraftedProperties[T any](in *schema.Body[T], record T, before, properties []string, mayDecide bool) (names []string) {
	changes := in.Changes(record)
	for _, name := range properties {
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

// RequireRead returns conflict unless the request proves that the caller has read the drafted
// properties of a record. The proof is either an If-Match with the record's current ETag, or a body
// that contains each of these properties with its stored value.
func (in *UpdateBody[T]) RequireRead(record T, drafted []string) error {
	if in.IfMatch != nil && !strings.Contains(*in.IfMatch, "*") { // RequireMatch has already compared the tag
		return nil
	}
	changes := in.Changes(record)
	for _, name := range drafted {
		if !in.Sent(name) || slices.Contains(changes, name) {
			names := strings.Join(drafted, ", ")
			return fault.New(fault.Conflict, "header.If-Match: is required, because a key that may only draft wrote %s last: read the record again and send its ETag, or send %s as stored", names, names)
		}
	}
	return nil
}
