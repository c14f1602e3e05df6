package page_test

import (
	"context"
	"html"
	"regexp"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"growthworkspace/scripts/gen/openapi"
	"growthworkspace/scripts/gen/page"
	"growthworkspace/shared/api"
	"growthworkspace/shared/auth"
)

type Thing struct {
	ID        string   `json:"id"`
	CompanyID string   `json:"companyId"`
	Title     *string  `json:"title" doc:"what a <b>reader</b> & others see"`
	Colours   []string `json:"colours"`
}

type colour string

func (colour) Values() []string { return []string{"red", "blue"} }

type listInput struct {
	Colour *colour `query:"colour"`
	Limit  int64   `query:"limit" default:"25" min:"1" max:"100"`
}

type updateInput struct {
	ThingID string   `path:"thingId"`
	Title   string   `json:"title" min:"1" max:"2000" doc:"a <script>alert(1)</script> title"`
	Weight  *float64 `json:"weight" min:"0"`
	Colours []colour `json:"colours" items:"5"`
	Active  *bool    `json:"active"`
}

func define[In, Out any](spec api.Spec) api.Operation {
	return api.Define(spec, func(context.Context, api.Caller, In) (out Out, err error) { return out, err })
}

var (
	list = define[listInput, api.List[Thing]](api.Spec{
		ID: "list_things", Method: "GET", Path: "/v1/companies/{companyId}/things", Scope: auth.PlanRead, Summary: "List things",
	})
	update = define[updateInput, Thing](api.Spec{
		ID: "update_thing", Method: "PATCH", Path: "/v1/companies/{companyId}/things/{thingId}", Scope: auth.PlanWrite, Effect: api.Write,
		Summary: "Update a thing", Description: "First.\n\nThen <i>second</i>, with `code`.",
	})
)

const source = `{"areas":{"things":"All things."},
	"records":{"Thing":{"description":"A thing.","example":{"id":"thg_1","companyId":"co_1","title":"Ann's","colours":["red"]}}},
	"bodies":{"update_thing":{"title":"Ann's true thing","weight":1.5,"active":true}}}`

func document(t *testing.T, operations ...api.Operation) []byte {
	t.Helper()
	s, err := openapi.ParseSource([]byte(source))
	if err != nil {
		t.Fatal(err)
	}
	text, err := openapi.Build(operations, s)
	if err != nil {
		t.Fatal(err)
	}
	return text
}

func build(t *testing.T) string {
	t.Helper()
	files, err := page.Build([]api.Operation{list, update}, document(t, list, update))
	if err != nil {
		t.Fatal(err)
	}
	return string(files.HTML)
}

var tag = regexp.MustCompile(`<[^>]*>`)

// read is the text of a piece of HTML.
func read(piece string) string { return html.UnescapeString(tag.ReplaceAllString(piece, "")) }

// Ensure a sample can be pasted: quotes are escaped as its language has it, and words of JSON are spelled in it.
func TestSamples(t *testing.T) {
	t.Parallel()
	_, operation, _ := strings.Cut(build(t), `<section id="update_thing"`)
	for language, want := range map[string]string{
		"curl": `curl -X PATCH "$BASE/v1/companies/$COMPANY/things/thg_1" \
  -H "Authorization: Bearer $KEY" \
  -H "Content-Type: application/json" \
  -d '{
  "title": "Ann'\''s true thing",
  "weight": 1.5,
  "active": true
}'`,
		"go": `url := os.Getenv("BASE") + "/v1/companies/" + os.Getenv("COMPANY") + "/things/thg_1"
body := strings.NewReader(` + "`" + `{
  "title": "Ann's true thing",
  "weight": 1.5,
  "active": true
}` + "`" + `)
req, err := http.NewRequest("PATCH", url, body)
if err != nil {
	log.Fatal(err)
}
req.Header.Set("Authorization", "Bearer "+os.Getenv("KEY"))
req.Header.Set("Content-Type", "application/json")
resp, err := http.DefaultClient.Do(req)
if err != nil {
	log.Fatal(err)
}
defer resp.Body.Close()
io.Copy(os.Stdout, resp.Body)`,
		"javascript": "const answer = await fetch(`${process.env.BASE}/v1/companies/${process.env.COMPANY}/things/thg_1`, {" + `
  method: "PATCH",
  headers: {
    "Authorization": ` + "`Bearer ${process.env.KEY}`" + `,
    "Content-Type": "application/json",
  },
  body: JSON.stringify({
    "title": "Ann's true thing",
    "weight": 1.5,
    "active": true
  }),
});
console.log(answer.status, await answer.json());`,
		"python": `import json, os, urllib.request

request = urllib.request.Request(
    f"{os.environ['BASE']}/v1/companies/{os.environ['COMPANY']}/things/thg_1",
    method="PATCH",
    headers={
        "Authorization": f"Bearer {os.environ['KEY']}",
        "Content-Type": "application/json",
    },
    data=json.dumps({
      "title": "Ann's true thing",
      "weight": 1.5,
      "active": True
    }).encode(),
)
with urllib.request.urlopen(request) as answer:
    print(json.load(answer))`,
	} {
		_, rest, _ := strings.Cut(operation, `data-language="`+language+`"><code>`)
		code, _, _ := strings.Cut(rest, "</code>")
		if diff := cmp.Diff(want, read(code)); diff != "" {
			t.Errorf("%s: %s", language, diff)
		}
	}
	if !strings.Contains(read(build(t)), `curl "$BASE/v1/companies/$COMPANY/things?limit=10"`) {
		t.Error("a list's sample has no short page")
	}
}

// Ensure an argument is told with its type, its bounds, its default and its values.
func TestFields(t *testing.T) {
	t.Parallel()
	text := strings.Join(strings.Fields(read(build(t))), " ")
	for _, want := range []string{
		"title string 1 to 2,000 characters required", "weight number at least 0", "colours array of strings up to 5 entries red blue",
		"active boolean", "limit integer 1 to 100 default 25", "colour string red blue", "colours array of strings or null", "thingId string required the id of the thing",
	} {
		if !strings.Contains(text, want) {
			t.Errorf("the page does not say %q", want)
		}
	}
}

// Ensure words of declarations are text, whatever is in them, and code between backticks is code.
func TestWordsAreText(t *testing.T) {
	t.Parallel()
	text := build(t)
	for _, want := range []string{"&lt;script&gt;alert(1)&lt;/script&gt; title", "Then &lt;i&gt;second&lt;/i&gt;, with <code>code</code>.", "&lt;b&gt;reader&lt;/b&gt; &amp; others"} {
		if !strings.Contains(text, want) {
			t.Errorf("the page does not say %s", want)
		}
	}
}

// Ensure what the page cannot show as it is meant fails when it is made.
func TestRefusals(t *testing.T) {
	t.Parallel()
	both := []api.Operation{list, update}
	text := string(document(t, both...))
	for name, c := range map[string]struct {
		operations []api.Operation
		document   string
		want       string
	}{
		"no JSON":             {both, "{", "read the OpenAPI document"},
		"other operations":    {both, strings.Replace(text, `"operationId": "update_thing"`, `"operationId": "update_other"`, 1), "the OpenAPI document has no update_thing"},
		"a chapter is gone":   {both, strings.Replace(text, "## Rate limits", "## Bounds", 1), "no chapter rate-limits"},
		"unknown Markdown":    {both, strings.Replace(text, "\\n\\n## Errors", "\\n\\n> said\\n\\n## Errors", 1), "Markdown that the page does not know"},
		"words it leaves out": {both, strings.Replace(text, ", here as `x-scope`", "", 1), "which the page leaves out"},
		"a backtick":          {both, strings.Replace(text, "Ann's true thing", "Ann`s", 1), "a backtick"},
		"no id for a path":    {both, strings.ReplaceAll(text, "thg_1", ""), "no example of a Thing"},
	} {
		if _, err := page.Build(c.operations, []byte(c.document)); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// Ensure the assets' addresses change with their content.
func TestAssetsAreNamedByContent(t *testing.T) {
	t.Parallel()
	files, err := page.Build([]api.Operation{list, update}, document(t, list, update))
	if err != nil {
		t.Fatal(err)
	}
	if !regexp.MustCompile(`href="page\.css\?v=[0-9a-f]{12}"`).Match(files.HTML) || !regexp.MustCompile(`src="page\.js\?v=[0-9a-f]{12}"`).Match(files.HTML) {
		t.Error("the page links to assets without a digest")
	}
	if len(files.CSS) == 0 || len(files.JS) == 0 {
		t.Error("an asset is empty")
	}
}
