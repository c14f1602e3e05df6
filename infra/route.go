package infra

import (
	"strings"

	"growthworkspace/functions/openapi"
	"growthworkspace/shared/mcpserver"
)

// Route is a path of the gateway that a function answers, whatever the verb: 404 and 405 are the function's to say.
type Route struct {
	ID   string // within the function
	Path string
}

const (
	companies = "/v1/companies"
	company   = companies + "/{companyId}"
	// The function that answers what is nobody's, in the envelope.
	catchAll = "company"
)

// areaRoutes are the paths of an area.
func areaRoutes(area string) []Route {
	if area == catchAll {
		return []Route{
			{"Companies", companies}, {"Company", company},
			// Below a company the gateway looks no further than there for a path that no area has.
			{"Below", company + "/{proxy+}"}, {"Rest", "/{proxy+}"},
		}
	}
	return []Route{{"Area", company + "/" + area}, {"Below", company + "/" + area + "/{proxy+}"}}
}

func mcpRoutes() []Route { return []Route{{"Tools", mcpserver.Path}} }

func openapiRoutes() (out []Route) {
	names := map[string]string{openapi.Path: "Document", openapi.PagePath: "Root"}
	for _, path := range openapi.Paths() {
		name, named := names[path]
		if !named { // /page.css is PageCss
			for part := range strings.FieldsFuncSeq(path, func(c rune) bool { return c == '/' || c == '.' }) {
				name += strings.ToUpper(part[:1]) + part[1:]
			}
		}
		out = append(out, Route{name, path})
	}
	return out
}
