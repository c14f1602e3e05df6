package functions_test

import (
	"encoding/json"
	"fmt"
	"maps"
	"net/http"
	"reflect"
	"slices"
	"strings"
	"testing"

	"growthworkspace/functions"
	"growthworkspace/shared/api"
	"growthworkspace/shared/schema"
	"growthworkspace/shared/testkit/apitest"
)

// clearable has, for each update, a value for each property that null clears. Every other property refuses null. Typed by hand.
var clearable = map[string]map[string]any{
	"update_optimise_audit": {
		"siteId": "sit_2", "scoreSeo": 50.5, "scoreAeo": float64(100), "scoreGeo": float64(0), "pagesAudited": float64(3), "summary": "A", "error": "B",
		"findings": []any{map[string]any{"page": "/"}},
	},
	"update_optimise_goal": {"value": 1.5, "order": float64(3)},
	"update_company": {
		"summary": "A", "websiteUrl": "https://example.com", "repositoryUrl": "https://example.com/code", "industry": "Software", "stage": "mvp",
		"targetMarket": "b2b", "primaryLanguage": "de", "timezone": "Europe/Berlin",
	},
	"update_plan_item": {"summary": "A", "columnId": "now", "categoryIds": []any{"a", "b"}, "sortOrder": float64(3), "targetLabel": "Q3"},
	"update_broadcast_post": {
		"title": "A", "hashtags": []any{"a"}, "destination": "beta", "deepLink": "app://a", "scheduledFor": "2099-01-01T00:00:00.000Z",
	},
	"update_broadcast_idea": {
		"planId": "pln_9", "contentTypeId": "cty_1", "summary": "A", "rationale": "A", "platforms": []any{"x", "push"}, "sourceId": "fbk_1",
		"suggestedFor": "2026-01-01T00:00:00.000Z",
	},
	"update_broadcast_plan": {
		"brief": "A", "objective": "A", "goalId": "bgl_1", "audience": "A", "platforms": []any{"x"}, "contentTypeIds": []any{"cty_1"},
		"cadence": "weekly", "startsAt": "2026-01-01T00:00:00.000Z", "endsAt": "2027-01-01T00:00:00.000Z",
	},
	"update_feedback_reply": {"replyBody": "Thank you."},
	"update_context_brand_kit": {
		"voiceTone": []any{"warm"}, "voiceGuidelines": "A", "voiceExamples": []any{"A"}, "avoidWords": []any{"synergy"}, "artStyle": "A",
		"artDirection": "A", "imageryNotes": "A", "context": "A",
	},
	"update_context_content_type": {"description": "A", "guidance": "A", "defaultPlatforms": []any{"x"}, "cadence": "weekly"},
	"update_optimise_site":        {"domains": []any{"a.example"}, "timezone": "Europe/Berlin"},
	"update_context_goal": {
		"description": "A", "metricKey": "a.b", "baselineValue": 1.5, "targetValue": float64(-2), "dueAt": "2026-12-31T00:00:00.000Z", "priority": float64(1),
	},
	"update_metric_definition": {
		"name": "Leads", "description": "A", "unit": "count", "aggregation": "sum", "polarity": "neutral", "dimensions": []any{"a"}, "source": "crm",
	},
}

// stored returns the record that an update changes, as a read returns it.
func stored(t *testing.T, s *apitest.Service, key string, op api.Operation) map[string]any {
	t.Helper()
	own := map[string]any{}
	for _, f := range op.Input {
		if f.In == schema.InPath {
			own[f.Name] = arguments[op.ID][f.Name]
		}
	}
	reader, ok := readers[op.ID]
	if !ok {
		t.Fatalf("functions/precondition_test.go: add to readers the operation that reads the record of %s", op.ID)
	}
	r := s.Call(t, key, reader, own)
	if r.Status != http.StatusOK {
		t.Fatalf("%s: %d %s", reader, r.Status, r.Body)
	}
	return r.JSON(t)
}

// Ensure null clears exactly the properties of an update that it should, that the next read says so, and that every other
// property refuses null and keeps its value.
func TestNullClears(t *testing.T) {
	t.Parallel()
	apitest.Slow(t)
	for _, op := range functions.Operations(nil) {
		if op.Method != http.MethodPatch {
			continue
		}
		t.Run(op.ID, func(t *testing.T) {
			t.Parallel()
			s := start(t, nil)
			load(t, s, "post", json.RawMessage(`{"id":"pst_1","platform":"push","body":"A","status":"draft"}`)) // only push has a destination
			key := s.Key(t)
			update := func(name string, value any) apitest.Response {
				args := map[string]any{name: value}
				for _, f := range op.Input {
					if f.In == schema.InPath {
						args[f.Name] = arguments[op.ID][f.Name]
					}
				}
				return s.Call(t, key, op.ID, args)
			}
			left := maps.Clone(clearable[op.ID])
			for _, f := range op.Input {
				value, clears := left[f.Name]
				if f.In != schema.InBody {
					continue
				}
				delete(left, f.Name)
				if !clears {
					before := stored(t, s, key, op)
					r := update(f.Name, nil)
					if _, messages := r.Messages(t); r.Status != http.StatusBadRequest || !strings.HasPrefix(messages[0], "body."+f.Name+": must not be null") {
						t.Errorf("%s: null: %d %s", f.Name, r.Status, r.Body)
					}
					if after := stored(t, s, key, op); !reflect.DeepEqual(before, after) {
						t.Errorf("%s: the refused null changed %v to %v", f.Name, before, after)
					}
					continue
				}
				if r := update(f.Name, value); r.Status != http.StatusOK || !shows(r.JSON(t), f.Name, value) {
					t.Errorf("%s: %v: %d %s", f.Name, value, r.Status, r.Body)
				}
				if got := stored(t, s, key, op)[f.Name]; !reflect.DeepEqual(got, value) {
					t.Errorf("%s: %v is stored as %v", f.Name, value, got)
				}
				for range 2 { // clearing what is clear changes nothing
					if r := update(f.Name, nil); r.Status != http.StatusOK || !shows(r.JSON(t), f.Name, nil) {
						t.Errorf("%s: null: %d %s", f.Name, r.Status, r.Body)
					}
					if got, has := stored(t, s, key, op)[f.Name]; got != nil || !has {
						t.Errorf("%s: after null, a read returns %v", f.Name, got)
					}
				}
				if r := update("unknown", nil); r.Status != http.StatusBadRequest {
					t.Errorf("an unknown property with null: %d", r.Status)
				}
			}
			if len(left) > 0 {
				t.Errorf("no such properties: %v", slices.Sorted(maps.Keys(left)))
			}
		})
	}
}

// shows reports whether a response has the value. Those of writes of an audit leave out its findings.
func shows(response map[string]any, name string, value any) bool {
	got, has := response[name]
	return reflect.DeepEqual(got, value) && has || !has && name == "findings"
}

// volatile are the fields whose values differ between two creates with the same input.
var volatile = []string{"id", "secret", "prefix", "createdAt", "updatedAt", "lastUsedAt", "companyId", "siteKey", "publicKey"}

// Ensure null in the optional properties of a create has the effect of leaving them out, and required ones refuse it.
func TestNullOfCreates(t *testing.T) {
	t.Parallel()
	apitest.Slow(t)
	for _, op := range functions.Operations(nil) {
		if op.Method != http.MethodPost || !slices.ContainsFunc(op.Input, func(f schema.Field) bool { return f.In == schema.InBody }) {
			continue
		}
		t.Run(op.ID, func(t *testing.T) {
			t.Parallel()
			bare, nulls := map[string]any{}, map[string]any{}
			for _, f := range op.Input {
				value, has := arguments[op.ID][f.Name]
				switch {
				case has && (f.In != schema.InBody || f.Required):
					bare[f.Name], nulls[f.Name] = value, value
				case f.In == schema.InBody && f.Null == schema.NullAbsent:
					nulls[f.Name] = nil
				}
			}
			var results [2]map[string]any
			for i, args := range []map[string]any{bare, nulls} {
				s := start(t, nil)
				r := s.Call(t, s.Key(t), op.ID, args)
				if r.Status != http.StatusOK {
					t.Fatalf("%v: %d %s", args, r.Status, r.Body)
				}
				results[i] = r.JSON(t)
				for _, name := range volatile {
					delete(results[i], name)
				}
			}
			if !reflect.DeepEqual(results[0], results[1]) {
				t.Errorf("left out: %v\nnull: %v", results[0], results[1])
			}
			s := start(t, nil)
			for _, f := range op.Input {
				if f.In != schema.InBody || f.Null == schema.NullAbsent {
					continue
				}
				args := maps.Clone(bare)
				args[f.Name] = nil
				r := s.Call(t, s.Key(t), op.ID, args)
				if _, messages := r.Messages(t); r.Status != http.StatusBadRequest || !strings.HasPrefix(messages[0], "body."+f.Name+": must not be null") {
					t.Errorf("%s: null: %d %s", f.Name, r.Status, r.Body)
				}
			}
		})
	}
}

// Ensure null in the optional arguments of a tool that an HTTP request has in its query or headers, and in companyId, has the
// effect of leaving them out.
func TestNullArguments(t *testing.T) {
	t.Parallel()
	s := start(t, nil)
	key := s.Key(t)
	for _, op := range toolOperations() {
		if op.Effect != api.Read {
			continue
		}
		bare, nulls := maps.Clone(arguments[op.ID]), maps.Clone(arguments[op.ID])
		for _, f := range op.Input {
			if _, has := bare[f.Name]; !has && !f.Required {
				nulls[f.Argument()] = nil
			}
		}
		if op.Company() {
			nulls["companyId"] = nil
		}
		want, got := callTool(t, s, key, op.ID, bare), callTool(t, s, key, op.ID, nulls)
		if want.IsError || got.IsError || string(want.StructuredContent) != string(got.StructuredContent) {
			t.Errorf("%s: %v: %s\n%s", op.ID, nulls, fmt.Sprint(want.Content), fmt.Sprint(got.Content))
		}
	}
	changed := callTool(t, s, key, "update_company", map[string]any{"companyId": nil, "ifMatch": nil, "summary": nil})
	if changed.IsError {
		t.Error(changed.Content)
	}
	created := callTool(t, s, key, "create_plan_item", map[string]any{"idempotencyKey": nil, "boardId": "brd_1", "title": "Null", "summary": nil})
	if created.IsError {
		t.Error(created.Content)
	}
}
