package contract

import (
	"net/http"
	"slices"
	"strings"

	"growthworkspace/functions"
	"growthworkspace/shared/api"
	"growthworkspace/shared/fault"
)

// requireUnauthorised returns a rule that sends every read with the given Authorization header and
// requires a 401. The records need not exist, because the service checks the key first.
func requireUnauthorised(authorization, what string) func(*runner) {
	return func(k *runner) {
		for _, p := range k.discovered {
			path := p.path
			if path == "" {
				path = k.pathWithUnknownIDs(p.Path)
			}
			if isOptional(p.Operation) && p.reason != "" {
				continue
			}
			got := k.do(http.MethodGet, path, "", "Authorization", authorization)
			got.request += " with " + what
			k.checkError(got, fault.Unauthorised, "")
		}
	}
}

// pathWithUnknownIDs replaces the parameters of a path with ids that no record has.
func (k *runner) pathWithUnknownIDs(path string) string {
	segments := strings.Split(strings.ReplaceAll(path, "{companyId}", k.company), "/")
	for i, s := range segments {
		if _, isParameter := api.PathParameter(s); isParameter {
			segments[i] = k.unknownID(segments[areaSegment], segments[i-1])
		}
	}
	return strings.Join(segments, "/")
}

// unknownID returns an id that no record has. It has the same prefix as the ids in the collection.
func (k *runner) unknownID(area, collection string) string {
	id, ok := k.knownField(area, collection, "id")
	prefix, _, found := strings.Cut(id, "_")
	if !ok || !found {
		return "none_0000000000000000000000000"
	}
	return prefix + "_" + strings.Repeat("0", 26)
}

func (k *runner) otherCompanyID() string {
	prefix, _, found := strings.Cut(k.company, "_")
	if !found {
		return "co_" + strings.Repeat("0", 26)
	}
	return prefix + "_" + strings.Repeat("0", 26)
}

func checkOtherCompany(k *runner) {
	k.eachRead(func(p discoveredRead) {
		if !p.HasCompanyID() {
			return
		}
		path := strings.Replace(p.url(), k.company, k.otherCompanyID(), 1)
		got := k.get(path)
		k.checkError(got, fault.NotFound, "")
	})
}

// checkUnknownRecord requires the same 404 for a record that does not exist and for a record of
// another company.
func checkUnknownRecord(k *runner) {
	k.eachRead(func(p discoveredRead) {
		if k.pathWithUnknownIDs(p.Path) == strings.ReplaceAll(p.Path, "{companyId}", k.company) || p.Path == "/v1/companies" {
			return // the path contains no id but the company's
		}
		if p.IsList() {
			return // a list whose parent does not exist may be empty instead of returning a 404
		}
		unknownRecord := k.get(k.pathWithUnknownIDs(p.Path))
		k.checkError(unknownRecord, fault.NotFound, "")
		foreignRecord := k.get(strings.Replace(p.path, k.company, k.otherCompanyID(), 1))
		if unknownRecord.status == foreignRecord.status && string(unknownRecord.body) != string(foreignRecord.body) {
			k.fail("%s: an unknown record returns %s, one of another company %s", unknownRecord.request, unknownRecord.body, foreignRecord.body)
		}
	})
}

func checkUnknownPath(k *runner) {
	for _, path := range []string{"/v1/nope", "/v1/companies/" + k.company + "/nope", "/v1/companies/" + k.company + "/plan/nope/nope", "/v2/companies"} {
		k.checkError(k.get(path), fault.NotFound, "")
	}
}

// checkWrongMethod sends PUT requests to paths of records that do not exist. No operation has the
// method PUT.
func checkWrongMethod(k *runner) {
	verbs, paths := map[string][]string{}, []string{}
	for _, op := range functions.Operations(nil) {
		if isOptional(op) {
			continue
		}
		if verbs[op.Path] == nil {
			paths = append(paths, op.Path)
		}
		verbs[op.Path] = append(verbs[op.Path], op.Method)
	}
	for _, path := range paths {
		got := k.do(http.MethodPut, k.pathWithUnknownIDs(path), "")
		k.checkError(got, fault.MethodNotAllowed, "")
		var allowed []string
		for verb := range strings.SplitSeq(got.header.Get("Allow"), ",") {
			allowed = append(allowed, strings.TrimSpace(verb))
		}
		for _, verb := range verbs[path] {
			if got.status == http.StatusMethodNotAllowed && !slices.Contains(allowed, verb) {
				k.fail("PUT %s: Allow is %q and lacks %s", path, got.header.Get("Allow"), verb)
			}
		}
	}
}
