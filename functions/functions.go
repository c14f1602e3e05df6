// Package functions assembles the service from its areas, in the order of the specification. No
// other package imports every area, except functions/sources, which the overview reads from.
package functions

import (
	"log/slog"
	"net/http"

	"growthworkspace/functions/broadcast"
	"growthworkspace/functions/changes"
	"growthworkspace/functions/company"
	brand "growthworkspace/functions/context"
	"growthworkspace/functions/feedback"
	"growthworkspace/functions/metrics"
	"growthworkspace/functions/openapi"
	"growthworkspace/functions/optimise"
	"growthworkspace/functions/plan"
	"growthworkspace/functions/prompts"
	"growthworkspace/functions/sources"
	"growthworkspace/shared/api"
	"growthworkspace/shared/change"
	"growthworkspace/shared/gateway"
	"growthworkspace/shared/mcpserver"
	"growthworkspace/shared/migration"
	"growthworkspace/shared/table"
	"growthworkspace/shared/transfer"
)

// Area is one area of the service, which has one folder here, one Lambda function and one path
// segment.
type Area struct {
	Name       string // the path segment after the company's id; the area "company" serves the paths that have no such segment, and the area "overview" a second one
	Operations api.Operations
	Transfers  func(t *table.Client) []transfer.Type
	Changes    []change.Source       // recognise the writes that change the area's records
	Migrations []migration.Migration // none before the first release
}

// All returns the areas.
func All() []Area {
	return []Area{
		{api.CompanyArea, company.Operations, company.Transfers, company.Changes(), nil},
		{"plan", plan.Operations, plan.Transfers, plan.Changes(), nil},
		{"feedback", feedback.Operations, feedback.Transfers, feedback.Changes(), nil},
		{"metrics", metrics.Operations, metrics.Transfers, metrics.Changes(), nil},
		{"optimise", optimise.Operations, optimise.Transfers, optimise.Changes(), nil},
		{"broadcast", broadcast.Operations, broadcast.Transfers, broadcast.Changes(), nil},
		{"context", brand.Operations, brand.Transfers, brand.Changes(), nil},
		{change.Area, changes.Operations, changes.Transfers, nil, nil},
		{api.OverviewArea, sources.Overview, noTransfers, nil, nil},
	}
}

func noTransfers(*table.Client) []transfer.Type { return nil }

// Operations returns the operations of all areas.
func Operations(t *table.Client) []api.Operation {
	var out []api.Operation
	for _, a := range All() {
		out = append(out, a.Operations(t)...)
	}
	return out
}

// Transfers returns the record types of all areas. Each type comes after the types that its records
// refer to. If t is nil, the types can check records but not write them, and do not compare times
// with a clock.
func Transfers(t *table.Client) []transfer.Type {
	var out []transfer.Type
	for _, a := range All() {
		for _, kind := range a.Transfers(t) {
			if t != nil {
				kind.Now = t.Clock()
			}
			out = append(out, kind)
		}
	}
	return out
}

// ChangeSources returns the sources of all areas. The first one that recognises a write determines
// the change.
func ChangeSources() []change.Source {
	var out []change.Source
	for _, a := range All() {
		out = append(out, a.Changes...)
	}
	return out
}

// Migrations returns the migrations of all areas, in the order in which they run.
func Migrations() []migration.Migration {
	var out []migration.Migration
	for _, a := range All() {
		out = append(out, a.Migrations...)
	}
	return out
}

// UploadCheck returns a function that authorises a request with a body of more than 256 KB before
// the body is read. The returned function returns the reason the body must not be read, or nil if
// it may be read. The server in front of Handler calls it; see api.API.CheckUpload.
func UploadCheck(t *table.Client, log *slog.Logger) func(*http.Request) error {
	return api.New(Operations(t), api.NewConfig(t, log)).CheckUpload
}

// Handler serves the whole service on one port, with the same routes as API Gateway in an AWS
// account. Each area has its own handler, chosen by the path segment, and requests pass through the
// same event conversion as in Lambda. A path that belongs to no area goes to the company area,
// which responds with not_found.
func Handler(t *table.Client, c api.Config) http.Handler {
	tools := gateway.Local(mcpserver.New(Operations(t), c, prompts.All()...), t.NewID)
	c.BaseURL = gateway.BaseURL
	byName := map[string]http.Handler{}
	for _, a := range All() {
		byName[a.Name] = gateway.Local(api.New(a.Operations(t), c), t.NewID)
	}
	description := gateway.Local(openapi.Handler(t.NewID), t.NewID)
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		switch path := r.URL.EscapedPath(); {
		case openapi.Serves(path):
			description.ServeHTTP(w, r)
			return
		case path == mcpserver.Path:
			tools.ServeHTTP(w, r)
			return
		}
		handler := byName[api.AreaOfPath(r.URL.EscapedPath())]
		if handler == nil {
			handler = byName[api.CompanyArea]
		}
		handler.ServeHTTP(w, r)
	})
}
