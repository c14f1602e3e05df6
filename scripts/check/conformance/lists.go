package conformance

import (
	"encoding/json"
	"fmt"
	"net/url"
	"reflect"
	"slices"
	"strconv"
	"strings"

	"growthworkspace/shared/fault"
)

// checkLimits requires that a list honours its limit, has a default, and refuses a limit outside of
// the document's bounds.
func checkLimits(k *runner) {
	k.eachList(func(p read) {
		limit := p.parameter("limit")
		if limit == nil {
			return
		}
		one := k.get(p.url("limit", "1"))
		if _, ok := k.requireObject(one); ok {
			k.require(len(one.records()) == min(1, len(p.records())), "%s: %d records", one.request, len(one.records()))
		}
		var most int
		if json.Unmarshal(limit.Schema.Default, &most) == nil {
			k.require(len(p.records()) <= most, "%s: %d records, and the default is %d", p.request, len(p.records()), most)
		}
		if limit.Schema.Minimum == nil || limit.Schema.Maximum == nil {
			k.fail("%s: the document gives no bounds of limit", p.ID)
			return
		}
		least, largest := int(*limit.Schema.Minimum), int(*limit.Schema.Maximum)
		for _, value := range []string{strconv.Itoa(least - 1), strconv.Itoa(largest + 1), "1.5", "many"} {
			k.requireError(k.get(p.url("limit", value)), fault.BadRequest, "limit")
		}
		k.requireObject(k.get(p.url("limit", strconv.Itoa(largest))))
	})
}

// checkParameters sends an unknown parameter, a repeated one, and leaves out a required one.
func checkParameters(k *runner) {
	k.eachRead(func(p read) {
		k.requireError(k.get(p.url("nope", "1")), fault.BadRequest, "nope")
		if p.parameter("limit") != nil {
			k.requireError(k.get(p.url("limit", "1")+"&limit=1"), fault.BadRequest, "limit")
		}
		for name := range p.query {
			k.requireError(k.get(p.path), fault.BadRequest, name)
		}
	})
}

// pagesRead is the number of pages with one record that checkPaging reads from each list.
const pagesRead = 3

// checkPaging compares pages of one record with one page of as many records. It ignores the order
// of the records, because the first page of metric points has the newest ones, but each page begins
// with its oldest point.
func checkPaging(k *runner) {
	k.eachList(func(p read) {
		if p.parameter("limit") == nil || p.parameter("cursor") == nil && !p.isFeed() {
			return
		}
		whole := k.get(p.url("limit", strconv.Itoa(pagesRead)))
		if _, ok := k.requireObject(whole); !ok {
			return
		}
		var parts []map[string]any
		next := p.url("limit", "1")
		for n := 0; n < pagesRead && next != ""; n++ {
			page := k.get(next)
			if _, ok := k.requireObject(page); !ok {
				return
			}
			parts = append(parts, page.records()...)
			var err error
			if p.isFeed() && page.HasMore() {
				next = p.url("limit", "1", "after", page.Header.Get("Service-After"))
			} else if next, err = k.nextPage(page); err != nil {
				k.fail("%s: %v", page.request, err)
				return
			}
			hasMore := page.Header.Get("Service-Has-More")
			k.require(hasMore == strconv.FormatBool(next != ""), "%s: Service-Has-More is %q, Link %q", page.request, hasMore, page.Header.Get("Link"))
			k.require(next == "" || len(page.records()) == 1, "%s: a page before the last has %d records", page.request, len(page.records()))
		}
		if p.isFeed() { // it may have grown since the whole list was read
			parts = parts[:min(len(parts), len(whole.records()))]
		}
		if p.area() != "keys" { // each request changes the lastUsedAt of its key
			k.require(sameRecords(parts, whole.records()), "%s: the %d records of several pages differ from the %d of one page", p.request, len(parts), len(whole.records()))
		}
	})
}

// nextPage returns the path of the next page, or "" if r is the last page. It returns an error if
// the link to the next page does not begin with the base URL, including the stage of API Gateway.
// It accepts an https link in the response to an http request, because emulators of API Gateway
// send such links.
func (run *runner) nextPage(r response) (string, error) {
	cursor, err := r.Next()
	if err != nil || cursor == "" {
		return "", err
	}
	link, _, _ := strings.Cut(strings.TrimPrefix(r.Header.Get("Link"), "<"), ">")
	base, err := url.Parse(run.BaseURL)
	if err != nil {
		return "", err
	}
	target, err := base.Parse(link)
	if err != nil {
		return "", err
	}
	if base.Scheme == "http" {
		target.Scheme = "http"
	}
	path, ok := strings.CutPrefix(target.String(), run.BaseURL)
	if !ok {
		return "", fmt.Errorf("the next page is %s, which is not below %s", link, run.BaseURL)
	}
	return path, nil
}

// sameRecords reports whether two lists have the same records in any order.
func sameRecords(parts, whole []map[string]any) bool {
	left := slices.Clone(whole)
	for _, part := range parts {
		i := slices.IndexFunc(left, func(record map[string]any) bool { return reflect.DeepEqual(record, part) })
		if i < 0 {
			return false
		}
		left = slices.Delete(left, i, i+1)
	}
	return len(left) == 0
}

// checkCursors sends a forged cursor, an empty one, and the cursor of another list.
func checkCursors(k *runner) {
	otherCursor, otherList := "", ""
	k.eachList(func(p read) {
		if p.parameter("cursor") == nil {
			return
		}
		k.requireError(k.get(p.url("cursor", "bm90aGluZw")), fault.BadRequest, "cursor")
		k.requireError(k.get(p.url("cursor", "")), fault.BadRequest, "cursor")
		if otherCursor != "" && otherList != p.ID {
			k.requireError(k.get(p.url("cursor", otherCursor)), fault.BadRequest, "cursor")
		}
		if p.parameter("limit") == nil {
			return
		}
		if next, err := k.get(p.url("limit", "1")).Next(); err == nil && next != "" {
			otherCursor, otherList = next, p.ID
		}
	})
}
