package openapi_test

import (
	"io/fs"
	"os"
	"path"
	"regexp"
	"strings"
	"testing"

	"github.com/aws/aws-lambda-go/events"

	"growthworkspace/functions/openapi"
	"growthworkspace/shared/fault"
	"growthworkspace/shared/gateway"
)

// pagesOnDisk returns the paths of all pages in scripts/docs, relative to that folder.
func pagesOnDisk(t *testing.T) (out []string) {
	t.Helper()
	err := fs.WalkDir(os.DirFS("../../scripts/docs"), ".", func(name string, _ fs.DirEntry, err error) error {
		if path.Ext(name) == ".md" {
			out = append(out, name)
		}
		return err
	})
	if err != nil || len(out) < 30 {
		t.Fatalf("%d pages on disk: %v", len(out), err)
	}
	return out
}

var (
	relativeLink = regexp.MustCompile(`\]\(([^):#\s][^):\s]*)\)`)
	absoluteLink = regexp.MustCompile(`https?://[^\s),]+`)
)

// Ensure every documentation page is served as Markdown, without a key and with an ETag.
// Each relative link in a page must lead to a page that is served.
func TestServesThePages(t *testing.T) {
	t.Parallel()
	for _, name := range pagesOnDisk(t) {
		pagePath := openapi.PagesPath + name
		r := send(t, "GET", pagePath)
		text := readBody(t, r)
		if title := regexp.MustCompile(`(?m)^# .+$`).FindString(text); r.StatusCode != 200 || title == "" {
			t.Errorf("%s: status %d, title %q, want 200 and a title", pagePath, r.StatusCode, title)
		}
		for header, value := range map[string]string{
			"Content-Type": "text/markdown; charset=utf-8", "Cache-Control": "public, max-age=3600", "Service-Version": fault.Version, "X-Content-Type-Options": "nosniff",
		} {
			if got := r.Header.Get(header); got != value {
				t.Errorf("%s: %s is %q, want %q", pagePath, header, got, value)
			}
		}
		tag := r.Header.Get("ETag")
		if again := send(t, "GET", pagePath, "If-None-Match", tag); tag == "" || again.StatusCode != 304 || readBody(t, again) != "" {
			t.Errorf("%s with its ETag %q: %d, want 304", pagePath, tag, again.StatusCode)
		}
		for _, link := range relativeLink.FindAllStringSubmatch(text, -1) {
			file, _, _ := strings.Cut(link[1], "#")
			if target := path.Join(path.Dir(pagePath), file); send(t, "GET", target).StatusCode != 200 {
				t.Errorf("%s links to %s, which is not served", pagePath, target)
			}
		}
	}
	for _, none := range []string{"/docs", "/docs/", "/docs/none.md", "/docs/docs.go", "/docs/reference", "/docs/../openapi.json", "/docs/reference/../tutorial.md", "/llms.txt/"} {
		if r := send(t, "GET", none); r.StatusCode != 404 || !strings.Contains(readBody(t, r), `"not_found"`) {
			t.Errorf("%s: status %d, want 404 and the envelope", none, r.StatusCode)
		}
	}
	for _, pagePath := range []string{"/llms.txt", "/docs/README.md"} {
		if r := send(t, "POST", pagePath); r.StatusCode != 405 || r.Header.Get("Allow") != "GET, HEAD" {
			t.Errorf("POST %s: status %d, Allow %q", pagePath, r.StatusCode, r.Header.Get("Allow"))
		}
		if r := send(t, "GET", pagePath, "Service-Version", "2020-01-01"); r.StatusCode != 400 {
			t.Errorf("%s with an unknown version: status %d, want 400", pagePath, r.StatusCode)
		}
	}
}

// Ensure links to files that are only in the repository are replaced with plain text.
func TestPagesWithoutRepositoryLinks(t *testing.T) {
	t.Parallel()
	for page, want := range map[string]string{
		"/docs/README.md":                "the runbook (`infra/RUNBOOK.md` in the repository)",
		"/docs/how-to/use-the-studio.md": "(`scripts/docs/images/studio-metrics.png` in the repository)",
	} {
		if text := readBody(t, send(t, "GET", page)); !strings.Contains(text, want) || strings.Contains(text, "RUNBOOK.md)") {
			t.Errorf("%s: want %s, and no link to it", page, want)
		}
	}
}

// Ensure the guide links to every page and contains the addresses of the service that serves it,
// also below a stage path of API Gateway.
func TestServesTheGuide(t *testing.T) {
	t.Parallel()
	r := send(t, "GET", "/llms.txt")
	text := readBody(t, r)
	if !strings.HasPrefix(text, "# Company Growth Workspace API\n\n> ") || r.Header.Get("Content-Type") != "text/markdown; charset=utf-8" || strings.Contains(text, "{") {
		t.Errorf("status %d, type %s, want Markdown with a title and a summary: %.200s", r.StatusCode, r.Header.Get("Content-Type"), text)
	}
	const base = "http://example.com"
	for _, address := range absoluteLink.FindAllString(text, -1) {
		path, isOwn := strings.CutPrefix(address, base)
		if !isOwn {
			t.Errorf("the guide names %s, which is not below %s", address, base)
		}
		if path == "" || strings.HasPrefix(path, "/mcp") {
			continue
		}
		if got := send(t, "GET", path).StatusCode; got != 200 {
			t.Errorf("the guide names %s: status %d", address, got)
		}
	}
	for _, want := range []string{base + "/mcp ", base + "/mcp?areas=", base + "/openapi.json", "Authorization: Bearer", "needs_review", "`workspace mcp`"} {
		if !strings.Contains(text, want) {
			t.Errorf("the guide does not contain %q", want)
		}
	}
	for _, name := range pagesOnDisk(t) {
		if !strings.Contains(text, "]("+base+"/docs/"+name+")") {
			t.Errorf("the guide has no link to %s: add it to scripts/docs/README.md, and run go run ./scripts/gen", name)
		}
	}
	tag := r.Header.Get("ETag")
	if again := send(t, "GET", "/llms.txt", "If-None-Match", tag); tag == "" || again.StatusCode != 304 {
		t.Errorf("with its ETag %q: status %d, want 304", tag, again.StatusCode)
	}
	if head := send(t, "HEAD", "/llms.txt"); head.StatusCode != 200 || readBody(t, head) != "" || head.Header.Get("ETag") != tag {
		t.Errorf("HEAD: status %d, ETag %q, want 200 and %q without a body", head.StatusCode, head.Header.Get("ETag"), tag)
	}
	staged, err := gateway.Proxy(openapi.Handler(func(string) string { return "req_1" }))(t.Context(), events.APIGatewayProxyRequest{
		HTTPMethod: "GET", Path: "/llms.txt", Headers: map[string]string{"Host": "api.example.com", "X-Forwarded-Proto": "https"},
		RequestContext: events.APIGatewayProxyRequestContext{Stage: "prod", Path: "/prod/llms.txt"},
	})
	if err != nil || !strings.Contains(staged.Body, "(https://api.example.com/prod/docs/tutorial.md)") {
		t.Errorf("below a stage: %v, %.300s", err, staged.Body)
	}
}
