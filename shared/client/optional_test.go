package client_test

import (
	"cmp"
	"encoding/json"
	"fmt"
	"reflect"
	"strings"
	"testing"
	"time"

	"growthworkspace/shared/client"
)

var (
	morning = time.Date(2026, 8, 11, 9, 30, 0, 0, time.UTC)
	berlin  = time.FixedZone("", 2*60*60)
)

// Ensure an update can leave a property out, clear it, or store a value, which may be empty.
func TestOptionalInput(t *testing.T) {
	t.Parallel()
	s := serve(t, fakeResponse{body: `{"id":"co_1"}`})
	in := client.UpdateCompanyInput{
		Name: client.Value("Acme"), Summary: client.Value(""), Stage: client.Null[client.CompanyStage](), WebsiteURL: client.Value("https://example.com"),
	}
	if _, err := s.client(t, &sleepRecorder{}).UpdateCompany(t.Context(), in); err != nil {
		t.Fatal(err)
	}
	want := `{"name":"Acme","summary":"","websiteUrl":"https://example.com","stage":null}`
	if got := s.sentBodies()[0]; got != want {
		t.Errorf("sent %s, want %s", got, want)
	}
	var read client.UpdateCompanyInput
	if err := json.Unmarshal([]byte(want), &read); err != nil || !reflect.DeepEqual(read, in) {
		t.Errorf("read back %+v, want %+v: %v", read, in, err)
	}
}

// Ensure a query contains the optional parameters that have a value, and none that are left out or
// null.
func TestOptionalQuery(t *testing.T) {
	t.Parallel()
	s := serve(t, fakeResponse{body: `{"items":[]}`})
	c := s.client(t, &sleepRecorder{})
	for in, want := range map[client.ListMetricDefinitionsInput]string{
		{}: "", {Limit: client.Null[int](), NeedsReview: client.Null[bool]()}: "",
		{Limit: client.Value(7), NeedsReview: client.Value(false), Cursor: client.Value("")}: "cursor=&limit=7&needsReview=false",
	} {
		if _, err := c.ListMetricDefinitions(t.Context(), in); err != nil {
			t.Error(err)
		}
		if got := s.requests()[len(s.requests())-1].URL.RawQuery; got != want {
			t.Errorf("%+v: query %q, want %q", in, got, want)
		}
	}
}

// Ensure that the three states are distinct, and that each is decoded as it was encoded.
func TestOptionalStates(t *testing.T) {
	t.Parallel()
	type record struct {
		Text client.Optional[string]            `json:"text,omitzero"`
		List client.Optional[[]string]          `json:"list,omitzero"`
		Time client.Optional[time.Time]         `json:"time,omitzero"`
		Any  client.Optional[json.RawMessage]   `json:"any,omitzero"`
		Dims client.Optional[map[string]string] `json:"dims,omitzero"`
	}
	for text, want := range map[string]record{
		`{}`: {},
		`{"text":null,"list":null,"time":null,"any":null,"dims":null}`: {
			client.Null[string](), client.Null[[]string](), client.Null[time.Time](), client.Null[json.RawMessage](), client.Null[map[string]string](),
		},
		`{"text":"","list":[],"time":"2026-08-11T09:30:00Z","any":{"a":[1]},"dims":{}}`: {
			client.Value(""), client.Value([]string{}), client.Value(morning), client.Value(json.RawMessage(`{"a":[1]}`)), client.Value(map[string]string{}),
		},
	} {
		got := record{Text: client.Value("old"), List: client.Value([]string{"old"}), Dims: client.Value(map[string]string{"old": "x"})}
		if text == `{}` {
			got = record{}
		}
		if err := json.Unmarshal([]byte(text), &got); err != nil || !reflect.DeepEqual(got, want) {
			t.Errorf("%s is read as %+v, want %+v: %v", text, got, want, err)
		}
		if back, err := json.Marshal(want); err != nil || string(back) != text {
			t.Errorf("%s is written as %s: %v", text, back, err)
		}
	}
	for _, c := range []struct {
		field      client.Optional[string]
		value      string
		ok         bool
		null, zero bool
	}{
		{field: client.Value("x"), value: "x", ok: true},
		{field: client.Value(""), ok: true},
		{field: client.Null[string](), null: true},
		{zero: true},
	} {
		value, ok := c.field.Get()
		wantOr := "other"
		if c.ok {
			wantOr = c.value
		}
		type state struct {
			Value          string
			OK, Null, Zero bool
			Or             string
		}
		want := state{c.value, c.ok, c.null, c.zero, wantOr}
		if got := (state{value, ok, c.field.IsNull(), c.field.IsZero(), c.field.Or("other")}); got != want {
			t.Errorf("%v: %+v, want %+v", c.field, got, want)
		}
	}
	if client.Null[string]() == (client.Optional[string]{}) || client.Value("") == client.Null[string]() || client.Value(len("a")) != client.Value(1) {
		t.Error("fields cannot be compared")
	}
	var field client.Optional[int]
	if err := json.Unmarshal([]byte(`"text"`), &field); err == nil || !field.IsZero() {
		t.Errorf("%v from a text of the wrong type", field)
	}
}

// Ensure a printed record shows its values, and never a memory address, bytes or the fields of a
// time.Time.
func TestOptionalPrints(t *testing.T) {
	t.Parallel()
	post := client.Post{
		ID: "pst_1", Title: client.Value("Dark mode"), Hashtags: client.Value([]string{"dark"}), Media: client.Value(json.RawMessage(`[{"a":1}]`)),
		Status: client.Value(client.BroadcastPostStatusDraft), ScheduledFor: client.Value(morning.In(berlin)), DeepLink: client.Null[string](),
	}
	want := "{ID:pst_1 CompanyID: IdeaID:absent Platform:absent Title:Dark mode Body:absent ThreadParts:absent Hashtags:[dark] Media:[{\"a\":1}] " +
		"Destination:absent DeepLink:null ScheduledFor:2026-08-11T11:30:00+02:00 Status:draft PublishedAt:absent ExternalID:absent ExternalURL:absent " +
		"FailureReason:absent CreatedAt:absent UpdatedAt:absent}"
	for _, got := range []string{fmt.Sprintf("%+v", post), fmt.Sprintf("%+v", []client.Post{post})} {
		if got != want && got != "["+want+"]" {
			t.Errorf("printed %s, want %s", got, want)
		}
	}
	for _, c := range []struct{ got, want string }{
		{fmt.Sprint(client.Value(4.5), client.Null[int](), client.Optional[bool]{}), "4.5 null absent"},
		{fmt.Sprintf("%6.2f|%-6d|%q|%q", client.Value(4.5), client.Value(3), client.Value("a"), client.Value(morning)), `  4.50|3     |"a"|"2026-08-11T09:30:00Z"`},
		{fmt.Sprintf("%6.2f|%-6d|%v", client.Null[float64](), client.Null[int](), client.Value([]string{"a", "b"})), "  null|null  |[a b]"},
		{client.Value(json.RawMessage(`{}`)).String() + client.Value(morning).String() + client.Value("x").String(), `{}2026-08-11T09:30:00Zx`},
		{client.Null[string]().String(), "null"},
	} {
		if c.got != c.want {
			t.Errorf("%s instead of %s", c.got, c.want)
		}
	}
}

// Ensure Day returns the UTC date, because the service's days are in UTC.
func TestDay(t *testing.T) {
	t.Parallel()
	if got := client.Day(time.Date(2026, 8, 11, 1, 0, 0, 0, berlin)); got != "2026-08-10" {
		t.Errorf("day %s, want 2026-08-10", got)
	}
}

// optionalValueType returns the type of a field's value, without Optional.
func optionalValueType(t reflect.Type) reflect.Type {
	if get, ok := t.MethodByName("Get"); ok {
		return get.Type.Out(0)
	}
	return t
}

// Ensure values from records can be sent: a field of an input must have the same name and type as
// the field of the record. There are three exceptions: in an input, whole numbers are int, a day is
// a string, and a field that may contain any JSON in a record may be a list.
func TestRecordsCanBeSent(t *testing.T) {
	t.Parallel()
	compared := 0
	for method := range reflect.TypeFor[*client.Client]().Methods() {
		if method.Type.NumIn() != 4 || method.Type.NumOut() != 2 || method.Type.Out(0).Kind() != reflect.Struct || method.Type.In(2).Kind() != reflect.Struct {
			continue
		}
		byName := map[string]reflect.StructField{}
		nameOf := func(f reflect.StructField) string {
			name, _, _ := strings.Cut(f.Tag.Get("json"), ",")
			return cmp.Or(strings.Trim(name, "-"), f.Tag.Get("path"), f.Tag.Get("query"))
		}
		for _, f := range reflect.VisibleFields(method.Type.Out(0)) {
			byName[nameOf(f)] = f
		}
		for _, sent := range reflect.VisibleFields(method.Type.In(2)) {
			got, ok := byName[nameOf(sent)]
			if !ok || nameOf(sent) == "" || sent.Tag.Get("query") != "" {
				continue
			}
			compared++
			a, b := optionalValueType(sent.Type), optionalValueType(got.Type)
			isJSONList := b == reflect.TypeFor[json.RawMessage]() && a.Kind() == reflect.Slice && a.Elem().Kind() == reflect.Struct
			if a != b && (a.Kind() != reflect.Int || b.Kind() != reflect.Float64) && !isJSONList || sent.Name != got.Name {
				t.Errorf("%s: %s is a %s in the input, and %s a %s in the record", method.Name, sent.Name, a, got.Name, b)
			}
		}
	}
	if compared < 100 {
		t.Errorf("%d fields", compared)
	}
}
