package company_test

import (
	"testing"
	"time"

	"growthworkspace/functions/company"
	"growthworkspace/shared/testkit/apitest"
)

func start(t *testing.T) *apitest.Service {
	t.Helper()
	s := apitest.New(t, company.Operations)
	name, created := "Acme", "2026-01-02T03:04:05.000Z"
	err := company.NewStore(s.Table).Create(t.Context(), company.Company{ID: s.CompanyID, Name: &name, CreatedAt: &created, UpdatedAt: &created})
	if err != nil {
		t.Fatal(err)
	}
	return s
}

func TestCompany(t *testing.T) {
	t.Parallel()
	s := start(t)
	s.Run(t, []apitest.Scenario{
		{Name: "list has exactly one company", Op: "list_companies", Check: func(t *testing.T, r apitest.Response) {
			if items := r.Items(t); len(items) != 1 || items[0]["id"] != s.CompanyID {
				t.Errorf("listed %s, want %s only", r.Body, s.CompanyID)
			}
			if more := r.Header.Get("Service-Has-More"); more != "false" {
				t.Errorf("Service-Has-More is %q, want false", more)
			}
		}},
		{Name: "get", Op: "get_company", WantFields: map[string]any{"id": s.CompanyID, "name": "Acme", "stage": nil}},
		{Name: "update changes only the sent fields", Op: "update_company", Args: map[string]any{"stage": "mvp", "summary": "Tools & more <3"},
			WantFields: map[string]any{"name": "Acme", "stage": "mvp", "summary": "Tools & more <3", "updatedAt": "2026-08-11T09:30:00.000Z"}},
		{Name: "empty text clears", Op: "update_company", Args: map[string]any{"summary": ""}, WantFields: map[string]any{"summary": "", "stage": "mvp"}},
		{Name: "empty name", Op: "update_company", Args: map[string]any{"name": ""}, Want: 400, WantCode: "bad_request", WantMessage: "body.name: must not be empty"},
		{Name: "null clears", Op: "update_company", Args: map[string]any{"summary": nil, "stage": nil}, WantFields: map[string]any{"name": "Acme", "summary": nil, "stage": nil}},
		{Name: "null where nothing is stored", Op: "update_company", Args: map[string]any{"timezone": nil}, WantFields: map[string]any{"timezone": nil}},
		{Name: "null name", Op: "update_company", Args: map[string]any{"name": nil}, Want: 400, WantMessage: "body.name: must not be null; leave it out"},
		{Name: "not in the list", Op: "update_company", Args: map[string]any{"stage": "Growth"}, Want: 400, WantMessage: "body.stage: must be one of idea, mvp, growth, scale"},
		{Name: "not a URI", Op: "update_company", Args: map[string]any{"websiteUrl": "acme"}, Want: 400, WantMessage: "body.websiteUrl: must be an http or https address with a host"},
		{Name: "all errors are returned", Op: "update_company", Args: map[string]any{"websiteUrl": 1, "targetMarket": "x", "slug": "s", "Name": "x"}, Want: 400, Check: func(t *testing.T, r apitest.Response) {
			if _, messages := r.Messages(t); len(messages) != 4 {
				t.Errorf("messages %q, want 4", messages)
			}
		}},
	})
}

// Ensure updatedAt changes only when another field does.
func TestUpdateWithoutChange(t *testing.T) {
	t.Parallel()
	s := start(t)
	key := s.IssueKey(t)
	s.Clock.Advance(time.Hour)
	for _, body := range []string{`{}`, `{"name":"Acme"}`} {
		if r := s.Send(t, key, "PATCH", "/v1/companies/{companyId}", body); r.Status != 200 || r.JSON(t)["updatedAt"] != "2026-01-02T03:04:05.000Z" {
			t.Errorf("update with %s: status %d, want 200 and the updatedAt of before: %s", body, r.Status, r.Body)
		}
	}
	r := s.Send(t, key, "PATCH", "/v1/companies/{companyId}", `{"name":"Acme 2"}`)
	if got := r.JSON(t)["updatedAt"]; got != "2026-08-11T10:30:00.000Z" {
		t.Errorf("updatedAt is %v", got)
	}
}
