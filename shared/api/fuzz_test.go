package api_test

import (
	"context"
	"maps"
	"net/http"
	"net/url"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"growthworkspace/shared/api"
	"growthworkspace/shared/id"
	"growthworkspace/shared/schema"
	"growthworkspace/shared/table"
	"growthworkspace/shared/timestamp"
)

// operationCall is the operation that a request called, and the ids that its function received.
type operationCall struct {
	operation string
	ids       []string
}

// callPath sends a GET with exactly this path, neither cleaned nor escaped. sent is false if an
// HTTP server would not accept the path.
func callPath(t *testing.T, path string) (call operationCall, status int, sent bool) {
	t.Helper()
	s := start(t)
	s.get = func(_ context.Context, c api.Caller, in getInput) (any, error) {
		call.ids = []string{c.CompanyID, in.ItemID}
		return record{}, nil
	}
	s.list = func(_ context.Context, c api.Caller, in listInput) (api.List[record], error) {
		call.ids = []string{c.CompanyID, in.BoardID}
		return api.NewList(table.Page[record]{Records: []record{}, Next: "here"}), nil
	}
	u, err := url.ParseRequestURI(strings.ReplaceAll(path, "{companyId}", s.companyID))
	if err != nil || u.RawQuery != "" || u.ForceQuery {
		return call, 0, false
	}
	r := s.request(http.MethodGet, "/", "")
	r.URL = u
	a := s.do(r)
	call.operation = respondingOperation(a, call.ids)
	if a.Code == http.StatusOK && call.ids != nil && call.ids[0] != s.companyID {
		t.Fatalf("%s: reached the company %s", path, call.ids[0])
	}
	return call, a.Code, true
}

// respondingOperation returns the operation that sent a response. It recognises a list by the
// cursor in the response, which is valid for one operation only.
func respondingOperation(a httpResponse, ids []string) string {
	switch {
	case a.Code == http.StatusMethodNotAllowed:
		return a.Header().Get("Allow")
	case a.Code != http.StatusOK:
		return ""
	case ids == nil && strings.Contains(a.Body.String(), `"items"`):
		return "list_things"
	case ids == nil:
		return "get_current"
	}
	for _, operation := range []string{"list_items", "list_other"} {
		cursor := schema.CursorScope{Operation: operation, Filters: []string{"boardId=" + ids[1]}}.Encode("here")
		if strings.Contains(a.Header().Get("Link"), "cursor="+cursor) {
			return operation
		}
	}
	return "get_item"
}

// FuzzPath checks that a path either matches an operation, byte for byte except for the ids in it,
// or is not found. It must not be redirected or cleaned. A function must receive only valid ids, so
// that a table key never contains unchecked input from a path. The same path with its ids unescaped
// must reach the same operation with the same ids.
func FuzzPath(f *testing.F) {
	for _, path := range []string{
		itemPath, itemsPath, sharedRoot + "/items/current", sharedRoot + "/items/%63urrent", "/v1/companies", sharedRoot + "/boards/brd_1/other", publishPath, sharedRoot + "/items/%69tm_1", sharedRoot + "/items/itm_1/", "/" + itemPath, "//x" + itemPath,
		sharedRoot + "/items/itm_1%2Fother", sharedRoot + "/items/itm_1%23brd", sharedRoot + "/items/..", sharedRoot + "/items/%2e%2e", sharedRoot + "/x/../items/itm_1", sharedRoot + "/items/itm_1%00", sharedRoot + "/items/itm_1%0a", sharedRoot + "/items/%zz",
		"/v1/companies/{companyId}%23plan/items/itm_1", "/v1/companies/%63o_1/items/itm_1", "/V1/companies", "*", "/", "", "http://other.test" + itemPath, sharedRoot + "/items/itm_1%3Fa=b", sharedRoot + "/items/itm_1;a=b", sharedRoot + "/boards/%252e/items", sharedRoot + "/items/ïtm_1",
	} {
		f.Add(path)
	}
	f.Fuzz(func(t *testing.T, path string) {
		call, status, sent := callPath(t, path)
		switch {
		case !sent || status == http.StatusNotFound:
			return
		case status == http.StatusMethodNotAllowed && call.operation != "":
			return
		case status != http.StatusOK:
			t.Fatalf("%q: status %d, want 200", path, status)
		}
		canonicalPath := map[string]string{"list_things": "/v1/companies", "get_current": sharedRoot + "/items/current", "get_item": sharedRoot + "/items/", "list_items": sharedRoot + "/boards/", "list_other": sharedRoot + "/boards/"}[call.operation]
		if call.ids != nil {
			if !id.Valid("", call.ids[1]) || strings.ContainsAny(call.ids[1], "#/%.") {
				t.Fatalf("%q reaches %s with the id %q", path, call.operation, call.ids[1])
			}
			canonicalPath += call.ids[1] + map[string]string{"list_items": "/items", "list_other": "/other"}[call.operation]
		}
		if again, status, _ := callPath(t, canonicalPath); status != http.StatusOK || again.operation != call.operation || !slices.Equal(again.ids, call.ids) {
			t.Fatalf("%q reaches %v, %q reaches %v: %d", path, call, canonicalPath, again, status)
		}
		if strings.Count(path, "/")-strings.Count(path, "://")*2 != strings.Count(canonicalPath, "/") {
			t.Fatalf("%q reaches %v through another number of segments", path, call)
		}
	})
}

// FuzzQuery checks that either the function receives exactly the parameters that net/url parses, or
// the response is 400 and every message begins with `query.` or `query: `. The response may be 400
// only if the query contains a malformed pair, an unknown or repeated name, or an invalid value.
func FuzzQuery(f *testing.F) {
	cursor := schema.CursorScope{Operation: "list_items", Filters: []string{"boardId=brd_1"}}.Encode("here")
	for _, query := range []string{
		"", "limit=5&stage=live&since=2026-08-11", "limit=5&limit=5", "limit=%35", "l%69mit=5", "limit=5;stage=live", "limit", "limit=", "=", "&&limit=5&", "stage=live&stage=draft", "since=2026-08-11T23:00:00-02:00",
		"cursor=" + cursor, "cursor=" + cursor + "&stage=live", "cursor=" + cursor + "%3D", "cursor=", "limit=+5", "limit=05", "limit=1e2", "limit=200&nope=1", "limit=201", "%zz=1", "limit=%zz", "stage=%ff", "since=0000-01-01", "limit=5=6", "Limit=5",
	} {
		f.Add(query)
	}
	f.Fuzz(func(t *testing.T, query string) {
		s := start(t)
		var got *listInput
		s.list = func(_ context.Context, _ api.Caller, in listInput) (api.List[record], error) {
			got = &in
			return api.List[record]{}, nil
		}
		r := s.request(http.MethodGet, itemsPath, "")
		r.URL.RawQuery = query
		a := s.do(r)
		want, valid := parseQuery(query)
		if a.Code == http.StatusBadRequest && got == nil {
			for _, m := range a.messages {
				if !strings.HasPrefix(m, "query.") && !strings.HasPrefix(m, "query: ") {
					t.Errorf("%q: no path: %s", query, m)
				}
			}
			if onlyCursor := len(a.messages) == 1 && strings.HasPrefix(a.messages[0], "query.cursor: "); valid && !onlyCursor {
				t.Errorf("%q is rejected: %v", query, a.messages)
			}
			return
		}
		if a.Code != http.StatusOK || got == nil || !valid {
			t.Fatalf("%q: %d %s, valid: %t", query, a.Code, a.Body, valid)
		}
		if encoded := encodeQuery(*got, want); !maps.EqualFunc(encoded, want, slices.Equal) {
			t.Errorf("%q is parsed as %v, net/url has %v", query, encoded, want)
		}
	})
}

// parseQuery parses a query with net/url, and reports whether the list must accept it. It does not
// check the cursor.
func parseQuery(query string) (url.Values, bool) {
	values, err := url.ParseQuery(query)
	wholeNumber := regexp.MustCompile(`^(0|[1-9][0-9]*)$`)
	for name, list := range values {
		valid := false
		switch name {
		case "limit":
			n, err := strconv.Atoi(list[0])
			valid = err == nil && n >= 1 && n <= 200 && wholeNumber.MatchString(list[0])
		case "stage":
			valid = list[0] == "draft" || list[0] == "live"
		case "since":
			_, valid = timestamp.ParseDay(list[0])
		case "cursor":
			valid = len(list[0]) <= schema.CursorCharsMax
		}
		if !valid || len(list) != 1 {
			return values, false
		}
	}
	return values, err == nil
}

// encodeQuery returns the query parameters that an input represents. A parameter with its default
// value is included only if it was sent.
func encodeQuery(in listInput, sent url.Values) url.Values {
	out := url.Values{}
	if sent.Has("limit") || in.Limit != 50 {
		out.Set("limit", strconv.FormatInt(in.Limit, 10))
	}
	filters := []string{"boardId=" + in.BoardID}
	if in.Stage != nil {
		out.Set("stage", string(*in.Stage))
		filters = append(filters, "stage="+string(*in.Stage))
	}
	if in.Since != nil {
		out.Set("since", *in.Since)
		filters = append(filters, "since="+*in.Since)
	}
	switch {
	case in.Cursor != "":
		out.Set("cursor", schema.CursorScope{Operation: "list_items", Filters: filters}.Encode(string(in.Cursor)))
	case sent.Get("cursor") == "" && sent.Has("cursor"):
		out.Set("cursor", "")
	}
	return out
}
