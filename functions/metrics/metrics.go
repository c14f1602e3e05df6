// Package metrics is the area of the metric definitions and their time-series points (spec.md, Metrics).
package metrics

import (
	"growthworkspace/shared/api"
	"growthworkspace/shared/auth"
	"growthworkspace/shared/table"
)

// Operations returns the operations of the area.
func Operations(t *table.Client) []api.Operation {
	s := service{NewStore(t)}
	return []api.Operation{
		api.Define(api.Spec{
			ID: "list_metric_definitions", Method: "GET", Path: "/v1/companies/{companyId}/metrics/definitions", Scope: auth.MetricsRead,
			Summary:     "List the metric definitions, ordered by key",
			Description: "needsReview=true is the queue of keys that a push created and nobody has confirmed yet.",
		}, s.listDefinitions),
		api.Define(api.Spec{
			ID: "list_metric_points", Method: "GET", Path: "/v1/companies/{companyId}/metrics/points", Scope: auth.MetricsRead,
			Summary: "List the points of one metric, oldest first",
			Description: "Answers the newest `limit` points of the window, oldest first; the next page holds the ones before them. " +
				"A metric without points, or without a definition, has an empty list.",
		}, s.listPoints),
		api.Define(api.Spec{
			ID: "push_metric_points", Method: "POST", Path: "/v1/companies/{companyId}/metrics/points", Scope: auth.MetricsWrite,
			Effect: api.Write, Class: auth.ClassPush,
			Summary: "Push points of metrics",
			Description: "A point with the metricKey, grain, bucket and dims of an earlier one takes its place, so pushing again is safe. " +
				"A key that no definition has is stored as custom.<key>, with a new definition that needs review; createdKeys names those. " +
				"Pushing to a derived metric is refused. All points are checked before one is stored.",
		}, s.pushPoints),
	}
}

type service struct{ store Store }
