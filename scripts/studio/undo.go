package studio

import (
	"growthworkspace/shared/client"
)

// undo reverts a change, unless somebody has changed the record since. It returns a notice that
// describes the result.
type undo func(v *pageRequest) notice

// takeUndo returns the undo of a notice and removes it from the notice, so that it runs only once.
// back is the page to show after the undo. The notice's outcome becomes undoneText, until
// keepOutcome stores a different one.
func (n *notices) takeUndo(id string) (run undo, back string) {
	n.mu.Lock()
	defer n.mu.Unlock()
	msg, known := n.recent[id]
	if !known {
		return nil, "/"
	}
	run, msg.Undo, msg.Outcome = msg.Undo, nil, undoneText
	n.recent[id] = msg
	return run, msg.back
}

// undoneText is the outcome of an undo that succeeded.
const undoneText = "undone"

// keepOutcome stores how the undo of a notice ended. If a failed undo may succeed later, the notice
// offers it again.
func (n *notices) keepOutcome(id string, run undo, result notice) {
	n.mu.Lock()
	defer n.mu.Unlock()
	msg, known := n.recent[id]
	if !known || !result.Bad {
		return
	}
	if msg.Outcome = result.Text; result.retry {
		msg.Undo = run
	}
	n.recent[id] = msg
}

// undo reverts the change that a notice describes.
func (s *Studio) undo(v *pageRequest) *view {
	id := v.r.PathValue("notice")
	run, back := s.notices.takeUndo(id)
	fromChanges := v.r.PostForm.Get("from") == "changes"
	if fromChanges {
		back = "/changes"
	}
	if run == nil {
		return v.finish(back, notice{Bad: true, Text: "This cannot be undone any more: it was undone already, or the studio was started again."})
	}
	result := run(v)
	s.notices.keepOutcome(id, run, result)
	if fromChanges && result.review != "" { // only the page of the review can show the typed reply again
		back = inboxOf(nil).Path(result.review)
	}
	return v.finish(back, result)
}

// changes lists the latest changes, each with its undo.
func (s *Studio) changes(*pageRequest) *view {
	return &view{page: "changes", place: "Changes", title: "Your latest changes", data: s.notices.changeNotices()}
}

// undoNotice returns the notice about the result of an undo. failed is nil if the undo succeeded.
func undoNotice(record string, failed *failure) notice {
	switch {
	case failed == nil:
		return notice{Record: record, Text: "Undone."}
	case failed.Conflict():
		return notice{Record: record, Bad: true, Text: "Not undone, because it has been changed since. It stays as it is now."}
	}
	return notice{Record: record, Bad: true, Text: "Not undone: " + failed.Text(), retry: true}
}

// undoCall returns an undo that makes one call. tag is the record's entity tag after the change.
// The call fails if the record's entity tag is no longer tag.
func undoCall[T any](record, scope, tag string, call call[T]) undo {
	return func(v *pageRequest) notice {
		res := startCall(v, scope, "Undo", call, client.IfMatch(tag))
		v.wait()
		return undoNotice(record, res.Failure)
	}
}
