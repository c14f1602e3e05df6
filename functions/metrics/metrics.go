// Package metrics is the area of metric definitions and their time-series points.
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
			Description: "needsReview=true lists the keys that a push created and nobody has confirmed yet.",
		}, s.listDefinitions),
		api.Define(api.Spec{
			ID: "update_metric_definition", Method: "PATCH", Path: "/v1/companies/{companyId}/metrics/definitions/{definitionId}",
			Scope: auth.MetricsWrite, Effect: api.Write,
			Summary: "Update or confirm a metric definition",
			Description: "Changes only the properties that are sent; an array replaces the whole stored list. The key and the kind do " +
				"not change. needsReview false confirms a definition that a push created. With an aggregation, weeks and months are " +
				"computed from days.",
		}, s.updateDefinition),
		api.WhyEmpty(api.Define(api.Spec{
			ID: "list_metric_points", Method: "GET", Path: "/v1/companies/{companyId}/metrics/points", Scope: auth.MetricsRead,
			Summary: "List the points of one metric, oldest first",
			Description: "Returns the newest `limit` points of the window, oldest first; the next page has the points before them. " +
				"A week or month that is not stored is computed from the days of its series, as the definition's aggregation says; " +
				"none or null computes nothing. Either name of a metric works: growth.signups or custom.growth.signups.",
		}, s.listPoints), s.whyNoPoints),
		api.Define(api.Spec{
			ID: "push_metric_points", Method: "POST", Path: "/v1/companies/{companyId}/metrics/points", Scope: auth.MetricsWrite,
			Effect: api.Write, Class: auth.ClassPush,
			Summary: "Push metric points",
			Description: "A point replaces the stored point with the same metricKey, grain, bucket and dims, so a push can be repeated. " +
				"Points of an undefined key are stored under custom.<key>, with a new definition that needs review; createdKeys lists " +
				"these keys. Later pushes and reads may use either name. A push to a derived metric is rejected. Nothing is stored unless every point is valid.",
		}, s.pushPoints),
	}
}

type service struct{ store Store }
