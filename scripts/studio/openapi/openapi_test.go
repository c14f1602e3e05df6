package openapi_test

import (
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"growthworkspace/scripts/studio/openapi"
)

// Ensure every operation in the service's own document is read, in the order of the document. Each
// must have everything that a form for it needs.
func TestParse(t *testing.T) {
	t.Parallel()
	text, err := os.ReadFile("../../../functions/openapi/openapi.json")
	if err != nil {
		t.Fatal(err)
	}
	d, err := openapi.Parse(text)
	if err != nil {
		t.Fatal(err)
	}
	var areas []string
	operations := 0
	for _, a := range d.Areas {
		areas, operations = append(areas, a.Name), operations+len(a.Operations)
		for _, o := range a.Operations {
			if o.Summary == "" || o.ResponseExample == "" || o.Body != nil && (o.Body.Sample == "" || len(o.Body.Properties) == 0) {
				t.Errorf("%s lacks a summary, a sample or a property: %+v", o.ID, o)
			}
			for _, p := range o.Parameters {
				if p.About == "" && p.In != "path" || p.Type == "" {
					t.Errorf("%s: the parameter lacks its type or what it is: %+v", o.ID, p)
				}
			}
			if o.Secret != (o.ID == "create_key" || o.ID == "rotate_key") {
				t.Errorf("%s: secret %v", o.ID, o.Secret)
			}
		}
	}
	if want := strings.Count(string(text), `"operationId"`); operations != want || areas[0] != "Company" || !slices.Contains(areas, "Roadmap") {
		t.Errorf("%d operations, want %d; areas %v", operations, want, areas)
	}
	post := d.Operation("create_broadcast_post")
	platform := openapi.Property{Name: "platform", Required: true, Type: "one of", Choices: []string{"x", "instagram", "tiktok", "facebook", "reddit", "push"}, About: "where to publish it; cannot be changed later"}
	if diff := cmp.Diff(platform, post.Body.Properties[0]); diff != "" {
		t.Errorf("platform (-want +got):\n%s", diff)
	}
	limit := openapi.Parameter{Name: "limit", In: "query", Type: "whole number, 1 to 200", Default: "50", About: "maximum number of records per page"}
	posts := d.Operation("list_broadcast_posts")
	if diff := cmp.Diff(limit, posts.Parameters[1]); diff != "" {
		t.Errorf("limit (-want +got):\n%s", diff)
	}
	if lister := d.Lister("pst_1"); lister != posts {
		t.Errorf("posts are listed by %+v", lister)
	}
	if reader, parameter := d.Reader("gol_1"); reader == nil || reader.ID != "get_optimise_goal" || parameter != "goalId" {
		t.Errorf("goals of sites are read by %+v with %s", reader, parameter)
	}
	if reader, _ := d.Reader("word"); reader != nil || d.Lister("word") != nil {
		t.Error("a text that is no id has a reader or a lister")
	}
	var uses []string
	for _, use := range d.Uses("brd_1") {
		uses = append(uses, use.ID+" "+use.Parameter)
	}
	if !slices.Contains(uses, "create_plan_item boardId") || !slices.Contains(uses, "get_plan_board boardId") || uses[len(uses)-1] != "delete_plan_board boardId" || len(d.Uses("word")) != 0 {
		t.Errorf("the id of a board is used by %v", uses)
	}
	ideas := d.Operation("list_broadcast_ideas")
	at := slices.IndexFunc(ideas.Parameters, func(p openapi.Parameter) bool { return p.Name == "planId" })
	if lister := d.ListerFor(ideas.Parameters[at]); lister == nil || lister.ID != "list_broadcast_plans" {
		t.Errorf("the parameter planId takes the ids of %+v", lister)
	}
	var listers []string
	for _, o := range d.BodyListers(d.Operation("create_broadcast_idea")) {
		listers = append(listers, o.ID)
	}
	if diff := cmp.Diff([]string{"list_broadcast_plans", "list_context_content_types", "list_feedback"}, listers); diff != "" {
		t.Errorf("the operations that list the ids of an idea (-want +got):\n%s", diff)
	}
	if at := d.OperationsAtPath(post.Path); len(at) != 2 || at[1] != post {
		t.Errorf("at %s: %v", post.Path, at)
	}
	board := d.Operation("get_plan_board")
	if at := d.OperationsAtPath(board.Path); !board.HasRecordPath() || post.HasRecordPath() || !slices.Contains(at, board) || !slices.Contains(at, d.Operation("create_plan_item")) {
		t.Errorf("at %s: %v", board.Path, at)
	}
}

// Ensure Parse returns an error for text that is not an OpenAPI document.
func TestParseError(t *testing.T) {
	t.Parallel()
	for _, text := range []string{
		``, `[]`, `{}`, `{"paths": {"/a": 1}}`, `{"paths": {"/a": {"get": {}}}}`, `{"paths": {"@evil.example/": {"get": {"operationId": "a"}}}}`,
		`{"paths": {"/a": {"get": {"operationId": "a", "parameters": [{"$ref": "#/components/parameters/none"}]}}}}`,
	} {
		if d, err := openapi.Parse([]byte(text)); err == nil {
			t.Errorf("%s: no error but %+v", text, d)
		}
	}
}
