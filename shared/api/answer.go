package api

import (
	"errors"
	"fmt"
	"net/http"
	"strconv"

	"growthworkspace/shared/fault"
	"growthworkspace/shared/ratelimit"
	"growthworkspace/shared/refusal"
	"growthworkspace/shared/schema"
)

// Answer is what a call ends in: a body when Err is nil.
type Answer struct {
	Status int
	Body   []byte // JSON
	Err    *fault.Error
	Header http.Header // quota, ETag and whatever else is not in the body
	List   bool
	Next   string // cursor of the next page of a list, empty at the end

	current []byte // the body in the current version
	tag     string // entity tag; empty: none
}

func (a *API) conclude(value any, err error, in bound, record *logRecord) Answer {
	if err != nil {
		return a.refuse(err, record)
	}
	list, isList := value.(lister)
	var body []byte
	if isList {
		body, err = list.Body()
	} else {
		body, err = schema.Encode(value)
	}
	if err != nil {
		return a.refuse(fmt.Errorf("encode the answer: %w", err), record)
	}
	out := a.spell(body, tagOf(record.call.Operation, value, body), record)
	out.List = isList && out.Err == nil
	if out.List && list.position() != "" {
		out.Next = in.list.Encode(list.position())
	}
	return out
}

// spell answers with a body of the current version in that of the caller.
func (a *API) spell(body []byte, tag string, record *logRecord) Answer {
	text, err := a.versions.Back(record.version, record.call.Operation.ID, body)
	if err != nil {
		return a.refuse(fmt.Errorf("translate to version %s: %w", record.version, err), record)
	}
	out := Answer{Status: http.StatusOK, Header: quotaHeader(*record.state), Body: text, current: body, tag: tag}
	if tag != "" {
		out.Header.Set("ETag", `"`+tag+`"`)
	}
	return out
}

// refuse turns an error into what the caller reads and what the log keeps.
func (a *API) refuse(err error, record *logRecord) Answer {
	public, header := refusal.Of(err), http.Header{}
	if record.state != nil {
		header = quotaHeader(*record.state)
	}
	var exceeded *ratelimit.ExceededError
	if errors.As(err, &exceeded) {
		header = quotaHeader(exceeded.State)
		header.Set("Retry-After", strconv.FormatInt(max(1, exceeded.State.RetryAfter), 10))
	}
	if public.Code == fault.Unauthorised {
		header.Set("WWW-Authenticate", "Bearer")
	}
	record.err = err
	body := refusal.Envelope(public)
	return Answer{Status: public.Code.Status(), Err: public, Header: header, Body: body, current: body}
}

func quotaHeader(s ratelimit.State) http.Header {
	return http.Header{
		"Ratelimit-Limit":     {strconv.FormatInt(int64(s.Quota), 10)},
		"Ratelimit-Remaining": {strconv.FormatInt(s.Remaining, 10)},
		"Ratelimit-Reset":     {strconv.FormatInt(s.Reset, 10)},
		"Ratelimit-Policy":    {s.Quota.Policy()},
	}
}
