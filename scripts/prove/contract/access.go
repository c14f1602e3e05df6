package contract

import (
	"net/http"
	"slices"
	"strings"

	"growthworkspace/functions"
	"growthworkspace/shared/api"
	"growthworkspace/shared/fault"
)

// withKey sends every read with another Authorization header, also where the company has no record, because the key is
// checked before the record is looked for.
func withKey(authorization, what string) func(*kit) {
	return func(k *kit) {
		for _, p := range k.primed {
			path := p.path
			if path == "" {
				path = k.invented(p.Path)
			}
			if optional(p.Operation) && p.reason != "" {
				continue
			}
			got := k.do(http.MethodGet, path, "", "Authorization", authorization)
			got.what += " with " + what
			k.is(got, fault.Unauthorised, "")
		}
	}
}

// invented fills a path with ids that no record has.
func (k *kit) invented(path string) string {
	segments := strings.Split(strings.ReplaceAll(path, "{companyId}", k.company), "/")
	for i, s := range segments {
		if _, isParameter := api.PathParameter(s); isParameter {
			segments[i] = k.unknown(segments[i-1])
		}
	}
	return strings.Join(segments, "/")
}

// unknown is an id like those of a collection, which no record has.
func (k *kit) unknown(collection string) string {
	id, ok := k.known(collection, "id")
	prefix, _, found := strings.Cut(id, "_")
	if !ok || !found {
		return "none_0000000000000000000000000"
	}
	return prefix + "_" + strings.Repeat("0", 26)
}

// otherID is a company's id that is not the key's.
func (k *kit) otherID() string {
	prefix, _, found := strings.Cut(k.company, "_")
	if !found {
		return "co_" + strings.Repeat("0", 26)
	}
	return prefix + "_" + strings.Repeat("0", 26)
}

func otherCompany(k *kit) {
	k.each(func(p primed) {
		if !p.Company() {
			return
		}
		path := strings.Replace(p.address(), k.company, k.otherID(), 1)
		got := k.get(path)
		k.is(got, fault.NotFound, "")
	})
}

// unknownRecord also compares the two responses: the one for a record of another company must not say that it exists.
func unknownRecord(k *kit) {
	k.each(func(p primed) {
		if k.invented(p.Path) == strings.ReplaceAll(p.Path, "{companyId}", k.company) || p.Path == "/v1/companies" {
			return // no id in it but the company's
		}
		if p.IsList() {
			return // of an unknown parent: an empty list is right, too
		}
		here := k.get(k.invented(p.Path))
		k.is(here, fault.NotFound, "")
		there := k.get(strings.Replace(p.path, k.company, k.otherID(), 1))
		if here.status == there.status && string(here.body) != string(there.body) {
			k.fail("%s: an unknown record reads %s, one of another company %s", here.what, here.body, there.body)
		}
	})
}

func unknownPath(k *kit) {
	for _, path := range []string{"/v1/nope", "/v1/companies/" + k.company + "/nope", "/v1/companies/" + k.company + "/plan/nope/nope", "/v2/companies"} {
		k.is(k.get(path), fault.NotFound, "")
	}
}

// wrongVerb uses PUT, which no operation has, on records that do not exist.
func wrongVerb(k *kit) {
	verbs, order := map[string][]string{}, []string{}
	for _, op := range functions.Operations(nil) {
		if optional(op) {
			continue
		}
		if verbs[op.Path] == nil {
			order = append(order, op.Path)
		}
		verbs[op.Path] = append(verbs[op.Path], op.Method)
	}
	for _, path := range order {
		got := k.do(http.MethodPut, k.invented(path), "")
		k.is(got, fault.MethodNotAllowed, "")
		var allowed []string
		for verb := range strings.SplitSeq(got.header.Get("Allow"), ",") {
			allowed = append(allowed, strings.TrimSpace(verb))
		}
		for _, verb := range verbs[path] {
			if got.status == http.StatusMethodNotAllowed && !slices.Contains(allowed, verb) {
				k.fail("PUT %s: Allow is %q, without %s", path, got.header.Get("Allow"), verb)
			}
		}
	}
}
