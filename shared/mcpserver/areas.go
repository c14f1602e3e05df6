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

// areasParameter is the query parameter with the areas whose tools are offered. Agents that need
// one area need not read the others.
const areasParameter = "areas"

// areasOf returns the areas of the operations in their order.
func areasOf(operations []api.Operation) (out []string) {
	for _, op := range operations {
		if !slices.Contains(out, op.Area) {
			out = append(out, op.Area)
		}
	}
	return out
}

// areas returns the areas in the query of a request, nil for all. It returns bad_request for an
// area that is unknown, empty or repeated, and for a repeated parameter: a client that meant fewer
// tools must not get all of them.
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
	known, areas := areasOf(s.operations), strings.Split(values[0], ",")
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

// toolSet is the set of tools that one request can use, limited to the areas in its query.
type toolSet struct {
	server *Server
	areas  []string // nil: all
}

func (o toolSet) has(op *api.Operation) bool {
	return o.areas == nil || slices.Contains(o.areas, op.Area)
}

// byName returns the operation of the tool with a name, or nil when the request does not offer it.
func (o toolSet) byName(name string) *api.Operation {
	i := slices.IndexFunc(o.server.operations, func(op api.Operation) bool { return ToolName(op) == name && o.has(&op) })
	if i < 0 {
		return nil
	}
	return &o.server.operations[i]
}

// forScopes returns the tools that a key with these scopes may call.
func (o toolSet) forScopes(scopes []auth.Scope) []*Tool {
	out := []*Tool{} // a list, also when it is empty
	for i, t := range o.server.tools() {
		op := &o.server.operations[i]
		if o.has(op) && (op.Scope == "" || slices.Contains(scopes, op.Scope)) {
			out = append(out, t)
		}
	}
	return out
}
