package contract

import (
	"encoding/json"
	"fmt"
	"maps"
	"net/http"
	"net/url"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"time"

	"growthworkspace/shared/api"
	"growthworkspace/shared/client"
	"growthworkspace/shared/fault"
	"growthworkspace/shared/schema"
)

func sortedKeys(m map[string]any) []string { return slices.Sorted(maps.Keys(m)) }

func checkLimitHonoured(k *runner) {
	k.eachPagedList(func(p discoveredRead, _ schema.Field) {
		var body listBody[any]
		got := k.get(p.url("limit", "1"))
		if k.checkSuccess(got, &body) && (len(body.Items) > 1 || len(body.Items) == 0 && len(p.records()) > 0) {
			k.fail("%s: %d records", got.request, len(body.Items))
		}
	})
}

func checkLimitDefault(k *runner) {
	k.eachPagedList(func(p discoveredRead, f schema.Field) {
		k.countCheck()
		most, err := strconv.Atoi(f.Default)
		if n := len(p.records()); err == nil && n > most {
			k.fail("%s: %d records, and the default is %d", p.request, n, most)
		}
	})
}

func isUnspecifiedList(op api.Operation) bool { return !isSpecifiedList(op) }

func checkLimitBounds(include func(api.Operation) bool) func(*runner) {
	return func(k *runner) {
		k.eachPagedList(func(p discoveredRead, f schema.Field) {
			if !include(p.Operation) {
				return
			}
			for _, limit := range []string{strconv.Itoa(int(*f.Min) - 1), strconv.Itoa(int(*f.Max) + 1), "1.5", "many"} {
				k.checkError(k.get(p.url("limit", limit)), fault.BadRequest, "limit")
			}
			var body any
			k.checkSuccess(k.get(p.url("limit", strconv.Itoa(int(*f.Max)))), &body)
		})
	}
}

func checkClosedFilters(k *runner) {
	k.eachList(func(p discoveredRead) {
		for _, f := range p.Input {
			if f.In == schema.InQuery && f.Enum != nil {
				k.checkError(k.get(p.url(f.Name, "nope")), fault.BadRequest, f.Name)
				for _, value := range f.Enum {
					var body any
					k.checkSuccess(k.get(p.url(f.Name, value)), &body)
				}
			}
		}
	})
}

func checkRequiredParameter(k *runner) {
	k.eachList(func(p discoveredRead) {
		for _, f := range p.Input {
			if f.In == schema.InQuery && f.Required {
				k.checkError(k.get(p.path), fault.BadRequest, f.Name)
			}
		}
	})
}

func checkDayBounds(k *runner) {
	k.eachList(func(p discoveredRead) {
		for _, names := range [][2]string{{"from", "to"}, {"postedFrom", "postedTo"}} {
			from, to := names[0], names[1]
			if p.field(from) == nil {
				continue
			}
			k.checkError(k.get(p.url(from, "yesterday")), fault.BadRequest, from)
			k.checkError(k.get(p.url(to, "2026-02-30")), fault.BadRequest, to)
			k.checkError(k.get(p.url(from, "2026-08-11", to, "2026-08-10")), fault.BadRequest, from)
		}
	})
}

// checkPostedDays chooses a review and lists the reviews that were posted on the same day. The
// result must contain the chosen review and only reviews of that day, the newest first.
func checkPostedDays(k *runner) {
	k.eachList(func(p discoveredRead) {
		if p.ID != "list_feedback" {
			return
		}
		records := p.records()
		index := slices.IndexFunc(records, func(r map[string]any) bool { return r["postedAt"] != nil })
		if index < 0 {
			k.skip("no listed review has a postedAt")
			return
		}
		day := records[index]["postedAt"].(string)[:len(time.DateOnly)]
		got := k.get(p.url("postedFrom", day, "postedTo", day, "limit", "200"))
		var body listBody[any]
		if !k.checkSuccess(got, &body) {
			return
		}
		var times []string
		found := false
		for _, r := range got.records() {
			at, _ := r["postedAt"].(string)
			times, found = append(times, at), found || r["id"] == records[index]["id"]
			if !strings.HasPrefix(at, day) {
				k.fail("%s: has a review posted at %s", got.request, at)
			}
		}
		slices.Reverse(times)
		if !found && got.header.Get("Service-Has-More") != "true" || !slices.IsSorted(times) {
			k.fail("%s: lacks %v, or is not in the order of posting: %v", got.request, records[index]["id"], times)
		}
	})
}

func checkUnknownParameter(k *runner) {
	k.eachRead(func(p discoveredRead) { k.checkError(k.get(p.url("nope", "1")), fault.BadRequest, "nope") })
	k.eachPagedList(func(p discoveredRead, _ schema.Field) {
		address := p.url("limit", "1")
		k.checkError(k.get(address+"&limit=1"), fault.BadRequest, "limit")
	})
}

// The number of pages that checkPaging reads from each list, and the number of records on a page.
const (
	pagesReadMax = 3
	pageSize     = 2
)

// checkPaging compares three pages of two records with one page of six records. It ignores the
// order of the records, because the first page of metric points has the newest ones, but each page
// begins with its oldest point.
func checkPaging(k *runner) {
	k.eachPagedList(func(p discoveredRead, _ schema.Field) {
		if p.header.Get("Service-Has-More") == "" {
			k.skip("the lists have no Service-Has-More: the service has no paging")
			return
		}
		var wholeList listBody[json.RawMessage]
		if !k.checkSuccess(k.get(p.url("limit", strconv.Itoa(pagesReadMax*pageSize))), &wholeList) {
			return
		}
		var parts []any
		next := p.url("limit", strconv.Itoa(pageSize))
		for n := 0; n < pagesReadMax && next != ""; n++ {
			got := k.get(next)
			var page listBody[any]
			if !k.checkSuccess(got, &page) {
				return
			}
			parts = append(parts, page.Items...)
			var err error
			hasMore := got.header.Get("Service-Has-More")
			switch {
			case !isFeed(got):
				next, err = k.nextPage(got)
			case hasMore == "true":
				next = p.url("limit", strconv.Itoa(pageSize), "after", got.header.Get("Service-After"))
			default:
				next = ""
			}
			switch {
			case err != nil:
				k.fail("%s: %v", got.request, err)
				return
			case hasMore != strconv.FormatBool(next != ""):
				k.fail("%s: Service-Has-More is %q, Link %q", got.request, hasMore, got.header.Get("Link"))
				return
			case next != "" && len(page.Items) != pageSize:
				k.fail("%s: a page before the last has %d records", got.request, len(page.Items))
			}
			if isFeed(got) { // the feed may have grown since the whole list was read
				parts = parts[:min(len(parts), len(wholeList.Items))]
			}
		}
		if p.ID != "list_keys" && !sameRecords(parts, wholeList.Items) { // not for keys, because each request changes the lastUsedAt of its key
			k.fail("%s: the %d records of several pages differ from the %d of one page", p.request, len(parts), len(wholeList.Items))
		}
	})
}

// isFeed reports whether a response is a page of a feed. A feed is a list that grows at its end.
// Clients continue to read it from the position in the Service-After header.
func isFeed(r response) bool { return r.header.Get("Service-After") != "" }

// nextPage returns the path of the next page, or "" if r is the last page. It returns an error if
// the link to the next page does not begin with the base URL, including the stage of API Gateway.
// It accepts an https link in the response to an http request, because emulators of API Gateway
// send such links.
func (k *runner) nextPage(r response) (string, error) {
	cursor, err := client.Response{Status: r.status, Header: r.header}.Next()
	if err != nil || cursor == "" {
		return "", err
	}
	link, _, _ := strings.Cut(strings.TrimPrefix(r.header.Get("Link"), "<"), ">")
	base, err := url.Parse(k.BaseURL)
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
	path, ok := strings.CutPrefix(target.String(), k.BaseURL)
	if !ok {
		return "", fmt.Errorf("the next page is %s, which is not below %s", link, k.BaseURL)
	}
	return path, nil
}

func sameRecords(parts []any, whole []json.RawMessage) bool {
	left := make([]any, 0, len(whole))
	for _, text := range whole {
		var v any
		if json.Unmarshal(text, &v) != nil {
			return false
		}
		left = append(left, v)
	}
	for _, part := range parts {
		i := slices.IndexFunc(left, func(v any) bool { return reflect.DeepEqual(v, part) })
		if i < 0 {
			return false
		}
		left = slices.Delete(left, i, i+1)
	}
	return len(left) == 0
}

func checkForgedCursor(k *runner) {
	var otherCursor string
	var otherList string
	k.eachPagedList(func(p discoveredRead, _ schema.Field) {
		if p.header.Get("Service-Has-More") == "" {
			k.skip("the lists have no Service-Has-More: the service has no paging")
			return
		}
		k.checkError(k.get(p.url("cursor", "bm90aGluZw")), fault.BadRequest, "cursor")
		k.checkError(k.get(p.url("cursor", "")), fault.BadRequest, "cursor")
		if otherCursor != "" && otherList != p.ID {
			k.checkError(k.get(p.url("cursor", otherCursor)), fault.BadRequest, "cursor")
		}
		got := k.get(p.url("limit", "1"))
		if next, err := (client.Response{Status: got.status, Header: got.header}).Next(); err == nil && next != "" {
			otherCursor, otherList = next, p.ID
		}
	})
}

func checkPinnedVersion(k *runner) {
	date := k.get("/v1/companies").header.Get("Service-Version")
	got := k.do(http.MethodGet, "/v1/companies", "", "Service-Version", date)
	var body any
	if k.checkSuccess(got, &body) && got.header.Get("Service-Version") != date {
		k.fail("%s: Service-Version is %q in the response to a request that pins %q", got.request, got.header.Get("Service-Version"), date)
	}
}

func checkUnknownVersion(k *runner) {
	for _, date := range []string{"1999-01-01", "newest"} {
		got := k.do(http.MethodGet, "/v1/companies", "", "Service-Version", date)
		k.checkError(got, fault.BadRequest, got.header.Get("Service-Version"))
	}
}

func checkHeadRequests(k *runner) {
	k.eachRead(func(p discoveredRead) {
		if p.status != http.StatusOK {
			return
		}
		k.countCheck()
		got := k.do(http.MethodHead, p.url(), "")
		if got.status != p.status || len(got.body) > 0 {
			k.fail("%s: %d with a body of %d bytes", got.request, got.status, len(got.body))
		}
	})
}

func checkEntityTags(k *runner) {
	k.eachRead(func(p discoveredRead) {
		if p.IsList() || isOptional(p.Operation) || p.status != http.StatusOK {
			return
		}
		tag := k.get(p.url()).header.Get("ETag")
		if tag == "" {
			k.skip("records have no ETag: the service does not support it")
			return
		}
		k.countCheck()
		same := k.do(http.MethodGet, p.url(), "", "If-None-Match", tag)
		if same.status != http.StatusNotModified || len(same.body) > 0 {
			k.fail("%s with its ETag: %d with a body of %d bytes", same.request, same.status, len(same.body))
		}
		other := k.do(http.MethodGet, p.url(), "", "If-None-Match", `"nope"`)
		if other.status != http.StatusOK {
			k.fail("%s with another ETag: %d", other.request, other.status)
		}
	})
}

func checkQuotaHeaders(k *runner) {
	k.eachRead(func(p discoveredRead) {
		if p.header.Get("RateLimit-Limit") == "" && p.ID == "list_companies" {
			k.skip("responses have no RateLimit-Limit: the service does not support it")
			return
		}
		k.countCheck()
		for _, name := range []string{"RateLimit-Limit", "RateLimit-Remaining", "RateLimit-Reset"} {
			if n, err := strconv.Atoi(p.header.Get(name)); err != nil || n < 0 {
				k.fail("%s: %s is %q", p.request, name, p.header.Get(name))
			}
		}
		limit := p.header.Get("RateLimit-Limit")
		if policy := p.header.Get("RateLimit-Policy"); !strings.HasPrefix(policy, `"read";q=`+limit+";w=") {
			k.fail("%s: RateLimit-Policy is %q, RateLimit-Limit %q", p.request, policy, limit)
		}
		state := fmt.Sprintf(`"read";r=%s;t=%s`, p.header.Get("RateLimit-Remaining"), p.header.Get("RateLimit-Reset"))
		if got := p.header.Get("RateLimit"); got != state {
			k.fail("%s: RateLimit is %q, want %q", p.request, got, state)
		}
	})
}
