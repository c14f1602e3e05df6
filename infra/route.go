package infra

import (
	"growthworkspace/functions/openapi"
	"growthworkspace/shared/api"
)

// Route is a path in the gateway. Its function gets requests with any method, and itself responds
// with 404 or 405.
type Route struct {
	ID   string // unique within the function
	Path string
}

const (
	companiesPath = "/v1/companies"
	companyPath   = companiesPath + "/{companyId}"
)

// areaRoutes returns the routes to an area's function. The company area's function also responds to
// unknown paths.
func areaRoutes(area string) []Route {
	if area == api.CompanyArea {
		return []Route{
			{"Companies", companiesPath}, {"Company", companyPath},
			// The gateway matches the longest literal prefix, so unknown paths below a company
			// never reach /{proxy+}.
			{"Below", companyPath + "/{proxy+}"}, {"Rest", "/{proxy+}"},
		}
	}
	routes := []Route{{"Area", companyPath + "/" + area}, {"Below", companyPath + "/" + area + "/{proxy+}"}}
	if area == api.OverviewArea {
		routes = append(routes, Route{"Week", companyPath + "/week"})
	}
	return routes
}

func openapiRoutes() (out []Route) {
	names := map[string]string{
		openapi.DocumentPath: "Document", openapi.ReferencePath: "Root", openapi.ScriptPath: "Script", openapi.GuidePath: "Guide",
		openapi.PagesPath + "{proxy+}": "Pages",
	}
	for _, path := range openapi.Paths() {
		out = append(out, Route{names[path], path})
	}
	return out
}
