package changes

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"growthworkspace/shared/api"
	"growthworkspace/shared/auth"
	"growthworkspace/shared/change"
	"growthworkspace/shared/fault"
	"growthworkspace/shared/schema"
	"growthworkspace/shared/table"
	"growthworkspace/shared/timestamp"
)

type listChangesInput struct {
	After *string `query:"after" max:"200" doc:"Service-After of an earlier response, to continue from there" tool:"after of an earlier result, to continue from there"`
	Since *string `query:"since" format:"day" doc:"a day (UTC) or a time at which to start, at most 30 days ago; default: 24 hours ago. A few earlier changes may come, too" tool:"day or time at which to start; default: 24 hours ago"`
	Types *string `query:"types" max:"500" doc:"only changes of these types, with commas between them, such as post,idea" tool:"only these types, with commas between them"`
	Limit int64   `query:"limit" default:"50" min:"1" max:"200"`
}

// Check implements api.Checker.
func (in listChangesInput) Check() (problems []string) {
	if in.After != nil && in.Since != nil {
		problems = append(problems, "query.since: starts over; leave it out to continue from after")
	}
	if in.Types == nil {
		return problems
	}
	for name := range strings.SplitSeq(*in.Types, ",") {
		if !slices.Contains(change.Types(), change.Type(name)) {
			problems = append(problems, typeProblem(name))
		}
	}
	return problems
}

func (s service) listChanges(ctx context.Context, caller api.Caller, in listChangesInput) (api.List[change.Change], error) {
	if !s.table.HasStream() {
		return api.List[change.Change]{}, errNoFeed
	}
	from, err := in.startPosition(caller.CompanyID, s.table.Clock()())
	if err != nil {
		return api.List[change.Change]{}, err
	}
	wanted := in.types()
	page, err := s.store.Read(ctx, caller.CompanyID, from, int(in.Limit), func(c change.Change) bool {
		return slices.Contains(wanted, c.Type) && caller.Has(c.Type.Scope())
	})
	if errors.Is(err, change.ErrUnknownPosition) {
		err = errUnknownAfter
	}
	if err != nil {
		return api.List[change.Change]{}, err
	}
	if in.Types != nil {
		for _, t := range wanted {
			if !caller.Has(t.Scope()) {
				return api.List[change.Change]{}, auth.NewMissingScopeError(t.Scope())
			}
		}
	}
	if seesKeys := caller.Has(auth.KeysRead); !seesKeys {
		hideOtherKeys(page.Changes, caller.KeyID)
	}
	return api.NewFeed(table.Page[change.Change]{
		Records: page.Changes, Next: page.Next.Encode(caller.CompanyID),
		PositionAfter: func(n int) string { return page.positions[n].Encode(caller.CompanyID) },
	}, page.HasMore), nil
}

// hideOtherKeys removes from changes the ids of all keys except the caller's own.
func hideOtherKeys(changes []change.Change, ownKeyID string) {
	for i, c := range changes {
		if c.KeyID != nil && *c.KeyID != ownKeyID {
			changes[i].KeyID = nil
		}
	}
}

// types returns the types that the request asks for. Check has validated them.
func (in listChangesInput) types() []change.Type {
	if in.Types == nil {
		return change.Types()
	}
	var out []change.Type
	for name := range strings.SplitSeq(*in.Types, ",") {
		out = append(out, change.Type(name))
	}
	return out
}

// defaultPeriod is how far back a list starts if the request has neither an "after" nor a "since"
// parameter.
const defaultPeriod = 24 * time.Hour

// startPosition returns the position at which a list starts.
func (in listChangesInput) startPosition(companyID string, now time.Time) (change.Position, error) {
	if in.After != nil {
		p, err := change.ParsePosition(companyID, *in.After, now)
		switch {
		case errors.Is(err, change.ErrForeignPosition):
			err = fault.Invalid("query.after", "is of another company")
		case errors.Is(err, change.ErrExpiredPosition):
			err = fault.Invalid("query.after", "is older than 30 days; start again with since, and read the records again that you have copied")
		case err != nil:
			err = errUnknownAfter
		}
		return p, err
	}
	since := now.Add(-defaultPeriod)
	if in.Since != nil {
		since = parseSince(*in.Since)
	}
	if earliest := now.Add(-change.ReadableFor); since.Before(earliest) {
		since = earliest
	}
	if since.After(now) { // otherwise a client whose clock is ahead would miss changes
		since = now
	}
	return change.PositionSince(since), nil
}

// parseSince parses a time or a day. A day means its first instant. The argument has already been
// validated.
func parseSince(text string) time.Time {
	t, ok := timestamp.Parse(text)
	if !ok {
		t, _ = timestamp.ParseDay(text)
	}
	return t
}

var (
	errUnknownAfter = fault.Invalid("query.after", "is unknown; send Service-After of a response of this list, or start again with since")
	errNoFeed       = fault.New(fault.NotImplemented, "the table has no stream, so the changes of records are not known here")
)

func typeProblem(name string) string {
	types := change.Type("").Values()
	hint := "the types are " + strings.Join(types, ", ")
	if near := schema.Nearest(name, types); near != "" {
		hint = "did you mean " + near + "?"
	}
	return fmt.Sprintf("query.types: %.100q is not a type of change; %s", name, hint)
}
