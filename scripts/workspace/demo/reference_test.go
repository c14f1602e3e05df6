package demo_test

import (
	"cmp"
	"crypto/rand"
	"encoding/json"
	"net/url"
	"os"
	"path"
	"slices"
	"strings"
	"testing"

	"growthworkspace/functions"
	"growthworkspace/scripts/workspace/demo"
	"growthworkspace/shared/auth"
	"growthworkspace/shared/keys"
	"growthworkspace/shared/testkit/apitest"
)

// parameter is a parameter of an operation in the OpenAPI document, or a $ref to a parameter.
type parameter struct {
	Ref      string `json:"$ref"`
	Name, In string
	Required bool
	Example  string
}

// referenceExample is the example request that the API reference shows for an operation.
type referenceExample struct {
	id, method, target, body string
}

// referenceExamples returns the examples in the OpenAPI document. Reads come first. Deletes come
// last, children before parents. It leaves out the operations on a single key, because the demo
// company has no key with a known id.
func referenceExamples(t *testing.T) (out []referenceExample) {
	t.Helper()
	text, err := os.ReadFile("../../../functions/openapi/openapi.json")
	if err != nil {
		t.Fatal(err)
	}
	var document struct {
		Paths map[string]map[string]struct {
			OperationID string
			Parameters  []parameter
			RequestBody struct {
				Content map[string]struct{ Example json.RawMessage }
			}
		}
		Components struct{ Parameters map[string]parameter }
	}
	if err := json.Unmarshal(text, &document); err != nil {
		t.Fatal(err)
	}
	for path, methods := range document.Paths {
		for method, op := range methods {
			e := referenceExample{op.OperationID, strings.ToUpper(method), path, string(op.RequestBody.Content["application/json"].Example)}
			query := url.Values{}
			for _, p := range op.Parameters {
				if p.Ref != "" {
					p = document.Components.Parameters[p.Ref[strings.LastIndex(p.Ref, "/")+1:]]
				}
				switch {
				case p.In == "path" && p.Example != "":
					e.target = strings.ReplaceAll(e.target, "{"+p.Name+"}", p.Example)
				case p.In == "query" && p.Required:
					query.Set(p.Name, p.Example)
				}
			}
			if strings.Contains(e.target, "{keyId}") {
				continue
			}
			if len(query) > 0 {
				e.target += "?" + query.Encode()
			}
			out = append(out, e)
		}
	}
	order := func(e referenceExample) int {
		return slices.Index([]string{"GET", "PATCH", "POST", "DELETE"}, e.method)
	}
	slices.SortFunc(out, func(a, b referenceExample) int {
		return cmp.Or(order(a)-order(b), strings.Count(b.target, "/")-strings.Count(a.target, "/"), cmp.Compare(a.id, b.id))
	})
	return out
}

// Ensure every example in the API reference works in the demo company. Its ids exist, and the
// service accepts its body. Only a delete, a claim or a report may be refused, because of the state
// of the record.
func TestExamplesOfTheReference(t *testing.T) {
	t.Parallel()
	s := apitest.New(t, functions.Operations)
	if err := demo.Seed(t.Context(), s.Table, s.Clock.Now()); err != nil {
		t.Fatal(err)
	}
	_, key, err := s.Keys.Issue(t.Context(), demo.CompanyID, keys.Grant{Name: "reference", Scopes: auth.Scopes()}, rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	requests := referenceExamples(t)
	for _, e := range requests {
		r := s.Send(t, key, e.method, e.target, e.body)
		needsState := e.method == "DELETE" || strings.HasPrefix(e.id, "claim_") || strings.HasPrefix(e.id, "report_")
		if refused := needsState && r.Status == 409; r.Status != 200 && !refused {
			t.Errorf("%s: %s %s: status %d: %s", e.id, e.method, e.target, r.Status, r.Body)
			if list := s.Send(t, key, "GET", path.Dir(e.target), ""); r.Status == 404 && list.Status == 200 {
				t.Errorf("functions/openapi/source.json: the example of this record must have an id of the demo company: %.200s", list.Body)
			}
		}
	}
	if all := len(functions.Operations(nil)); len(requests) < all-2 {
		t.Errorf("%d examples of %d operations", len(requests), all)
	}
}
