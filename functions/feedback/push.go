package feedback

import (
	"context"
	"fmt"

	"growthworkspace/shared/api"
	"growthworkspace/shared/fault"
)

// PushFeedbackResult is the result of pushing feedback.
type PushFeedbackResult struct {
	Accepted int64 `json:"accepted" doc:"the number of different reviews and mentions in the request; all of them are stored"`
	Created  int64 `json:"created" doc:"how many of them are new"`
	Updated  int64 `json:"updated" doc:"how many stored ones changed; the others were stored already as sent"`
}

type pushFeedbackInput struct {
	api.Idempotent

	Records []pushedFeedback `json:"records" min:"1" items:"100" required:"true" doc:"several of the same source and externalId apply in order"`
}

// pushedFeedback is a review or mention as callers send it. source and externalId identify it. A
// field that is left out keeps its stored value.
type pushedFeedback struct {
	Source      Source                    `json:"source" doc:"the platform it was posted on"`
	ExternalID  string                    `json:"externalId" min:"1" max:"200" doc:"the id on the platform; with source, it identifies the record" tool:"the id on the platform"`
	Kind        *Kind                     `json:"kind" null:"never" doc:"review when a new record leaves it out; cannot change later"`
	ExternalURL api.Clearable[*string]    `json:"externalUrl" format:"web" max:"2000" doc:"the web address on the platform"`
	AuthorName  api.Clearable[*string]    `json:"authorName" max:"200" doc:"as the platform shows it"`
	Title       api.Clearable[*string]    `json:"title" max:"300" doc:"its title"`
	Body        api.Clearable[*string]    `json:"body" max:"40000" doc:"its text"`
	Rating      api.Clearable[*int64]     `json:"rating" min:"1" max:"5" doc:"stars; not for a mention"`
	AppVersion  api.Clearable[*string]    `json:"appVersion" max:"200" doc:"the app version it is about"`
	Territory   api.Clearable[*string]    `json:"territory" max:"200" doc:"the country of the store"`
	Locale      api.Clearable[*string]    `json:"locale" max:"200" doc:"the language it is written in"`
	PostedAt    api.Clearable[*string]    `json:"postedAt" format:"date-time" doc:"when it was posted"`
	Flags       api.Clearable[[]Flag]     `json:"flags" items:"50" doc:"risk labels"`
	Priority    api.Clearable[*int64]     `json:"priority" doc:"lower sorts first"`
	Sentiment   api.Clearable[*Sentiment] `json:"sentiment" doc:"the tone of the text"`
}

// Check implements api.Checker.
func (in pushFeedbackInput) Check() (problems []string) {
	for i, sent := range in.Records {
		if sent.Kind != nil && *sent.Kind == KindMention && sent.Rating.Value != nil {
			problems = append(problems, fmt.Sprintf("body.records[%d].rating: %s", i, ratingProblem))
		}
	}
	return problems
}

// ratingProblem is the problem reported for a mention with a rating.
const ratingProblem = "must be left out, because a mention has no rating"

func (s service) pushFeedback(ctx context.Context, caller api.Caller, in pushFeedbackInput) (PushFeedbackResult, error) {
	changes := in.changesByIdentity()
	found, err := s.store.FindByIdentities(ctx, caller.CompanyID, identitiesOf(changes))
	if err != nil {
		return PushFeedbackResult{}, err
	}
	var problems []string
	for i, c := range changes {
		var record Feedback
		if record, err = found[i].recordToChange(caller.CompanyID, c); err != nil {
			return PushFeedbackResult{}, err
		}
		problems = append(problems, c.apply(&record)...)
	}
	if len(problems) > 0 {
		return PushFeedbackResult{}, &fault.Error{Code: fault.BadRequest, Messages: problems}
	}
	created, updated, err := s.store.Push(ctx, caller.CompanyID, changes, found)
	return PushFeedbackResult{Accepted: int64(len(changes)), Created: int64(created), Updated: int64(updated)}, err
}

// recordChange contains the entries of a push that concern one record, in the order in which they
// are applied.
type recordChange struct {
	identity identity
	pushed   []pushedFeedback
	indexes  []int // the index of each entry in the request
}

// changesByIdentity groups the entries of a push by record. The records are in the order in which
// they first occur.
func (in pushFeedbackInput) changesByIdentity() (changes []recordChange) {
	indexOf := map[identity]int{}
	for i, sent := range in.Records {
		ident := identity{sent.Source, sent.ExternalID}
		n, known := indexOf[ident]
		if !known {
			n, indexOf[ident] = len(changes), len(changes)
			changes = append(changes, recordChange{identity: ident})
		}
		changes[n].pushed, changes[n].indexes = append(changes[n].pushed, sent), append(changes[n].indexes, i)
	}
	return changes
}

func identitiesOf(changes []recordChange) []identity {
	out := make([]identity, len(changes))
	for i, c := range changes {
		out[i] = c.identity
	}
	return out
}

// apply applies the change to a new or a stored record. It returns a message for each entry that is
// not valid for that record.
func (c recordChange) apply(f *Feedback) (problems []string) {
	for i, sent := range c.pushed {
		if field, problem := sent.apply(f); problem != "" {
			problems = append(problems, fmt.Sprintf("body.records[%d].%s: %s", c.indexes[i], field, problem))
		}
	}
	return problems
}

// apply sets the fields that were sent. It never touches the reply.
func (p pushedFeedback) apply(f *Feedback) (field, problem string) {
	if p.Kind != nil {
		if f.Kind != nil && *f.Kind != *p.Kind {
			return "kind", fmt.Sprintf("must be %s or left out: the kind of a stored record does not change", *f.Kind)
		}
		f.Kind = p.Kind
	}
	p.ExternalURL.Apply(&f.ExternalURL)
	p.AuthorName.Apply(&f.AuthorName)
	p.Title.Apply(&f.Title)
	p.Body.Apply(&f.Body)
	p.Rating.Apply(&f.Rating)
	p.AppVersion.Apply(&f.AppVersion)
	p.Territory.Apply(&f.Territory)
	p.Locale.Apply(&f.Locale)
	p.PostedAt.Apply(&f.PostedAt)
	p.Flags.Apply(&f.Flags)
	p.Priority.Apply(&f.Priority)
	p.Sentiment.Apply(&f.Sentiment)
	if f.Rating != nil && f.Kind != nil && *f.Kind == KindMention && (p.Rating.Value != nil || p.Kind != nil) {
		return "rating", ratingProblem
	}
	return "", ""
}
