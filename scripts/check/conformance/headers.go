package conformance

import (
	"net/http"

	"growthworkspace/shared/fault"
)

func checkVersions(k *runner) {
	pinned := k.do(http.MethodGet, "/v1/companies", "", "Service-Version", k.version)
	k.requireObject(pinned)
	k.require(pinned.Header.Get("Service-Version") == k.version, "%s with the version %s: the response has %q", pinned.request, k.version, pinned.Header.Get("Service-Version"))
	for _, unknown := range []string{"1999-01-01", "newest"} {
		got := k.do(http.MethodGet, "/v1/companies", "", "Service-Version", unknown)
		got.request += " with the version " + unknown
		k.requireError(got, fault.BadRequest, k.version)
	}
}

func checkHead(k *runner) {
	k.eachRead(func(p read) {
		got := k.do(http.MethodHead, p.url(), "")
		k.require(got.Status == p.Status && len(got.Body) == 0, "%s: %d with a body of %d bytes, want %d without", got.request, got.Status, len(got.Body), p.Status)
	})
}

// checkEntityTags reads records with the entity tag that they have, and with another one. It skips
// API keys, because each request changes the record of its key.
func checkEntityTags(k *runner) {
	k.eachRead(func(p read) {
		if p.isList() || p.parameter("If-None-Match") == nil || p.area() == "keys" {
			return
		}
		tag := k.get(p.url()).ETag()
		k.require(tag != "", "%s: the response has no ETag", p.request)
		same := k.do(http.MethodGet, p.url(), "", "If-None-Match", tag)
		k.require(same.Status == http.StatusNotModified && len(same.Body) == 0, "%s with its ETag: %d with a body of %d bytes, want 304", same.request, same.Status, len(same.Body))
		other := k.do(http.MethodGet, p.url(), "", "If-None-Match", `"nope"`)
		k.require(other.Status == http.StatusOK, "%s with another ETag: %d, want 200", other.request, other.Status)
	})
}
