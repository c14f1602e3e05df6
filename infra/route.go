package infra

import (
	"growthworkspace/functions/openapi"
	"growthworkspace/shared/api"
)

// Route is a path of the gateway. Its function gets requests with any method, and returns 404 or
// 405 itself.
type Route struct {
	ID   string // unique within the function
	Path string
}

const (
	companies = "/v1/companies"
	company   = companies + "/{companyId}"
)

// areaRoutes returns the paths of an area. The company area's function also responds to unknown
// paths.
func areaRoutes(area string) []Route {
	if area == api.CompanyArea {
		return []Route{
			{"Companies", companies}, {"Company", company},
			// The gateway matches the longest literal prefix, so unknown paths below a company
			// never reach /{proxy+}.
			{"Below", company + "/{proxy+}"}, {"Rest", "/{proxy+}"},
		}
	}
	return []Route{{"Area", company + "/" + area}, {"Below", company + "/" + area + "/{proxy+}"}}
}

func openapiRoutes() (out []Route) {
	names := map[string]string{openapi.Path: "Document", openapi.ReferencePath: "Root", openapi.ScriptPath: "Script"}
	for _, path := range openapi.Paths() {
		out = append(out, Route{names[path], path})
	}
	return out
}
