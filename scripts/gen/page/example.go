package page

import (
	"bytes"
	"encoding/json"
	"fmt"
	"html/template"
	"net/url"
	"slices"
	"strings"

	"growthworkspace/shared/api"
	"growthworkspace/shared/schema"
)

// sample is a request in one language. Where the service is, the key and the company come from the environment, so that
// whoever copies it has nothing to put in, and no key to leave in a file.
type sample struct {
	Language, Label string
	Text            string
	Code            template.HTML
}

// The variables of the environment that samples read.
const (
	baseVariable    = "BASE"
	companyVariable = "COMPANY"
	keyVariable     = "KEY"
)

// request is what all samples of an operation send.
type request struct {
	method string
	before string // the path up to the company
	after  string // the path behind it, and the query
	own    bool   // the path names the company
	body   string // indented JSON; empty for none
}

func samples(op api.Operation, body json.RawMessage, examples map[string]json.RawMessage) ([]sample, error) {
	r, err := newRequest(op, body, examples)
	if err != nil {
		return nil, err
	}
	if strings.Contains(r.body, "`") {
		return nil, fmt.Errorf("the example of the body has a backtick, which a raw string of Go cannot hold: %s", r.body)
	}
	var out []sample
	for _, language := range []struct {
		name, label string
		spell       func(request) string
	}{
		{languageShell, "curl", request.curl}, {languageGo, "Go", request.golang},
		{languageScript, "JavaScript", request.javascript}, {languagePython, "Python", request.python},
	} {
		text := language.spell(r)
		out = append(out, sample{language.name, language.label, text, highlighted(language.name, text)})
	}
	return out, nil
}

func newRequest(op api.Operation, body json.RawMessage, examples map[string]json.RawMessage) (request, error) {
	const company = "{companyId}"
	out := request{method: op.Method, before: op.Path}
	if len(body) > 0 {
		out.body = indented(body)
	}
	if before, after, ok := strings.Cut(op.Path, company); ok {
		out.before, out.after, out.own = before, after, true
	}
	for _, segment := range api.PathSegments(op.Path) {
		name, isParameter := api.PathParameter(segment)
		if !isParameter || segment == company {
			continue
		}
		id, err := exampleID(name, examples)
		if err != nil {
			return out, err
		}
		out.after = strings.Replace(out.after, segment, id, 1)
	}
	var record json.RawMessage
	if op.IsList() {
		record = examples[op.Output.Field(0).Type.Elem().Name()]
	}
	query := exampleQuery(op, record)
	if query != "" && out.own {
		out.after += "?" + query
	} else if query != "" {
		out.before += "?" + query
	}
	return out, nil
}

// exampleID is the id of the record that a parameter names: boardId is the id of a Board.
func exampleID(parameter string, examples map[string]json.RawMessage) (string, error) {
	name := strings.TrimSuffix(parameter, "Id")
	name = strings.ToUpper(name[:1]) + name[1:]
	var record struct{ ID string }
	if err := json.Unmarshal(examples[name], &record); err != nil || record.ID == "" {
		return "", fmt.Errorf("there is no example of a %s for {%s}", name, parameter)
	}
	return record.ID, nil
}

// exampleQuery has what is required, or else the first filter, with values that the example of the record has, and a
// short page.
func exampleQuery(op api.Operation, record json.RawMessage) string {
	var values map[string]any
	if json.Unmarshal(record, &values) != nil {
		return ""
	}
	var out []string
	add := func(f schema.Field) {
		if text, ok := values[f.Name].(string); ok {
			out = append(out, url.QueryEscape(f.Name)+"="+url.QueryEscape(text))
		}
	}
	for _, f := range op.Input {
		if f.In == schema.InQuery && f.Required {
			add(f)
		}
	}
	filter := slices.IndexFunc(op.Input, func(f schema.Field) bool { return f.In == schema.InQuery && f.Enum != nil && !f.Required })
	if len(out) == 0 && filter >= 0 {
		add(op.Input[filter])
	}
	if slices.ContainsFunc(op.Input, func(f schema.Field) bool { return f.In == schema.InQuery && f.Name == "limit" }) {
		out = append(out, "limit=10")
	}
	return strings.Join(out, "&")
}

func (r request) curl() string {
	var out strings.Builder
	out.WriteString("curl ")
	if r.method != "GET" && (r.method != "POST" || r.body == "") {
		out.WriteString("-X " + r.method + " ")
	}
	address := "$" + baseVariable + r.before
	if r.own {
		address += "$" + companyVariable + r.after
	}
	fmt.Fprintf(&out, "\"%s\" \\\n  -H \"Authorization: Bearer $%s\"", address, keyVariable)
	if r.body != "" {
		fmt.Fprintf(&out, " \\\n  -H \"Content-Type: application/json\" \\\n  -d '%s'", strings.ReplaceAll(r.body, "'", `'\''`))
	}
	return out.String()
}

func (r request) golang() string {
	address := fmt.Sprintf("os.Getenv(%q) + %q", baseVariable, r.before)
	if r.own {
		address += fmt.Sprintf(" + os.Getenv(%q)", companyVariable)
		if r.after != "" {
			address += fmt.Sprintf(" + %q", r.after)
		}
	}
	var out strings.Builder
	fmt.Fprintf(&out, "url := %s\n", address)
	body := "nil"
	if r.body != "" {
		fmt.Fprintf(&out, "body := strings.NewReader(`%s`)\n", r.body)
		body = "body"
	}
	fmt.Fprintf(&out, "req, err := http.NewRequest(%q, url, %s)\nif err != nil {\n\tlog.Fatal(err)\n}\n", r.method, body)
	fmt.Fprintf(&out, "req.Header.Set(\"Authorization\", \"Bearer \"+os.Getenv(%q))\n", keyVariable)
	if r.body != "" {
		out.WriteString("req.Header.Set(\"Content-Type\", \"application/json\")\n")
	}
	out.WriteString("resp, err := http.DefaultClient.Do(req)\nif err != nil {\n\tlog.Fatal(err)\n}\ndefer resp.Body.Close()\nio.Copy(os.Stdout, resp.Body)")
	return out.String()
}

func (r request) javascript() string {
	address := "${process.env." + baseVariable + "}" + r.before
	if r.own {
		address += "${process.env." + companyVariable + "}" + r.after
	}
	var out strings.Builder
	fmt.Fprintf(&out, "const answer = await fetch(`%s`, {\n", address)
	if r.method != "GET" {
		fmt.Fprintf(&out, "  method: %q,\n", r.method)
	}
	fmt.Fprintf(&out, "  headers: {\n    \"Authorization\": `Bearer ${process.env.%s}`,\n", keyVariable)
	if r.body != "" {
		out.WriteString("    \"Content-Type\": \"application/json\",\n")
	}
	out.WriteString("  },\n")
	if r.body != "" {
		fmt.Fprintf(&out, "  body: JSON.stringify(%s),\n", nested(r.body))
	}
	out.WriteString("});\nconsole.log(answer.status, await answer.json());")
	return out.String()
}

func (r request) python() string {
	address := "{os.environ['" + baseVariable + "']}" + r.before
	if r.own {
		address += "{os.environ['" + companyVariable + "']}" + r.after
	}
	var out strings.Builder
	fmt.Fprintf(&out, "import json, os, urllib.request\n\nrequest = urllib.request.Request(\n    f\"%s\",\n    method=%q,\n", address, r.method)
	fmt.Fprintf(&out, "    headers={\n        \"Authorization\": f\"Bearer {os.environ['%s']}\",\n", keyVariable)
	if r.body != "" {
		out.WriteString("        \"Content-Type\": \"application/json\",\n")
	}
	out.WriteString("    },\n")
	if r.body != "" {
		fmt.Fprintf(&out, "    data=json.dumps(%s).encode(),\n", nested(nested(pythonic(r.body))))
	}
	out.WriteString(")\nwith urllib.request.urlopen(request) as answer:\n    print(json.load(answer))")
	return out.String()
}

// nested moves the lines behind the first two characters to the right.
func nested(text string) string { return strings.ReplaceAll(text, "\n", "\n  ") }

// pythonic spells the words of JSON as Python does, and leaves strings alone.
func pythonic(text string) string {
	var out bytes.Buffer
	at := 0
	expression := token[languageJSON]
	literal := expression.SubexpIndex("n")
	for _, match := range expression.FindAllStringSubmatchIndex(text, -1) {
		if begin, end := match[2*literal], match[2*literal+1]; begin >= 0 {
			word := text[begin:end]
			if spelled, ok := map[string]string{"true": "True", "false": "False", "null": "None"}[word]; ok {
				word = spelled
			}
			out.WriteString(text[at:begin] + word)
			at = end
		}
	}
	return out.String() + text[at:]
}
