package api

import (
	"encoding/json"
	"fmt"

	"growthworkspace/shared/schema"
	"growthworkspace/shared/table"
)

// List is the response of every list: an object with items and nothing else. The cursor of the next
// page is in a header, because the specification gives the body no other field.
type List[T any] struct {
	Items []T `json:"items"`

	jsonRecords   []json.RawMessage // replaces Items
	next          string
	positionAfter func(n int) string
	backward      bool
}

// NewList returns a page of records. A response has at most table.PageBytes of JSON: the records of
// the page that do not fit are left for the next one. A page without the function Behind is
// returned whole.
func NewList[T any](page table.Page[T]) List[T] {
	return List[T]{Items: page.Records, next: page.Next, positionAfter: page.PositionAfter, backward: page.Backward}
}

// NewJSONList is NewList for records that are encoded as JSON already.
func NewJSONList[T any](page table.Page[json.RawMessage]) List[T] {
	return List[T]{jsonRecords: page.Records, next: page.Next, positionAfter: page.PositionAfter, backward: page.Backward}
}

// Partial is implemented by a response, other than a list, that may cover only part of the work,
// such as a large delete. HasMore reports whether work remains; repeating the call continues it.
type Partial interface{ HasMore() bool }

type listResult interface {
	Page() (body []byte, next string, err error)
	empty() bool
}

// MarshalJSON implements json.Marshaler.
func (l List[T]) MarshalJSON() ([]byte, error) {
	body, _, err := l.Page()
	return body, err
}

// Page returns the list as JSON, and the position of the next page, empty at the end.
func (l List[T]) Page() (body []byte, next string, err error) {
	if len(l.jsonRecords) > 0 {
		body, next = l.fitPage(l.jsonRecords)
		return body, next, nil
	}
	items := l.Items
	if items == nil {
		items = []T{} // encoding/json would write null
	}
	body, err = schema.Encode(map[string][]T{"items": items})
	if err != nil || len(body) <= table.PageBytes || l.positionAfter == nil {
		return body, l.next, err
	}
	texts := make([]json.RawMessage, len(items))
	for i := range items {
		if texts[i], err = schema.Encode(&items[i]); err != nil {
			return nil, "", err
		}
	}
	body, next = l.fitPage(texts)
	return body, next, nil
}

// fitPage returns the list of the records that fit into one page, at least one, and the position of
// the next page. Records are copied: encoding/json would validate each of their bytes again.
func (l List[T]) fitPage(texts []json.RawMessage) (body []byte, next string) {
	size, n := len(`{"items":`+"]}"), 0
	for n < len(texts) {
		text := texts[n]
		if l.backward {
			text = texts[len(texts)-1-n]
		}
		if n > 0 && size+len(text)+len(",") > table.PageBytes && l.positionAfter != nil {
			break
		}
		size, n = size+len(text)+len(","), n+1
	}
	switch next = l.next; {
	case n == len(texts):
	case l.backward:
		texts, next = texts[len(texts)-n:], l.positionAfter(len(texts)-n)
	default:
		texts, next = texts[:n], l.positionAfter(n-1)
	}
	body = append(make([]byte, 0, size), `{"items":`...)
	separator := byte('[')
	for _, text := range texts {
		body = append(append(body, separator), text...)
		separator = ','
	}
	return append(body, "]}"...), next
}

func (l List[T]) empty() bool { return len(l.Items) == 0 && len(l.jsonRecords) == 0 }

// result is the result of a step of the pipeline: the JSON of a record or a list.
type result struct {
	body []byte
	tag  string // entity tag; empty: none
	next string // position of the next page
	more *bool  // of a list and of a Partial: whether there is more

	empty    bool   // a list without records
	whyEmpty string // why, for the caller of a tool; empty: nothing to say
}

// encode returns the JSON of an operation's result, and its entity tag if the records of the
// operation have one.
func encode(value any, tagged bool) (result, error) {
	r := result{}
	var err error
	if list, ok := value.(listResult); ok {
		r.body, r.next, err = list.Page()
		r.more, r.empty = new(r.next != ""), list.empty()
	} else {
		r.body, err = schema.Encode(value)
	}
	if partial, ok := value.(Partial); ok {
		r.more = new(partial.HasMore())
	}
	if err != nil {
		return result{}, fmt.Errorf("encode the response: %w", err)
	}
	if _, own := value.(ETagger); own || tagged {
		r.tag = etagOf(value, r.body)
	}
	return r, nil
}
