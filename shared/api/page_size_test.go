package api_test

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"

	"growthworkspace/shared/api"
	"growthworkspace/shared/table"
)

type textRecord struct {
	Text string `json:"text"`
}

// listOfSizes returns a page of records whose JSON has the given sizes. The page contains the
// records or, if asJSON is true, their JSON. The position after the n-th record is the number n.
func listOfSizes(asJSON, backward bool, next string, sizes ...int) (list interface {
	MarshalPage() (body []byte, next string, err error)
}) {
	records, texts := make([]textRecord, len(sizes)), make([]json.RawMessage, len(sizes))
	for n, size := range sizes {
		records[n].Text = strings.Repeat("x", size-len(`{"text":""}`))
		texts[n] = json.RawMessage(`{"text":"` + records[n].Text + `"}`)
	}
	positionAfter := func(n int) string { return fmt.Sprint(n) }
	if asJSON {
		return api.NewJSONList[textRecord](table.Page[json.RawMessage]{Records: texts, Next: next, PositionAfter: positionAfter, Backward: backward})
	}
	return api.NewList(table.Page[textRecord]{Records: records, Next: next, PositionAfter: positionAfter, Backward: backward})
}

// Ensure that a page contains as many records as fit into table.PageBytes, but at least one, and
// that the next page continues after the last of them. Records that do not fit must be left out at
// the end of the page, or at its beginning if the list is read backward.
func TestPagesEndAtBytes(t *testing.T) {
	if testing.Short() {
		t.Skip("takes seconds: run without -short")
	}
	const envelope = len(`{"items":[]}`)
	const half = (table.PageBytes - envelope - len(",")) / 2
	rest := table.PageBytes - envelope - len(",") - half // together with half, this fills the page exactly
	for name, tt := range map[string]struct {
		sizes          []int
		kept           int
		next, backward string
	}{
		"small":              {[]int{20, 30, 40}, 3, "end", "end"},
		"one":                {[]int{100}, 1, "end", "end"},
		"exactly full":       {[]int{half, rest}, 2, "end", "end"},
		"one byte too much":  {[]int{half, rest + 1}, 1, "0", "1"},
		"one that is larger": {[]int{table.PageBytes + 1}, 1, "end", "end"},
		"all are larger":     {[]int{table.PageBytes, table.PageBytes, table.PageBytes}, 1, "0", "2"},
		"three of five":      {slices.Repeat([]int{table.PageBytes * 3 / 10}, 5), 3, "2", "2"},
	} {
		for _, asJSON := range []bool{false, true} {
			for _, backward := range []bool{false, true} {
				body, next, err := listOfSizes(asJSON, backward, "end", tt.sizes...).MarshalPage()
				var got struct{ Items []json.RawMessage }
				if err != nil || json.Unmarshal(body, &got) != nil {
					t.Fatalf("%s: page %.200s: %v", name, body, err)
				}
				want, wantNext := tt.sizes[:tt.kept], tt.next
				if backward {
					want, wantNext = tt.sizes[len(tt.sizes)-tt.kept:], tt.backward
				}
				var sizes []int
				for _, item := range got.Items {
					sizes = append(sizes, len(item))
				}
				if !slices.Equal(sizes, want) || next != wantNext {
					t.Errorf("%s, texts %t, backward %t: %d, next %q, want %d, %q", name, asJSON, backward, sizes, next, want, wantNext)
				}
			}
		}
	}
}

// Ensure Service-Has-More is true if some records did not fit in the page, even if the store
// returned all remaining records.
func TestShortPageHasMore(t *testing.T) {
	s := start(t)
	large := record{Text: strings.Repeat("x", table.PageBytes/2)}
	s.list = func(context.Context, api.Caller, listInput) (api.List[record], error) {
		return api.NewList(table.Page[record]{Records: []record{large, large}, PositionAfter: func(n int) string { return fmt.Sprint("behind ", n) }}), nil
	}
	h := s.requireError(s.request("GET", itemsPath, ""), 200, "").Header()
	if h.Get("Service-Has-More") != "true" || h.Get("Link") == "" {
		t.Errorf("Service-Has-More %q, Link %q", h.Get("Service-Has-More"), h.Get("Link"))
	}
}
