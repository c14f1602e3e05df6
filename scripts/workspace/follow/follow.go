// Package follow delivers the changes in a company's feed, one after another, and stores its
// position in the feed. A follower that is killed at any point and restarted delivers every change
// at least once, in order. A receiver that ignores ids it already has receives each change exactly
// once.
package follow

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"math/rand/v2"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"time"

	"growthworkspace/scripts/workspace/webhook"
	"growthworkspace/shared/client"
	"growthworkspace/shared/timestamp"
)

// Change is one change in the feed.
type Change struct {
	ID         string `json:"id"`
	Type       string `json:"type"`
	RecordID   string `json:"recordId"`
	Action     string `json:"action"`
	OccurredAt string `json:"occurredAt"`

	JSON json.RawMessage `json:"-"` // as the API returns it
}

// UnmarshalJSON also keeps the original JSON, so that a receiver gets properties that this program
// does not know.
func (c *Change) UnmarshalJSON(text []byte) error {
	type plain Change
	if err := json.Unmarshal(text, (*plain)(c)); err != nil {
		return err
	}
	c.JSON = slices.Clone(text)
	return nil
}

// Page is the response to one request for changes.
type Page struct {
	Items   []Change
	After   string // the header Service-After: the position at which the next page begins
	HasMore bool
}

// PageMax is the maximum number of changes in one page of the API.
const PageMax = 200

// Read requests one page of the feed.
func Read(ctx context.Context, api *client.Client, query url.Values) (Page, error) {
	var body struct{ Items []Change }
	response, err := api.Do(ctx, client.Request{Method: http.MethodGet, Path: "/v1/companies/{companyId}/changes", Query: query, Repeatable: true, Quota: "read"})
	if err != nil {
		return Page{}, err
	}
	if err := json.Unmarshal(response.Body, &body); err != nil {
		return Page{}, fmt.Errorf("decode the response to %s: %w", response.RequestID(), err)
	}
	page := Page{body.Items, response.Header.Get("Service-After"), response.HasMore()}
	if page.After == "" {
		return Page{}, fmt.Errorf("the response to %s has no Service-After", response.RequestID())
	}
	return page, nil
}

// ErrBroken means that the feed does not continue from the position, so changes may have been
// missed. The follower must start over.
var ErrBroken = errors.New("the feed cannot be continued from here")

// Follower follows the feed of a company.
type Follower struct {
	API    *client.Client
	Origin Origin
	File   *File

	Types       string        // the query parameter "types"; empty for all types
	Since       string        // the value of --since; empty if it is not set
	From        time.Time     // the time that Since stands for
	Started     time.Time     // when this run started, by the service's clock
	AllowNewKey bool          // whether the key may differ from the one in the file
	Period      time.Duration // how often the follower looks for changes

	// Deliver delivers one change. If it returns an error, the follower retries, unless the error
	// was marked by Final.
	Deliver func(context.Context, Change) error
	// Report is called with each error that leads to a retry. next describes when the retry
	// follows.
	Report func(err error, next string)
	// Note prints a note for the user.
	Note func(format string, args ...any)
	// Sleep waits for a duration. It returns the context's error if the context is done first.
	Sleep func(context.Context, time.Duration) error

	position     Position
	notedGapTime string // the time of the last gap that Note was called for
}

// finalError is an error that a retry cannot fix.
type finalError struct{ error }

func (e finalError) Unwrap() error { return e.error }

// Final marks an error that a retry cannot fix.
func Final(err error) error { return finalError{err} }

// Run follows the feed until ctx is done, and then returns nil. It does not interrupt a delivery.
// It returns an error that wraps ErrBroken if changes may have been missed.
func (f *Follower) Run(ctx context.Context) error {
	if err := f.initPosition(); err != nil {
		return err
	}
	for ctx.Err() == nil {
		var page Page
		asked := f.position.After
		err := f.Retry(ctx, "read the changes", func() (err error) {
			page, err = Read(ctx, f.API, f.query())
			return FinalIfRefused(err)
		})
		if err == nil {
			err = f.deliverPage(ctx, page)
		}
		if tooOld := positionErrorMessage(err); tooOld != "" {
			err = f.markBroken(tooOld)
		}
		if err != nil {
			return ignoreDone(ctx, err)
		}
		// If After has not moved, the next change is not visible yet, even though HasMore is set.
		if !page.HasMore || page.After == asked {
			_ = f.Sleep(ctx, jitter(f.Period)) // ignore the error, because the loop checks ctx
		}
	}
	return nil
}

// ignoreDone returns err, or nil if err only says that ctx is done.
func ignoreDone(ctx context.Context, err error) error {
	if ctx.Err() != nil && errors.Is(err, ctx.Err()) {
		return nil
	}
	return err
}

// initPosition reads the stored position, or stores a new one.
func (f *Follower) initPosition() error {
	stored, found, err := f.File.read()
	if err != nil {
		return err
	}
	if found {
		if err := f.checkOrigin(stored.Origin); err != nil {
			return err
		}
	}
	if found && stored.Broken != "" && f.Since == "" {
		return fmt.Errorf("%w: %s", ErrBroken, stored.Broken)
	}
	if found && stored.Broken == "" && (f.Since == "" || f.Since == stored.Since) {
		f.position = stored
		if err := f.checkStart(); err != nil {
			return err
		}
		if stored.Types != f.Types {
			return fmt.Errorf("%s has read the types %s, not %s, and would miss earlier changes: use a separate file with --state, or start over with a different --since", f.File.path, formatTypes(stored.Types), formatTypes(f.Types))
		}
		if stored.Origin == f.Origin {
			return nil
		}
		f.position.Origin = f.Origin // the key may be a new one
		return f.File.write(f.position)
	}
	f.Note("no earlier position: beginning with the changes since %s", timestamp.Format(f.From))
	f.position = Position{Origin: f.Origin, Types: f.Types, Since: f.Since, Started: timestamp.Format(f.Started), From: timestamp.Format(f.From)}
	return f.File.write(f.position)
}

// retentionPeriod is how long the service keeps changes.
const retentionPeriod = 30 * 24 * time.Hour

// checkStart calls markBroken if the follower has no Service-After yet and must begin at a time for
// which the service no longer has changes. The service itself would return the changes that it
// still has, without an error.
func (f *Follower) checkStart() error {
	earliest := timestamp.Format(f.Started.Add(-retentionPeriod))
	if f.position.After == "" && f.position.From < earliest {
		return f.markBroken("it begins at " + f.position.From + ", and the service has no changes before " + earliest)
	}
	return nil
}

// formatTypes formats types for an error message.
func formatTypes(types string) string {
	if types == "" {
		return "(all)"
	}
	return types
}

// checkOrigin returns an error if the file belongs to another feed.
func (f *Follower) checkOrigin(stored Origin) error {
	switch {
	case stored.BaseURL != f.Origin.BaseURL:
		return fmt.Errorf("%s belongs to the service %s, not to %s", f.File.path, stored.BaseURL, f.Origin.BaseURL)
	case stored.CompanyID != f.Origin.CompanyID:
		return fmt.Errorf("%s belongs to the company %s, not to %s", f.File.path, stored.CompanyID, f.Origin.CompanyID)
	case stored.KeyID != f.Origin.KeyID && !f.AllowNewKey:
		return fmt.Errorf("%s was written with the key %s, not with %s, which may see different changes: continue with --new-key", f.File.path, stored.KeyID, f.Origin.KeyID)
	}
	return nil
}

// query returns the query parameters for the next page.
func (f *Follower) query() url.Values {
	query := url.Values{"limit": {strconv.Itoa(PageMax)}}
	if f.Types != "" {
		query.Set("types", f.Types)
	}
	if f.position.After == "" {
		query.Set("since", f.position.From)
	} else {
		query.Set("after", f.position.After)
	}
	return query
}

// deliverPage delivers the changes of a page and stores the position after each. If this process
// was killed in the middle of a page, that page is read again and begins with changes that were
// already delivered.
func (f *Follower) deliverPage(ctx context.Context, page Page) error {
	for _, c := range page.Items {
		if slices.Contains(f.position.Delivered, c.ID) {
			continue
		}
		if f.isGap(c) {
			if c.OccurredAt > f.position.Started {
				return f.markBroken("the service has lost changes before " + c.OccurredAt)
			}
			if c.OccurredAt != f.notedGapTime {
				f.Note("the service has lost changes before %s", c.OccurredAt)
			}
			f.notedGapTime = c.OccurredAt
		} else if err := f.deliver(ctx, c); err != nil {
			return err
		}
		f.position.Delivered = append(f.position.Delivered, c.ID)
		if err := f.File.write(f.position); err != nil {
			return err
		}
		if ctx.Err() != nil {
			return ctx.Err()
		}
	}
	if page.After == f.position.After {
		return nil
	}
	f.position.After = page.After
	// Keep the ids that are not on this page: it may be shorter than when it was first read, and a
	// later page will contain their changes.
	f.position.Delivered = slices.DeleteFunc(f.position.Delivered, func(id string) bool {
		return slices.ContainsFunc(page.Items, func(c Change) bool { return c.ID == id })
	})
	return f.File.write(f.position)
}

// deliver delivers one change, and retries until it succeeds. If ctx is canceled, deliver stops
// during a pause between two attempts, but never during an attempt.
func (f *Follower) deliver(ctx context.Context, c Change) error {
	return f.Retry(ctx, c.ID, func() error { return f.Deliver(context.WithoutCancel(ctx), c) })
}

// markBroken stores that the feed does not continue from the position, and returns ErrBroken with
// the reason.
func (f *Follower) markBroken(reason string) error {
	f.position.Broken = reason
	if err := f.File.write(f.position); err != nil {
		return err
	}
	return fmt.Errorf("%w: %s", ErrBroken, reason)
}

// FinalIfRefused marks the error of a request as final if the service refused the request, because
// a retry would fail, too.
func FinalIfRefused(err error) error {
	var refused *client.Error
	if !errors.As(err, &refused) {
		return err
	}
	switch {
	case refused.Status == http.StatusTooManyRequests, refused.Status == http.StatusRequestTimeout:
		return err
	case refused.Status >= http.StatusInternalServerError && refused.Status != http.StatusNotImplemented:
		return err
	}
	return Final(err)
}

// positionErrorMessage returns the service's error message about the position, or "" if err is a
// different error.
func positionErrorMessage(err error) string {
	var refused *client.Error
	if !errors.As(err, &refused) || refused.Status != http.StatusBadRequest {
		return ""
	}
	return refused.Fields()["query.after"]
}

// The pauses between attempts.
const (
	pauseMin = time.Second
	pauseMax = 5 * time.Minute
	// retryAfterMax is the maximum pause that a service or a webhook can request.
	retryAfterMax = time.Hour
)

// Retry calls the function do until it succeeds, until its error is final, or until ctx is done. It
// reports every other error.
func (f *Follower) Retry(ctx context.Context, what string, do func() error) error {
	for attempt := 1; ; attempt++ {
		err := do()
		var final finalError
		switch {
		case err == nil:
			if attempt > 1 {
				f.Note("%s: done at attempt %d", what, attempt)
			}
			return nil
		case errors.As(err, &final):
			return final.error
		case ctx.Err() != nil:
			return ctx.Err()
		}
		pause := max(min(retryAfter(err), retryAfterMax), jitter(pauseAfter(attempt)))
		f.Report(fmt.Errorf("%s: %w", what, err), fmt.Sprintf("attempt %d follows in %s", attempt+1, pause.Round(time.Second)))
		if err := f.Sleep(ctx, pause); err != nil {
			return err
		}
	}
}

// pauseAfter returns the pause after an attempt. The pause doubles with each attempt.
func pauseAfter(attempt int) time.Duration {
	if attempt > 16 {
		return pauseMax
	}
	return min(pauseMax, pauseMin<<(attempt-1))
}

// jitter returns a random duration between 75 % and 125 % of d, so that followers that started or
// failed at the same time do not stay synchronised.
func jitter(d time.Duration) time.Duration {
	return d*3/4 + rand.N(d/2+1)
}

// retryAfter returns the pause that an error requests, or 0 if it requests none.
func retryAfter(err error) time.Duration {
	var refused *client.Error
	var unavailable *webhook.StatusError
	switch {
	case errors.As(err, &refused):
		return refused.RetryAfter
	case errors.As(err, &unavailable):
		return unavailable.RetryAfter
	}
	return 0
}

// isGap reports whether a change means that earlier changes were lost. Such a change has the
// company's id as its record id. A gap adds one such change for each type of record.
func (f *Follower) isGap(c Change) bool {
	return c.Action == "unknown" && c.RecordID == f.Origin.CompanyID
}
