package infra

import (
	"bytes"
	"crypto/tls"
	"encoding/json"
	"fmt"
	"net/http"
	"net/url"
	"strings"

	"growthworkspace/functions"
	"growthworkspace/shared/api"
	"growthworkspace/shared/gateway"
	"growthworkspace/shared/schema"
)

// Placeholder returns a placeholder for a value that the user of a sample event has to fill in,
// such as the key or the id of a record. Until then, the response is 401.
func Placeholder(name string) string { return "<" + name + ">" }

// KeyPlaceholder is the placeholder for a secret key.
var KeyPlaceholder = Placeholder("key")

// eventHost is an example of a domain that API Gateway assigns to an API.
const eventHost = "example.execute-api.eu-central-1.amazonaws.com"

// Events returns a sample event for each operation, by id, as API Gateway would send it to the
// function. The bodies are the examples in document, which is the OpenAPI document.
func (m Model) Events(document []byte) (map[string][]byte, error) {
	var spec struct {
		Paths map[string]map[string]struct {
			RequestBody struct {
				Content map[string]struct {
					Example json.RawMessage `json:"example"`
				} `json:"content"`
			} `json:"requestBody"`
		} `json:"paths"`
	}
	if err := json.Unmarshal(document, &spec); err != nil {
		return nil, fmt.Errorf("read the OpenAPI document: %w", err)
	}
	out := map[string][]byte{}
	for _, area := range functions.All() {
		for _, op := range area.Operations(nil) {
			example := spec.Paths[op.Path][strings.ToLower(op.Method)].RequestBody.Content["application/json"].Example
			event, err := sampleEvent(op, m.routeOf(area.Name, op.Path), example)
			if err != nil {
				return nil, fmt.Errorf("event of %s: %w", op.ID, err)
			}
			out[op.ID] = event
		}
	}
	return out, nil
}

// routeOf returns the longest of the routes to an area's function that match the path.
func (m Model) routeOf(area, path string) (best Route) {
	for _, f := range m.Functions {
		for _, r := range f.Routes {
			prefix, greedy := strings.CutSuffix(r.Path, "{proxy+}")
			if f.Name == area && (r.Path == path || greedy && strings.HasPrefix(path, prefix)) && len(r.Path) > len(best.Path) {
				best = r
			}
		}
	}
	return best
}

// sampleEvent returns the event for a request with the fields that the operation requires.
func sampleEvent(op api.Operation, route Route, example []byte) ([]byte, error) {
	var body bytes.Buffer
	if len(example) > 0 {
		if err := json.Compact(&body, example); err != nil {
			return nil, err
		}
	}
	path, query := op.Path, url.Values{}
	for _, segment := range strings.Split(op.Path, "/") {
		if name, ok := strings.CutPrefix(segment, "{"); ok {
			path = strings.Replace(path, segment, Placeholder(strings.TrimSuffix(name, "}")), 1)
		}
	}
	for _, f := range op.Input {
		if f.In == schema.InQuery && f.Required {
			query.Set(f.Name, Placeholder(f.Name))
		}
	}
	r, err := http.NewRequest(op.Method, "https://"+eventHost, &body)
	if err != nil {
		return nil, err
	}
	r.TLS = &tls.ConnectionState{} // clients reach the gateway only over TLS
	r.URL.Path, r.URL.RawQuery = "/", query.Encode()
	r.Header.Set("Accept", "application/json")
	r.Header.Set("Authorization", "Bearer "+KeyPlaceholder)
	if body.Len() > 0 {
		r.Header.Set("Content-Type", "application/json")
	}
	event, err := gateway.NewEvent(r, gateway.RequestIDs{Extended: "SampleRequestId=", Gateway: "00000000-0000-4000-8000-000000000000"})
	if err != nil {
		return nil, err
	}
	event.Resource, event.Path, event.PathParameters = route.Path, path, pathParameters(route.Path, path)
	event.RequestContext.APIID = "sample"
	event.RequestContext.ResourcePath, event.RequestContext.Stage, event.RequestContext.Path = route.Path, StageName, "/"+StageName+path
	return encodeEvent(event)
}

// pathParameters returns the values of a route's {names} in a path.
func pathParameters(route, path string) map[string]string {
	out := map[string]string{}
	segments := strings.Split(path, "/")
	for i, s := range strings.Split(route, "/") {
		switch name := strings.Trim(s, "{}"); {
		case name == "proxy+":
			out["proxy"] = strings.Join(segments[i:], "/")
		case name != s:
			out[name] = segments[i]
		}
	}
	return out
}

// encodeEvent encodes an event without its empty fields. The gateway sends those, but the functions
// don't read them.
func encodeEvent(event any) ([]byte, error) {
	text, err := json.Marshal(event)
	if err != nil {
		return nil, err
	}
	var all map[string]any
	if err := json.Unmarshal(text, &all); err != nil {
		return nil, err
	}
	var out bytes.Buffer
	e := json.NewEncoder(&out)
	e.SetEscapeHTML(false)
	e.SetIndent("", "  ")
	err = e.Encode(withoutEmpty(all))
	return out.Bytes(), err
}

func withoutEmpty(value map[string]any) map[string]any {
	for name, v := range value {
		if inner, ok := v.(map[string]any); ok {
			v = withoutEmpty(inner)
			if len(inner) == 0 {
				v = nil
			}
		}
		if v == nil || v == "" || v == false || v == float64(0) {
			delete(value, name)
		}
	}
	return value
}
