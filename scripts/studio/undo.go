package studio

import (
	"context"

	"growthworkspace/shared/client"
)

// undo reverts a change, unless somebody has changed the record since. It returns a notice that
// describes the result.
type undo func(v *pageRequest) notice

// takeUndo returns the undo of a notice and removes it from the notice, so that it runs only once.
// back is the page to show after the undo.
func (n *notices) takeUndo(id string) (run undo, back string) {
	n.mu.Lock()
	defer n.mu.Unlock()
	what, known := n.recent[id]
	if !known {
		return nil, "/"
	}
	run, what.Undo, what.undone = what.Undo, nil, true
	n.recent[id] = what
	return run, what.back
}

// undo reverts the change that a notice describes.
func (s *Studio) undo(v *pageRequest) *view {
	run, back := s.notices.takeUndo(v.r.PathValue("notice"))
	if v.r.PostForm.Get("from") == "changes" {
		back = "/changes"
	}
	if run == nil {
		return v.finish(back, notice{Bad: true, Text: "This cannot be undone any more: it was undone already, or the studio was started again."})
	}
	return v.finish(back, run(v))
}

// changes lists the latest changes, each with its undo.
func (s *Studio) changes(*pageRequest) *view {
	return &view{page: "changes", title: "Your latest changes", data: s.notices.all()}
}

// undoNotice returns the notice about the result of an undo. failed is nil if the undo succeeded.
func undoNotice(record string, failed *failure) notice {
	switch {
	case failed == nil:
		return notice{Record: record, Text: "Undone."}
	case failed.Conflict():
		return notice{Record: record, Bad: true, Text: "Not undone, because it has been changed since. It stays as it is now."}
	}
	return notice{Record: record, Bad: true, Text: "Not undone: " + failed.Text()}
}

// undoCall returns an undo that makes one call. tag is the record's entity tag after the change.
// The call fails if the record has a different one by then.
func undoCall[T any](record, scope, tag string, call func(ctx context.Context, options ...client.CallOption) (T, error)) undo {
	return func(v *pageRequest) notice {
		stored := startCall(v, scope, "Undo", func(ctx context.Context, options ...client.CallOption) (T, error) {
			return call(ctx, append(options, client.IfMatch(tag))...)
		})
		v.wait()
		return undoNotice(record, stored.Failure)
	}
}
