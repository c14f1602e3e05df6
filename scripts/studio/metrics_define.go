package studio

import (
	"context"
	"net/url"
	"strings"

	"growthworkspace/scripts/studio/formula"
	"growthworkspace/shared/client"
)

// metricPath returns the address of a metric's page.
func metricPath(key string) string { return "/metrics?" + url.Values{"key": {key}}.Encode() }

// definitionScreens returns the screens that create, edit and delete metric definitions.
func (v *pageRequest) definitionScreens() recordScreens[client.Definition] {
	return recordScreens[client.Definition]{
		place: "Metrics", noun: "metric", area: "metrics", path: "/metrics/definitions", back: "/metrics",
		home:     func(d client.Definition) string { return metricPath(d.Key) },
		id:       func(d client.Definition) string { return d.ID },
		deletion: "Only a metric without points can be deleted. It cannot be undone.",
		get: func(ctx context.Context, id string, options ...client.CallOption) (client.Definition, error) {
			return v.api.GetMetricDefinition(ctx, client.GetMetricDefinitionInput{DefinitionID: id}, options...)
		},
		remove: func(ctx context.Context, id string, options ...client.CallOption) (client.Deleted, error) {
			return v.api.DeleteMetricDefinition(ctx, client.DeleteMetricDefinitionInput{DefinitionID: id}, options...)
		},
		fields: func(d client.Definition) []*field { return definitionFields(d, v.r.URL.Query().Get("key")) },
		facts: func(d client.Definition) []fact {
			return []fact{{"Key", d.Key}, {"Kind", words(string(d.Kind.Or(client.MetricsKindMeasured)))}}
		},
		hidden: func(d client.Definition) (out []fact) {
			if d.NeedsReview.Or(false) {
				out = append(out, fact{"confirm", "true"})
			}
			return out
		},
		verb: func(d client.Definition) string {
			if d.NeedsReview.Or(false) {
				return "Save and confirm"
			}
			return "Save"
		},
		save: v.saveDefinition,
	}
}

// definitionFields returns the form fields for a definition. The key and the kind can be chosen
// only when the definition is created. The argument key is the initial value of the key field for a
// new metric.
func definitionFields(d client.Definition, key string) []*field {
	kind := d.Kind.Or(client.MetricsKindMeasured)
	fields := []*field{
		{Name: "name", Label: "Name", Kind: "text", Hint: "What people call it, such as Sign-ups.", Stored: d.Name.Or("")},
	}
	if d.ID == "" {
		fields = append(fields,
			&field{Name: "key", Label: "Key", Kind: "text", Required: true, Hint: "What programs call it: an area, a dot and a name in small letters, such as growth.signups. It never changes.", Stored: key},
			&field{Name: "kind", Label: "Values", Kind: "choice", Required: true, Stored: string(kind), Hint: "measured: they are pushed or typed. split: like measured, each with its dimensions. derived: a formula computes them. It never changes.",
				Choices: []string{string(client.MetricsKindMeasured), string(client.MetricsKindSplit), string(client.MetricsKindDerived)}})
	}
	fields = append(fields,
		&field{Name: "unit", Label: "Unit", Kind: "choice", Stored: string(d.Unit.Or("")), Hint: "currency minor: cents. duration: milliseconds. ratio: 0.5 is 50 %.",
			Choices: []string{string(client.MetricsUnitCount), string(client.MetricsUnitCurrencyMinor), string(client.MetricsUnitRatio), string(client.MetricsUnitDurationMs), string(client.MetricsUnitScore), string(client.MetricsUnitBytes)}},
		&field{Name: "aggregation", Label: "How days add up", Kind: "choice", Stored: string(d.Aggregation.Or("")), Hint: "How days become a week or a month. A ratio or a rating must not be summed.",
			Choices: []string{string(client.MetricsAggregationSum), string(client.MetricsAggregationAvg), string(client.MetricsAggregationLast), string(client.MetricsAggregationMin), string(client.MetricsAggregationMax), string(client.MetricsAggregationNone)}},
		&field{Name: "polarity", Label: "Which direction is good", Kind: "choice", Stored: string(d.Polarity.Or("")),
			Choices: []string{string(client.MetricsPolarityUpIsGood), string(client.MetricsPolarityDownIsGood), string(client.MetricsPolarityNeutral)}})
	if d.ID == "" || kind == client.MetricsKindDerived {
		fields = append(fields, &field{Name: "formula", Label: "Formula", Kind: "text", Stored: d.Formula.Or(""), Hint: "For derived values: + - * / over keys, such as growth.activations / growth.signups."})
	}
	return append(fields,
		&field{Name: "dimensions", Label: "Dimensions", Kind: "list", Stored: strings.Join(d.Dimensions.Or(nil), "\n"), Hint: "What the values can be split by, one on each line, such as country."},
		&field{Name: "description", Label: "Description", Kind: "long", Stored: d.Description.Or(""), Hint: "What it counts."},
		&field{Name: "source", Label: "Source", Kind: "text", Stored: d.Source.Or(""), Hint: "The system that the values come from."})
}

// saveDefinition returns the call that creates a definition or, if id is not empty, the call that
// changes the definition with that id. If the form asks for it, the second call also confirms the
// definition.
func (v *pageRequest) saveDefinition(c *changes, id string) func(context.Context, ...client.CallOption) (client.Definition, error) {
	name, description, source := c.text("name"), c.text("description"), c.text("source")
	unit, aggregation, polarity := enumValue[client.MetricsUnit](c.text("unit")), enumValue[client.MetricsAggregation](c.text("aggregation")), enumValue[client.MetricsPolarity](c.text("polarity"))
	dimensions, expression := c.list("dimensions"), c.text("formula")
	if text, ok := expression.Get(); ok {
		if _, err := formula.Parse(text); err != nil {
			c.refuse("formula", err.Error()+". Use + - * / and keys such as growth.signups.")
		}
	}
	if id != "" {
		in := client.UpdateMetricDefinitionInput{
			DefinitionID: id, Name: name, Description: description, Unit: unit, Aggregation: aggregation, Polarity: polarity, Formula: expression,
			Dimensions: dimensions, Source: source,
		}
		if c.sent.Get("confirm") == "true" {
			in.NeedsReview, c.any = client.Value(false), true
		}
		return func(ctx context.Context, options ...client.CallOption) (client.Definition, error) {
			return v.api.UpdateMetricDefinition(ctx, in, options...)
		}
	}
	in := client.CreateMetricDefinitionInput{
		Key: typedField(c.sent, "key"), Name: name, Description: description, Unit: unit, Aggregation: aggregation, Polarity: polarity,
		Kind: optional(client.MetricsKind(typedField(c.sent, "kind"))), Formula: expression, Dimensions: dimensions, Source: source,
	}
	return func(ctx context.Context, options ...client.CallOption) (client.Definition, error) {
		return v.api.CreateMetricDefinition(ctx, in, options...)
	}
}

// confirmMetric confirms a definition without changing it. It reads the definition first to get its
// entity tag, because the list that the page shows contains no entity tags.
func (s *Studio) confirmMetric(v *pageRequest) *view {
	e := v.definitionScreens()
	id := v.r.PathValue("id")
	now := startCall(v, "metrics:write", "The metric", func(ctx context.Context, options ...client.CallOption) (client.Definition, error) {
		return e.get(ctx, id, options...)
	})
	v.wait()
	what := notice{Record: now.Value.Name.Or(now.Value.Key), Text: "Confirmed."}
	switch {
	case now.Failure != nil:
		return v.finish("/metrics", notice{Bad: true, Text: "Not confirmed: " + now.Failure.Text()})
	case version(now.Value.UpdatedAt) != v.r.PostForm.Get("seen"):
		what.Text, what.Bad = "Somebody has changed this metric since the page was loaded, so it was not confirmed. This is how it is now.", true
		return v.finish(metricPath(now.Value.Key), what)
	}
	stored := startCall(v, "metrics:write", "Confirm the metric", func(ctx context.Context, options ...client.CallOption) (client.Definition, error) {
		return v.api.UpdateMetricDefinition(ctx, client.UpdateMetricDefinitionInput{DefinitionID: id, NeedsReview: client.Value(false)}, append(options, client.IfMatch(now.ETag))...)
	})
	v.wait()
	if stored.Failure != nil {
		what.Text, what.Bad = "Not confirmed: "+stored.Failure.Text(), true
	}
	return v.finish(metricPath(now.Value.Key), what)
}
