package page

import (
	"encoding/json"
	"errors"
	"fmt"
	"html/template"
	"maps"
	"slices"
	"strconv"
	"strings"

	"growthworkspace/shared/api"
	"growthworkspace/shared/fault"
	"growthworkspace/shared/mcpserver"
	"growthworkspace/shared/schema"
)

// area is a part of the service with its operations.
type area struct {
	Name        string
	Description template.HTML
	Operations  []operation
}

// operation is one operation as it is shown.
type operation struct {
	ID, Method    string
	Name          string        // the id in words
	Path          template.HTML // its parameters marked
	Template      string        // the path as it was declared
	Summary       template.HTML
	Description   []template.HTML // paragraphs
	Scope, Quota  string          // no scope: any valid key
	Tool          string          // its name as a tool; empty: it is none
	Effect        string          // read, write or destructive
	Groups        []group
	Body          string // an example of one; empty: it takes none
	Samples       []sample
	Answer        template.HTML // an example
	AnswerText    template.HTML // what the answer is, in words
	Record        string        // the record that it answers with, or a list of
	List, HasETag bool
	Codes         []code
}

// ScopeAnchor is where the guide's table has the scope.
func (o operation) ScopeAnchor() string { return anchor(o.Scope) }

// group is the arguments in one place of a request.
type group struct {
	Title  string
	Fields []field
}

// code is an error code.
type code struct {
	Name   string
	Status int
}

// Anchor is where the guide's table has the code.
func (c code) Anchor() string { return anchor(c.Name) }

var effects = map[api.Effect]string{api.Read: "read", api.Create: "write", api.Write: "write", api.Destructive: "destructive"}

func (d document) operation(op api.Operation, found described, examples map[string]json.RawMessage) (operation, error) {
	success := found.Responses["200"]
	out := operation{
		ID: op.ID, Method: op.Method, Name: humanised(op.ID), Path: markedPath(op.Path), Template: op.Path, Summary: prose(op.Summary),
		Scope: string(op.Scope), Quota: string(op.Class), Effect: effects[op.Effect], Groups: d.groups(op, found),
		AnswerText: prose(success.Description), List: op.IsList(), HasETag: op.Tagged(),
	}
	for paragraph := range strings.SplitSeq(op.Description, "\n\n") {
		if paragraph != "" {
			out.Description = append(out.Description, prose(paragraph))
		}
	}
	if !op.NotTool {
		out.Tool = mcpserver.Name(op)
	}
	answer := op.Output
	if op.IsList() {
		answer = op.Output.Field(0).Type.Elem()
	}
	out.Record = answer.Name()
	example := success.Content[jsonType].Example
	if len(example) == 0 {
		return out, errors.New("the document has no example of the answer")
	}
	out.Answer = highlighted(languageJSON, indented(example))
	var err error
	if out.Codes, err = codesOf(found); err != nil {
		return out, err
	}
	body := found.RequestBody.Content[jsonType].Example
	if len(body) > 0 {
		out.Body = indented(body)
	}
	out.Samples, err = samples(op, body, examples)
	return out, err
}

// codesOf are the codes that an operation may answer with, besides those that any request may.
func codesOf(found described) (out []code, err error) {
	names := map[int]fault.Code{}
	for name, status := range fault.Codes() {
		names[status] = name
	}
	for _, text := range slices.Sorted(maps.Keys(found.Responses)) {
		if text == "default" {
			continue
		}
		status, err := strconv.Atoi(text)
		if err != nil {
			return nil, fmt.Errorf("the status %s is none", text)
		}
		if name, ok := names[status]; ok {
			out = append(out, code{string(name), status})
		}
	}
	for _, of5xx := range []fault.Code{fault.Internal, fault.Unavailable} {
		out = append(out, code{string(of5xx), of5xx.Status()})
	}
	return out, nil
}

var placeTitles = map[schema.Place]string{
	schema.InPath: "Path", schema.InQuery: "Query", schema.InBody: "Body", schema.InHeader: "Headers",
}

// groups are the arguments by their places, in the order of a request. The company is in each path but one, and is told
// of once, in the guide.
func (d document) groups(op api.Operation, found described) (out []group) {
	words := map[string]string{}
	for _, p := range found.Parameters {
		words[p.Name] = p.Description
	}
	for name, p := range found.RequestBody.Content[jsonType].Schema.Properties {
		words[name] = p.Description
	}
	for _, place := range []schema.Place{schema.InPath, schema.InQuery, schema.InBody, schema.InHeader} {
		g := group{Title: placeTitles[place]}
		for _, f := range op.Input {
			if f.In != place {
				continue
			}
			doc := f.Doc
			if doc == "" {
				doc = words[f.Name]
			}
			g.Fields = append(g.Fields, newField(f, doc))
		}
		if place == schema.InHeader {
			g.Fields = append(g.Fields, d.referred(found)...)
		}
		if g.Fields != nil {
			out = append(out, g)
		}
	}
	return out
}

// referred are the headers that the pipeline reads itself, so that no input declares them. Every operation takes the
// version; the guide tells of it.
func (d document) referred(found described) (out []field) {
	for _, p := range found.Parameters {
		name := strings.TrimPrefix(p.Ref, "#/components/parameters/")
		if p.Ref == "" || name == "companyId" || name == "Service-Version" {
			continue
		}
		out = append(out, field{
			Name: name, In: string(schema.InHeader), Kind: "string", Input: string(schema.String), Doc: prose(d.Components.Parameters[name].Description),
		})
	}
	return out
}

// humanised spells list_plan_items as List plan items.
func humanised(id string) string {
	text := strings.ReplaceAll(id, "_", " ")
	return strings.ToUpper(text[:1]) + text[1:]
}

// markedPath marks the parameters of a path, and lets it break between its segments.
func markedPath(path string) template.HTML {
	var out strings.Builder
	for segment := range strings.SplitSeq(strings.TrimPrefix(path, "/"), "/") {
		out.WriteString("<wbr>/")
		if strings.HasPrefix(segment, "{") {
			out.WriteString("<var>" + escaped(segment) + "</var>")
		} else {
			out.WriteString(escaped(segment))
		}
	}
	return template.HTML(out.String())
}
