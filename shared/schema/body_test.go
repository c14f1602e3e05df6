package schema_test

import (
	"encoding/json"
	"fmt"
	"reflect"
	"slices"
	"strings"
	"testing"

	"growthworkspace/shared/schema"
)

// shadeEnum is a string type that may have any value in a record, but only one of the colours in a
// request.
type shadeEnum string

func (shadeEnum) RequestType() schema.Enum { return colour("") }

// testRecord is a record with a field for every possible value of the tags.
type testRecord struct {
	ID      string      `json:"id"`
	Kind    *string     `json:"kind" set:"optional,create" max:"10"`
	Name    *string     `json:"name" set:"required,first" min:"1" max:"5" doc:"its name"`
	Note    *string     `json:"note" set:"optional" max:"5" doc:"a note"`
	Colour  *colour     `json:"colour" default:"red"`
	Grade   *colour     `json:"grade" default:"green" set:"create"`
	Shades  []shadeEnum `json:"shades" set:"optional" items:"2" doc:"its shades"`
	Slug    string      `json:"slug" set:"filled" max:"5" pattern:"slug"`
	Checked *bool       `json:"checked" set:"filled,update"`
	From    *float64    `json:"from" set:"optional"`
	Until   *float64    `json:"until" set:"optional"`
	SeenAt  *string     `json:"seenAt" format:"date-time"`
}

// Problems implements schema.RecordValidator.
func (t testRecord) Problems(sent func(string) bool) []string {
	if !sent("from") && !sent("until") {
		return nil
	}
	if t.From == nil || t.Until == nil || *t.From <= *t.Until {
		return nil
	}
	return []string{"body.until: must not be less than from"}
}

type createInput struct {
	schema.Body[testRecord] `body:"create"`
}

// Check implements api.Checker.
func (in createInput) Check() []string { return in.Problems(in.Record) }

type updateInput struct {
	schema.Body[testRecord] `body:"update"`

	RecordID string `path:"lampId"`
}

// describeFields returns a description of what a request may send, one line for each field.
func describeFields(fields []schema.Field) (out []string) {
	for _, f := range fields {
		null := map[schema.Null]string{schema.NullRefused: "refused", schema.NullAbsent: "absent", schema.NullClears: "clears"}[f.Null]
		out = append(out, fmt.Sprintf("%s %s required=%v default=%q null=%s %v %q %q", f.In, f.Name, f.Required, f.Default, null, f.Enum, f.Doc, f.ToolDoc))
	}
	return out
}

// Ensure the tags of a record define what a create and an update accept: the fields and their
// order, which of them are required, their defaults, the meaning of null and the enum values.
func TestBodyFields(t *testing.T) {
	t.Parallel()
	create := schema.Fields(reflect.TypeFor[createInput]())
	schema.AcceptNull(create)
	for name, c := range map[string]struct{ got, want []string }{
		"create": {describeFields(create), []string{
			`body name required=true default="" null=refused [] "its name" ""`,
			`body kind required=false default="" null=absent [] "" ""`,
			`body note required=false default="" null=absent [] "a note" ""`,
			`body colour required=false default="red" null=absent [red green] "" ""`,
			`body grade required=false default="green" null=absent [red green] "" ""`,
			`body shades required=false default="" null=absent [red green] "its shades" ""`,
			`body slug required=false default="" null=absent [] "" ""`,
			`body from required=false default="" null=absent [] "" ""`,
			`body until required=false default="" null=absent [] "" ""`,
		}},
		"update": {describeFields(schema.Fields(reflect.TypeFor[updateInput]())), []string{
			`path lampId required=true default="" null=refused [] "" ""`,
			`body name required=false default="" null=refused [] "its name" ""`,
			`body note required=false default="" null=clears [] "a note" ""`,
			`body colour required=false default="" null=refused [red green] "" ""`,
			`body shades required=false default="" null=clears [red green] "its shades; replaces the list" "replaces the list"`,
			`body slug required=false default="" null=refused [] "" ""`,
			`body checked required=false default="" null=refused [] "" ""`,
			`body from required=false default="" null=clears [] "" ""`,
			`body until required=false default="" null=clears [] "" ""`,
		}},
	} {
		if !slices.Equal(c.got, c.want) {
			t.Errorf("%s:\n%s\nwant\n%s", name, strings.Join(c.got, "\n"), strings.Join(c.want, "\n"))
		}
	}
}

// bindRecord binds an input of type In to a JSON object.
func bindRecord[In any](t *testing.T, isCreate bool, text string) (in In, problems []string) {
	t.Helper()
	fields := schema.Fields(reflect.TypeFor[In]())
	if isCreate {
		schema.AcceptNull(fields)
	}
	o, problems := schema.ParseObject([]byte(text), "body")
	if problems != nil {
		t.Fatal(problems)
	}
	b := schema.BindFlat(reflect.TypeFor[In](), fields, schema.FlatArguments{Arguments: o})
	return b.Input.Interface().(In), b.Problems
}

// Ensure an update assigns exactly the properties that were sent. A null must clear the stored
// value, and a property that is left out must keep it.
func TestBodyApply(t *testing.T) {
	t.Parallel()
	in, problems := bindRecord[updateInput](t, false, `{"lampId":"lmp_1","name":"B","note":null,"shades":["red"],"slug":"b"}`)
	if problems != nil {
		t.Fatal(problems)
	}
	l := testRecord{ID: "lmp_1", Name: new("A"), Note: new("n"), Colour: new(colour("green")), Shades: []shadeEnum{"mauve"}, Slug: "a", From: new(1.0), SeenAt: new("2026-01-01T00:00:00.000Z")}
	want := l
	want.Name, want.Note, want.Shades, want.Slug = new("B"), nil, []shadeEnum{"red"}, "b"
	if in.Apply(&l); !reflect.DeepEqual(l, want) {
		t.Errorf("the record is %+v, want %+v", l, want)
	}
	if in.Empty() {
		t.Error("Empty reports true for a body with properties")
	}
	for name, want := range map[string]bool{"note": true, "from": false, "lampId": false} {
		if got := in.Sent(name); got != want {
			t.Errorf("Sent(%q) is %t, want %t", name, got, want)
		}
	}
	if empty, _ := bindRecord[updateInput](t, false, `{"lampId":"lmp_1","shades":[]}`); empty.Record.Shades == nil || !empty.Sent("shades") {
		t.Error("an empty list is null")
	}
	if none, _ := bindRecord[updateInput](t, false, `{"lampId":"lmp_1"}`); !none.Empty() {
		t.Error("an empty body is not Empty")
	}
}

// Ensure that a create gets its defaults, for which Sent returns false, and that null has the same
// effect as leaving a property out.
func TestBodyCreate(t *testing.T) {
	t.Parallel()
	in, problems := bindRecord[createInput](t, true, `{"name":"A","colour":null,"note":null,"until":2}`)
	if want := (testRecord{Name: new("A"), Colour: new(colour("red")), Grade: new(colour("green")), Until: new(2.0)}); problems != nil || !reflect.DeepEqual(in.Record, want) {
		t.Errorf("%+v %q, want %+v", in.Record, problems, want)
	}
	for property, want := range map[string]bool{"name": true, "until": true, "colour": false, "grade": false, "note": false} {
		if in.Sent(property) != want {
			t.Errorf("Sent(%s) is %v", property, !want)
		}
	}
}

// Ensure a value that the tags do not allow is a problem, as is any value for a field that this
// kind of operation cannot set.
func TestBodyRefuses(t *testing.T) {
	t.Parallel()
	_, create := bindRecord[createInput](t, true, `{"shades":["mauve"],"slug":"A b","checked":true,"seenAt":"2026-01-01T00:00:00Z","colour":"blue"}`)
	_, update := bindRecord[updateInput](t, false, `{"lampId":"lmp_1","name":null,"colour":null,"slug":null,"kind":"a","note":"too long"}`)
	for name, c := range map[string]struct{ got, want []string }{
		"create": {create, []string{
			"body.name: is required", "body.colour: must be one of red, green", "body.shades[0]: must be one of red, green",
			"body.slug: must match", "arguments.checked: unknown argument", "arguments.seenAt: unknown argument",
		}},
		"update": {update, []string{
			"body.name: must not be null", "body.note: must have at most 5 characters", "body.colour: must not be null", "body.slug: must not be null",
			"arguments.kind: unknown argument",
		}},
	} {
		ok := len(c.got) == len(c.want)
		for i := range min(len(c.got), len(c.want)) {
			ok = ok && strings.HasPrefix(c.got[i], c.want[i])
		}
		if !ok {
			t.Errorf("%s: %q, want %q", name, c.got, c.want)
		}
	}
}

// Ensure the rules of a record can tell which properties a request contains, so that if a stored
// record breaks a rule, its other properties can still be changed.
func TestBodyRules(t *testing.T) {
	t.Parallel()
	stored := testRecord{From: new(5.0), Until: new(1.0)}
	for text, want := range map[string]int{`{"name":"B"}`: 0, `{"until":2}`: 1, `{"until":7}`: 0, `{"until":null}`: 0} {
		in, _ := bindRecord[updateInput](t, false, `{"lampId":"lmp_1",`+text[1:])
		l := stored
		in.Apply(&l)
		if got := in.Problems(l); len(got) != want {
			t.Errorf("%s: the problems are %q, want %d", text, got, want)
		}
	}
}

// albumRecord is a record with a field that may contain any JSON. Requests can set that field only
// to a list.
type albumRecord struct {
	Pictures json.RawMessage `json:"pictures" set:"optional" items:"2" doc:"its pictures"`
}

type picture struct {
	Name string  `json:"name" min:"1" max:"5"`
	Note *string `json:"note,omitempty" max:"5"`
}

func (albumRecord) ElementType(property string) reflect.Type {
	if property == "pictures" {
		return reflect.TypeFor[picture]()
	}
	return nil
}

type updateAlbumInput struct {
	schema.Body[albumRecord] `body:"update"`
}

// Ensure a request can set a field with an element type only to a list of objects, which replaces
// the stored JSON. An imported record may contain any JSON in that field.
func TestElementTyper(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]string{
		`{"pictures":[{"name":"a"},{"note":"","name":"<b>"}]}`: `[{"name":"a"},{"name":"<b>","note":""}]`,
		`{"pictures":[{"name":"a","note":null}]}`:              `[{"name":"a"}]`,
		`{"pictures":[]}`:      `[]`,
		`{"pictures":null}`:    ``,
		`{}`:                   `{"a":1}`,
		`{"pictures":{"a":1}}`: "body.pictures: must be an array",
		`{"pictures":[1]}`:     "body.pictures[0]: must be an object",
		`{"pictures":[{"name":""},{"note":"a"}]}`: "body.pictures[0].name: must not be empty; body.pictures[1].name: is required",
		`{"pictures":[{},{},{}]}`:                 "body.pictures: must have at most 2 elements, has 3",
	} {
		in, problems := bindRecord[updateAlbumInput](t, false, text)
		stored := albumRecord{Pictures: json.RawMessage(`{"a":1}`)}
		got := strings.Join(problems, "; ")
		if problems == nil {
			in.Apply(&stored)
			got = string(stored.Pictures)
		}
		if got != want {
			t.Errorf("%s: %s, want %s", text, got, want)
		}
	}
	var imported albumRecord
	rules := schema.NewRules(reflect.TypeFor[albumRecord](), reflect.TypeFor[updateAlbumInput]())
	if problems := schema.DecodeRecord([]byte(`{"pictures":{"b":[1,2,3]}}`), &imported, rules); problems != nil || string(imported.Pictures) != `{"b":[1,2,3]}` {
		t.Errorf("an import stores %s: %q", imported.Pictures, problems)
	}
}

// Ensure the rules of request bodies also apply to an imported record. Fields that no body contains
// must satisfy only the record's own tags.
func TestBodyOfRecord(t *testing.T) {
	t.Parallel()
	rules := schema.NewRules(reflect.TypeFor[testRecord](), reflect.TypeFor[createInput]())
	for text, want := range map[string]string{
		`{"id":"lmp_1","slug":"a","checked":true,"seenAt":"2026-01-01T00:00:00Z"}`: "",
		`{"id":"lmp_1","slug":"a","note":"too long"}`:                              "record.note: must have at most 5 characters, has 8",
		`{"id":"lmp_1","slug":"a","from":2,"until":1}`:                             "record.until: must not be less than from",
		`{"id":"lmp_1","slug":"a","seenAt":"today"}`:                               "record.seenAt: must be an RFC 3339 time, for example 2026-08-11T09:30:00Z",
	} {
		var l testRecord
		if got := strings.Join(schema.DecodeRecord([]byte(text), &l, rules), "; "); got != want {
			t.Errorf("%s: %q, want %q", text, got, want)
		}
	}
}

// Ensure an invalid tag, such as one with a misspelled key or value, makes the program panic at
// startup.
func TestBodyPanics(t *testing.T) {
	t.Parallel()
	for name, input := range map[string]reflect.Type{
		"se has an unknown tag": reflect.TypeFor[createBody[struct {
			A *string `json:"a" se:"optional" max:"5"`
		}]](),
		"a read-only field has one": reflect.TypeFor[createBody[struct {
			A *string `json:"a" docs:"a text"`
		}]](),
		"an unknown option": reflect.TypeFor[createBody[struct {
			A *string `json:"a" set:"optionl" max:"5"`
		}]](),
		"an unknown operation": reflect.TypeFor[createBody[struct {
			A *string `json:"a" set:"optional,delete" max:"5"`
		}]](),
		"required and optional": reflect.TypeFor[createBody[struct {
			A *string `json:"a" set:"required,optional" max:"5"`
		}]](),
		"a default and required": reflect.TypeFor[createBody[struct {
			A *string `json:"a" set:"required" default:"x" max:"5"`
		}]](),
		"neither a default nor how": reflect.TypeFor[createBody[struct {
			A *string `json:"a" set:"create" max:"5"`
		}]](),
		"create and update": reflect.TypeFor[createBody[struct {
			A *string `json:"a" set:"optional,create,update" max:"5"`
		}]](),
		"null cannot clear": reflect.TypeFor[createBody[struct {
			A string `json:"a" set:"optional" max:"5"`
		}]](),
		"a text without a bound": reflect.TypeFor[createBody[struct {
			A *string `json:"a" set:"optional"`
		}]](),
		"an invalid default": reflect.TypeFor[createBody[struct {
			A *colour `json:"a" default:"blue"`
		}]](),
		"no operation": reflect.TypeFor[struct{ schema.Body[testRecord] }](),
		"another operation": reflect.TypeFor[struct {
			schema.Body[testRecord] `body:"creat"`
		}](),
		"an input's key": reflect.TypeFor[struct {
			A *string `json:"a" max:"5" patern:"slug"`
		}](),
		"an invalid prefix": reflect.TypeFor[struct {
			A *string `json:"a" ref:"LMP"`
		}](),
		"a reference with another form": reflect.TypeFor[struct {
			A *string `json:"a" ref:"lmp" pattern:"slug"`
		}](),
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			defer func() {
				if recover() == nil {
					t.Error("it is accepted")
				}
			}()
			schema.Fields(input)
		})
	}
}

type createBody[T any] struct {
	schema.Body[T] `body:"create"`
}
