package modeltext_test

import (
	"encoding/json"
	"fmt"
	"maps"
	"math/rand"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"growthworkspace/shared/modeltext"
	"growthworkspace/shared/schema"
	"growthworkspace/shared/testkit/oracle"
)

// decode decodes a JSON value. It keeps numbers as they are written.
func decode(t testing.TB, text []byte) (value any) {
	t.Helper()
	d := json.NewDecoder(strings.NewReader(string(text)))
	d.UseNumber()
	if err := d.Decode(&value); err != nil || d.More() {
		t.Fatalf("no JSON: %v: %.300s", err, text)
	}
	return value
}

// Ensure neither companyId nor a property that is null is shown. With View.Fields, only the id and
// the named properties that are not null must be shown.
func TestRecord(t *testing.T) {
	t.Parallel()
	const record = `{"id":"a","companyId":"co_1","title":"A \"b\" ]}","note":null,"tags":["x",null],"more":{"note":null}}`
	for _, c := range []struct {
		fields []string
		want   string
	}{
		{nil, `{"id":"a","title":"A \"b\" ]}","tags":["x",null],"more":{"note":null}}`},
		{[]string{}, `{"id":"a"}`},
		{[]string{"more", "note"}, `{"id":"a","more":{"note":null}}`},
		{[]string{"companyId"}, `{"id":"a","companyId":"co_1"}`},
	} {
		got := modeltext.View{Fields: c.fields, BytesMax: len(c.want)}.Record([]byte(record))
		if string(got.JSON) != c.want || got.Outlined != nil {
			t.Errorf("%v: %s, want %s", c.fields, got.JSON, c.want)
		}
	}
	if got := (modeltext.View{BytesMax: 100}).Record([]byte(`{}`)); string(got.JSON) != `{}` {
		t.Errorf("an empty record: %s", got.JSON)
	}
}

// Ensure the largest values of a record are replaced with outlines that describe them.
func TestOutlines(t *testing.T) {
	t.Parallel()
	pages := make([]string, 50)
	for n := range pages {
		pages[n] = fmt.Sprintf(`{"url":"/%d","score":%s,"issues":[1,2]}`, n, []string{"5", "null"}[n%2])
	}
	long, array := strings.Repeat("k", 70), "["+strings.Join(pages, ",")+"]"
	findings := `{"pages":` + array + `,"tool":"crawler","ok":true,"` + long + `":1.5}`
	record := `{"id":"a","body":"` + strings.Repeat("é", 300) + `","findings":` + findings + `,"mixed":[` + strings.Repeat(`[0,1],"x",{"a":1},`, 30) + `null]}`
	got := modeltext.View{BytesMax: 800}.Record([]byte(record))
	want := `{"id":"a","body":{"outline":"string","bytes":602,"characters":300},` +
		`"findings":{"outline":"object","bytes":` + fmt.Sprint(len(findings)) + `,"entries":4,"keys":{"pages":"array of 50, ` + fmt.Sprint(len(array)) + ` bytes","tool":"string of 7 characters, 9 bytes","ok":"boolean","` + long[:60] + `…":"number"}},` +
		`"mixed":{"outline":"array","bytes":546,"entries":91,"of":"array or string or object or null","keys":{"a":"number"}}}`
	if diff := cmp.Diff(want, string(got.JSON)); diff != "" {
		t.Errorf("(-want +got)\n%s", diff)
	}
	wantNext := []modeltext.OutlinedValue{{"/findings"}, {"/body"}, {"/mixed"}}
	if diff := cmp.Diff(wantNext, got.Outlined); diff != "" {
		t.Errorf("next (-want +got)\n%s", diff)
	}
}

// Ensure an outline is small, no matter how many keys the value has and how long they are.
func TestOutlineIsSmall(t *testing.T) {
	t.Parallel()
	for _, name := range []string{"k", strings.Repeat("k", 500), strings.Repeat(`\u0001`, 500), strings.Repeat("漢", 59)} {
		var members []string
		for n := range 500 {
			members = append(members, fmt.Sprintf(`"%d%s":1`, n, name))
		}
		object := "{" + strings.Join(members, ",") + "}"
		for _, value := range []string{object, "[" + strings.Repeat(object+",", 9) + object + "]"} {
			text, _, err := modeltext.At([]byte(`{"a":`+value+`}`), "/a", 2500)
			if keys, _ := decode(t, text.JSON).(map[string]any)["keys"].(map[string]any); err != nil || len(text.JSON) > 2000 || len(keys) == 0 || len(keys) > 20 {
				t.Errorf("%.20s: %d bytes, %d keys, %v: %s", name, len(text.JSON), len(keys), err, text.JSON)
			}
		}
	}
}

// Ensure a list ends after a whole record and contains at least one. If a record would not fit
// alone, its values must be outlined, wherever it is in the list.
func TestList(t *testing.T) {
	t.Parallel()
	item := func(n, size int) string {
		return fmt.Sprintf(`{"id":"%d","companyId":"co_1","text":"%s"}`, n, strings.Repeat("x", size))
	}
	const itemBytes = len(`{"id":"1","text":""},`)
	for _, c := range []struct {
		sizes    []int
		bytesMax int
		shown    int
		outlined bool
	}{
		{nil, 1000, 0, false},
		{[]int{10, 10, 10}, len(`{"items":[`) + 3*(itemBytes+10) + len("}"), 3, false},
		{[]int{10, 10, 10}, len(`{"items":[`) + 3*(itemBytes+10), 2, false},
		{[]int{900, 900, 10}, 1000, 1, false},
		{[]int{10, 5000, 10}, 1000, 3, true},
		{[]int{5000, 5000, 10}, 1000, 3, true},
		{[]int{900, 5000}, 1000, 1, false},
		{[]int{5000}, 1000, 1, true},
	} {
		var items []string
		for n, size := range c.sizes {
			items = append(items, item(n, size))
		}
		got := modeltext.View{BytesMax: c.bytesMax}.List([]byte(`{"items":[` + strings.Join(items, ",") + `]}`))
		shown := decode(t, got.JSON).(map[string]any)["items"].([]any)
		if len(shown) != c.shown || got.First != 0 || got.End != c.shown || got.Length != len(c.sizes) || got.IsCut() != (c.shown < len(c.sizes)) || (got.Outlined != nil) != c.outlined || len(got.JSON) > c.bytesMax {
			t.Errorf("%v in %d bytes: %+v: %.200s", c.sizes, c.bytesMax, got, got.JSON)
		}
	}
}

var pointColumns = modeltext.Columns{Series: []string{"seriesId", "dims"}, Day: "ts", Always: []string{"value"}, Optional: []string{"currency", "source"}}

func point(day, series, dims, value, currency string) string {
	return fmt.Sprintf(`{"seriesId":"%s","companyId":"co_1","ts":"%sT00:00:00.000Z","dims":%s,"value":%s,"currency":%s,"source":null,"pointKey":"day:%s"}`, series, day, dims, value, currency, day)
}

// Ensure points become rows, grouped by series. An optional column must appear only if a point has
// a value for it.
func TestRows(t *testing.T) {
	t.Parallel()
	list := []byte(`{"items":[` + strings.Join([]string{
		point("2026-01-01", "a", "null", "1", "null"), point("2026-01-01", "b", `{"plan":"pro"}`, "2.5", `"EUR"`), point("2026-01-02", "a", "null", "null", "null"),
	}, ",") + `]}`)
	for _, c := range []struct {
		fields []string
		want   string
	}{
		{nil, `{"columns":["day","value","currency"],"series":[{"seriesId":"a","rows":[["2026-01-01",1,null],["2026-01-02",null,null]]},{"seriesId":"b","dims":{"plan":"pro"},"rows":[["2026-01-01",2.5,"EUR"]]}]}`},
		{[]string{"ts"}, `{"columns":["day","value"],"series":[{"seriesId":"a","rows":[["2026-01-01",1],["2026-01-02",null]]},{"seriesId":"b","rows":[["2026-01-01",2.5]]}]}`},
		{[]string{"pointKey", "dims"}, `{"columns":["day","value","pointKey"],"series":[{"seriesId":"a","rows":[["2026-01-01",1,"day:2026-01-01"],["2026-01-02",null,"day:2026-01-02"]]},{"seriesId":"b","dims":{"plan":"pro"},"rows":[["2026-01-01",2.5,"day:2026-01-01"]]}]}`},
	} {
		got := modeltext.View{Fields: c.fields, BytesMax: 1000}.Rows(list, pointColumns)
		if diff := cmp.Diff(c.want, string(got.JSON)); diff != "" || got.IsCut() {
			t.Errorf("%v (-want +got)\n%s", c.fields, diff)
		}
	}
	if got := (modeltext.View{BytesMax: 1000}).Rows([]byte(`{"items":[]}`), pointColumns); string(got.JSON) != `{"items":[]}` || got.IsCut() {
		t.Errorf("no points: %s", got.JSON)
	}
}

// Ensure one series with a point for each day of a year takes at most 11 KB.
func TestYearOfPoints(t *testing.T) {
	t.Parallel()
	day, points := time.Date(2025, 8, 1, 0, 0, 0, 0, time.UTC), make([]string, 365)
	for n := range points {
		points[n] = point(day.AddDate(0, 0, n).Format(time.DateOnly), "0123456789abcdef", "null", "1234567.25", "null")
	}
	got := modeltext.View{BytesMax: 36_000}.Rows([]byte(`{"items":[`+strings.Join(points, ",")+`]}`), pointColumns)
	if len(got.JSON) > 11_000 || got.IsCut() {
		t.Errorf("%d bytes: %.300s", len(got.JSON), got.JSON)
	}
}

// Ensure a table that is too large shows as many of the newest points as fit. It must drop a column
// that is empty for all of them.
func TestRowsAreCut(t *testing.T) {
	t.Parallel()
	points := []string{point("2026-01-01", "a", "null", "1", `"EUR"`)}
	for n := range 40 {
		points = append(points, point(fmt.Sprintf("2026-02-%02d", n/2+1), []string{"a", "b"}[n%2], []string{"null", `{"a":"1"}`}[n%2], fmt.Sprint(n), "null"))
	}
	list := []byte(`{"items":[` + strings.Join(points, ",") + `]}`)
	previous := 0
	for bytesMax := 100; bytesMax < 1200; bytesMax += 7 {
		got := modeltext.View{BytesMax: bytesMax}.Rows(list, pointColumns)
		var table struct {
			Columns []string
			Series  []struct{ Rows [][]any }
		}
		if err := json.Unmarshal(got.JSON, &table); err != nil {
			t.Fatal(err)
		}
		shown := 0
		for _, s := range table.Series {
			shown += len(s.Rows)
		}
		switch {
		case shown != got.End-got.First || got.End != 41 || got.Length != 41 || shown < previous || shown == 0:
			t.Errorf("%d bytes: %d rows, %d before, %+v", bytesMax, shown, previous, got)
		case len(got.JSON) > bytesMax && shown > 1:
			t.Errorf("%d bytes: %d", bytesMax, len(got.JSON))
		case slices.Contains(table.Columns, "currency") != (shown == 41):
			t.Errorf("%d rows with the columns %v", shown, table.Columns)
		}
		previous = shown
	}
	if previous != 41 {
		t.Errorf("only %d rows", previous)
	}
}

const nestedRecord = `{"id":"a","findings":{"pages":[{"url":"/a","words":["x","y","z"]},{"url":"/b"}],"a/b":{"m~n":1},"":"empty","0-1":"a key","note":"Grüße, 世界"},"n":12.50,"none":null,"list":[]}`

// Ensure a pointer can lead to any value, as RFC 6901 defines, and a slice to a part of a value.
func TestAt(t *testing.T) {
	t.Parallel()
	for pointer, want := range map[string]string{
		"": nestedRecord, "/n": "12.50", "/none": "null", "/findings/pages/0/url": `"/a"`, "/findings/a~1b/m~0n": "1", "/findings/": `"empty"`,
		"/findings/0-1": `"a key"`, "/findings/1-2": `{"a/b":{"m~n":1},"":"empty"}`, "/findings/pages/0-0": `[{"url":"/a","words":["x","y","z"]}]`,
		"/findings/pages/1-99": `[{"url":"/b"}]`, "/findings/pages/0/words/1-2": `["y","z"]`, "/findings/pages/0/words/2": `"z"`,
		"/findings/note/0-4": `"Grüße"`, "/findings/note/7-8": `"世界"`, "/findings/note/7-7": `"世"`, "/list": "[]",
	} {
		text, _, err := modeltext.At([]byte(nestedRecord), pointer, 1000)
		if err != nil || string(text.JSON) != want {
			t.Errorf("%s: %s, %v; want %s", pointer, text.JSON, err, want)
		}
	}
	for pointer, want := range map[string]string{
		"/findings/pages/0-0":         `These are entries 0 to 0 of 2; the next: at "/findings/pages/1-1".`,
		"/findings/note/0-4":          `These are characters 0 to 4 of 9; the next: at "/findings/note/5-8".`,
		"/findings/pages/0/words/0-1": `These are entries 0 to 1 of 3; the next: at "/findings/pages/0/words/2-2".`,
		"/findings/pages/0-1":         "", "/findings/pages/1-5": "", "/findings/pages/0": "",
	} {
		if _, rest, err := modeltext.At([]byte(nestedRecord), pointer, 1000); err != nil || rest != want {
			t.Errorf("%s: %q, %v; want %q", pointer, rest, err, want)
		}
	}
}

// followHints reads a record as a model does: it follows every hint, and returns the names of the
// members of /findings that it has seen. No hint may lead to a text that has been read before.
func followHints(t *testing.T, record []byte, bytesMax int) (seen map[string]bool) {
	t.Helper()
	seen = map[string]bool{}
	read := map[string]bool{}
	for next := []string{"/findings"}; len(next) > 0; {
		pointer := next[0]
		next = next[1:]
		if read[pointer] {
			t.Fatalf("a hint leads to %.100q again", pointer)
		}
		read[pointer] = true
		text, rest, err := modeltext.At(record, pointer, bytesMax)
		if err != nil || len(text.JSON) > bytesMax {
			t.Fatalf("%.100q: %d bytes, %v", pointer, len(text.JSON), err)
		}
		if object, ok := decode(t, text.JSON).(map[string]any); ok && object["outline"] == nil {
			for name := range object {
				seen[name] = true
			}
		}
		if _, quoted, found := strings.Cut(rest, "the next: at "); found {
			unquoted, err := strconv.Unquote(strings.TrimSuffix(quoted, "."))
			if err != nil {
				t.Fatal(err)
			}
			next = append(next, unquoted)
		}
		for _, o := range text.Outlined {
			if o.Next != "" {
				next = append(next, o.Next)
			}
		}
	}
	return seen
}

// Ensure a reader that follows the hints sees every member of an object whose members are named like
// slices. A pointer with such a name still selects the member.
func TestMembersNamedLikeSlices(t *testing.T) {
	t.Parallel()
	var record strings.Builder
	record.WriteString(`{"findings":{`)
	for n := range 3000 {
		if n > 0 {
			record.WriteString(",")
		}
		fmt.Fprintf(&record, `"0-%d":"twenty characters %02d"`, n, n%100)
	}
	record.WriteString("}}")
	text := []byte(record.String())
	if seen := followHints(t, text, 36_000); len(seen) != 3000 {
		t.Errorf("%d members are seen, want 3000", len(seen))
	}
	for pointer, want := range map[string]string{
		"/findings/0-1": `"twenty characters 01"`, "/findings/~:0-1": `{"0-0":"twenty characters 00","0-1":"twenty characters 01"}`,
		"/findings/~:2998-4000": `{"0-2998":"twenty characters 98","0-2999":"twenty characters 99"}`,
	} {
		if got, _, err := modeltext.At(text, pointer, 36_000); err != nil || string(got.JSON) != want {
			t.Errorf("%s: %s, %v; want %s", pointer, got.JSON, err, want)
		}
	}
	for pointer, want := range map[string]string{
		"/findings/~:":   `"/findings" is an object without "";`,
		"/findings/~:1":  `"/findings" is an object without "1";`,
		"/findings/~0:1": `"/findings" is an object without "~:1";`,
	} {
		if _, _, err := modeltext.At(text, pointer, 36_000); err == nil || !strings.HasPrefix(err.Error(), want) {
			t.Errorf("%s: error %v, want %s", pointer, err, want)
		}
	}
}

// Ensure no hint leads back to what cannot be shown: a number with too many digits, and a member
// whose name is too long. The members beside them can still be read.
func TestHintsOfValuesThatCannotBeShown(t *testing.T) {
	t.Parallel()
	number, name := strings.Repeat("9", 40_000), strings.Repeat("k", 40_000)
	for what, findings := range map[string]string{
		"number":              `{"before":1,"n":` + number + `,"after":2}`,
		"name":                `{"before":1,"` + name + `":3,"after":2}`,
		"name first":          `{"` + name + `":3,"before":1,"after":2}`,
		"name of a large one": `{"` + name + `":["` + name + `"],"before":1,"after":2}`,
	} {
		seen := followHints(t, []byte(`{"findings":`+findings+`}`), 36_000)
		if !seen["before"] || !seen["after"] {
			t.Errorf("%s: seen are %v, want the other members too", what, slices.Collect(maps.Keys(seen)))
		}
	}
	for _, findings := range []string{number, `{"` + name + `":3}`} {
		text, _, err := modeltext.At([]byte(`{"findings":`+findings+`}`), "/findings", 36_000)
		if err != nil || len(text.Outlined) != 1 || text.Outlined[0].Next != "" {
			t.Errorf("%.20s: %.200v, %v; want one outline without a pointer", findings, text.Outlined, err)
		}
	}
}

// Ensure the sentence that describes a slice stays short even if the pointer is long.
func TestAtLongPointer(t *testing.T) {
	t.Parallel()
	name := strings.Repeat("k", 30_000)
	text, rest, err := modeltext.At([]byte(`{"`+name+`":"abcdef"}`), "/"+name+"/2-3", 1000)
	want := "These are characters 2 to 3 of 6; the next: 4-5, after the same pointer."
	if err != nil || string(text.JSON) != `"cd"` || rest != want {
		t.Errorf("%s, %.100q (%d bytes), %v; want %q", text.JSON, rest, len(rest), err, want)
	}
}

// Ensure the error for an invalid pointer names the part that matches nothing, and says what is
// there instead.
func TestErrAt(t *testing.T) {
	t.Parallel()
	for pointer, want := range map[string]string{
		"/finding":               `the record is an object without "finding"; did you mean "findings"?`,
		"/findings/pages/2":      `"/findings/pages" is an array of 2 entries without "2"; take an index from 0 or a slice such as 0-19`,
		"/findings/pages/00":     `"/findings/pages" is an array of 2 entries without "00"; take an index from 0 or a slice such as 0-19`,
		"/findings/pages/-":      `"/findings/pages" is an array of 2 entries without "-"; take an index from 0 or a slice such as 0-19`,
		"/findings/pages/0/x":    `"/findings/pages/0" is an object without "x"; it has "url", "words"`,
		"/findings/pages/2-3":    `"/findings/pages": the slice 2-3 is outside: there are 2 entries, counted from 0`,
		"/findings/pages/1-0":    `"/findings/pages": the slice 1-0 ends before it begins`,
		"/findings/pages/0-1/0":  `"0-1" is a slice, which must be the last part of the pointer`,
		"/findings/note/5":       `"/findings/note" is a string of 9 characters without "5"; take a slice such as 0-9999`,
		"/findings/note/9-10":    `"/findings/note": the slice 9-10 is outside: there are 9 characters, counted from 0`,
		"/n/0":                   `"/n" is 12.50, which has no part "0"`,
		"/none/0-1":              `"/none" is null, which has no part "0-1"`,
		"/list/0":                `"/list" is an array of 0 entries without "0"; take an index from 0 or a slice such as 0-19`,
		"/list/0-5":              `"/list": the slice 0-5 is outside: there are 0 entries, counted from 0`,
		"/findings/a~1b/nothing": `"/findings/a~1b" is an object without "nothing"; it has "m~n"`,
	} {
		if text, _, err := modeltext.At([]byte(nestedRecord), pointer, 1000); err == nil || err.Error() != want {
			t.Errorf("%s: %s, %v; want %s", pointer, text.JSON, err, want)
		}
	}
	var record strings.Builder
	record.WriteString(`{"a":{"k0":0`)
	for n := range 3000 {
		fmt.Fprintf(&record, `,"%s%d":0`, strings.Repeat("n", 300), n)
	}
	if _, _, err := modeltext.At([]byte(record.String()+"}}"), "/a/"+strings.Repeat("x", 100_000), 1000); err == nil || len(err.Error()) > 2500 || !strings.HasSuffix(err.Error(), "and 2981 more") {
		t.Errorf("the error is too long or does not say how many there are: %v", err)
	}
}

// Ensure creating an error takes little memory even if the pointer and the names in an object are
// long. Comparing two names takes memory in proportion to the product of their lengths.
func TestErrAtLongName(t *testing.T) {
	name := strings.Repeat("n", 4000)
	record := []byte(`{"findings":{"` + name + `":1}}`)
	allocations := testing.AllocsPerRun(1, func() {
		if _, _, err := modeltext.At(record, "/findings/"+name+"s", 1000); err == nil || len(err.Error()) > 500 {
			t.Errorf("the error is %.600v", err)
		}
	})
	if allocations > 100 {
		t.Errorf("%.0f allocations", allocations)
	}
}

// Ensure the memory that At uses does not grow with the number of parts in a value, because
// findings can contain two million parts.
func TestManyParts(t *testing.T) {
	for name, findings := range map[string]string{
		"array": "[" + strings.Repeat("1,", 100_000) + "1]", "object": `{"a":` + strings.Repeat(`1,"b":`, 60_000) + "1}",
	} {
		record := []byte(`{"id":"a","findings":` + findings + `}`)
		for _, pointer := range []string{"", "/findings", "/findings/59999-60000", "/findings/nothing"} {
			allocations := testing.AllocsPerRun(1, func() {
				if text, _, err := modeltext.At(record, pointer, 36_000); len(text.JSON) > 36_000 || (err != nil) != (pointer == "/findings/nothing") {
					t.Errorf("%s at %q: %d bytes, %v", name, pointer, len(text.JSON), err)
				}
			})
			if allocations > 3000 {
				t.Errorf("%s at %q: %.0f allocations", name, pointer, allocations)
			}
		}
	}
}

// randomValue returns a JSON value with about n bytes.
func randomValue(r *rand.Rand, n int) any {
	text := func(n int) string {
		runes := []rune("ab\"\\/~é漢🙂\u0001\u2028 01-9")
		out := make([]rune, n)
		for i := range out {
			out[i] = runes[r.Intn(len(runes))]
		}
		return string(out)
	}
	switch kind := r.Intn(5); {
	case n < 20:
		return []any{nil, true, json.Number("-1.50"), text(n), json.Number("12345678901234567890"), []any{}, map[string]any{}}[r.Intn(7)]
	case kind == 0:
		return text(n)
	case kind < 3:
		out := []any{}
		for chunk := 1 + r.Intn(n); n > 0; n -= chunk {
			out = append(out, randomValue(r, min(n, chunk)))
		}
		return out
	default:
		out := map[string]any{}
		for chunk := 1 + r.Intn(n); n > 0; n -= chunk + 5 {
			out[text(r.Intn(8))+fmt.Sprint(len(out))] = randomValue(r, min(n, chunk))
		}
		return out
	}
}

// Ensure every part of every record can be read. A reader that follows the outlines must get the
// exact record, and no Text that it reads may exceed the limit.
func TestReadInParts(t *testing.T) {
	t.Parallel()
	r := rand.New(rand.NewSource(1))
	outlined := 0
	for range 30 {
		record, err := schema.Encode(map[string]any{"id": "a", "findings": randomValue(r, 1+r.Intn(6_000))})
		if err != nil {
			t.Fatal(err)
		}
		const bytesMax = 2000
		got, err := oracle.ReadInParts(func(pointer string) (any, error) {
			text, _, err := modeltext.At(record, pointer, bytesMax)
			if len(text.JSON) > bytesMax {
				t.Errorf("%s: %d bytes", pointer, len(text.JSON))
			}
			if err != nil {
				return nil, fmt.Errorf("%s: %w", pointer, err)
			}
			outlined += len(text.Outlined)
			for _, o := range text.Outlined {
				if _, _, err := modeltext.At(record, o.Next, bytesMax); err != nil {
					t.Errorf("the text at %q says to read %q: %v", pointer, o.Next, err)
				}
			}
			return decode(t, text.JSON), nil
		})
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(decode(t, record), got); diff != "" {
			t.Fatalf("(-record +parts)\n%.2000s", diff)
		}
	}
	if outlined < 150 {
		t.Errorf("only %d outlines", outlined)
	}
}
