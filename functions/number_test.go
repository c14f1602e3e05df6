package functions_test

import (
	"encoding/json"
	"maps"
	"net/http"
	"regexp"
	"strings"
	"testing"
	"time"

	"growthworkspace/functions"
	"growthworkspace/shared/api"
	"growthworkspace/shared/schema"
	"growthworkspace/shared/testkit/apitest"
)

// argumentsWithNumber returns a set of arguments for each path within the field that accepts a
// number. Each set is a copy of base with the number at that path.
func argumentsWithNumber(base map[string]any, f schema.Field, number json.RawMessage) (out []argumentVariant) {
	add := func(value any, suffix string) {
		args := maps.Clone(base)
		args[f.Name] = value
		out = append(out, argumentVariant{args, "." + f.Name + suffix})
	}
	switch {
	case f.Kind == schema.Number, f.Kind == schema.Integer && f.In == schema.InBody:
		add(number, "")
	case f.Fields != nil:
		element := map[string]any{}
		if list, ok := base[f.Name].([]any); ok {
			element = list[0].(map[string]any)
		}
		for _, inner := range f.Fields {
			for _, p := range argumentsWithNumber(element, inner, number) {
				add([]any{p.args}, "[0]"+p.path)
			}
		}
	}
	return out
}

// eachNumber calls visit for every path at which any operation accepts a number. It returns how
// many times it called visit.
func eachNumber(s *apitest.Service, number string, visit func(op api.Operation, f schema.Field, p argumentVariant)) (visited int) {
	for _, op := range functions.Operations(nil) {
		for _, f := range op.Input {
			for _, p := range argumentsWithNumber(fixtureArguments[op.ID], f, json.RawMessage(number)) {
				visited++
				s.Clock.Advance(time.Second) // to stay below the quota
				visit(op, f, p)
			}
		}
	}
	return visited
}

var negativeZeroPattern = regexp.MustCompile(`[:,\[]-0[.0]*[,}\]]`)

// Ensure -0 is stored as 0 wherever a number is accepted. The response and the next read must then
// have the same ETag, so that If-Match matches.
func TestNegativeZero(t *testing.T) {
	t.Parallel()
	s := start(t, nil)
	key, compared := s.IssueKey(t), 0
	tried := eachNumber(s, "-0.0", func(op api.Operation, f schema.Field, p argumentVariant) {
		r := s.Call(t, key, op.ID, p.args)
		if r.Status == http.StatusBadRequest && strings.Contains(r.Body, p.path[1:]+": must be between") {
			return // 0 is also outside the field's range
		}
		if r.Status != http.StatusOK || negativeZeroPattern.MatchString(r.Body) {
			t.Errorf("%s, %s: status %d, want 200 and no negative zero: %s", op.ID, p.path, r.Status, r.Body)
			return
		}
		_, noun, _ := strings.Cut(op.ID, "_")
		update, _ := operationTable.Lookup("update_" + noun)
		reader, id := update.Reader, r.JSON(t)["id"]
		if reader == "" {
			return
		}
		compared++
		readArguments := map[string]any{}
		for _, segment := range api.PathSegments(operationNamed(t, reader).Path) {
			if name, ok := api.PathParameter(segment); ok && name != "companyId" {
				readArguments[name] = p.args[name]
				if readArguments[name] == nil {
					readArguments[name] = id
				}
			}
		}
		read := s.Call(t, key, reader, readArguments)
		if tag := r.Header.Get("ETag"); read.Status != http.StatusOK || tag == "" || read.Header.Get("ETag") != tag {
			t.Errorf("%s, %s: ETag %s, then %d %s", op.ID, p.path, tag, read.Status, read.Header.Get("ETag"))
		}
	})
	if tried < 20 || compared < 15 {
		t.Errorf("%d numbers, %d ETags compared", tried, compared)
	}
	for _, grain := range []string{"day", "week"} {
		r := s.Call(t, key, "list_metric_points", map[string]any{"metricKey": "growth.signups", "grain": grain})
		if r.Status != http.StatusOK || negativeZeroPattern.MatchString(r.Body) {
			t.Errorf("the points of grain %s: status %d, want 200 and no negative zero: %s", grain, r.Status, r.Body)
		}
	}
}

// Ensure a number that is too close to 0 to be stored is refused, just like one that is too large,
// instead of being stored as 0.
func TestNumberOutOfRange(t *testing.T) {
	t.Parallel()
	s := start(t, nil)
	key := s.IssueKey(t)
	for _, number := range []string{"1e-130", "1e-400", "-0.001e-400", "1e126", "1e400"} {
		tried := eachNumber(s, number, func(op api.Operation, f schema.Field, p argumentVariant) {
			r := s.Call(t, key, op.ID, p.args)
			want := string(f.In) + p.path + ": must be 0 or between 1e-129 and 1e125, positive or negative"
			if f.Kind == schema.Integer || strings.Contains(r.Body, "must be a whole number") {
				want = string(f.In) + p.path + ": must be a whole number"
			}
			if code, messages := r.Messages(t); r.Status != http.StatusBadRequest || code != "bad_request" || !strings.HasPrefix(messages[0], want) {
				t.Errorf("%s, %s: status %d, want 400 and %q: %s", op.ID, number, r.Status, want, r.Body)
			}
		})
		if tried < 20 {
			t.Errorf("%d numbers", tried)
		}
	}
}

func operationNamed(t *testing.T, name string) api.Operation {
	t.Helper()
	for _, op := range functions.Operations(nil) {
		if op.ID == name {
			return op
		}
	}
	t.Fatalf("no operation %s", name)
	return api.Operation{}
}
