// Package metrics serves metric definitions and their time-series points.
package metrics

import (
	"growthworkspace/shared/api"
	"growthworkspace/shared/auth"
	"growthworkspace/shared/change"
	"growthworkspace/shared/fault"
	"growthworkspace/shared/table"
)

// Operations returns the operations of the area.
func Operations(t *table.Client) []api.Operation { return operations(NewStore(t)) }

func operations(store Store) []api.Operation {
	s := service{store}
	return []api.Operation{
		api.Define(api.Spec{
			ID: "list_metric_definitions", Noun: definitionNoun,
			Method: "GET", Path: "/v1/companies/{companyId}/metrics/definitions", Scope: auth.MetricsRead,
			Summary:     "List the metric definitions, ordered by key",
			Description: "needsReview=true lists the keys that a push created and nobody has confirmed yet.",
		}, s.listDefinitions),
		api.Define(api.Spec{
			ID: "get_metric_definition", Noun: definitionNoun,
			Method: "GET", Path: "/v1/companies/{companyId}/metrics/definitions/{definitionId}",
			Scope: auth.MetricsRead, Summary: "Get a metric definition", Description: "Its key, unit and aggregation.",
		}, s.getDefinition),
		api.Define(api.Spec{
			ID: "create_metric_definition", Method: "POST", Path: "/v1/companies/{companyId}/metrics/definitions",
			Noun: definitionNoun, Scope: auth.MetricsWrite, Effect: api.Create, Errors: []fault.Code{fault.Conflict},
			Summary:     "Define a metric, before its first point is pushed",
			Description: "growth.signups and custom.growth.signups are two names of one metric: conflict when either is defined.",
		}, s.createDefinition),
		api.Define(api.Spec{
			ID: "update_metric_definition", Method: "PATCH", Path: "/v1/companies/{companyId}/metrics/definitions/{definitionId}",
			Noun: definitionNoun, Scope: auth.MetricsWrite, Effect: api.Write,
			Summary:     "Update or confirm a metric definition",
			Description: "Changes only what is sent. The key and the kind never change. needsReview false confirms a definition that a push created.",
		}, s.updateDefinition),
		api.Define(api.Spec{
			ID: "delete_metric_definition", Method: "DELETE", Path: "/v1/companies/{companyId}/metrics/definitions/{definitionId}",
			Noun: definitionNoun, Scope: auth.MetricsWrite, Effect: api.Destructive, Errors: []fault.Code{fault.Conflict},
			Summary:     "Delete the definition of a metric without points",
			Description: "conflict while it has points: delete them first with service_delete_metric_points, grain by grain.",
		}, s.deleteDefinition),
		api.ExplainEmpty(api.Define(api.Spec{
			ID: "list_metric_points", Noun: pointNoun,
			Method: "GET", Path: "/v1/companies/{companyId}/metrics/points", Scope: auth.MetricsRead,
			Summary: "List the points of one metric, oldest first",
			Description: "Returns the newest `limit` points of the window; pages go back in time. A week or month that is not stored is " +
				"computed from its days, as the definition's aggregation says; none or null computes nothing. total=true returns one series: the " +
				"one without dims, or where it has no point the sum, min or max of all others. It is refused if it would read more than " +
				"10 MB: narrow from and to, or lower limit.",
		}, s.listPoints), s.explainNoPoints),
		api.Define(api.Spec{
			ID: "push_metric_points", Method: "POST", Path: "/v1/companies/{companyId}/metrics/points", Scope: auth.MetricsWrite,
			Effect: api.Write, Class: auth.ClassPush,
			Changes: []change.Type{pointsChange, definitionChange},
			Summary: "Push metric points",
			Description: "A point replaces the stored one with the same metricKey, grain, bucket and dims, so a push can be repeated. A key without " +
				"a definition is stored as custom.<key>, with a new one that needs review (createdKeys). Refuses derived metrics. Nothing is stored " +
				"unless every point is valid.",
		}, s.pushPoints),
		api.Define(api.Spec{
			ID: "delete_metric_points", Method: "DELETE", Path: "/v1/companies/{companyId}/metrics/points", Scope: auth.MetricsWrite,
			Effect:  api.Destructive,
			Changes: []change.Type{pointsChange},
			Summary: "Delete the points of a metric between two days, oldest first",
			Description: "Deletes only stored points of this grain, for good: a week whose days remain is computed again. An unknown key or no " +
				"match deletes nothing. When points remain, repeat the call.",
		}, s.deletePoints),
	}
}

type service struct{ store Store }

// The types of the area's changes.
const (
	definitionChange change.Type = "metric_definition"
	pointsChange     change.Type = "metric_points"
)

// definitionNoun and pointNoun are the nouns of the area. Points have no ids: a change to points
// refers to their definition.
var (
	definitionNoun = api.Noun{
		Name: "metric-definition", Plural: "metric definitions", Prefix: definitionIDPrefix, Key: "key",
		Change: definitionChange, Also: []change.Type{pointsChange},
		Columns: "key name unit aggregation polarity kind needsReview",
	}
	pointNoun = api.Noun{
		Name: "metric-point", Plural: "metric points",
		Columns: "ts:time value dims currency baseValue grain source metricKey",
	}
)
