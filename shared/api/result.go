package api

import (
	"encoding/json"
	"fmt"
	"reflect"

	"growthworkspace/shared/schema"
	"growthworkspace/shared/table"
)

// List is the response to every list operation: an object with the field items and nothing else.
// The cursor of the next page is in a header, because the specification does not allow another
// field in the body.
type List[T any] struct {
	Items []T `json:"items"`

	page listPage
}

// listPage contains the fields of a List whose types do not depend on its type parameter.
type listPage struct {
	jsonRecords   []json.RawMessage // records that are already JSON; used instead of Items
	nextPosition  string
	positionAfter func(n int) string
	backward      bool
	isFeed        bool
	feedHasMore   bool // whether the feed continues after the page; set only for a feed
}

// NewList returns a page of records. A response contains at most table.PageBytes of JSON, so
// records that do not fit are left for the next page. If PositionAfter is nil, the page is returned
// whole.
func NewList[T any](page table.Page[T]) List[T] {
	return List[T]{page.Records, listPage{nextPosition: page.Next, positionAfter: page.PositionAfter, backward: page.Backward}}
}

// NewFeed returns a page of a feed: a list that grows at its end, which clients resume where they
// stopped. page.Next is the position after the page, set even at the end of the list. Clients get
// that position unchanged in the Service-After header, and hasMore in Service-Has-More.
func NewFeed[T any](page table.Page[T], hasMore bool) List[T] {
	return List[T]{page.Records, listPage{nextPosition: page.Next, positionAfter: page.PositionAfter, isFeed: true, feedHasMore: hasMore}}
}

// NewJSONList is like NewList, for records that are already encoded as JSON.
func NewJSONList[T any](page table.Page[json.RawMessage]) List[T] {
	return List[T]{page: listPage{jsonRecords: page.Records, nextPosition: page.Next, positionAfter: page.PositionAfter, backward: page.Backward}}
}

// PartialResult is the response to an operation, other than a list, that may do only part of its
// work, such as a large delete. HasMore reports whether work remains; repeating the call continues
// it.
type PartialResult interface{ HasMore() bool }

type listResult interface {
	encodePage() (encodedPage, error)
	empty() bool
}

// encodedPage is a page of a list as JSON, and the position at which the list continues.
type encodedPage struct {
	body       []byte
	next       string // the position at which the next page begins; empty at the end of a list that is not a feed
	positionAt func(n int) string
	backward   bool
	isFeed     bool
	hasMore    bool
}

// MarshalJSON implements json.Marshaler.
func (l List[T]) MarshalJSON() ([]byte, error) {
	body, _, err := l.MarshalPage()
	return body, err
}

// MarshalPage returns the list as JSON, and the position at which the next page begins, or "" at
// the end.
func (l List[T]) MarshalPage() (body []byte, next string, err error) {
	page, err := l.encodePage()
	return page.body, page.next, err
}

func (l List[T]) encodePage() (encodedPage, error) { return l.page.encode(l.Items) }

// encode encodes l.jsonRecords or, if there are none, items, which is a slice of records.
func (l listPage) encode(items any) (encodedPage, error) {
	page := encodedPage{
		next: l.nextPosition, positionAt: l.positionAfter, backward: l.backward,
		isFeed: l.isFeed, hasMore: l.feedHasMore || !l.isFeed && l.nextPosition != "",
	}
	texts, records := l.jsonRecords, reflect.ValueOf(items)
	if len(texts) == 0 {
		if records.Len() == 0 { // encoding/json would write null for nil
			page.body = []byte(`{"items":[]}`)
			return page, nil
		}
		var err error
		page.body, err = schema.Encode(map[string]any{"items": items})
		if err != nil || len(page.body) <= table.PageBytes || l.positionAfter == nil {
			return page, err
		}
		texts = make([]json.RawMessage, records.Len())
		for i := range texts {
			if texts[i], err = schema.Encode(records.Index(i).Addr().Interface()); err != nil {
				return encodedPage{}, err
			}
		}
	}
	l.fitPage(texts, &page)
	return page, nil
}

// fitPage adds as many records to the page as fit, but at least one, and sets the position at which
// the list continues. It copies the records' JSON itself, because encoding/json would validate
// every byte again.
func (l listPage) fitPage(texts []json.RawMessage, page *encodedPage) {
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
	left := len(texts) - n
	page.hasMore = page.hasMore || left > 0
	switch {
	case left == 0:
	case l.backward:
		texts, page.next = texts[left:], l.positionAfter(left)
		page.positionAt = func(n int) string { return l.positionAfter(left + n) }
	default:
		texts, page.next = texts[:n], l.positionAfter(n-1)
	}
	body := append(make([]byte, 0, size), `{"items":`...)
	separator := byte('[')
	for _, text := range texts {
		body = append(append(body, separator), text...)
		separator = ','
	}
	page.body = append(body, "]}"...)
}

func (l List[T]) empty() bool { return len(l.Items) == 0 && len(l.page.jsonRecords) == 0 }

// result is what a step of the pipeline returns if it succeeds: the JSON of a record or a list.
type result struct {
	encodedPage // for a record, only body is set

	tag  string // entity tag; empty if there is none
	more *bool  // whether there is more to list or to do; nil if the result is neither a list nor a PartialResult

	empty bool   // whether the result is a list without records; never set for a feed, whose empty pages need no explanation
	note  string // see Response.Note

	toolBody []byte // see Response.ToolBody
}

// encode returns the JSON of an operation's result, and its entity tag if withETag is true or the
// value is an ETagger.
func encode(value any, withETag bool) (result, error) {
	r := result{}
	var err error
	if list, ok := value.(listResult); ok {
		r.encodedPage, err = list.encodePage()
		r.more, r.empty = new(r.hasMore), list.empty() && !r.hasMore && !r.isFeed
	} else {
		r.body, err = schema.Encode(value)
	}
	if partial, ok := value.(PartialResult); ok {
		r.more = new(partial.HasMore())
	}
	if err != nil {
		return result{}, fmt.Errorf("encode the response: %w", err)
	}
	if _, isETagger := value.(ETagger); isETagger || withETag {
		r.tag = etagOf(value, r.body)
	}
	return r, nil
}
