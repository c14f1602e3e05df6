package api

import (
	"slices"
	"strings"

	"growthworkspace/shared/fault"
	"growthworkspace/shared/schema"
)

// Nobody may approve a text without having read it. A record that keys may draft (Spec.DraftScope)
// stores which of its texts such a key wrote last. This list is hidden from clients. Drafted
// updates the list, and RequireRead checks it before a text is approved.

// Drafted returns the names of the record's texts that a key which may only draft wrote last, once
// the body has been applied to the record. drafted are these names before that, and texts are the
// names of all properties that are texts. mayDecide is false for such a key, which adds the texts
// that it changes. Any other key removes the texts that it sends, even if they equal the stored
// ones.
func Drafted[T any](in *schema.Body[T], record T, drafted, texts []string, mayDecide bool) (names []string) {
	changes := in.Changes(record)
	for _, name := range texts {
		byDraft := slices.Contains(drafted, name)
		switch {
		case mayDecide && in.Sent(name):
			byDraft = false
		case !mayDecide && slices.Contains(changes, name):
			byDraft = true
		}
		if byDraft {
			names = append(names, name)
		}
	}
	return names
}

// RequireRead returns conflict unless the request shows that the caller has read the drafted texts
// of a record. The request shows it either with an If-Match that names the record's revision, or by
// containing each of these texts as it is stored.
func (in *UpdateBody[T]) RequireRead(record T, drafted []string) error {
	if in.IfMatch != nil && !strings.Contains(*in.IfMatch, "*") { // RequireMatch has already compared it
		return nil
	}
	changes := in.Changes(record)
	for _, name := range drafted {
		if !in.Sent(name) || slices.Contains(changes, name) {
			texts := strings.Join(drafted, ", ")
			return fault.New(fault.Conflict, "header.If-Match: is required, because a key that may only draft wrote %s last: read the record again and send its ETag, or send %s as stored", texts, texts)
		}
	}
	return nil
}
