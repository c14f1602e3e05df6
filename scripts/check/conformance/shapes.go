package conformance

import (
	"net/http"
	"net/url"
	"reflect"
	"strings"

	"growthworkspace/shared/fault"
	"growthworkspace/shared/schema/jsonschema"
)

// checkDocument requires that the document needs no key, and that its server is the base URL. Like
// a client, it resolves the server's URL relative to the URL of the document.
func checkDocument(k *runner) {
	if _, ok := k.requireObject(k.page); !ok {
		return
	}
	k.require(strings.HasPrefix(k.document.OpenAPI, "3."), "%s: openapi is %q, want a version 3", k.page.request, k.document.OpenAPI)
	for _, server := range k.document.Servers {
		serverURL, err := url.Parse(k.BaseURL + "/openapi.json")
		if err == nil {
			serverURL, err = serverURL.Parse(server.URL)
		}
		k.require(err == nil && strings.TrimSuffix(serverURL.String(), "/") == k.BaseURL, "%s: the server %q is %v, want %s", k.page.request, server.URL, serverURL, k.BaseURL)
	}
	for _, op := range k.document.operations {
		k.require(op.Scope == "" || op.Scope.IsKnown(), "%s: %s has the unknown scope %s", k.page.request, op.ID, op.Scope)
	}
}

// checkClosedShapes requires that the schemas of bodies and responses are closed, that those of
// responses require every property, and that the responses match them.
func checkClosedShapes(k *runner) {
	for _, op := range k.document.operations {
		k.requireClosed(op.ID, op.result, true)
		k.requireClosed(op.ID, op.body, false)
		if op.isRead() && op.result.Properties["items"] != nil {
			k.require(op.isList(), "%s: the list has other properties than items: %s", op.ID, strings.Join(sortedKeys(op.result.Properties), ", "))
		}
	}
	k.eachRead(func(p read) { k.requireValid(p.operation, p.response) })
}

// requireClosed fails the rule if the schema of an object allows other properties, or if all is set
// and it does not require all its properties.
func (run *runner) requireClosed(operation string, s *jsonschema.Schema, all bool) {
	s = run.document.deref(s)
	if s == nil {
		return
	}
	if len(s.Properties) > 0 {
		closed := s.AdditionalProperties != nil && reflect.DeepEqual(s.AdditionalProperties, &jsonschema.Schema{Not: &jsonschema.Schema{}})
		run.require(closed, "%s: a schema allows unknown properties beside %s", operation, strings.Join(sortedKeys(s.Properties), ", "))
		run.require(!all || len(s.Required) == len(s.Properties), "%s: a response may lack one of %s", operation, strings.Join(sortedKeys(s.Properties), ", "))
	}
	for _, name := range sortedKeys(s.Properties) {
		run.requireClosed(operation, s.Properties[name], all)
	}
	run.requireClosed(operation, s.Items, all)
}

// requireValid fails the rule unless the response is a 200 that matches the schema of the operation.
func (run *runner) requireValid(op operation, got response) (body map[string]any, ok bool) {
	if body, ok = run.requireObject(got); !ok {
		return nil, false
	}
	if err := run.document.validate(map[string]any{op.ID: body}); err != nil {
		run.fail("%s: %v", got.request, err)
	}
	return body, true
}

// checkClosedBodies sends a body with an unknown property, and one without each required property,
// to the operations that create records.
func checkClosedBodies(k *runner) {
	k.eachCreated(func(c createdRecord) {
		path, _ := k.fillPath(c.create.path)
		body := ownExample(c.create)
		body["nope"] = 1
		k.requireRefusedCreate(c.create, k.do(http.MethodPost, path, encode(body)), fault.BadRequest, "nope")
		for _, name := range c.create.body.Required {
			body := ownExample(c.create)
			delete(body, name)
			k.requireRefusedCreate(c.create, k.do(http.MethodPost, path, encode(body)), fault.BadRequest, name)
		}
	})
}

// sameValues reports whether two records agree in the properties that both have. A response to a
// write, and an entry of a list, lack a large property such as an audit's findings.
func sameValues(a, b map[string]any) bool {
	for name := range a {
		if value, has := b[name]; has && !reflect.DeepEqual(a[name], value) {
			return false
		}
	}
	return len(a) > 0 && len(b) > 0
}
