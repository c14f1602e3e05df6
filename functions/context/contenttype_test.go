package brand_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"growthworkspace/shared/testkit/apitest"
)

func TestCreateContentType(t *testing.T) {
	t.Parallel()
	s := start(t)
	withField := func(name string, value any) map[string]any {
		args := map[string]any{"name": "Tip", "active": true}
		args[name] = value
		return args
	}
	long := strings.Repeat("ü", 2000)
	s.Run(t, []apitest.Scenario{
		{Name: "least", Op: "create_context_content_type", Args: map[string]any{"name": "Tip", "active": false}, Check: func(t *testing.T, r apitest.Response) {
			id := r.JSON(t)["id"].(string)
			want := `{"id":"` + id + `","companyId":"` + s.CompanyID + `","name":"Tip","description":null,"guidance":null,"defaultPlatforms":null,"cadence":null,` +
				`"active":false,"createdAt":"2026-08-11T09:30:00.000Z","updatedAt":"2026-08-11T09:30:00.000Z"}`
			if strings.TrimSpace(r.Body) != want || !strings.HasPrefix(id, "cty_") {
				t.Errorf("got %s\nwant %s", r.Body, want)
			}
		}},
		{Name: "most", Op: "create_context_content_type",
			Args:       map[string]any{"name": long[:400], "description": long, "guidance": long, "defaultPlatforms": []string{"x", "push"}, "cadence": long[:400], "active": true},
			WantFields: map[string]any{"name": long[:400], "description": long, "guidance": long, "defaultPlatforms": []string{"x", "push"}, "cadence": long[:400], "active": true}},
		{Name: "both are stored", Op: "list_context_content_types", Check: func(t *testing.T, r apitest.Response) {
			if items := r.Items(t); len(items) != 2 || items[0]["name"] != "Tip" || items[1]["guidance"] != long {
				t.Errorf("body %s, want Tip and the one with the longest guidance", r.Body)
			}
		}},
		{Name: "name and active are required", Op: "create_context_content_type", Want: 400, WantCode: "bad_request", WantMessage: "body.name: is required\nbody.active: is required"},
		{Name: "empty name", Op: "create_context_content_type", Args: withField("name", ""), Want: 400, WantMessage: "body.name: must not be empty"},
		{Name: "name too long", Op: "create_context_content_type", Args: withField("name", long[:402]), Want: 400, WantMessage: "body.name: must have at most 200 characters, has 201"},
		{Name: "description too long", Op: "create_context_content_type", Args: withField("description", long+"x"), Want: 400, WantMessage: "body.description: must have at most 2000"},
		{Name: "guidance too long", Op: "create_context_content_type", Args: withField("guidance", long+"x"), Want: 400, WantMessage: "body.guidance: must have at most 2000"},
		{Name: "cadence too long", Op: "create_context_content_type", Args: withField("cadence", long[:402]), Want: 400, WantMessage: "body.cadence: must have at most 200"},
		{Name: "too many platforms", Op: "create_context_content_type", Args: withField("defaultPlatforms", make([]string, 51)), Want: 400, WantMessage: "body.defaultPlatforms: must have at most 50"},
		{Name: "active is no text", Op: "create_context_content_type", Args: withField("active", "true"), Want: 400, WantMessage: "body.active: must be a boolean"},
		{Name: "null", Op: "create_context_content_type", Args: withField("active", nil), Want: 400, WantMessage: "body.active: must not be null"},
		{Name: "unknown property", Op: "create_context_content_type", Args: withField("id", "cty_1"), Want: 400, WantMessage: "body.id: unknown property"},
		{Name: "nothing of these was stored", Op: "list_context_content_types", Check: func(t *testing.T, r apitest.Response) {
			if n := len(r.Items(t)); n != 2 {
				t.Errorf("%d content types, want 2", n)
			}
		}},
	})
}

func TestUpdateContentType(t *testing.T) {
	t.Parallel()
	s := start(t)
	importLines(t, s, "content-type", s.CompanyID,
		`{"id":"cty_1","name":"Tip","cadence":"weekly","defaultPlatforms":["x"],"active":true,"createdAt":"2026-01-01T00:00:00Z","updatedAt":"2026-01-01T00:00:00Z"}`)
	s.Clock.Advance(time.Hour)
	args := func(name string, value any) map[string]any {
		return map[string]any{"contentTypeId": "cty_1", name: value}
	}
	unchanged := map[string]any{"updatedAt": "2026-01-01T00:00:00.000Z"}
	s.Run(t, []apitest.Scenario{
		{Name: "empty", Op: "update_context_content_type", Args: map[string]any{"contentTypeId": "cty_1"}, WantFields: unchanged},
		{Name: "same value", Op: "update_context_content_type", Args: args("defaultPlatforms", []string{"x"}), WantFields: unchanged},
		{Name: "name too short", Op: "update_context_content_type", Args: args("name", ""), Want: 400, WantMessage: "body.name: must not be empty"},
		{Name: "null clears what is clear", Op: "update_context_content_type", Args: args("description", nil), WantFields: unchanged},
		{Name: "null name", Op: "update_context_content_type", Args: args("name", nil), Want: 400, WantMessage: "body.name: must not be null"},
		{Name: "null active", Op: "update_context_content_type", Args: args("active", nil), Want: 400, WantMessage: "body.active: must not be null"},
		{Name: "unknown property", Op: "update_context_content_type", Args: args("createdAt", "x"), Want: 400, WantMessage: "body.createdAt: unknown property"},
		{Name: "one field", Op: "update_context_content_type", Args: args("active", false),
			WantFields: map[string]any{"id": "cty_1", "name": "Tip", "cadence": "weekly", "active": false, "createdAt": "2026-01-01T00:00:00.000Z", "updatedAt": "2026-08-11T10:30:00.000Z"}},
		{Name: "all fields", Op: "update_context_content_type",
			Args:       map[string]any{"contentTypeId": "cty_1", "name": "N", "description": "D", "guidance": "G", "defaultPlatforms": []string{}, "cadence": "", "active": true},
			WantFields: map[string]any{"name": "N", "description": "D", "guidance": "G", "defaultPlatforms": []string{}, "cadence": "", "active": true}},
		{Name: "400 before 404", Op: "update_context_content_type", Args: map[string]any{"contentTypeId": "cty_none", "active": 1}, Want: 400},
	})
	key := s.IssueKey(t)
	bodies := map[string]bool{}
	for _, id := range []string{"cty_none", "nonsense", "bgl_1", "cty_1%23"} {
		r := s.Send(t, key, "PATCH", "/v1/companies/{companyId}/context/content-types/"+id, `{"active":true}`)
		if r.Status != 404 {
			t.Errorf("id %s: status %d, want 404: %s", id, r.Status, r.Body)
		}
		bodies[r.Body] = true
	}
	if len(bodies) != 1 {
		t.Errorf("the responses differ: %v", bodies)
	}
}

// Ensure content types are listed by name and then by id, with null names last. Each must be listed
// exactly once, for any limit and any characters in the names.
func TestListContentTypes(t *testing.T) {
	t.Parallel()
	s := start(t)
	key := s.IssueKey(t)
	if got := listAll(t, s, "list_context_content_types", 1); len(got) != 0 {
		t.Errorf("content types %v, want none", got)
	}
	var want, lines []string
	for i, name := range []string{`"!"`, `"A"`, `"A\u0001"`, `"A b"`, `"A#b"`, `"Ab"`, `"b"`, `"b"`, `"~"`, `"ä"`, `"😀"`} {
		id := fmt.Sprintf("cty_%02d", i)
		want = append(want, id)
		lines = append(lines, `{"id":"`+id+`","name":`+name+`}`)
	}
	for i, char := range []string{"\x01", "<", "😀"} { // names that repeat one of these characters have the longest possible cursors
		for n := range 2 {
			id := fmt.Sprintf("cty_x%d%d", i, n)
			lines = append(lines, fmt.Sprintf(`{"id":%q,"name":%s}`, id, quoteJSON("zz"+strings.Repeat(char, 198))))
		}
	}
	want = slices.Insert(want, 8, "cty_x00", "cty_x01", "cty_x10", "cty_x11", "cty_x20", "cty_x21") // their names begin with zz, which sorts between b and ~
	for i, end := range []string{"b", "a"} {                                                        // only the last of 200 characters differs
		lines = append(lines, fmt.Sprintf(`{"id":"cty_y%d","name":%s}`, i, quoteJSON("zzz"+strings.Repeat("😀", 196)+end)))
	}
	want = slices.Insert(want, slices.Index(want, "cty_x20"), "cty_y1", "cty_y0")
	lines = append(lines, `{"id":"cty_99"}`, `{"id":"cty_98"}`)
	want = append(want, "cty_98", "cty_99")
	slices.Reverse(lines)
	importLines(t, s, "content-type", s.CompanyID, lines...)
	for _, limit := range []int{1, 2, len(want) - 1, len(want), 200} {
		if got := listAll(t, s, "list_context_content_types", limit); !slices.Equal(got, want) {
			t.Errorf("limit %d\n got %v\nwant %v", limit, got, want)
		}
	}

	_, cursor := listPage(t, s, key, "list_context_content_types", 3, "")
	importLines(t, s, "content-type", s.CompanyID, `{"id":"cty_new1","name":"A"}`, `{"id":"cty_new2","name":"c"}`, `{"id":"cty_02","name":"A\u0001 renamed"}`)
	rest, _ := listPage(t, s, key, "list_context_content_types", 200, cursor)
	for _, id := range want[3:] {
		if n := countOccurrences(rest, id); n != 1 {
			t.Errorf("the second page has %s %d times, want once", id, n)
		}
	}
	if countOccurrences(rest, "cty_new1") != 0 || countOccurrences(rest, "cty_new2") != 1 {
		t.Errorf("the second page %v, want no cty_new1 and cty_new2 once", rest)
	}
}

func countOccurrences(list []string, s string) (n int) {
	for _, e := range list {
		if e == s {
			n++
		}
	}
	return n
}
