package send

import (
	"bytes"
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"growthworkspace/scripts/workspace/terminal"
	"growthworkspace/shared/client"
	"growthworkspace/shared/schema"
	"growthworkspace/shared/timestamp"
)

// record is a post, or feedback with a reply, as a response contains it. Fields that are null are
// empty.
type record struct {
	ID, CompanyID, Platform, Source, Status, ReplyStatus string
	ScheduledFor, Title, Body, ExternalURL               string
	AuthorName, ReplyBody                                string
	Rating                                               *float64

	claim claim
	json  json.RawMessage // all properties, and those of the claim if it is known
}

// claim is a worker's claim of a record. ClaimID is empty for a record that an import brought as
// claimed. ConfirmedBy is known only to the command that creates the claim.
type claim struct {
	ClaimID     *string `json:"claimId"`
	ClaimedAt   *string `json:"claimedAt"`
	ConfirmedBy *string `json:"confirmedBy,omitempty"`
}

func (r record) claimID() string { return valueOrEmpty(r.claim.ClaimID) }

// target returns the platform of a post, or the source of feedback.
func (r record) target() string { return cmp.Or(r.Platform, r.Source) }

// MarshalJSON returns the record as the response contains it, followed by its claim.
func (r record) MarshalJSON() ([]byte, error) { return r.json, nil }

func (r *record) UnmarshalJSON(text []byte) error {
	type fields record // without the methods
	r.json = slices.Clone(text)
	return json.Unmarshal(text, (*fields)(r))
}

// withClaim returns the record with a claim, also in its JSON.
func (r record) withClaim(c claim) (record, error) {
	text, err := schema.Encode(c)
	if err != nil {
		return r, err
	}
	r.claim = c
	r.json = slices.Concat(bytes.TrimSuffix(r.json, []byte("}")), []byte(","), text[1:])
	return r, nil
}

// claimedRecord is the response to a claim, and a record in a list of claims.
type claimedRecord struct {
	claim

	Post, Feedback *record // one of them is not nil
}

func (c claimedRecord) record() (record, error) {
	r := cmp.Or(c.Post, c.Feedback)
	if r == nil {
		return record{}, errors.New("the response to a claim has no record")
	}
	return r.withClaim(c.claim)
}

// decode decodes a response, unless the call has failed.
func decode[T any](response client.Response, err error) (out T, _ error) {
	if err != nil {
		return out, err
	}
	if err := json.Unmarshal(response.Body, &out); err != nil {
		return out, fmt.Errorf("decode the response to %s: %w", response.RequestID(), err)
	}
	return out, nil
}

// pageFunc requests a page of a list.
type pageFunc func(cursor client.Optional[string], limit client.Optional[int], into client.CallOption) (next string, err error)

// pageMax is the maximum number of records in one page of the API.
const pageMax = 200

// readPages reads a list that starts after a cursor: limit records, or all if limit is 0. It also
// returns the cursor of the next page.
func readPages[T any](get pageFunc, cursor string, limit int) (found []T, next string, err error) {
	for next = cursor; ; {
		size := pageMax
		if limit > 0 {
			size = min(size, limit-len(found))
		}
		var response client.Response
		after, err := get(optionalText(next), client.Value(size), client.Into(&response))
		page, err := decode[struct{ Items []T }](response, err)
		if err != nil {
			return nil, "", err
		}
		found, next = append(found, page.Items...), after
		if next == "" || len(found) == limit {
			return found, next, nil
		}
	}
}

// claimedUntil returns the records that were claimed at or before a time, the earliest first. A
// record without a claim comes before all others.
func claimedUntil(claimed []claimedRecord, until string) (out []record, err error) {
	for _, c := range claimed {
		if valueOrEmpty(c.ClaimedAt) > until {
			continue
		}
		r, err := c.record()
		if err != nil {
			return nil, err
		}
		out = append(out, r)
	}
	slices.SortFunc(out, func(a, b record) int {
		return cmp.Or(strings.Compare(valueOrEmpty(a.claim.ClaimedAt), valueOrEmpty(b.claim.ClaimedAt)), strings.Compare(a.ID, b.ID))
	})
	return out, nil
}

// optionalText returns an optional argument, which is not sent if the text is empty.
func optionalText(text string) (out client.Optional[string]) {
	if text != "" {
		out = client.Value(text)
	}
	return out
}

// optionalTime returns an optional argument, which is not sent if the text is empty.
func optionalTime(text string) (out client.Optional[time.Time], err error) {
	if text == "" {
		return out, nil
	}
	at, ok := timestamp.Parse(text)
	if !ok {
		return out, errors.New("must be a time such as 2026-08-11T09:30:00Z")
	}
	return client.Value(at), nil
}

func valueOrEmpty(text *string) string {
	if text == nil {
		return ""
	}
	return *text
}

// cell returns a text for a table, or a dash if it is empty.
func cell(text string) string { return terminal.FormatText(textOrNil(text)) }

func textOrNil(text string) *string {
	if text == "" {
		return nil
	}
	return &text
}
