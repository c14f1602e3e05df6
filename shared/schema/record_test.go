package schema_test

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"growthworkspace/shared/schema"
)

type record struct {
	ID     string          `json:"id"`
	Name   *string         `json:"name"`
	Colour *colour         `json:"colour"`
	Score  *float64        `json:"score"`
	Rank   float64         `json:"rank"`
	Count  *int64          `json:"count"`
	Active *bool           `json:"active"`
	Tags   []string        `json:"tags"`
	Times  []string        `json:"times" format:"date-time"`
	Media  json.RawMessage `json:"media"`
	At     *string         `json:"at" format:"date-time"`
	Unset  string          `json:"-"`
}

// Ensure that a record may be partial, that its timestamps are normalised, and that its free-form
// JSON is unchanged.
func TestDecodeRecord(t *testing.T) {
	var r record
	text := `{"rank":-0.5e1,"count":70e-1,"id":"x_1","name":null,"colour":"red","tags":[],"times":["2026-08-11T09:30:00+02:00"],"media": {"b" : 1.00, "a":[ 1e400,"\u003c<"] } ,"at":"2026-08-11t09:30:00.1234z","active":false}`
	if problems := schema.DecodeRecord([]byte(text), &r); problems != nil {
		t.Fatal(problems)
	}
	want := record{
		ID: "x_1", Colour: new(colour("red")), Rank: -5, Count: new(int64(7)), Active: new(false), Tags: []string{}, Times: []string{"2026-08-11T07:30:00.000Z"},
		Media: json.RawMessage(`{"b" : 1.00, "a":[ 1e400,"\u003c<"] }`), At: new("2026-08-11T09:30:00.123Z"),
	}
	if diff := cmp.Diff(want, r); diff != "" {
		t.Errorf("record (-want +got):\n%s", diff)
	}
	partial := record{}
	if problems := schema.DecodeRecord([]byte(`{"id":"a","rank":1,"media":null,"tags":null}`), &partial); problems != nil || partial.Media != nil || partial.Tags != nil {
		t.Errorf("media %s, tags %q, problems %q; want none of them", partial.Media, partial.Tags, problems)
	}
}

// Ensure all problems with a record are listed, each with the path of its field.
func TestDecodeRecordProblems(t *testing.T) {
	for _, tt := range []struct{ name, text, want string }{
		{"nothing", `{}`, "record.id: is required\nrecord.rank: is required"},
		{"null where null cannot be", `{"id":null,"rank":null}`, "record.id: is required\nrecord.rank: is required"},
		{"all at once", `{"id":1,"name":[],"colour":"blue","score":"1","rank":1e400,"active":1,"tags":[1,"a",null],"times":["x"],"at":"2026-08-11","Name":"","-":1,"hidden":1,"Unsaid":""}`,
			"record.id: must be a string\nrecord.name: must be a string\nrecord.colour: must be one of red, green\nrecord.score: must be a number\nrecord.rank: must be 0 or between 1e-129 and 1e125, positive or negative\nrecord.active: must be true or false\nrecord.tags[0]: must be a string\nrecord.tags[2]: must be a string\nrecord.times[0]: must be an RFC 3339 time, for example 2026-08-11T09:30:00Z\nrecord.at: must be an RFC 3339 time, for example 2026-08-11T09:30:00Z\nrecord.Name: unknown property\nrecord.-: unknown property\nrecord.hidden: unknown property\nrecord.Unsaid: unknown property"},
		{"a number below float64", `{"id":"a","rank":-1e-400}`, "record.rank: must be 0 or between 1e-129 and 1e125, positive or negative"},
		{"numbers that DynamoDB does not store", `{"id":"a","rank":1e-130,"score":-1e126}`, "record.score: must be 0 or between 1e-129 and 1e125, positive or negative\nrecord.rank: must be 0 or between 1e-129 and 1e125, positive or negative"},
		{"numbers that are not whole", `{"id":"a","rank":1.5,"count":1.5}`, "record.count: must be a whole number"},
		{"a whole number that JSON readers round", `{"id":"a","rank":1,"count":9007199254740993}`, "record.count: must be a whole number"},
		{"list is text", `{"id":"a","rank":1,"tags":"a"}`, "record.tags: must be an array"},
		{"repeated", `{"id":"a","rank":1,"id":"b","media":{"a":1,"a":2}}`, "record.id: is repeated\nrecord.media.a: is repeated"},
		{"list", `[]`, "record: must be a JSON object"},
		{"lone surrogate", `{"id":"\ud800"}`, "record: is not valid Unicode: it has half of a surrogate pair"},
		{"not UTF-8", "{\"id\":\"\xff\"}", "record: is not valid UTF-8"},
		{"long name", `{"id":"a","rank":1,"` + strings.Repeat("n", 9999) + `":1}`, "record." + strings.Repeat("n", 193) + "…: unknown property"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			var r record
			if got := strings.Join(schema.DecodeRecord([]byte(tt.text), &r), "\n"); got != tt.want {
				t.Errorf("got\n%s\nwant\n%s", got, tt.want)
			}
		})
	}
}
