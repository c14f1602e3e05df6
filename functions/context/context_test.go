package brand_test

import (
	"context"
	"fmt"
	"net/url"
	"strings"
	"testing"

	brand "growthworkspace/functions/context"
	"growthworkspace/shared/testkit/apitest"
)

func start(t *testing.T) *apitest.Service {
	t.Helper()
	return apitest.New(t, brand.Operations)
}

const brandKitPath = "/v1/companies/{companyId}/context/brand-kit"

// listPage returns the ids on one page of a list and the cursor of the next page.
func listPage(t *testing.T, s *apitest.Service, key, operation string, limit int, cursor string) (ids []string, next string) {
	t.Helper()
	args := map[string]any{"limit": limit}
	if cursor != "" {
		args["cursor"] = cursor
	}
	r := s.Call(t, key, operation, args)
	for _, item := range r.Items(t) {
		ids = append(ids, item["id"].(string))
	}
	link, _, _ := strings.Cut(strings.TrimPrefix(r.Header.Get("Link"), "<"), ">")
	u, err := url.Parse(link)
	if err != nil {
		t.Fatal(err)
	}
	next = u.Query().Get("cursor")
	if hasMore := r.Header.Get("Service-Has-More"); (hasMore == "true") != (next != "") {
		t.Fatalf("Service-Has-More is %s but Link is %s", hasMore, link)
	}
	return ids, next
}

// listAll reads a list to its end. Every page except the last must be full.
func listAll(t *testing.T, s *apitest.Service, operation string, limit int) (ids []string) {
	t.Helper()
	key := s.IssueKey(t)
	for cursor := ""; ; {
		some, next := listPage(t, s, key, operation, limit, cursor)
		ids = append(ids, some...)
		if next == "" {
			return ids
		}
		if len(some) != limit {
			t.Fatalf("a page of %d before the end, limit %d", len(some), limit)
		}
		cursor = next
	}
}

// Ensure each read is one table call. Reading a whole collection must stay within its budget of
// read units.
func TestReadUnits(t *testing.T) {
	t.Parallel()
	s := start(t)
	store := brand.NewStore(s.Table)
	importLines(t, s, "brand-kit", s.CompanyID, `{"id":"kit_1"}`)
	for kind, prefix := range map[string]string{"content-type": "cty", "brand-goal": "bgl"} {
		var lines []string
		for n := range 200 {
			lines = append(lines, fmt.Sprintf(`{"id":"%s_%d","name":"n","description":%q}`, prefix, n, strings.Repeat("x", 300)))
		}
		importLines(t, s, kind, s.CompanyID, lines...)
	}
	for _, tt := range []struct {
		name  string
		units float64
		read  func(ctx context.Context) error
	}{
		{"brand kit", 1, func(ctx context.Context) error { _, err := store.Get(ctx, s.CompanyID); return err }},
		{"200 content types", 15, func(ctx context.Context) error {
			_, err := brand.ContentTypes.Store(s.Table).Page(ctx, s.CompanyID, "", 200)
			return err
		}},
		{"200 goals", 15, func(ctx context.Context) error {
			_, err := brand.Goals.Store(s.Table).Page(ctx, s.CompanyID, "", 200)
			return err
		}},
	} {
		ctx, m := apitest.NewRequest(t)
		if err := tt.read(ctx); err != nil {
			t.Fatal(err)
		}
		if got := m.Usage(); got.Calls != 1 || got.Read > tt.units {
			t.Errorf("%s: %+v, want 1 call and at most %v units", tt.name, got, tt.units)
		}
		t.Logf("%s: %+v", tt.name, m.Usage())
	}
}
