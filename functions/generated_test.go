package functions_test

import (
	"encoding/json"
	"maps"
	"slices"
	"strings"

	"growthworkspace/shared/api"
	"growthworkspace/shared/schema"
)

// generatedCall is a call of an operation with random arguments.
type generatedCall struct {
	args       map[string]any // by argument name; nil stands for null
	raw        string         // JSON that no map can represent, such as repeated keys; if empty, args is sent
	company    string         // the company id to send: "own", "other", or empty for none; over HTTP, empty means the key's own company
	limitedKey bool           // whether to use a key that lacks the scope
}

func (c generatedCall) encode() string {
	if c.raw != "" {
		return c.raw
	}
	text, err := json.Marshal(c.args)
	if err != nil {
		panic(err)
	}
	return string(text)
}

func (t *twinCompanies) generateCall(n int) generatedCall {
	c := generatedCall{args: t.validArguments()}
	body := hasBody(t.op)
	switch {
	case n == 0:
		c.args = maps.Clone(fixtureArguments[t.op.ID])
	case n == 1:
		c.company, c.args = "other", maps.Clone(fixtureArguments[t.op.ID])
	case n == 2:
		c.limitedKey = true
	case n == 3:
		c.limitedKey, c.company = true, "other"
	case n == 4:
		c.args["nope"] = "1"
	case n == 5 && body:
		for _, f := range t.op.Input {
			if f.In == schema.InBody {
				c.args[strings.ToUpper(f.Name)] = 1
			}
		}
	case n == 6 && body:
		c.args["nope"] = strings.Repeat("x", 257<<10)
	case n == 7 && body && t.op.Path == strings.TrimSuffix(t.op.Path, "}"): // a repeated property, if the path does not end with an id
		c.raw = `{"nope":1,"nope":1}`
	case n%3 == 0:
		t.makeInvalid(c.args, 1)
	case n%7 == 0:
		t.makeInvalid(c.args, 3)
	case n%5 == 0:
		c.company = "own"
	}
	if len(pathFields(t.op)) > 0 {
		c.raw = ""
	}
	return c
}

func pathFields(op api.Operation) []schema.Field {
	return slices.DeleteFunc(slices.Clone(op.Input), func(f schema.Field) bool { return f.In != schema.InPath })
}

// validArguments returns mostly valid arguments. Path parameters are usually ids of the fixture's
// records; other fields get random values.
func (t *twinCompanies) validArguments() map[string]any {
	out := map[string]any{}
	known := fixtureArguments[t.op.ID]
	for _, f := range t.op.Input {
		value, isKnown := known[f.Name]
		switch {
		case f.In == schema.InPath && t.random.Intn(8) > 0, isKnown && t.random.Intn(2) == 0:
			out[f.ArgumentName()] = value
		case f.In == schema.InPath:
			out[f.Name] = []string{"itm_nope", "brd_1", "pst_1", "x", "a b", "a/b", "é", "%00", "#"}[t.random.Intn(9)]
		case f.In == schema.InHeader || f.Name == "cursor":
		case f.Required || t.random.Intn(3) == 0:
			out[f.Name] = t.randomValue(f)
		}
	}
	return out
}

var sampleTexts = map[string][]string{
	"web": {"https://example.com", "http://[::1]:80/a?b=c#d"}, "timezone": {"Europe/Berlin", "Asia/Calcutta", "UTC"}, "language": {"de", "zu"}, "date-time": {"2026-08-11T09:30:00Z", "2020-02-29T23:59:60.5+02:00", "2026-08-11T09:30:00.123456789-11:00"},
	"day": {"2026-08-10", "2026-08-11T09:30:00+14:00"}, "slug": {"a", "dark-mode", "b-2"}, "metricKey": {"growth.signups", "a"}, "currency": {"EUR"}, "seriesId": {"6t2v8x0z4b1d3f5h"},
	"host": {"a.example", "Shop.example"}, "origin": {"https://a.example", "http://localhost:3000"},
}

// samplesOf returns valid values for a string field with a format, pattern or reference. It returns
// nil if the field has none of these.
func samplesOf(f schema.Field) []string {
	if f.Ref != "" {
		return []string{f.Ref + "_1"}
	}
	return sampleTexts[f.Format+f.Pattern]
}

func (t *twinCompanies) pickOne(values []string) string { return values[t.random.Intn(len(values))] }

func (t *twinCompanies) randomValue(f schema.Field) any {
	switch f.Kind {
	case schema.Integer:
		least, most := max(*f.Min, -5), min(*f.Max, 1000)
		return int64(least) + t.random.Int63n(int64(most-least)+1)
	case schema.Number:
		return float64(t.random.Intn(1000)) / 8
	case schema.Any:
		return []any{t.randomText(0, 20), map[string]any{"page": "/", "n": t.random.Intn(9)}, nil}
	case schema.Boolean:
		return t.random.Intn(2) == 0
	case schema.Array:
		list := []any{}
		for range t.random.Intn(min(4, f.ItemsMax)) {
			if f.Fields == nil && samplesOf(f) != nil {
				list = append(list, t.pickOne(samplesOf(f)))
				continue
			}
			if f.Fields == nil {
				list = append(list, t.randomText(0, min(f.ItemCharsMax, 20)))
				continue
			}
			o := map[string]any{}
			for _, inner := range f.Fields {
				if inner.Required || t.random.Intn(2) == 0 {
					o[inner.Name] = t.randomValue(inner)
				}
			}
			list = append(list, o)
		}
		return list
	case schema.Map:
		return map[string]any{"a": t.randomText(0, 5)}
	}
	switch {
	case f.Enum != nil:
		return t.pickOne(f.Enum)
	case samplesOf(f) != nil:
		return t.pickOne(samplesOf(f))
	case f.Format+f.Pattern != "":
		t.t.Fatalf("%s: sampleTexts has no %s%s", f.Name, f.Format, f.Pattern)
	}
	least, most := 0, 40
	if f.Min != nil {
		least = int(*f.Min)
	}
	if f.Max != nil {
		most = int(*f.Max)
	}
	if t.random.Intn(4) > 0 {
		most = min(most, 40)
	}
	return t.randomText(least, most)
}

// randomText returns a random string with characters that need escaping in JSON or URLs, or have
// several encodings.
func (t *twinCompanies) randomText(least, most int) string {
	alphabet := []rune("abc XYZ019<>&\"\\/+%#?=;,'\t\n\u2028é漢🙂")
	out := make([]rune, least+t.random.Intn(most-least+1))
	for i := range out {
		out[i] = alphabet[t.random.Intn(len(alphabet))]
	}
	return string(out)
}

// makeInvalid makes some of the arguments invalid. If the invalid value of an integer query
// parameter is a number, such as 99999, the tool call sends it as a JSON number.
func (t *twinCompanies) makeInvalid(args map[string]any, times int) {
	for range times {
		if len(t.op.Input) == 0 {
			args["nope"] = "x"
			return
		}
		f := t.op.Input[t.random.Intn(len(t.op.Input))]
		switch f.In {
		case schema.InPath:
			// "", "." and ".." are not used, because an HTTP path that contains one of them matches
			// no operation.
			args[f.Name] = t.pickOne([]string{"...", "x y", strings.Repeat("a", 200), "ITM_1", "itm_"})
		case schema.InHeader:
			args[f.ArgumentName()] = t.pickOne([]string{`"stale"`, "stale", `W/"stale"`, ""})
		case schema.InQuery:
			args[f.Name] = t.invalidText(f)
		case schema.InBody:
			args[f.Name] = t.invalidValue(f)
			if t.random.Intn(6) == 0 && f.Required {
				delete(args, f.Name)
			}
		}
	}
}

func (t *twinCompanies) invalidText(f schema.Field) any {
	if f.Kind == schema.Integer {
		text := t.pickOne([]string{"abc", "", "1.5", "-1", "0", "99999", "1e3", "+5", "05", " 5", "null", "true"})
		if slices.Contains([]string{"1.5", "-1", "0", "99999"}, text) {
			return json.Number(text)
		}
		return text
	}
	if f.Name == "cursor" {
		return t.pickOne([]string{"x", "", "AAAA", strings.Repeat("A", 2000)})
	}
	return t.pickOne([]string{"nope", "", strings.Repeat("y", 300), "2026-13-01", "é"})
}

func (t *twinCompanies) invalidValue(f schema.Field) any {
	values := []any{nil, 5, true, "nope nope", []any{}, map[string]any{}, []any{5}, []any{nil}, []any{map[string]any{"nope": 1}}, 1.5, -1, "", map[string]any{"a": 1}}
	if f.Max != nil && f.Kind == schema.String {
		values = append(values, strings.Repeat("é", int(*f.Max)), strings.Repeat("é", int(*f.Max)+1))
	}
	if f.ItemsMax > 0 {
		values = append(values, slices.Repeat([]any{"a"}, f.ItemsMax+1), []any{strings.Repeat("z", f.ItemCharsMax+1)})
	}
	return values[t.random.Intn(len(values))]
}
