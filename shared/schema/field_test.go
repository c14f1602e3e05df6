package schema_test

import (
	"fmt"
	"reflect"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"growthworkspace/shared/schema"
)

type level int64

func (level) Values() []string { return []string{"1"} }

type embedded struct {
	Limit int64 `query:"limit" default:"5" min:"1" max:"9"`
}

// Ensure Fields panics on an invalid declaration.
func TestFieldsPanics(t *testing.T) {
	for name, input := range map[string]any{
		"has no name": struct{ A string }{},
		"not exported": struct {
			a string `query:"a"`
		}{},
		"two locations": struct {
			A string `path:"a" json:"a" max:"1"`
		}{},
		"two fields a": struct {
			A *string `query:"a"`
			B *string `json:"a" max:"1"`
		}{},
		"two fields limit": struct {
			embedded
			B *string `json:"limit" max:"1"`
		}{},
		"cannot hold a int:": struct {
			A int `query:"a"`
		}{},
		"cannot hold a interface": struct {
			A any `json:"a"`
		}{},
		"cannot hold a struct": struct {
			A struct{} `json:"a"`
		}{},
		"cannot hold a int64": struct {
			A []int64 `json:"a" items:"1"`
		}{},
		"cannot hold a *string": struct {
			A []*string `json:"a" items:"1"`
		}{},
		"an array needs the tag items": struct {
			A []string `json:"a"`
		}{},
		"a string needs the tag max": struct {
			A string `json:"a"`
		}{},
		"a map of strings": struct {
			A map[string]int `json:"a"`
		}{},
		"no such pattern": struct {
			A string `query:"a" pattern:"nope"`
		}{},
		"or format": struct {
			A string `query:"a" format:"nope"`
		}{},
		"min of A": struct {
			A int64 `query:"a" min:"x"`
		}{},
		"min is above max": struct {
			A int64 `query:"a" min:"2" max:"1"`
		}{},
		"an id is a string": struct {
			A int64 `path:"a"`
		}{},
		"only a body has arrays": struct {
			A []string `query:"a" items:"1"`
		}{},
		"only a body has": struct {
			A map[string]string `header:"a"`
		}{},
		"closed list is of": struct {
			A level `query:"a"`
		}{},
		"invalid default: A: m": struct {
			A int64 `query:"a" default:"5" max:"4"`
		}{},
		"invalid default": struct {
			A colour `query:"a" default:"blue"`
		}{},
		"cursor is the query": struct {
			A schema.Cursor `query:"after"`
		}{},
		"no pointer": struct {
			A *schema.Cursor `query:"cursor"`
		}{},
		"parameter cursor": struct {
			A schema.Cursor `json:"cursor"`
		}{},
		"properties only": struct {
			A []embedded `json:"a" items:"1"`
		}{},
	} {
		t.Run(name, func(t *testing.T) {
			defer func() {
				if p := fmt.Sprint(recover()); !strings.Contains(p, name) {
					t.Errorf("panic %q, want %q", p, name)
				}
			}()
			schema.Fields(reflect.TypeOf(input))
		})
	}
}

// Ensure a field has the location, kind and constraints that its tags define.
func TestFields(t *testing.T) {
	fields := map[string]schema.Field{}
	for _, f := range schema.Fields(reflect.TypeFor[struct {
		embedded
		ItemID string  `path:"itemId" doc:"the item"`
		Match  *string `header:"If-Match"`
		shapes
	}]()) {
		fields[f.Name] = f
	}
	for name, want := range map[string]string{
		"limit": "query integer false [] 5 1 9", "itemId": "path string true [] ", "If-Match": "header string false [] ",
		"name": "body string false []  2 4", "colour": "body string false [red green] ", "whole": "body integer false []  -9.007199254740991e+15 9.007199254740991e+15",
		"flag": "body boolean false [] ", "tags": "body array false [] ", "dims": "body object false [] ", "number": "body number false [] ",
		"points": "body array false []  1", "default": "body string false [] usual 9",
	} {
		f := fields[name]
		got := fmt.Sprint(f.In, " ", f.Kind, " ", f.Required, " ", f.Enum, " ", f.Default)
		for _, bound := range []*float64{f.Min, f.Max} {
			if bound != nil {
				got += fmt.Sprint(" ", *bound)
			}
		}
		if got != want {
			t.Errorf("%s: got %q, want %q", name, got, want)
		}
	}
	var required []string
	for _, f := range fields["points"].Fields {
		if f.Required {
			required = append(required, f.Name)
		}
	}
	want := map[string]any{"required": []string{"key", "ts", "value"}, "points": 3, "tags": 2, "doc": "the item"}
	got := map[string]any{"required": required, "points": fields["points"].ItemsMax, "tags": fields["tags"].ItemCharsMax, "doc": fields["itemId"].Doc}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("what the fields declare (-want +got):\n%s", diff)
	}
}
