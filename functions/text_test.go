package functions_test

import (
	"encoding/json"
	"maps"
	"net/http"
	"net/url"
	"regexp"
	"strings"
	"testing"
	"time"
	"unicode"

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

// requestsWithCharacter returns one set of arguments for each string within the field, with the
// character in that string.
func requestsWithCharacter(character string, base map[string]any, path string, f schema.Field) (out []argumentVariant) {
	add := func(value any, suffix string) {
		args := maps.Clone(base)
		args[f.Name] = value
		out = append(out, argumentVariant{args, path + "." + f.Name + suffix})
	}
	switch {
	case f.Kind == schema.Any:
		add("a"+character, "")
		add([]any{map[string]any{character: 1}}, "")
	case f.Kind == schema.String:
		add("a"+character, "")
	case f.Kind == schema.Map:
		add(map[string]any{"a": character}, ".a")
		add(map[string]any{character: "a"}, "."+strings.ReplaceAll(character, "\x00", `\u0000`))
	case f.Fields != nil:
		element := map[string]any{}
		if list, ok := base[f.Name].([]any); ok {
			element = list[0].(map[string]any)
		}
		for _, inner := range f.Fields {
			for _, p := range requestsWithCharacter(character, element, "[0]", inner) {
				add([]any{p.args}, p.path)
			}
		}
	case f.Kind == schema.Array:
		add([]any{"a", "b" + character}, "[1]")
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
			for _, p := range requestsWithCharacter("\x00", fixtureArguments[op.ID], "", f) {
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

// expressionPattern matches an expression in the JSON of a table call. Its group is the expression
// as a JSON string.
var expressionPattern = regexp.MustCompile(`"\w*Expression":("(?:[^"\\]|\\.)*")`)

// Ensure no request puts a character outside ASCII into an expression: Dynoxide up to 1.2.1 exits
// at one (GHSA-gwhp-7jch-7xj6). Values and names of attributes have places of their own.
func TestExpressionsAreASCII(t *testing.T) {
	t.Parallel()
	apitest.SkipIfShort(t)
	calls := &callRecorder{}
	s := start(t, calls)
	key := s.IssueKey(t)
	succeeded := map[string]bool{}
	for _, op := range functions.Operations(nil) {
		for _, f := range op.Input {
			for _, variant := range requestsWithCharacter("é😀", fixtureArguments[op.ID], "", f) {
				s.Clock.Advance(time.Second) // to stay below the quota
				if r := s.Call(t, key, op.ID, variant.args); r.Status == http.StatusOK {
					succeeded[op.ID] = true
				}
			}
		}
	}
	expressions := map[string]bool{}
	for _, call := range calls.take() {
		for _, found := range expressionPattern.FindAllStringSubmatch(call, -1) {
			text := ""
			if err := json.Unmarshal([]byte(found[1]), &text); err != nil {
				t.Fatal(err)
			}
			expressions[text] = true
		}
	}
	for text := range expressions {
		if strings.ContainsFunc(text, func(r rune) bool { return r > unicode.MaxASCII }) {
			t.Errorf("the expression %q", text)
		}
	}
	if len(expressions) < 50 || len(succeeded) < 25 {
		t.Errorf("only %d expressions, and %d operations that succeeded", len(expressions), len(succeeded))
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
