// Package version is the dated versions of the interface (spec.md, Versioning; decisions.md §10). The service is written
// for the newest one. An older one is a translation, of what a caller sends forwards and of what it gets back, one step
// per version; a caller that is pinned to it keeps its shape, whatever was released since.
package version

import (
	"slices"
	"strings"

	"growthworkspace/shared/fault"
)

// Version is one dated version, and how its messages differ from those of the next newer one. A translation that is nil
// changes nothing; the texts are valid JSON of the operation that is named.
type Version struct {
	Date      string
	Arguments func(operation string, text []byte) ([]byte, error) // a body, or a tool's arguments, to the next newer version
	Answer    func(operation string, text []byte) ([]byte, error) // the body of a success from the next newer version
}

// History is the versions that are served, the newest first.
type History []Version

// Current is the date of the newest.
func (h History) Current() string { return h[0].Date }

// Dates lists the dates, the newest first.
func (h History) Dates() []string {
	out := make([]string, len(h))
	for i, v := range h {
		out[i] = v.Date
	}
	return out
}

// Requested returns the version that a header asks for, empty when there is none: then it is that of the key.
// bad_request, with the dates that are served, for anything else.
func (h History) Requested(values []string) (date string, err error) {
	if len(values) == 0 {
		return "", nil
	}
	if date = strings.TrimSpace(values[0]); len(values) == 1 && h.index(date) >= 0 {
		return date, nil
	}
	return "", fault.Invalid("header.Service-Version", "must be a supported version: %s", strings.Join(h.Dates(), ", "))
}

// Of returns the version of a key that was issued with a date, which may be empty: the newest.
// bad_request when it is no longer served.
func (h History) Of(date string) (string, error) {
	if date == "" {
		return h.Current(), nil
	}
	if h.index(date) >= 0 {
		return date, nil
	}
	return "", fault.Invalid("header.Service-Version", "is required, because the key's version %s is not served any more; must be one of %s", date, strings.Join(h.Dates(), ", "))
}

// Forwards translates what a caller of a version sends.
func (h History) Forwards(date, operation string, text []byte) ([]byte, error) {
	for i := h.index(date); i > 0; i-- {
		if translate := h[i].Arguments; translate != nil {
			var err error
			if text, err = translate(operation, text); err != nil {
				return nil, err
			}
		}
	}
	return text, nil
}

// Back translates what a caller of a version gets.
func (h History) Back(date, operation string, text []byte) ([]byte, error) {
	for i := 1; i <= h.index(date); i++ {
		if translate := h[i].Answer; translate != nil {
			var err error
			if text, err = translate(operation, text); err != nil {
				return nil, err
			}
		}
	}
	return text, nil
}

func (h History) index(date string) int {
	return slices.IndexFunc(h, func(v Version) bool { return v.Date == date })
}
