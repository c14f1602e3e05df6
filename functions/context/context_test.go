package brand_test

import (
	"context"
	"fmt"
	"net/url"
	"slices"
	"strings"
	"testing"

	brand "growthworkspace/functions/context"
	"growthworkspace/shared/auth"
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

// Ensure each operation refuses a key without the required scope.
func TestScopes(t *testing.T) {
	t.Parallel()
	s := start(t)
	readKey, writeKey := s.IssueKey(t, auth.ContextRead), s.IssueKey(t, auth.ContextWrite)
	createArgs := map[string]any{"name": "Tip", "active": true}
	contentType := s.Call(t, writeKey, "create_context_content_type", createArgs).JSON(t)["id"]
	s.Run(t, []apitest.Scenario{
		{Name: "write writes the kit", Op: "update_context_brand_kit", Key: writeKey},
		{Name: "write does not read the kit", Op: "get_context_brand_kit", Key: writeKey, Want: 401, WantMessage: "context:read"},
		{Name: "read reads the kit", Op: "get_context_brand_kit", Key: readKey},
		{Name: "read does not write the kit", Op: "update_context_brand_kit", Key: readKey, Want: 401, WantMessage: "context:write"},
		{Name: "read lists content types", Op: "list_context_content_types", Key: readKey},
		{Name: "read does not create", Op: "create_context_content_type", Key: readKey, Args: createArgs, Want: 401, WantMessage: "context:write"},
		{Name: "read does not update", Op: "update_context_content_type", Key: readKey, Args: map[string]any{"contentTypeId": contentType}, Want: 401, WantMessage: "context:write"},
		{Name: "write updates", Op: "update_context_content_type", Key: writeKey, Args: map[string]any{"contentTypeId": contentType}},
		{Name: "read reads a content type", Op: "get_context_content_type", Key: readKey, Args: map[string]any{"contentTypeId": contentType}},
		{Name: "read does not delete it", Op: "delete_context_content_type", Key: readKey, Args: map[string]any{"contentTypeId": contentType}, Want: 401, WantMessage: "context:write"},
		{Name: "read does not create a goal", Op: "create_context_goal", Key: readKey, Args: map[string]any{"name": "G"}, Want: 401, WantMessage: "context:write"},
		{Name: "write creates a goal", Op: "create_context_goal", Key: writeKey, Args: map[string]any{"name": "G"}},
		{Name: "read lists goals", Op: "list_context_goals", Key: readKey},
		{Name: "write does not list", Op: "list_context_goals", Key: writeKey, Want: 401, WantMessage: "context:read"},
	})
}

// Ensure each list of the area contains only its own record type, even though all types share a
// partition. Companies must not see each other's records.
func TestKindsAndCompaniesAreSeparate(t *testing.T) {
	t.Parallel()
	s, other := start(t), start(t)
	key, otherKey := s.IssueKey(t), other.IssueKey(t)
	s.Send(t, key, "PATCH", brandKitPath, `{"context":"ours"}`)
	contentType := s.Call(t, key, "create_context_content_type", map[string]any{"name": "Tip", "active": true}).JSON(t)["id"].(string)
	importLines(t, s, "brand-goal", s.CompanyID, `{"id":"bgl_1"}`)

	if got := listAll(t, s, "list_context_content_types", 10); !slices.Equal(got, []string{contentType}) {
		t.Errorf("content types %v, want %s", got, contentType)
	}
	if got := listAll(t, s, "list_context_goals", 10); !slices.Equal(got, []string{"bgl_1"}) {
		t.Errorf("goals %v, want bgl_1", got)
	}
	for _, operation := range []string{"list_context_content_types", "list_context_goals"} {
		if got := listAll(t, other, operation, 10); len(got) != 0 {
			t.Errorf("%s of another company: %v, want none", operation, got)
		}
	}
	for _, r := range []apitest.Response{
		other.Send(t, otherKey, "GET", brandKitPath, ""),
		other.Send(t, otherKey, "PATCH", "/v1/companies/{companyId}/context/content-types/"+contentType, `{"name":"x"}`),
		other.Send(t, otherKey, "GET", strings.Replace(brandKitPath, "{companyId}", s.CompanyID, 1), ""),
	} {
		if r.Status != 404 {
			t.Errorf("another company's record: status %d, want 404: %s", r.Status, r.Body)
		}
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
