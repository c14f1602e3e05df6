package openapi

import (
	_ "embed"
	"io/fs"
	"net/http"
	"path"
	"regexp"
	"strings"

	"growthworkspace/scripts/docs"
	"growthworkspace/shared/gateway"
)

// GuidePath is the path of the guide for agents. The guide says what the service is, how to connect
// to it, and where the documentation pages are.
const GuidePath = "/llms.txt"

// PagesPath is the path under which the documentation pages are served, in Markdown.
const PagesPath = "/docs/"

const markdownType = "text/markdown; charset=utf-8"

// guideText is the guide, which scripts/gen generates. newGuide replaces {base} with the base URL.
//
//go:embed llms.txt
var guideText string

// newGuide returns the guide, with the addresses for the host of the request.
func newGuide(r *http.Request) staticFile {
	return newStaticFile(func() []byte {
		return []byte(strings.ReplaceAll(guideText, "{base}", gateway.BaseURL(r)))
	}, markdownType, cacheHour)
}

// addPages adds every documentation page to the map `files`.
func addPages(files map[string]func(*http.Request) staticFile) {
	err := fs.WalkDir(docs.Pages, ".", func(name string, entry fs.DirEntry, err error) error {
		if err == nil && !entry.IsDir() {
			page := newStaticFile(func() []byte { return readPage(name) }, markdownType, cacheHour)
			files[PagesPath+name] = func(*http.Request) staticFile { return page }
		}
		return err
	})
	if err != nil {
		panic(err) // cannot fail: the pages are embedded
	}
}

// readPage returns a page as it is served.
func readPage(name string) []byte {
	text, err := docs.Pages.ReadFile(name)
	if err != nil {
		panic(err) // cannot fail: the page is embedded
	}
	return withoutRepositoryLinks(name, text)
}

// linkPattern matches a Markdown link or image with a relative target. Its groups are the link's
// text and target.
var linkPattern = regexp.MustCompile(`!?\[([^\]]*)\]\(([^):#\s][^):\s]*)\)`)

// withoutRepositoryLinks replaces each link to a file that is only in the repository with the
// link's text and the file's path, because the service does not serve such a file.
func withoutRepositoryLinks(name string, text []byte) []byte {
	return linkPattern.ReplaceAllFunc(text, func(link []byte) []byte {
		parts := linkPattern.FindSubmatch(link)
		file, _, _ := strings.Cut(string(parts[2]), "#")
		target := path.Join(path.Dir(name), file)
		if _, err := fs.Stat(docs.Pages, target); err == nil && strings.HasSuffix(target, ".md") {
			return link
		}
		return []byte(string(parts[1]) + " (`" + path.Join("scripts/docs", target) + "` in the repository)")
	})
}
