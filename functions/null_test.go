package functions_test

import (
	"encoding/json"
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

// validValues returns valid values for a property, in the form in which a read returns them.
func validValues(t *testing.T, f schema.Field) (out []any) {
	t.Helper()
	form, known := f.Format+f.Pattern, samplesOf(f)
	if form != "" && known == nil {
		t.Fatalf("functions/generated_test.go: sampleTexts has no %s, the form of %s", form, f.Name)
	}
	switch {
	case f.Kind == schema.Any:
		return []any{[]any{map[string]any{"page": "/"}}}
	case f.Kind == schema.Integer, f.Kind == schema.Number:
		for _, n := range []float64{-2, 0, 1.5, 3, 50.5, 100} {
			if (f.Min == nil || n >= *f.Min) && (f.Max == nil || n <= *f.Max) && (f.Kind == schema.Number || n == float64(int(n))) {
				out = append(out, n)
			}
		}
		return out
	case f.Kind == schema.Array && f.Fields != nil:
		element := map[string]any{}
		for _, property := range f.Fields {
			element[property.Name] = validValues(t, property)[0]
		}
		return []any{[]any{element}}
	case f.Kind == schema.Array && f.Enum != nil:
		return []any{[]any{f.Enum[0], f.Enum[len(f.Enum)-1]}}
	case f.Kind == schema.Array && known != nil:
		return []any{[]any{known[0]}}
	case f.Kind == schema.Array:
		return []any{[]any{"a", "b"}}
	case f.Enum != nil:
		for _, word := range f.Enum {
			out = append(out, word)
		}
		return out
	case f.Format == "date-time":
		return []any{"2099-01-01T00:00:00.000Z"}
	case known != nil:
		return []any{known[0]}
	}
	return []any{"A"}
}

// storedRecord returns the record that an update changes, in the form in which a read returns it.
func storedRecord(t *testing.T, s *apitest.Service, key string, op api.Operation) map[string]any {
	t.Helper()
	o := operationRow(t, op)
	r := s.Call(t, key, o.Reader, pathArguments(o))
	if r.Status != http.StatusOK {
		t.Fatalf("%s: %s: status %d, want 200: %s", o.CellLocation("reader"), o.Reader, r.Status, r.Body)
	}
	return r.JSON(t)
}

// Ensure null in an update clears exactly the properties that the operation tables mark with "?",
// and that the next read returns null for them. Every other property must refuse null and keep its
// value.
func TestNullClears(t *testing.T) {
	t.Parallel()
	apitest.SkipIfShort(t)
	for _, op := range functions.Operations(nil) {
		if op.Method != http.MethodPatch {
			continue
		}
		t.Run(op.ID, func(t *testing.T) {
			t.Parallel()
			s := start(t, nil)
			importLines(t, s, "post", json.RawMessage(`{"id":"pst_1","platform":"push","body":"A","status":"draft"}`)) // only posts for the platform push have a destination
			key, o := s.IssueKey(t), operationRow(t, op)
			update := func(name string, value any) apitest.Response {
				args := pathArguments(o)
				args[name] = value
				return s.Call(t, key, op.ID, args)
			}
			left := map[string]bool{}
			for _, name := range o.ClearedByNull {
				left[name] = true
			}
			for _, f := range op.Input {
				if f.In != schema.InBody {
					continue
				}
				clearable := left[f.Name]
				delete(left, f.Name)
				if !clearable {
					before := storedRecord(t, s, key, op)
					r := update(f.Name, nil)
					if _, messages := r.Messages(t); r.Status != http.StatusBadRequest || !strings.HasPrefix(messages[0], "body."+f.Name+": must not be null") {
						t.Errorf("%s: %s: null: %d %s", o.CellLocation("body"), f.Name, r.Status, r.Body)
					}
					if after := storedRecord(t, s, key, op); !reflect.DeepEqual(before, after) {
						t.Errorf("%s: the refused null changed %v to %v", f.Name, before, after)
					}
					continue
				}
				for _, value := range validValues(t, f) {
					if r := update(f.Name, value); r.Status != http.StatusOK || !responseHasValue(r.JSON(t), f.Name, value) {
						t.Errorf("%s set to %v: status %d, want 200 and the value: %s", f.Name, value, r.Status, r.Body)
					}
					if got := storedRecord(t, s, key, op)[f.Name]; !reflect.DeepEqual(got, value) {
						t.Errorf("%s: %v is stored as %v", f.Name, value, got)
					}
				}
				for range 2 { // the second time, the property is already null, and nothing changes
					if r := update(f.Name, nil); r.Status != http.StatusOK || !responseHasValue(r.JSON(t), f.Name, nil) {
						t.Errorf("%s: %s: null: %d %s", o.CellLocation("body"), f.Name, r.Status, r.Body)
					}
					if got, has := storedRecord(t, s, key, op)[f.Name]; got != nil || !has {
						t.Errorf("%s: %s: after null, a read returns %v", o.CellLocation("body"), f.Name, got)
					}
				}
				if r := update("unknown", nil); r.Status != http.StatusBadRequest {
					t.Errorf("an unknown property with null: %d", r.Status)
				}
			}
			if len(left) > 0 {
				t.Errorf("%s: no such properties: %v", o.CellLocation("body"), slices.Sorted(maps.Keys(left)))
			}
		})
	}
}

// responseHasValue reports whether the named field of the response has the given value. The field
// "findings" may also be missing, because responses to writes of an audit omit it.
func responseHasValue(response map[string]any, name string, value any) bool {
	got, has := response[name]
	return reflect.DeepEqual(got, value) && has || !has && name == "findings"
}

// volatileFields lists the fields whose values differ between two creates with the same input.
var volatileFields = []string{"id", "secret", "prefix", "createdAt", "updatedAt", "lastUsedAt", "companyId", "siteKey", "publicKey", "claimId"}

// removeVolatileFields removes the volatileFields from an object and from the records in it.
func removeVolatileFields(object map[string]any) {
	for _, name := range volatileFields {
		delete(object, name)
	}
	for _, value := range object {
		if record, ok := value.(map[string]any); ok {
			removeVolatileFields(record)
		}
	}
}

// Ensure null in an optional property of a create has the same effect as leaving the property out,
// and that required properties refuse null.
func TestNullOfCreates(t *testing.T) {
	t.Parallel()
	apitest.SkipIfShort(t)
	for _, op := range functions.Operations(nil) {
		if op.Method != http.MethodPost || !slices.ContainsFunc(op.Input, func(f schema.Field) bool { return f.In == schema.InBody }) {
			continue
		}
		t.Run(op.ID, func(t *testing.T) {
			t.Parallel()
			bare, nulls := map[string]any{}, map[string]any{}
			for _, f := range op.Input {
				value, has := fixtureArguments[op.ID][f.Name]
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
				r := s.Call(t, s.IssueKey(t), op.ID, args)
				if r.Status != http.StatusOK {
					t.Fatalf("the arguments %v: status %d, want 200: %s", args, r.Status, r.Body)
				}
				results[i] = r.JSON(t)
				removeVolatileFields(results[i])
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
				r := s.Call(t, s.IssueKey(t), op.ID, args)
				if _, messages := r.Messages(t); r.Status != http.StatusBadRequest || !strings.HasPrefix(messages[0], "body."+f.Name+": must not be null") {
					t.Errorf("%s: null: %d %s", f.Name, r.Status, r.Body)
				}
			}
		})
	}
}

// Ensure null in an optional tool argument has the same effect as leaving the argument out, for
// companyId and for arguments that an HTTP request has in its query or headers.
func TestNullArguments(t *testing.T) {
	t.Parallel()
	s := start(t, nil)
	key := s.IssueKey(t)
	for _, op := range toolOperations() {
		if op.Effect != api.Read {
			continue
		}
		bare, nulls := maps.Clone(fixtureArguments[op.ID]), maps.Clone(fixtureArguments[op.ID])
		for _, f := range op.Input {
			if _, has := bare[f.Name]; !has && !f.Required {
				nulls[f.ArgumentName()] = nil
			}
		}
		if op.HasCompanyID() {
			nulls["companyId"] = nil
		}
		want, got := callTool(t, s, key, op.ID, bare), callTool(t, s, key, op.ID, nulls)
		if want.IsError || got.IsError || string(want.StructuredContent) != string(got.StructuredContent) {
			t.Errorf("%s with %v: the result is\n%v\nwant that without them\n%v", op.ID, nulls, got.Content, want.Content)
		}
	}
	changed := callTool(t, s, key, "update_company", map[string]any{"companyId": nil, "ifMatch": nil, "summary": nil})
	if changed.IsError {
		t.Errorf("update_company with null for each: an error, want a result: %v", changed.Content)
	}
	created := callTool(t, s, key, "create_plan_item", map[string]any{"idempotencyKey": nil, "boardId": "brd_1", "title": "Null", "summary": nil})
	if created.IsError {
		t.Errorf("create_plan_item with null for each: an error, want a result: %v", created.Content)
	}
}
