package brand_test

import (
	"fmt"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	brand "growthworkspace/functions/context"
	"growthworkspace/shared/testkit/apitest"
)

func TestBrandKit(t *testing.T) {
	t.Parallel()
	s := start(t)
	list := func(n, chars int) []string {
		out := make([]string, n)
		for i := range out {
			out[i] = strings.Repeat("ü", chars)
		}
		return out
	}
	args := func(name string, value any) map[string]any { return map[string]any{name: value} }
	long := strings.Repeat("ü", 10_000)
	s.Run(t, []apitest.Scenario{
		{Name: "absent", Op: "get_context_brand_kit", Want: 404, WantCode: "not_found"},
		{Name: "a bad update creates nothing", Op: "update_context_brand_kit", Args: args("artStyle", 1), Want: 400, WantMessage: "body.artStyle: must be a string"},
		{Name: "still absent", Op: "get_context_brand_kit", Want: 404},
		{Name: "the first update creates it", Op: "update_context_brand_kit", Args: map[string]any{"voiceTone": []string{"warm", "plain"}, "artStyle": "flat"},
			WantFields: map[string]any{"companyId": s.CompanyID, "voiceTone": []string{"warm", "plain"}, "artStyle": "flat", "avoidWords": nil, "context": nil,
				"createdAt": "2026-08-11T09:30:00.000Z", "updatedAt": "2026-08-11T09:30:00.000Z"},
			Check: func(t *testing.T, r apitest.Response) {
				if id := r.JSON(t)["id"].(string); !strings.HasPrefix(id, "kit_") || len(id) != 30 {
					t.Errorf("id %q, want kit_ and 26 characters", id)
				}
			}},
		{Name: "get", Op: "get_context_brand_kit", WantFields: map[string]any{"voiceTone": []string{"warm", "plain"}, "artStyle": "flat"}},
		{Name: "an array replaces the list", Op: "update_context_brand_kit", Args: args("voiceTone", []string{"dry"}), WantFields: map[string]any{"voiceTone": []string{"dry"}, "artStyle": "flat"}},
		{Name: "an empty array clears it", Op: "update_context_brand_kit", Args: args("voiceTone", []string{}), WantFields: map[string]any{"voiceTone": []string{}}},
		{Name: "an empty text clears", Op: "update_context_brand_kit", Args: args("artStyle", ""), WantFields: map[string]any{"artStyle": ""}},
		{Name: "null clears", Op: "update_context_brand_kit", Args: map[string]any{"voiceTone": nil, "artStyle": nil}, WantFields: map[string]any{"voiceTone": nil, "artStyle": nil, "context": nil}},
		{Name: "longest guidelines", Op: "update_context_brand_kit", Args: args("voiceGuidelines", long), WantFields: args("voiceGuidelines", long)},
		{Name: "guidelines too long", Op: "update_context_brand_kit", Args: args("voiceGuidelines", long+"x"), Want: 400, WantMessage: "body.voiceGuidelines: must have at most 10000 characters, has 10001"},
		{Name: "longest context", Op: "update_context_brand_kit", Args: args("context", long), WantFields: args("context", long)},
		{Name: "context too long", Op: "update_context_brand_kit", Args: args("context", long+"x"), Want: 400, WantMessage: "body.context: must have at most 10000 characters"},
		{Name: "longest art direction", Op: "update_context_brand_kit", Args: args("artDirection", long[:4000]), WantFields: args("artDirection", long[:4000])},
		{Name: "art style, direction and notes too long", Op: "update_context_brand_kit",
			Args: map[string]any{"artStyle": long[:4002], "artDirection": long[:4002], "imageryNotes": long[:4002]}, Want: 400, Check: checkMessageCount(3)},
		{Name: "largest lists", Op: "update_context_brand_kit", Args: map[string]any{"voiceTone": list(50, 200), "voiceExamples": list(50, 200), "avoidWords": list(50, 200)},
			WantFields: map[string]any{"avoidWords": list(50, 200)}},
		{Name: "lists too large", Op: "update_context_brand_kit", Args: map[string]any{"voiceTone": list(51, 1), "voiceExamples": list(51, 1), "avoidWords": list(51, 1)}, Want: 400, Check: checkMessageCount(3)},
		{Name: "elements too long", Op: "update_context_brand_kit", Args: map[string]any{"voiceTone": list(1, 201), "voiceExamples": list(1, 201), "avoidWords": list(1, 201)}, Want: 400, Check: checkMessageCount(3)},
		{Name: "not updatable", Op: "update_context_brand_kit",
			Args: map[string]any{"id": "kit_1", "colors": 1, "fonts": 1, "extractedFrom": "x", "lastExtractedAt": "x", "createdAt": "x"}, Want: 400, Check: checkMessageCount(6)},
	})
}

func checkMessageCount(n int) func(*testing.T, apitest.Response) {
	return func(t *testing.T, r apitest.Response) {
		t.Helper()
		if _, messages := r.Messages(t); len(messages) != n {
			t.Errorf("%q, want %d", messages, n)
		}
	}
}

// Ensure a response has exactly the fields of the specification, in the same order, no matter which
// values were imported.
func TestBrandKitFields(t *testing.T) {
	t.Parallel()
	s := start(t)
	importLines(t, s, "brand-kit", s.CompanyID, `{"id":"kit_1","colors":{"b":1,"a":[12345678901234567890.12345678901234567890123,"<#>"]},"fonts":[],"extractedFrom":"https://example.com","lastExtractedAt":"2026-01-01T01:00:00+01:00"}`)
	want := `{"id":"kit_1","companyId":"` + s.CompanyID + `","voiceTone":null,"voiceGuidelines":null,"voiceExamples":null,"avoidWords":null,` +
		`"colors":{"b":1,"a":[12345678901234567890.12345678901234567890123,"<#>"]},"fonts":[],"artStyle":null,"artDirection":null,"imageryNotes":null,"context":null,` +
		`"extractedFrom":"https://example.com","lastExtractedAt":"2026-01-01T00:00:00.000Z","createdAt":null,"updatedAt":null}`
	if r := s.Send(t, s.IssueKey(t), "GET", brandKitPath, ""); strings.TrimSpace(r.Body) != want {
		t.Errorf("got %s\nwant %s", r.Body, want)
	}
	s.Run(t, []apitest.Scenario{{
		Name: "an update keeps what it cannot change", Op: "update_context_brand_kit", Args: map[string]any{"context": "c"},
		WantFields: map[string]any{"id": "kit_1", "fonts": []any{}, "context": "c", "extractedFrom": "https://example.com", "createdAt": nil},
	}})
}

// Ensure that an empty update creates a missing kit, and that an update that changes no value keeps
// updatedAt.
func TestBrandKitUpdateWithoutChange(t *testing.T) {
	t.Parallel()
	s := start(t)
	key := s.IssueKey(t)
	created := s.Send(t, key, "PATCH", brandKitPath, `{}`)
	if created.Status != 200 || created.JSON(t)["voiceTone"] != nil {
		t.Fatalf("the first update: status %d, want 200 without voiceTone: %s", created.Status, created.Body)
	}
	s.Clock.Advance(time.Hour)
	if r := s.Send(t, key, "PATCH", brandKitPath, `{}`); r.Body != created.Body {
		t.Errorf("got %s\nwant %s", r.Body, created.Body)
	}
	changed := s.Send(t, key, "PATCH", brandKitPath, `{"avoidWords":["cheap"]}`)
	if got := changed.JSON(t); got["updatedAt"] != "2026-08-11T10:30:00.000Z" || got["createdAt"] != "2026-08-11T09:30:00.000Z" {
		t.Errorf("updated at %v, created at %v; want 2026-08-11T10:30:00.000Z and an hour before", got["updatedAt"], got["createdAt"])
	}
	s.Clock.Advance(time.Hour)
	if r := s.Send(t, key, "PATCH", brandKitPath, `{"avoidWords":["cheap"]}`); r.Body != changed.Body {
		t.Errorf("got %s\nwant %s", r.Body, changed.Body)
	}
	if r := s.Send(t, key, "GET", brandKitPath, ""); r.Body != changed.Body {
		t.Errorf("got %s\nwant %s", r.Body, changed.Body)
	}
}

// Ensure no change is lost when another caller creates the kit between the read and the write of
// the first update.
func TestBrandKitCreatedConcurrently(t *testing.T) {
	t.Parallel()
	s := start(t)
	store := brand.NewStore(s.Table)
	var first brand.BrandKit
	overtaken, allowCreate := false, func() error { return nil }
	second, err := store.Modify(t.Context(), s.CompanyID, func(k *brand.BrandKit) error {
		if !overtaken {
			overtaken = true
			var err error
			first, err = store.Modify(t.Context(), s.CompanyID, func(k *brand.BrandKit) error {
				k.ArtStyle = new("flat")
				return nil
			}, allowCreate)
			if err != nil {
				return err
			}
		}
		k.Context = new("a writer's")
		return nil
	}, allowCreate)
	if err != nil {
		t.Fatal(err)
	}
	want := brand.BrandKit{ID: first.ID, ArtStyle: new("flat"), Context: new("a writer's")}
	if diff := cmp.Diff(want, brand.BrandKit{ID: second.ID, ArtStyle: second.ArtStyle, Context: second.Context}); diff != "" {
		t.Errorf("kit (-want +got):\n%s", diff)
	}
}

// Ensure concurrent first updates create one kit with the fields that each of them set.
func TestBrandKitRace(t *testing.T) {
	t.Parallel()
	for range 5 {
		s := start(t)
		key := s.IssueKey(t)
		fields := []string{"artStyle", "artDirection", "imageryNotes", "context", "voiceGuidelines"}
		ids := make([]any, len(fields))
		var wait sync.WaitGroup
		for i, field := range fields {
			wait.Go(func() {
				r := s.Send(t, key, "PATCH", brandKitPath, fmt.Sprintf(`{%q:%q}`, field, "set "+field))
				if r.Status != 200 {
					t.Errorf("update of %s: status %d, want 200: %s", field, r.Status, r.Body)
					return
				}
				ids[i] = r.JSON(t)["id"]
			})
		}
		wait.Wait()
		kit := s.Send(t, key, "GET", brandKitPath, "").JSON(t)
		for i, field := range fields {
			if kit[field] != "set "+field || ids[i] != kit["id"] {
				t.Errorf("%s is %v in the kit %v, its caller got %v", field, kit[field], kit["id"], ids[i])
			}
		}
	}
}
