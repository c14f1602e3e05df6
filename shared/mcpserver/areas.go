package mcpserver

import (
	"net/http"
	"net/url"
	"slices"
	"strings"

	"growthworkspace/shared/api"
	"growthworkspace/shared/auth"
	"growthworkspace/shared/fault"
)

// areasParameter is the query parameter that lists the areas whose tools are offered. With it, an
// agent that needs one area does not have to read the tools of the others.
const areasParameter = "areas"

// Areas returns the areas of the operations, without duplicates, in order of first appearance.
func Areas(operations []api.Operation) (out []string) {
	for _, op := range operations {
		if !slices.Contains(out, op.Area) {
			out = append(out, op.Area)
		}
	}
	return out
}

// areas returns the areas listed in the query of a request, or nil for all areas. It returns
// bad_request if an area is unknown, empty or repeated, or if the parameter is repeated, because a
// client that wants fewer tools must not get all of them by mistake.
func (s *Server) areas(r *http.Request) ([]string, error) {
	query, err := url.ParseQuery(r.URL.RawQuery)
	values, sent := query[areasParameter]
	switch {
	case err != nil:
		return nil, fault.Invalid("query", "is malformed")
	case !sent:
		return nil, nil
	case len(values) > 1:
		return nil, fault.Invalid("query."+areasParameter, "is repeated; separate areas by commas")
	}
	known, areas := Areas(s.operations), strings.Split(values[0], ",")
	for i, area := range areas {
		switch {
		case !slices.Contains(known, area):
			return nil, fault.Invalid("query."+areasParameter, "must be one or more of %s, separated by commas", strings.Join(known, ", "))
		case slices.Contains(areas[:i], area):
			return nil, fault.Invalid("query."+areasParameter, "must not name %s twice", area)
		}
	}
	return areas, nil
}

// toolSet is the set of tools that a request can use, limited to the areas in its query.
type toolSet struct {
	server *Server
	areas  []string // nil for all areas
}

func (t toolSet) has(op *api.Operation) bool {
	return t.areas == nil || slices.Contains(t.areas, op.Area)
}

// lookup returns the operation of the tool with this name, or nil if the request cannot use such a
// tool.
func (t toolSet) lookup(name string) *api.Operation {
	i := slices.IndexFunc(t.server.operations, func(op api.Operation) bool { return ToolName(op) == name && t.has(&op) })
	if i < 0 {
		return nil
	}
	return &t.server.operations[i]
}

// forScopes returns the tools that a key with these scopes may call. If the key may only draft, the
// tools accept only the values that it may set.
func (t toolSet) forScopes(scopes []auth.Scope) []*Tool {
	out := []*Tool{} // not nil, so that an empty list is [] in JSON
	for i := range t.server.operations {
		op := &t.server.operations[i]
		switch {
		case !t.has(op):
		case op.Scope == "" || op.Scope.IsGrantedBy(scopes):
			out = append(out, t.server.tools()[i])
		case op.DraftScope != "" && op.DraftScope.IsGrantedBy(scopes):
			out = append(out, t.server.draftTools()[i])
		}
	}
	return out
}
