package client

import (
	"context"
	"encoding/json"
	"fmt"
	"net/url"
	"reflect"
	"strings"
)

// operation contains what a generated method needs to know about its operation, apart from the
// types.
type operation struct {
	method, path string
	hasBody      bool // whether it accepts a JSON body
	repeatable   bool // whether a retry is always safe
	takesKey     bool // whether it accepts an Idempotency-Key, which makes a retry safe
	quota        string
}

// call calls an operation. in is its input, a struct whose fields are tagged path, query or json.
func call[T any](ctx context.Context, c *Client, op operation, in any, options []CallOption) (T, error) {
	var out T
	request, err := op.request(in)
	if err != nil {
		return out, err
	}
	response, err := c.Do(ctx, request, options...)
	if err != nil {
		return out, err
	}
	return out, response.decode(&out)
}

// request builds the request for an input. Optional fields without a value are left out of the
// query.
func (op operation) request(in any) (Request, error) {
	r := Request{Method: op.method, Path: op.path, Query: url.Values{}, Repeatable: op.repeatable, AcceptsIdempotencyKey: op.takesKey, Quota: op.quota}
	v := reflect.ValueOf(in)
	for i := range v.NumField() {
		f := v.Type().Field(i)
		if name := f.Tag.Get("path"); name != "" {
			id := v.Field(i).String()
			if id == "" || id == "." || id == ".." { // such a segment would change the path
				return r, fmt.Errorf("client: %s: must be an id, not %q", name, id)
			}
			r.Path = strings.ReplaceAll(r.Path, "{"+name+"}", url.PathEscape(id))
		}
		if name := f.Tag.Get("query"); name != "" {
			text, sent := fmt.Sprint(v.Field(i).Interface()), true
			if o, ok := v.Field(i).Interface().(interface{ parameter() (string, bool) }); ok {
				text, sent = o.parameter()
			}
			if sent {
				r.Query.Set(name, text)
			}
		}
	}
	if !op.hasBody {
		return r, nil
	}
	body, err := json.Marshal(in)
	if err != nil {
		return r, fmt.Errorf("client: encode the body: %w", err)
	}
	r.Body = body
	return r, nil
}
