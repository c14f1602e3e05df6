package main

import (
	"fmt"
	"reflect"
	"slices"
	"strings"

	"growthworkspace/shared/api"
	"growthworkspace/shared/auth"
	"growthworkspace/shared/change"
	"growthworkspace/shared/client"
	"growthworkspace/shared/client/catalogue"
	"growthworkspace/shared/schema"
)

const (
	catalogueFile = clientFolder + "catalogue/catalogue.json"

	// scopesFile is embedded in package change; see scopesFile there.
	scopesFile = "shared/change/scopes.txt"
)

// changeScopes returns the content of scopesFile. Types keep their places, because documents list
// them in this order. New types come last.
func changeScopes(kinds api.Kinds) []byte {
	places := map[change.Type]int{}
	for i, t := range change.Types() {
		places[t] = i - len(change.Types())
	}
	var types []change.Type
	scopes := map[change.Type]auth.Scope{}
	for _, k := range kinds {
		read := k.Get
		if read == nil {
			read = k.List
		}
		for _, t := range k.Changes() {
			types, scopes[t] = append(types, t), read.Scope
		}
	}
	slices.SortStableFunc(types, func(a, b change.Type) int { return places[a] - places[b] })
	var out strings.Builder
	for _, t := range types {
		fmt.Fprintf(&out, "%s %s\n", t, scopes[t])
	}
	return []byte(out.String())
}

// describeKinds returns the catalogue of the kinds.
func describeKinds(kinds api.Kinds) (out []catalogue.Kind) {
	for _, k := range kinds {
		d := catalogue.Kind{
			Name: k.Name, Plural: k.Plural, Area: k.Area, Prefix: k.Prefix, Parameter: k.Parameter, Key: k.Key,
			List: describeOperation(k.List), Get: describeOperation(k.Get), Create: describeOperation(k.Create),
			Update: describeOperation(k.Update), Delete: describeOperation(k.Delete),
		}
		for _, t := range k.Changes() {
			d.Changes = append(d.Changes, client.ChangeType(t))
		}
		for _, op := range []*api.Operation{k.Get, k.List} {
			if op != nil && d.Title == nil {
				d.Title = titlesOf(op.Record())
			}
		}
		if k.List != nil {
			for _, f := range k.List.Input {
				if parent := kinds.ReferredBy(*k.List, f.Name); f.In == schema.InPath && parent != nil {
					d.Parent = parent.Name
				}
			}
		}
		addFields(&d, kinds, k.Create, func(to *catalogue.Field, f schema.Field) { to.OnCreate, to.Required = true, f.Required })
		addFields(&d, kinds, k.Update, func(to *catalogue.Field, f schema.Field) { to.OnUpdate, to.Clears = true, f.Null == schema.NullClears })
		out = append(out, d)
	}
	return out
}

func describeOperation(op *api.Operation) *catalogue.Operation {
	if op == nil {
		return nil
	}
	d := catalogue.Operation{
		ID: op.ID, Method: op.Method, Path: op.Path, Scope: string(op.Scope), DraftScope: string(op.DraftScope),
		Quota: string(op.Class), IdempotencyKey: op.IdempotencyKey != nil,
	}
	for _, f := range op.Input {
		if f.In == schema.InQuery && f.Name == "limit" {
			d.LimitMax = int(*f.Max)
		}
	}
	return &d
}

// titlesOf returns those of api.TitleFields that a record has.
func titlesOf(record reflect.Type) (out []string) {
	for _, name := range api.TitleFields {
		if slices.ContainsFunc(reflect.VisibleFields(record), func(f reflect.StructField) bool { return f.Tag.Get("json") == name }) {
			out = append(out, name)
		}
	}
	return out
}

// addFields describes the properties of an operation's body, if there is such an operation. allow
// sets what the operation may do to a field.
func addFields(d *catalogue.Kind, kinds api.Kinds, op *api.Operation, allow func(*catalogue.Field, schema.Field)) {
	if op == nil {
		return
	}
	for _, f := range op.Input {
		if f.In != schema.InBody {
			continue
		}
		i := slices.IndexFunc(d.Fields, func(known catalogue.Field) bool { return known.Name == f.Name })
		if i < 0 {
			i = len(d.Fields)
			d.Fields = append(d.Fields, catalogue.Field{
				Name: f.Name, Doc: f.Doc, Type: string(f.Kind), Format: f.Format, Pattern: f.Pattern, Enum: f.Enum, Drafts: f.Drafts,
				Default: f.Default, Min: f.Min, Max: f.Max, ItemsMax: f.ItemsMax, ItemCharsMax: f.ItemCharsMax,
			})
			if ref := kinds.ReferredBy(*op, f.Name); ref != nil {
				d.Fields[i].Ref = ref.Name
			}
		}
		allow(&d.Fields[i], f)
	}
}
