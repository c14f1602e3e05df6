package openapi_test

import (
	"encoding/json"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"strings"
	"testing"

	"growthworkspace/functions/openapi"
	"growthworkspace/shared/fault"
	"growthworkspace/shared/gateway"
)

func send(t *testing.T, method, target string, header ...string) *http.Response {
	t.Helper()
	newID := func(prefix string) string { return prefix + "_1" }
	h := gateway.Local(openapi.Handler(newID), newID)
	r := httptest.NewRequestWithContext(t.Context(), method, target, nil)
	for i := 0; i+1 < len(header); i += 2 {
		r.Header.Add(header[i], header[i+1])
	}
	w := httptest.NewRecorder()
	h.ServeHTTP(w, r)
	return w.Result()
}

func readBody(t *testing.T, r *http.Response) string {
	t.Helper()
	var out strings.Builder
	if _, err := io.Copy(&out, r.Body); err != nil {
		t.Fatal(err)
	}
	return out.String()
}

// Ensure the committed document is served to requests without a key and can be cached for an hour.
func TestServesTheDocument(t *testing.T) {
	t.Parallel()
	want, err := os.ReadFile("openapi.json")
	if err != nil {
		t.Fatal(err)
	}
	r := send(t, "GET", "/openapi.json")
	if r.StatusCode != 200 || readBody(t, r) != string(want) {
		t.Errorf("status %d, or the body differs from openapi.json", r.StatusCode)
	}
	for name, value := range map[string]string{
		"Content-Type": "application/json", "Cache-Control": "public, max-age=3600", "Service-Version": fault.Version, "Service-Request-Id": "I7MlhRE35squQwY=",
	} {
		if got := r.Header.Get(name); got != value {
			t.Errorf("%s is %q, want %q", name, got, value)
		}
	}
	head := send(t, "HEAD", "/openapi.json")
	if head.StatusCode != 200 || readBody(t, head) != "" || head.Header.Get("ETag") != r.Header.Get("ETag") {
		t.Errorf("HEAD: %d %v", head.StatusCode, head.Header)
	}
}

// Ensure a client that already has the current document gets a 304.
func TestNotModified(t *testing.T) {
	t.Parallel()
	tag := send(t, "GET", "/openapi.json").Header.Get("ETag")
	if len(tag) < 10 || tag[0] != '"' {
		t.Fatalf("ETag %q", tag)
	}
	for value, want := range map[string]int{
		tag: 304, "W/" + tag: 304, "*": 304, `"a", ` + tag: 304, `"a"`: 200, strings.Trim(tag, `"`): 200, "": 200,
	} {
		r := send(t, "GET", "/openapi.json", "If-None-Match", value)
		if got := r.Header.Get("ETag"); r.StatusCode != want || got != tag {
			t.Errorf("If-None-Match %s: status %d and ETag %s, want %d and %s", value, r.StatusCode, got, want, tag)
		}
		for _, name := range []string{"Service-Version", "Cache-Control"} {
			if r.Header.Get(name) == "" {
				t.Errorf("If-None-Match %s: no %s", value, name)
			}
		}
		if want == 304 && readBody(t, r) != "" {
			t.Errorf("If-None-Match %s: the 304 has a body", value)
		}
	}
	if r := send(t, "GET", "/openapi.json", "If-None-Match", `"a"`, "If-None-Match", tag); r.StatusCode != 304 {
		t.Errorf("two headers: %d", r.StatusCode)
	}
}

// Ensure other paths and methods get an error envelope.
func TestRejects(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		method, path, code string
		status             int
	}{
		{"POST", "/openapi.json", "method_not_allowed", 405},
		{"OPTIONS", "/openapi.json", "method_not_allowed", 405},
		{"DELETE", "/openapi.json", "method_not_allowed", 405},
		{"GET", "/openapi.json/", "not_found", 404},
		{"GET", "/%6fpenapi.json", "not_found", 404},
		{"POST", "/", "method_not_allowed", 405},
		{"PUT", openapi.ScriptPath, "method_not_allowed", 405},
		{"OPTIONS", "/", "method_not_allowed", 405},
		{"GET", "/page.html", "not_found", 404},
		{"GET", "//", "not_found", 404},
	} {
		r := send(t, c.method, c.path)
		var envelope struct {
			Errors []struct{ Code, Message string }
		}
		if err := json.Unmarshal([]byte(readBody(t, r)), &envelope); err != nil {
			t.Errorf("%s %s: the body is no JSON: %v", c.method, c.path, err)
			continue
		}
		if r.StatusCode != c.status {
			t.Errorf("%s %s: status %d, want %d", c.method, c.path, r.StatusCode, c.status)
		}
		if len(envelope.Errors) != 1 || envelope.Errors[0].Code != c.code || envelope.Errors[0].Message == "" {
			t.Errorf("%s %s: errors %+v, want one with the code %s and a message", c.method, c.path, envelope.Errors, c.code)
		}
		if (r.Header.Get("Allow") == "GET, HEAD") != (c.status == 405) || r.Header.Get("Cache-Control") != "no-store" || r.Header.Get("Service-Version") == "" {
			t.Errorf("%s %s: want Allow with a 405 only, Cache-Control no-store and a Service-Version; got %v", c.method, c.path, r.Header)
		}
	}
}

// Ensure the function links neither the AWS SDK nor the packages that need it, so that it starts
// fast.
func TestFunctionLinksNoTable(t *testing.T) {
	t.Parallel()
	out, err := exec.CommandContext(t.Context(), "go", "list", "-deps", "./lambda").Output()
	if err != nil {
		t.Fatal(err)
	}
	for dependency := range strings.Lines(strings.ReplaceAll(string(out), "growthworkspace/scripts/docs\n", "")) { // scripts/docs only embeds the documentation pages, and imports nothing
		for _, banned := range []string{"github.com/aws/aws-sdk-go-v2", "github.com/aws/smithy-go", "growthworkspace/shared/table", "github.com/google/jsonschema-go", "github.com/modelcontextprotocol", "growthworkspace/scripts"} {
			if strings.HasPrefix(dependency, banned) {
				t.Errorf("links %s", dependency)
			}
		}
	}
}
