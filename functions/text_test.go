package functions_test

import (
	"maps"
	"net/http"
	"net/url"
	"strings"
	"testing"
	"time"

	"growthworkspace/functions"
	"growthworkspace/functions/company"
	"growthworkspace/shared/api"
	"growthworkspace/shared/schema"
	"growthworkspace/shared/testkit/apitest"
)

// argumentVariant is a set of arguments with a special value in one place, and the path to that
// place.
type argumentVariant struct {
	args map[string]any
	path string
}

// requestsWithNUL returns one set of arguments for each string within the field, with a NUL in that
// string.
func requestsWithNUL(base map[string]any, path string, f schema.Field) (out []argumentVariant) {
	add := func(value any, suffix string) {
		args := maps.Clone(base)
		args[f.Name] = value
		out = append(out, argumentVariant{args, path + "." + f.Name + suffix})
	}
	switch {
	case f.Kind == schema.Any:
		add("a\x00", "")
		add([]any{map[string]any{"\x00": 1}}, "")
	case f.Kind == schema.String:
		add("a\x00", "")
	case f.Kind == schema.Map:
		add(map[string]any{"a": "\x00"}, ".a")
		add(map[string]any{"\x00": "a"}, `.\u0000`)
	case f.Fields != nil:
		element := map[string]any{}
		if list, ok := base[f.Name].([]any); ok {
			element = list[0].(map[string]any)
		}
		for _, inner := range f.Fields {
			for _, p := range requestsWithNUL(element, "[0]", inner) {
				add([]any{p.args}, p.path)
			}
		}
	case f.Kind == schema.Array:
		add([]any{"a", "b\x00"}, "[1]")
	}
	return out
}

// Ensure every operation refuses NUL in every string, over HTTP and as a tool. The message must
// contain the path of that string, and nothing may be stored.
func TestNULIsRefused(t *testing.T) {
	t.Parallel()
	apitest.SkipIfShort(t)
	s := start(t, nil)
	key := s.IssueKey(t)
	tried := 0
	for _, op := range functions.Operations(nil) {
		for _, f := range op.Input {
			if f.In == schema.InHeader { // an HTTP header cannot contain NUL
				continue
			}
			place := string(f.In)
			for _, p := range requestsWithNUL(fixtureArguments[op.ID], "", f) {
				tried++
				s.Clock.Advance(time.Second) // to stay below the quota
				if f.In != schema.InPath {
					checkNULRefused(t, op, s.Call(t, key, op.ID, p.args), place+p.path)
				}
				if !op.NotTool {
					checkNULRefused(t, op, callTool(t, s, key, op.ID, p.args).response(t), strings.TrimPrefix(p.path, "."))
				}
			}
		}
	}
	if tried < 100 {
		t.Errorf("only %d places", tried)
	}
}

func checkNULRefused(t *testing.T, op api.Operation, r apitest.Response, path string) {
	t.Helper()
	code, messages := r.Messages(t)
	if want := path + ": must not have the character U+0000"; r.Status != http.StatusBadRequest || code != "bad_request" || !strings.Contains(strings.Join(messages, "\n"), want) {
		t.Errorf("%s: %d %q, want %s", op.ID, r.Status, messages, want)
	}
}

// Ensure the company profile refuses invalid web addresses, time zones and languages, over HTTP and
// as a tool.
func TestTextFormats(t *testing.T) {
	t.Parallel()
	s := start(t, nil)
	key := s.IssueKey(t)
	before := s.Call(t, key, "get_company", nil).Body
	for name, values := range map[string][]string{
		"websiteUrl":      {"javascript:alert(1)", "javascript://example.com/%0aalert(1)", "http://", "https:///a", "ftp://example.com", "example.com", "", "https://.", "https://a..b", "https://a.b:99999", "https://me:secret@a.b"},
		"repositoryUrl":   {"javascript:alert(1)", "git@example.com:a/b", "ssh://example.com/a", "https://token@example.com/a"},
		"timezone":        {"Mars/Olympus", "Local", "", "europe/berlin", "CEST", "+02:00"},
		"primaryLanguage": {"english", "DE", "xx", "", "de-AT", "deu"},
	} {
		for _, value := range values {
			args := map[string]any{name: value}
			for place, r := range map[string]apitest.Response{"HTTP": s.Call(t, key, "update_company", args), "tool": callTool(t, s, key, "update_company", args).response(t)} {
				if _, messages := r.Messages(t); r.Status != http.StatusBadRequest || !strings.Contains(messages[0], name+": must ") {
					t.Errorf("%s: %s %q: status %d, want 400 and what it must be: %s", place, name, value, r.Status, r.Body)
				}
			}
		}
	}
	if after := s.Call(t, key, "get_company", nil).Body; after != before {
		t.Errorf("%s became %s", before, after)
	}
}

// Ensure a stored value that the API would refuse today can still be read, and that an update of
// another property keeps it.
func TestInvalidStoredValuesStayReadable(t *testing.T) {
	t.Parallel()
	s := start(t, nil)
	key := s.IssueKey(t)
	old := map[string]string{"websiteUrl": "javascript:alert(1)", "repositoryUrl": "https://me:secret@a..b:99999", "timezone": "Mars/Olympus", "primaryLanguage": "english", "summary": "a\x00b"}
	_, err := company.NewStore(s.Table).Modify(t.Context(), s.CompanyID, func(c *company.Company) error {
		c.RepositoryURL = new(old["repositoryUrl"])
		c.WebsiteURL, c.Timezone, c.PrimaryLanguage, c.Summary = new(old["websiteUrl"]), new(old["timezone"]), new(old["primaryLanguage"]), new(old["summary"])
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	for name, value := range old {
		if got := s.Call(t, key, "get_company", nil).JSON(t)[name]; got != value {
			t.Errorf("%s is %v", name, got)
		}
	}
	if r := s.Call(t, key, "update_company", map[string]any{"industry": "Space"}); r.Status != http.StatusOK || r.JSON(t)["timezone"] != "Mars/Olympus" {
		t.Errorf("an update of another property: status %d, want 200 and the old timezone: %s", r.Status, r.Body)
	}
	if r := s.Send(t, key, "GET", "/v1/companies/{companyId}/plan/boards?cursor="+url.QueryEscape("\x00"), ""); r.Status != http.StatusBadRequest {
		t.Errorf("a cursor with U+0000: status %d, want 400: %s", r.Status, r.Body)
	}
}
