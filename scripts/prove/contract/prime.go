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
	"growthworkspace/shared/schema"
)

// primed is an operation that reads, and the response to its plainest request.
type primed struct {
	api.Operation
	response

	path   string // with its ids, without a query
	query  url.Values
	reason string // why it cannot be called; empty: it was called
}

// address is where the operation is, with more parameters than it needs: name and value in turn.
func (p primed) address(more ...string) string {
	query := url.Values{}
	for name, values := range p.query {
		query[name] = values
	}
	for i := 0; i+1 < len(more); i += 2 {
		query.Set(more[i], more[i+1])
	}
	if len(query) == 0 {
		return p.path
	}
	return p.path + "?" + query.Encode()
}

func (p primed) field(name string) *schema.Field {
	for i := range p.Input {
		if p.Input[i].Name == name {
			return &p.Input[i]
		}
	}
	return nil
}

// optional reports whether an implementation may lack an operation: those for keys and for pushing metrics.
func optional(op api.Operation) bool {
	return op.Scope == "" || op.Scope == auth.KeysRead || op.Scope == auth.KeysWrite || op.Scope == auth.MetricsWrite
}

// prime reads the company, and calls every operation that reads in its plainest form. What it learns, ids of records
// first of all, is what the rules work with.
func (k *kit) prime() error {
	r, err := k.once(request{method: http.MethodGet, path: "/v1/companies"})
	if err != nil {
		return fmt.Errorf("%s does not answer: %w", k.BaseURL, err)
	}
	var companies listOf[struct {
		ID string `json:"id"`
	}]
	if r.status != http.StatusOK || json.Unmarshal(r.body, &companies) != nil || len(companies.Items) == 0 || companies.Items[0].ID == "" {
		return fmt.Errorf("%s does not list the key's company (GET /v1/companies: %d): check the address, and that the key works and holds company:read", k.BaseURL, r.status)
	}
	k.company = companies.Items[0].ID
	k.observe(r)
	for _, op := range functions.Operations(nil) {
		if op.Method == http.MethodGet {
			k.primed = append(k.primed, k.primeOne(op))
		}
	}
	return k.ctx.Err()
}

func (k *kit) primeOne(op api.Operation) primed {
	p := primed{Operation: op, query: url.Values{}}
	var ok bool
	if p.path, ok = k.fill(op.Path); !ok {
		p.reason = op.ID + ": the company has no such record"
		return p
	}
	for _, f := range op.Input {
		if f.In != schema.InQuery || !f.Required {
			continue
		}
		if f.Name != "metricKey" {
			p.reason = fmt.Sprintf("%s: no value is known for %s", op.ID, f.Name)
			return p
		}
		key, found := k.known("definitions", "key")
		if !found {
			p.reason = op.ID + ": the company has no metric"
			return p
		}
		p.query.Set(f.Name, key)
	}
	p.response = k.get(p.address())
	switch {
	case p.status == http.StatusUnauthorized && !k.holds(op.Scope):
		p.reason = fmt.Sprintf("%s: the key lacks %s", op.ID, op.Scope)
	case p.status == http.StatusNotFound && (optional(op) || op.ID == "get_context_brand_kit"):
		p.reason = op.ID + ": not offered, or there is none"
	}
	return p
}

// holds reports whether the service itself says that the key has a scope, so that a 401 is no matter of scopes.
func (k *kit) holds(scope auth.Scope) bool {
	for _, p := range k.primed {
		var key struct{ Scopes []auth.Scope }
		if p.ID == "get_current_key" && p.status == http.StatusOK && json.Unmarshal(p.body, &key) == nil {
			return slices.Contains(key.Scopes, scope)
		}
	}
	return false
}

// fill replaces the parameters of a path by ids of records that were listed.
func (k *kit) fill(path string) (string, bool) {
	segments := strings.Split(strings.ReplaceAll(path, "{companyId}", k.company), "/")
	for i, s := range segments {
		if _, isParameter := api.PathParameter(s); !isParameter {
			continue
		}
		id, ok := k.known(segments[i-1], "id")
		if !ok {
			return "", false
		}
		segments[i] = url.PathEscape(id)
	}
	return strings.Join(segments, "/"), true
}

// known returns a field of the first record of the list whose path ends so.
func (k *kit) known(collection, field string) (string, bool) {
	for _, p := range k.primed {
		if !p.IsList() || !strings.HasSuffix(p.Path, "/"+collection) || p.status != http.StatusOK {
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

// records returns the records of a list.
func (r response) records() []map[string]any {
	var body listOf[map[string]any]
	if r.status != http.StatusOK || json.Unmarshal(r.body, &body) != nil {
		return nil
	}
	return body.Items
}

// each calls a part of a rule with the operations that could be called, and notes why the others could not. An operation that was
// refused without a reason breaks the rule.
func (k *kit) each(visit func(primed)) {
	for _, p := range k.primed {
		if p.reason != "" {
			k.skip("%s", p.reason)
			continue
		}
		visit(p)
	}
}

// lists is each, for lists.
func (k *kit) lists(visit func(primed)) {
	k.each(func(p primed) {
		if p.IsList() && p.status == http.StatusOK {
			visit(p)
		}
	})
}

// pagedLists is lists, for those that take a limit.
func (k *kit) pagedLists(visit func(primed, schema.Field)) {
	k.lists(func(p primed) {
		if f := p.field("limit"); f != nil {
			visit(p, *f)
		}
	})
}

// specified reports whether a list is one whose bounds the specification has itself.
func specified(op api.Operation) bool {
	return slices.Contains([]string{"list_metric_definitions", "list_metric_points", "list_optimise_audits"}, op.ID)
}

// listOf is the body of a list.
type listOf[T any] struct {
	Items []T `json:"items"`
}

// companyPath begins with the company's path.
func (k *kit) companyPath(rest string) string { return "/v1/companies/" + k.company + rest }
