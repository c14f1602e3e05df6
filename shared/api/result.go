package api

import (
	"encoding/json"
	"fmt"

	"growthworkspace/shared/schema"
)

// List is the response of every list: an object with items and nothing else. The cursor of the next page is in a header, because
// the specification gives the body no other field.
type List[T any] struct {
	Items []T `json:"items"`

	texts []json.RawMessage // replaces Items
	next  string
}

// NewList returns a page of records. next is the position at which the next page continues, empty at the end of the list.
func NewList[T any](items []T, next string) List[T] {
	return List[T]{Items: items, next: next}
}

// NewTextList is NewList for records that are encoded as JSON already.
func NewTextList[T any](texts []json.RawMessage, next string) List[T] {
	return List[T]{texts: texts, next: next}
}

// Partial is implemented by the response of an operation that is no list and may end before everything is done, such as a delete
// of very much. HasMore reports whether something remains: the same call again goes on.
type Partial interface{ HasMore() bool }

type lister interface {
	Body() ([]byte, error)
	position() string
	empty() bool
}

// MarshalJSON implements json.Marshaler.
func (l List[T]) MarshalJSON() ([]byte, error) { return l.Body() }

// Body returns the list as JSON. Encoded records are copied: encoding/json would validate each of their bytes again.
func (l List[T]) Body() ([]byte, error) {
	if len(l.texts) == 0 {
		items := l.Items
		if items == nil {
			items = []T{} // encoding/json would write null
		}
		return schema.Encode(map[string][]T{"items": items})
	}
	size := len(`{"items":[]}`)
	for _, text := range l.texts {
		size += len(text) + len(",")
	}
	body := append(make([]byte, 0, size), `{"items":`...)
	separator := byte('[')
	for _, text := range l.texts {
		body = append(append(body, separator), text...)
		separator = ','
	}
	return append(body, "]}"...), nil
}

func (l List[T]) position() string { return l.next }

func (l List[T]) empty() bool { return len(l.Items) == 0 && len(l.texts) == 0 }

// result is the result of a step of the pipeline: the JSON of a record or a list.
type result struct {
	body []byte
	tag  string // entity tag; empty: none
	next string // position of the next page
	more *bool  // of a list and of a Partial: whether there is more

	empty    bool   // a list without records
	whyEmpty string // why, for the caller of a tool; empty: nothing to say
}

// encode returns the JSON of an operation's result, and its entity tag if the records of the operation have one.
func encode(value any, tagged bool) (result, error) {
	r := result{}
	var err error
	if list, ok := value.(lister); ok {
		r.next, r.empty = list.position(), list.empty()
		r.more = new(r.next != "")
		r.body, err = list.Body()
	} else {
		r.body, err = schema.Encode(value)
	}
	if partial, ok := value.(Partial); ok {
		r.more = new(partial.HasMore())
	}
	if err != nil {
		return result{}, fmt.Errorf("encode the response: %w", err)
	}
	if _, own := value.(Tagged); own || tagged {
		r.tag = tagOf(value, r.body)
	}
	return r, nil
}
