package contract

import (
	"encoding/json"
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"strings"

	"growthworkspace/functions"
	"growthworkspace/shared/api"
	"growthworkspace/shared/auth"
	"growthworkspace/shared/fault"
	"growthworkspace/shared/schema"
)

// discoveredRead is a read operation, with the response to a request that has only the required
// parameters.
type discoveredRead struct {
	api.Operation
	response

	path   string     // the path of the request, without the query string
	query  url.Values // the required parameters
	reason string     // why the operation was not called; empty if it was called
}

// url returns the path and query string of a request to the operation. parameters alternates
// between names and values of additional query parameters.
func (p discoveredRead) url(parameters ...string) string {
	query := url.Values{}
	for name, values := range p.query {
		query[name] = values
	}
	for i := 0; i+1 < len(parameters); i += 2 {
		query.Set(parameters[i], parameters[i+1])
	}
	if len(query) == 0 {
		return p.path
	}
	return p.path + "?" + query.Encode()
}

func (p discoveredRead) field(name string) *schema.Field {
	for i := range p.Input {
		if p.Input[i].Name == name {
			return &p.Input[i]
		}
	}
	return nil
}

// isOptional reports whether an implementation of the API may omit an operation. Examples are the
// operations on keys and the operation that pushes metrics.
func isOptional(op api.Operation) bool {
	return op.Scope == "" || op.Scope == auth.KeysRead || op.Scope == auth.KeysWrite || op.Scope == auth.MetricsWrite
}

// discover reads the company and calls every read operation once. The rules use the ids and records
// in these responses.
func (k *runner) discover() error {
	r, err := k.sendOnce(request{method: http.MethodGet, path: "/v1/companies"})
	if err != nil {
		return fmt.Errorf("no response from %s: %w", k.BaseURL, err)
	}
	var companies listBody[struct {
		ID string `json:"id"`
	}]
	if r.status != http.StatusOK || json.Unmarshal(r.body, &companies) != nil || len(companies.Items) == 0 || companies.Items[0].ID == "" {
		return fmt.Errorf("%s does not list the key's company (GET /v1/companies: %d): check the address, and that the key is valid and has the scope company:read", k.BaseURL, r.status)
	}
	k.company = companies.Items[0].ID
	k.checkResponse(r)
	for _, op := range functions.Operations(nil) {
		if op.Method == http.MethodGet {
			k.discovered = append(k.discovered, k.discoverOne(op))
		}
	}
	return k.ctx.Err()
}

func (k *runner) discoverOne(op api.Operation) discoveredRead {
	p := discoveredRead{Operation: op, query: url.Values{}}
	var ok bool
	if p.path, ok = k.fillPath(op.Path); !ok {
		p.reason = op.ID + ": the company has no such record"
		return p
	}
	for _, f := range op.Input {
		if f.In != schema.InQuery || !f.Required {
			continue
		}
		if f.Name != "metricKey" {
			p.reason = fmt.Sprintf("%s: the check has no value for %s", op.ID, f.Name)
			return p
		}
		key, found := k.knownField("metrics", "definitions", "key")
		if !found {
			p.reason = op.ID + ": the company has no metric"
			return p
		}
		p.query.Set(f.Name, key)
	}
	p.response = k.get(p.url())
	switch {
	case p.status == http.StatusUnauthorized && !k.hasScope(op.Scope):
		p.reason = fmt.Sprintf("%s: the key lacks %s", op.ID, op.Scope)
	case p.status == http.StatusNotFound && (isOptional(op) || op.ID == "get_context_brand_kit"):
		p.reason = op.ID + ": the service does not have it, or the company has no such record"
	}
	return p
}

// hasScope reports whether the service says that the key has the scope or one that includes it. If
// so, a 401 is a defect of the service and not of the key.
func (k *runner) hasScope(scope auth.Scope) bool {
	for _, p := range k.discovered {
		var key struct{ Scopes []auth.Scope }
		if p.ID == "get_current_key" && p.status == http.StatusOK && json.Unmarshal(p.body, &key) == nil {
			return scope.IsGrantedBy(key.Scopes)
		}
	}
	return false
}

// areaSegment is the index of the path segment that names the area. The name of a collection does
// not identify its area, because two areas have goals.
const areaSegment = 4

// fillPath replaces the parameters of a path with ids from the lists that discover has read. It
// returns false if there is no id for a parameter.
func (k *runner) fillPath(path string) (string, bool) {
	segments := strings.Split(strings.ReplaceAll(path, "{companyId}", k.company), "/")
	for i, s := range segments {
		if _, isParameter := api.PathParameter(s); !isParameter {
			continue
		}
		id, ok := k.knownField(segments[areaSegment], segments[i-1], "id")
		if !ok {
			return "", false
		}
		segments[i] = url.PathEscape(id)
	}
	return strings.Join(segments, "/"), true
}

// knownField returns a field of a record that discover has read. It uses the area's list whose path
// ends in the given collection, and the first record there in which the field is a non-empty
// string.
func (k *runner) knownField(area, collection, field string) (string, bool) {
	for _, p := range k.discovered {
		if !p.IsList() || !strings.HasPrefix(p.Path, "/v1/companies/{companyId}/"+area) || !strings.HasSuffix(p.Path, "/"+collection) || p.status != http.StatusOK {
			continue
		}
		for _, record := range p.records() {
			if value, ok := record[field].(string); ok && value != "" {
				return value, true
			}
		}
	}
	return "", false
}

// records returns the records in the response to a list operation.
func (r response) records() []map[string]any {
	var body listBody[map[string]any]
	if r.status != http.StatusOK || json.Unmarshal(r.body, &body) != nil {
		return nil
	}
	return body.Items
}

// eachRead calls visit for every operation that discover has called. For every other read
// operation, it calls skip with the reason. A deployment without a feed of changes responds to
// list_changes with the error not_implemented. eachRead skips that response.
func (k *runner) eachRead(visit func(discoveredRead)) {
	for _, p := range k.discovered {
		switch {
		case p.reason != "":
			k.skip("%s", p.reason)
		case p.IsFeed() && p.status == fault.NotImplemented.Status():
			k.checkError(p.response, fault.NotImplemented, "")
		default:
			visit(p)
		}
	}
}

// eachList is like eachRead, for lists only.
func (k *runner) eachList(visit func(discoveredRead)) {
	k.eachRead(func(p discoveredRead) {
		if p.IsList() && p.status == http.StatusOK {
			visit(p)
		}
	})
}

// eachPagedList is like eachList, for lists that accept a limit.
func (k *runner) eachPagedList(visit func(discoveredRead, schema.Field)) {
	k.eachList(func(p discoveredRead) {
		if f := p.field("limit"); f != nil {
			visit(p, *f)
		}
	})
}

// isSpecifiedList reports whether the specification states the minimum and maximum of a list's
// limit parameter.
func isSpecifiedList(op api.Operation) bool {
	return slices.Contains([]string{"list_metric_definitions", "list_metric_points", "list_optimise_audits"}, op.ID)
}

// listBody is the body of a list response.
type listBody[T any] struct {
	Items []T `json:"items"`
}

// companyPath returns the company's path followed by rest.
func (k *runner) companyPath(rest string) string { return "/v1/companies/" + k.company + rest }
