package schema_test

import (
	"reflect"
	"slices"
	"testing"

	"growthworkspace/shared/schema"
)

// Ensure that a Clearable distinguishes between an absent property, null and a value, and that each
// has the intended effect.
func TestClearable(t *testing.T) {
	t.Parallel()
	stored := func() (note *string, size *int64, labels []string) { return new("old"), new(int64(7)), []string{"old"} }
	for body, want := range map[string]struct {
		note   *string
		size   *int64
		labels []string
	}{
		`{}`: {new("old"), new(int64(7)), []string{"old"}},
		`{"note":null,"size":null,"labels":null}`: {nil, nil, nil},
		`{"note":"","size":0,"labels":[]}`:        {new(""), new(int64(0)), []string{}},
		`{"note":"new","size":1,"labels":["a"]}`:  {new("new"), new(int64(1)), []string{"a"}},
		`{"labels":null}`:                         {new("old"), new(int64(7)), nil},
	} {
		in, problems := bindShapes(body)
		if len(problems) > 0 {
			t.Fatalf("%s: problems %q, want none", body, problems)
		}
		note, size, labels := stored()
		in.Note.Apply(&note)
		in.Size.Apply(&size)
		in.Labels.Apply(&labels)
		if !reflect.DeepEqual(note, want.note) || !reflect.DeepEqual(size, want.size) || !reflect.DeepEqual(labels, want.labels) {
			t.Errorf("%s: got %v %v %v", body, note, size, labels)
		}
	}
}

type nullableInput struct {
	Key    string            `json:"key" max:"10"`
	Title  *string           `json:"title" max:"10"`
	Tags   []string          `json:"tags" items:"3" each:"5"`
	Dims   map[string]string `json:"dims" items:"3" each:"5"`
	Grain  colour            `json:"grain" default:"green"`
	Order  int64             `json:"order" default:"5"`
	Must   []string          `json:"must" items:"3" each:"5" required:"true"`
	Never  []string          `json:"never" items:"3" each:"5" null:"never"`
	Points []point           `json:"points" items:"3"`
}

// Ensure that null in an optional property of a create has the same effect as leaving the property
// out, and that null is refused in all other properties.
func TestNullOfACreate(t *testing.T) {
	t.Parallel()
	typ := reflect.TypeFor[nullableInput]()
	fields := schema.Fields(typ)
	schema.AcceptNull(fields)
	bare, problems := bindBody(typ, fields, `{"key":"a","must":[],"points":[{"key":"a","ts":"2026-08-11T09:30:00Z","value":1}]}`)
	if len(problems) > 0 {
		t.Fatalf("problems %q, want none", problems)
	}
	nulls, problems := bindBody(typ, fields, `{"key":"a","must":[],"title":null,"tags":null,"dims":null,"grain":null,"order":null,
		"points":[{"key":"a","ts":"2026-08-11T09:30:00Z","value":1,"grain":null,"dims":null,"note":null}]}`)
	if len(problems) > 0 || !reflect.DeepEqual(bare.Input.Interface(), nulls.Input.Interface()) {
		t.Errorf("problems %q; with nulls\n%+v\nwithout\n%+v", problems, nulls.Input, bare.Input)
	}
	_, problems = bindBody(typ, fields, `{"key":null,"must":null,"never":null,"points":[{"key":null,"ts":null,"value":null}]}`)
	want := []string{
		"body.key: must not be null", "body.must: must not be null", "body.never: must not be null; clear it with []",
		"body.points[0].key: must not be null", "body.points[0].ts: must not be null", "body.points[0].value: must not be null",
	}
	if !slices.Equal(problems, want) {
		t.Errorf("problems %q, want %q", problems, want)
	}
}

// Ensure declaring a Clearable panics if null could not clear it, so that the program does not
// start.
func TestInvalidClearable(t *testing.T) {
	t.Parallel()
	for _, typ := range []reflect.Type{
		reflect.TypeFor[struct {
			A schema.Clearable[string] `json:"a" max:"5"`
		}](),
		reflect.TypeFor[struct {
			A schema.Clearable[*string] `query:"a" max:"5"`
		}](),
		reflect.TypeFor[struct {
			A schema.Clearable[*string] `json:"a" max:"5" default:"x"`
		}](),
		reflect.TypeFor[struct {
			A schema.Clearable[[]string] `json:"a" items:"5" required:"true"`
		}](),
	} {
		func() {
			defer func() {
				if recover() == nil {
					t.Errorf("%s is accepted", typ)
				}
			}()
			schema.Fields(typ)
		}()
	}
}
