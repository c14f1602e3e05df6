package api_test

import (
	"context"
	"encoding/base64"
	"log/slog"
	"math/rand"
	"net/http"
	"net/url"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"growthworkspace/shared/api"
	"growthworkspace/shared/id"
	"growthworkspace/shared/table"
)

// Ensure that the body of an empty list is exactly {"items":[]}, and that Service-Has-More is
// false.
func TestEmptyList(t *testing.T) {
	s := start(t)
	for name, list := range map[string]api.List[record]{"nil": api.NewList(table.Page[record]{}), "zero": {}, "empty": api.NewList(table.Page[record]{Records: []record{}})} {
		s.list = func(context.Context, api.Caller, listInput) (api.List[record], error) { return list, nil }
		a := s.requireError(s.request("GET", itemsPath, ""), 200, "")
		requireHeaders(t, name, a.Header(), map[string]string{"Service-Has-More": "false"})
		if a.Body.String() != `{"items":[]}` || a.Header()["Link"] != nil {
			t.Errorf("%s: body %s, Link %q; want no items and no Link", name, a.Body, a.Header()["Link"])
		}
	}
	if a := s.do(s.request("GET", itemPath, "")); a.Header()["Service-Has-More"] != nil {
		t.Error("a record has Service-Has-More")
	}
}

// nextPageURL requests a page of a list whose next page begins at the position next. It returns the
// URL in the response's Link header.
func (s *service) nextPageURL(target, next string) *url.URL {
	s.t.Helper()
	s.list = func(context.Context, api.Caller, listInput) (api.List[record], error) {
		return api.NewList(table.Page[record]{Records: []record{{}}, Next: next}), nil
	}
	h := s.requireError(s.request("GET", target, ""), 200, "").Header()
	link, ok := strings.CutSuffix(h.Get("Link"), `>; rel="next"`)
	u, err := url.Parse(strings.TrimPrefix(link, "<"))
	if !ok || err != nil || h.Get("Service-Has-More") != "true" {
		s.t.Fatalf("Link %q, %v", h.Get("Link"), err)
	}
	return u
}

// Ensure the Link header contains an absolute URL that keeps the other query parameters. The cursor
// in it must decode to the original position, whatever characters that position contains.
func TestNextPage(t *testing.T) {
	s := start(t)
	for _, position := range []string{"brd_1", "a#b", "a\x00b", `"\<>&`, "😀", strings.Repeat("<", 900), strings.Repeat("\x00", 900), strings.Repeat("é", 450)} {
		u := s.nextPageURL(itemsPath+"?stage=live&limit=5&since=2026-08-11T00:00:00%2B02:00", position)
		if got := u.Scheme + "://" + u.Host + u.Path; got != "https://api.example.com/prod/v1/companies/"+s.companyID+"/boards/brd_1/items" {
			t.Errorf("Link to %s", got)
		}
		q := u.Query()
		if !q.Has("cursor") {
			t.Errorf("no cursor in %v", q)
		}
		q.Del("cursor")
		if diff := cmp.Diff(url.Values{"stage": {"live"}, "limit": {"5"}, "since": {"2026-08-11T00:00:00+02:00"}}, q); diff != "" {
			t.Errorf("other parameters (-want +got):\n%s", diff)
		}
		var got string
		s.list = func(_ context.Context, _ api.Caller, in listInput) (api.List[record], error) {
			got = string(in.Cursor)
			return api.List[record]{}, nil
		}
		s.requireError(s.request("GET", itemsPath+"?"+u.RawQuery, ""), 200, "")
		if got != position {
			t.Errorf("position %q was decoded to %q", position, got)
		}
		if second := s.nextPageURL(itemsPath+"?"+u.RawQuery, "other"); second.Query().Get("cursor") == u.Query().Get("cursor") || len(second.Query()["cursor"]) != 1 {
			t.Errorf("the second page links to %s", second)
		}
	}
}

// Ensure a cursor is valid only for the operation, filters and path for which it was issued, but
// with any limit. Any other cursor must be rejected with one message about the cursor.
func TestCursorIsBound(t *testing.T) {
	s := start(t)
	cursor := s.nextPageURL(itemsPath+"?stage=live", "here").Query().Get("cursor")
	for _, query := range []string{"?stage=live", "?limit=3&stage=live", "?stage=live&limit=200"} {
		s.requireError(s.request("GET", itemsPath+query+"&cursor="+cursor, ""), 200, "")
	}
	raw, err := base64.RawURLEncoding.DecodeString(cursor)
	if err != nil {
		t.Fatal(err)
	}
	encodeCursor := func(tail string) string { return base64.RawURLEncoding.EncodeToString(append(raw[:9:9], tail...)) }
	for name, target := range map[string]string{
		"another filter": itemsPath + "?stage=draft&cursor=" + cursor, "no filter": itemsPath + "?cursor=" + cursor, "one filter more": itemsPath + "?stage=live&since=2026-01-01&cursor=" + cursor,
		"another board": sharedRoot + "/boards/brd_2/items?stage=live&cursor=" + cursor, "another list": sharedRoot + "/boards/brd_1/other?stage=live&cursor=" + cursor,
		"a NUL that joins two filters": itemsPath + "?stage=live%00&cursor=" + cursor,
		"cut":                          itemsPath + "?stage=live&cursor=" + cursor[:8], "no position": itemsPath + "?stage=live&cursor=" + encodeCursor(""), "position too long": itemsPath + "?stage=live&cursor=" + encodeCursor(strings.Repeat("a", 901)),
		"not UTF-8": itemsPath + "?stage=live&cursor=" + encodeCursor("\xff"), "padded": itemsPath + "?stage=live&cursor=" + cursor + "%3D", "line end": itemsPath + "?stage=live&cursor=" + cursor + "%0A", "line end within": itemsPath + "?stage=live&cursor=" + cursor[:4] + "%0D%0A" + cursor[4:],
		"the other alphabet": itemsPath + "?stage=live&cursor=" + base64.RawStdEncoding.EncodeToString(append(raw[:9:9], "???>>>"...)), "no base64": itemsPath + "?stage=live&cursor=!", "very long": itemsPath + "?stage=live&cursor=" + strings.Repeat("a", 5000),
		"JSON": itemsPath + "?stage=live&cursor=" + base64.RawURLEncoding.EncodeToString([]byte(`{"p":"here"}`)),
		"bits": itemsPath + "?stage=live&cursor=" + encodeCursor("a")[:13] + "R",
	} {
		t.Run(name, func(t *testing.T) {
			s.t = t
			a := s.requireError(s.request("GET", target, ""), http.StatusBadRequest, "query.")
			if name[0] != 'a' || strings.Contains(a.Body.String(), "cursor") {
				if !strings.Contains(a.Body.String(), "query.cursor: ") || strings.Contains(a.Body.String(), cursor) {
					t.Errorf("body %s, want one that names query.cursor and does not show the cursor", a.Body)
				}
			}
		})
	}
	s.t = t
	s.requireError(s.request("GET", itemsPath+"?stage=live&cursor=", ""), 400, "query.cursor: ") // a client that sends an empty cursor by mistake must not get the first page again
}

// Ensure an API without a BaseURL links to the host of the request.
func TestLinkWithoutBaseURL(t *testing.T) {
	s := start(t)
	s.api = api.New(s.operations(), api.Config{Keys: s.keys, Now: clock, NewID: id.NewGenerator(clock, rand.New(rand.NewSource(1))), Log: slog.New(slog.DiscardHandler)})
	if u := s.nextPageURL(itemsPath, "brd_1"); u.Scheme != "http" || u.Host != "example.com" {
		t.Errorf("Link to %s", u)
	}
}
