package page

import (
	"fmt"
	"html/template"
	"slices"
	"strings"

	"growthworkspace/shared/api"
	"growthworkspace/shared/auth"
	"growthworkspace/shared/fault"
	"growthworkspace/shared/schema"
	"growthworkspace/shared/version"
)

type scope struct {
	Name       string
	Operations []operationName
}

// Anchor is how others link to the scope's row.
func (s scope) Anchor() string { return anchor(s.Name) }

type listLimits struct {
	operationName
	Default, Least, Most string
}

type quota struct {
	Class      string
	Requests   int64
	Seconds    int
	Operations []operationName
}

// extras are what the page adds to chapters of the guide: tables that are made from the declarations.
var extras = map[string]func(c *chapter, operations []api.Operation){
	"authentication": func(c *chapter, operations []api.Operation) { c.Scopes = scopes(operations) },
	"lists":          func(c *chapter, operations []api.Operation) { c.Lists = lists(operations) },
	"rate-limits":    func(c *chapter, operations []api.Operation) { c.Quotas = quotas(operations) },
	"versions":       func(c *chapter, _ []api.Operation) { c.Versions = version.Served() },
	"errors": func(c *chapter, _ []api.Operation) {
		example := &fault.Error{Code: fault.BadRequest, Messages: []string{
			"body.title: must have at least 1 characters", "body.status: must be one of draft, in_review, published, archived",
		}}
		c.Envelope = highlighted(languageJSON, indented(fault.Envelope(example)))
	},
}

// guide is the guide of the OpenAPI document with the tables that belong to its chapters.
func (d document) guide(operations []api.Operation) (intro template.HTML, out []chapter, err error) {
	text := d.Info.Description
	for _, extension := range []string{", here as `x-scope`", ", here as `x-quota`"} {
		if !strings.Contains(text, extension) {
			return "", nil, fmt.Errorf("the guide does not say %q, which the page leaves out", extension)
		}
		text = strings.Replace(text, extension, "", 1)
	}
	intro, out, err = chapters(text)
	if err != nil {
		return "", nil, err
	}
	for name, add := range extras {
		at := slices.IndexFunc(out, func(c chapter) bool { return c.ID == name })
		if at < 0 {
			return "", nil, fmt.Errorf("the guide has no chapter %s, to which the page adds", name)
		}
		out[at].Extra = name
		add(&out[at], operations)
	}
	return intro, out, nil
}

func scopes(operations []api.Operation) (out []scope) {
	for _, s := range auth.Scopes() {
		row := scope{Name: string(s)}
		for _, op := range operations {
			if op.Scope == s {
				row.Operations = append(row.Operations, operationName{op.ID, humanised(op.ID)})
			}
		}
		out = append(out, row)
	}
	return out
}

func lists(operations []api.Operation) (out []listLimits) {
	for _, op := range operations {
		for _, f := range op.Input {
			if f.In == schema.InQuery && f.Name == "limit" {
				out = append(out, listLimits{operationName{op.ID, humanised(op.ID)}, f.Default, number(*f.Min), number(*f.Max)})
			}
		}
	}
	return out
}

func quotas(operations []api.Operation) (out []quota) {
	for _, class := range auth.Classes() {
		row := quota{Class: string(class), Requests: int64(auth.DefaultQuota(class)), Seconds: int(auth.QuotaWindow.Seconds())}
		for _, op := range operations {
			if op.Class == class {
				row.Operations = append(row.Operations, operationName{op.ID, humanised(op.ID)})
			}
		}
		out = append(out, row)
	}
	return out
}
