package client

import (
	"context"
	"errors"
	"iter"
	"maps"
	"net/url"
	"regexp"
)

// Page is one page of a list.
type Page[T any] struct {
	Items []T `json:"items"`

	// Next is the cursor of the next page. It is empty at the end of the list.
	Next string `json:"-"`

	// After is the position from which to continue a list of changes, set even at the end of the
	// list. HasMore reports whether there are more changes now. Both are set only for such a list.
	After   string `json:"-"`
	HasMore bool   `json:"-"`
}

func onePage[T any](ctx context.Context, c *Client, op operation, in any, options []CallOption) (Page[T], error) {
	request, err := op.request(in)
	if err != nil {
		return Page[T]{}, err
	}
	return readPage[T](ctx, c, request, options)
}

func readPage[T any](ctx context.Context, c *Client, request Request, options []CallOption) (Page[T], error) {
	var out Page[T]
	response, err := c.Do(ctx, request, options...)
	if err != nil {
		return out, err
	}
	if err := response.decode(&out); err != nil {
		return out, err
	}
	if out.After = response.Header.Get("Service-After"); out.After != "" {
		out.HasMore = response.HasMore()
		return out, nil
	}
	out.Next, err = response.Next()
	return out, err
}

// allPages iterates over the records of all pages. It ends after the last record or the first
// error.
func allPages[T any](ctx context.Context, c *Client, op operation, in any, options []CallOption) iter.Seq2[T, error] {
	request, err := op.request(in)
	if err != nil {
		return func(yield func(T, error) bool) {
			var none T
			yield(none, err)
		}
	}
	return All[T](ctx, c, request, options...)
}

// All iterates over the records of all pages of a list, for an operation for which this package has
// no method. It ends after the last record or the first error.
func All[T any](ctx context.Context, c *Client, request Request, options ...CallOption) iter.Seq2[T, error] {
	return func(yield func(T, error) bool) {
		var none T
		request := request
		request.Query = maps.Clone(request.Query)
		if request.Query == nil {
			request.Query = url.Values{}
		}
		for {
			got, err := readPage[T](ctx, c, request, options)
			if err != nil {
				yield(none, err)
				return
			}
			for _, record := range got.Items {
				if !yield(record, nil) {
					return
				}
			}
			switch {
			case got.HasMore:
				request.Query.Set("after", got.After)
				request.Query.Del("since")
				continue
			case got.Next == "":
				return
			}
			if got.Next == request.Query.Get("cursor") {
				yield(none, errors.New("client: the next page has the same cursor"))
				return
			}
			request.Query.Set("cursor", got.Next)
		}
	}
}

var nextLink = regexp.MustCompile(`<([^>]*)>[^,<]*;\s*rel="?next"?`)

// Next returns the cursor of the next page, or "" at the end. It uses only the cursor in the Link
// header, not its host, so that the key is never sent to another host.
func (r Response) Next() (string, error) {
	for _, link := range r.Header.Values("Link") {
		found := nextLink.FindStringSubmatch(link)
		if found == nil {
			continue
		}
		u, err := url.Parse(found[1])
		if err != nil || u.Query().Get("cursor") == "" {
			return "", errors.New("client: the Link to the next page has no cursor")
		}
		return u.Query().Get("cursor"), nil
	}
	if r.HasMore() {
		return "", errors.New("client: Service-Has-More is true, but there is no Link to the next page")
	}
	return "", nil
}
