package api

import (
	"slices"
	"strings"

	"growthworkspace/shared/fault"
	"growthworkspace/shared/schema"
)

// Nobody approves what they have not read. A record that keys may draft (Spec.DraftScope) stores,
// hidden from clients, which of its texts such a key wrote last. Drafted keeps that list, and
// RequireRead checks it before a text is approved.

// Drafted returns the names of the texts of a record that a key that may only draft wrote last, as
// they are once the body is applied to the record. drafted are the names before that. texts are the
// names of the properties that are texts. Such a key adds the texts that it changes. Any other key
// removes the texts that it sends, even if it sends the stored text.
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

// RequireRead returns conflict if the request does not show that the caller has read the drafted
// texts of a record. It shows that with an If-Match that names the record's revision, or with each
// of these texts as it is stored.
func (in *UpdateBody[T]) RequireRead(record T, drafted []string) error {
	if in.IfMatch != nil && !strings.Contains(*in.IfMatch, "*") { // RequireMatch has compared it
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
