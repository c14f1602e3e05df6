package conformance

import (
	"net/http"
	"reflect"
	"slices"
	"strings"

	"growthworkspace/shared/auth"
	"growthworkspace/shared/fault"
)

// unknownKeySuffix follows the prefix sk_live_ or pk_live_ in a key that does not exist. Its
// checksum is wrong.
var unknownKeySuffix = strings.Repeat("0", 40)

// invalidAuthorizations are values of the header Authorization that the service must refuse.
var invalidAuthorizations = []struct{ value, what string }{
	{"Bearer sk_live_" + unknownKeySuffix, "an unknown key"},
	{"Bearer pk_live_" + unknownKeySuffix, "a publishable key"},
	{"Basic c2s6", "the scheme Basic"},
}

// checkKey calls the tools and every operation without a key, and with one of the other invalid
// values in turn. The ids in the paths belong to no record, and the service checks the key before it
// looks for one.
func checkKey(k *runner) {
	tools := operation{method: http.MethodPost, path: toolsPath}
	for i, op := range append(slices.Clone(k.document.operations), tools, tools) {
		invalid := invalidAuthorizations[i%len(invalidAuthorizations)]
		for value, what := range map[string]string{"": "no key", invalid.value: invalid.what} {
			got := k.do(op.method, k.pathWithUnknownIDs(op.path), emptyBody(op), "Authorization", value)
			got.request += " with " + what
			k.requireError(got, fault.Unauthorised, "")
		}
	}
}

// emptyBody returns the body of a request that changes nothing, or that the service must refuse.
func emptyBody(op operation) string {
	if op.body == nil {
		return ""
	}
	return `{}`
}

// checkScopes compares the status of the first request to each read with the scopes of the key. If
// records may be created, it also creates a key with one scope and calls every operation with it.
func checkScopes(k *runner) {
	if k.scopes == nil {
		k.skip("the service does not tell the scopes of a key")
		return
	}
	for _, p := range k.reads {
		if p.Status != 0 {
			k.require((p.Status == http.StatusUnauthorized) == k.lacks(p.operation), "%s: %d with a key that has %v, and it needs %s", p.request, p.Status, k.scopes, p.Scope)
		}
	}
	create, ok := k.document.byID("create_key")
	if !ok || !k.Write || k.lacks(create) {
		return
	}
	c := createdRecord{create: create}
	path, _ := k.fillPath(create.path)
	c.response = k.do(create.method, path, `{"name":"Check of one scope","scopes":["`+string(auth.CompanyRead)+`"]}`)
	issued, ok := k.requireObject(c.response)
	if !ok {
		return
	}
	k.keep(&c, issued)
	k.created = append(k.created, c)
	for _, op := range k.document.operations {
		got := k.do(op.method, k.pathWithUnknownIDs(op.path), emptyBody(op), "Authorization", "Bearer "+text(issued["secret"]))
		isOpen := op.isOpenTo([]auth.Scope{auth.CompanyRead})
		k.require((got.Status == http.StatusUnauthorized) != isOpen, "%s: %d with a key that has company:read alone, and it needs %s", got.request, got.Status, op.Scope)
	}
}

func (run *runner) otherCompanyID() string { return unknownID(run.company) }

// checkCompany requires that the key lists its company alone, and that every operation on another
// company is 404. It calls operations that write only if records may be created.
func checkCompany(k *runner) {
	list := k.get("/v1/companies")
	if _, ok := k.requireObject(list); !ok {
		return
	}
	companies := list.records()
	k.require(len(companies) == 1 && companies[0]["id"] == k.company, "%s: %d companies instead of the key's", list.request, len(companies))
	if record, ok := k.requireObject(k.get(strings.ReplaceAll(companyPath, "{companyId}", k.company))); ok {
		k.require(reflect.DeepEqual(record, companies[0]), "%s: another record than that by its id", list.request)
	}
	for _, op := range k.document.operations {
		if !op.inCompany() || k.lacks(op) || !op.isRead() && !k.Write {
			continue
		}
		path := strings.Replace(k.pathWithUnknownIDs(op.path), k.company, k.otherCompanyID(), 1)
		if p := op.parameter("metricKey"); p != nil && p.Required {
			path += "?metricKey=a&from=2020-01-01&to=2020-01-01"
		}
		k.requireError(k.do(op.method, path, emptyBody(op)), fault.NotFound, "")
	}
}

// checkUnknownRecord requires the same 404 for a record that does not exist and for the path of a
// known record in another company.
func checkUnknownRecord(k *runner) {
	k.eachRead(func(p read) {
		if p.collection() == "" {
			return
		}
		unknown := k.get(k.pathWithUnknownIDs(p.operation.path))
		k.requireError(unknown, fault.NotFound, "")
		foreign := k.get(strings.Replace(p.path, k.company, k.otherCompanyID(), 1))
		k.require(unknown.Status == foreign.Status && string(unknown.Body) == string(foreign.Body),
			"%s: an unknown record is %s, one of another company %s", unknown.request, unknown.Body, foreign.Body)
	})
}

func checkUnknownPath(k *runner) {
	for _, path := range []string{"/v1/nope", "/v1/companies/" + k.company + "/nope", "/v1/companies/" + k.company + "/plan/nope/nope", "/v2/companies"} {
		k.requireError(k.get(path), fault.NotFound, "")
	}
}

// checkMethods sends PUT requests to the paths of records that do not exist. No operation has the
// method PUT.
func checkMethods(k *runner) {
	for _, path := range sortedKeys(k.document.Paths) {
		got := k.do(http.MethodPut, k.pathWithUnknownIDs(path), "")
		k.requireError(got, fault.MethodNotAllowed, "")
		allowed := strings.Split(strings.ReplaceAll(got.Header.Get("Allow"), " ", ""), ",")
		for _, method := range sortedKeys(k.document.Paths[path]) {
			k.require(slices.Contains(allowed, strings.ToUpper(method)), "%s: Allow is %q and lacks %s", got.request, got.Header.Get("Allow"), method)
		}
	}
}
