package studio

import (
	"cmp"
	"fmt"
	"maps"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"time"

	"growthworkspace/scripts/studio/formula"
	"growthworkspace/scripts/studio/paste"
	"growthworkspace/scripts/studio/period"
	"growthworkspace/scripts/studio/phrase"
	"growthworkspace/scripts/studio/series"
	"growthworkspace/scripts/studio/units"
	"growthworkspace/shared/client"
)

func metricPath(key string) string { return "/metrics?" + url.Values{"key": {key}}.Encode() }

// definitionScreens returns the screens that create, edit and delete metric definitions.
func (pr *pageRequest) definitionScreens() recordScreens[client.Definition] {
	return recordScreens[client.Definition]{
		place: "Metrics", noun: "metric", kind: kindNamed("metric-definition"), path: "/metrics/definitions", back: "/metrics",
		home:     func(d client.Definition) string { return metricPath(d.Key) },
		id:       func(d client.Definition) string { return d.ID },
		deletion: "Only a metric without points can be deleted. It cannot be undone.",
		get: func(id string) call[client.Definition] {
			return bound(pr.api.GetMetricDefinition, client.GetMetricDefinitionInput{DefinitionID: id})
		},
		remove: func(id string) call[client.Deleted] {
			return bound(pr.api.DeleteMetricDefinition, client.DeleteMetricDefinitionInput{DefinitionID: id})
		},
		fields: func(d client.Definition) []*field { return definitionFields(d, pr.r.URL.Query().Get("key"), pr.Now()) },
		facts: func(d client.Definition) []fact {
			return []fact{{"Key", d.Key}, {"Kind", phrase.Words(string(d.Kind.Or(client.MetricsKindMeasured)))}}
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
		afterCreate: pr.pushFirstValues,
		save:        pr.saveDefinition,
	}
}

// definitionFields returns the form fields for a definition. The key and the kind can be chosen
// only when the definition is created. The argument key is the initial value of the key field for a
// new metric.
func definitionFields(d client.Definition, key string, today time.Time) []*field {
	kind, isNew := d.Kind.Or(client.MetricsKindMeasured), d.ID == ""
	fields := []*field{
		{Name: "name", Label: "Name", Kind: "text", Required: isNew, Hint: "What people call it, such as Sign-ups.", Stored: d.Name.Or("")},
		{Name: "unit", Label: "Unit", Kind: "choice", Stored: string(d.Unit.Or("")), Hint: "What one value is. Programs push money in cents, a share as 0.5 for 50 %, a duration in milliseconds.",
			Labels:  map[string]string{string(client.MetricsUnitCount): "a number of things", string(client.MetricsUnitCurrencyMinor): "money", string(client.MetricsUnitRatio): "a share, in percent", string(client.MetricsUnitDurationMs): "a duration"},
			Choices: []string{string(client.MetricsUnitCount), string(client.MetricsUnitCurrencyMinor), string(client.MetricsUnitRatio), string(client.MetricsUnitDurationMs), string(client.MetricsUnitScore), string(client.MetricsUnitBytes)}},
		{Name: "aggregation", Label: "Value of a week or a month", Kind: "choice", Stored: string(d.Aggregation.Or("")), Hint: "How it follows from its days: sign-ups have a total; subscribers have the latest number.",
			Labels:  series.AggregationWords,
			Choices: []string{string(client.MetricsAggregationSum), string(client.MetricsAggregationAvg), string(client.MetricsAggregationLast), string(client.MetricsAggregationMin), string(client.MetricsAggregationMax), string(client.MetricsAggregationNone)}},
		{Name: "polarity", Label: "Which direction is good", Kind: "choice", Stored: string(d.Polarity.Or("")),
			Choices: []string{string(client.MetricsPolarityUpIsGood), string(client.MetricsPolarityDownIsGood), string(client.MetricsPolarityNeutral)}},
	}
	if isNew {
		fields = append(fields,
			&field{Name: "key", Label: "Key", Kind: "text", Hint: "What programs call it. It never changes. Left empty, it is made from the name.", Stored: key},
			&field{Name: "kind", Label: "How it is calculated", Kind: "choice", Required: true, Rare: true, Stored: string(kind), Hint: "measured: they are pushed or typed. split: like measured, each with its dimensions. derived: a formula computes them. It never changes.",
				Choices: []string{string(client.MetricsKindMeasured), string(client.MetricsKindSplit), string(client.MetricsKindDerived)}})
	}
	if isNew {
		fields = append(fields,
			&field{Name: "values", Label: "First values", Kind: "list", Hint: firstValuesHint(today) + " You can also add values later."},
			&field{Name: "currency", Label: "Currency", Kind: "text", Rare: true, Hint: "Of the first values, if the unit is money. Three letters, such as EUR."})
	}
	if isNew || kind == client.MetricsKindDerived {
		fields = append(fields, &field{Name: "formula", Label: "Formula", Kind: "text", Rare: isNew, Stored: d.Formula.Or(""), Hint: "For derived values: + - * / over keys, such as growth.activations / growth.signups."})
	}
	return append(fields,
		&field{Name: "dimensions", Label: "Dimensions", Kind: "list", Rare: true, Stored: strings.Join(d.Dimensions.Or(nil), "\n"), Hint: "What the values can be split by, one on each line, such as country."},
		&field{Name: "description", Label: "Description", Kind: "long", Rare: true, Stored: d.Description.Or(""), Hint: "What it counts."},
		&field{Name: "source", Label: "Source", Kind: "text", Rare: true, Stored: d.Source.Or(""), Hint: "The system that the values come from."})
}

// firstValuesHint returns the hint about how to type the values of a metric.
func firstValuesHint(today time.Time) string {
	return fmt.Sprintf("A day and its value on each line, such as %s 12. A line with only a number is the value of today, in UTC. You can paste two columns of a spreadsheet.", dayText(today.UTC().AddDate(0, 0, -1)))
}

// firstValues reads the first values of a metric from the form that defines it. It adds a problem
// for each field that cannot be read.
func (pr *pageRequest) firstValues(c *formChanges) (points []client.PushMetricPointsPoint) {
	unit, currency := typedField(c.sent, "unit"), strings.ToUpper(typedField(c.sent, "currency"))
	if typedField(c.sent, "values") == "" {
		return nil
	}
	if unit == units.Currency && currency == "" {
		c.addProblem("currency", "is needed for money, such as EUR")
	}
	if unit != units.Currency {
		currency = ""
	}
	of := units.Unit{Name: unit, Currency: currency}
	values, err := paste.Values(c.sent.Get("values"), of, period.Day.Start(pr.Now().UTC()), answersOf(c.sent))
	switch {
	case typedField(c.sent, "kind") == string(client.MetricsKindDerived):
		c.addProblem("values", "must be empty, because a formula computes the values")
	case err != nil && !c.ask(err):
		c.addProblem("values", err.Error())
	case len(values) > pushPointsMax:
		c.addProblem("values", fmt.Sprintf("has %d days, but one form stores at most %d: push the others", len(values), pushPointsMax))
	}
	for _, value := range values {
		c.understand(value.Day.Format("Mon, Jan 2, 2006: ")+exact(of, value.Value), true)
		points = append(points, client.PushMetricPointsPoint{TS: dayText(value.Day), Value: value.Value, Grain: client.Value(client.MetricsGrainDay), Currency: optional(currency)})
	}
	return points
}

// pushFirstValues stores the first values of a metric that was just defined. If the form has no
// values, it returns an empty notice.
func (pr *pageRequest) pushFirstValues(d client.Definition, tag string, sent url.Values) notice {
	points := pr.firstValues(&formChanges{sent: sent})
	if len(points) == 0 {
		return notice{}
	}
	for i := range points {
		points[i].MetricKey = d.Key
	}
	pushed := startCall(pr, "metrics:write", "Push the values",
		bound(pr.api.PushMetricPoints, client.PushMetricPointsInput{Points: points}))
	pr.wait()
	if pushed.Failure != nil {
		return notice{Record: d.Name.Or(d.Key), Bad: true, Text: "The metric was created, but its values were not stored: " + pushed.Failure.Text()}
	}
	return notice{Record: d.Name.Or(d.Key), Text: fmt.Sprintf("Created with %s.", phrase.Plural(len(points), "value", "values")), Undo: pr.undoFirstValues(d, tag, points)}
}

// undoFirstValues returns an undo that deletes a metric and its first values. It changes nothing if
// the metric has other values by now.
func (pr *pageRequest) undoFirstValues(d client.Definition, tag string, points []client.PushMetricPointsPoint) undo {
	name := d.Name.Or(d.Key)
	pushed := map[string]float64{}
	for _, p := range points {
		pushed[p.TS] = p.Value
	}
	days := slices.Sorted(maps.Keys(pushed))
	return func(v *pageRequest) notice {
		stored := startCall(v, "metrics:read", "The values", bound(v.api.ListMetricPoints, client.ListMetricPointsInput{
			MetricKey: d.Key, Limit: client.Value(pointsMax),
		}))
		v.wait()
		isOther := func(p client.Point) bool {
			value, known := pushed[dayText(p.TS.Or(time.Time{}).UTC())]
			return !known || value != p.Value.Or(0) || len(series.DimsOf(p)) > 0
		}
		switch page := stored.Value; {
		case stored.Failure != nil:
			return undoNotice(name, stored.Failure)
		case page.Next != "" || len(page.Items) != len(pushed) || slices.ContainsFunc(page.Items, isOther):
			return undoNotice(name, &failure{Status: http.StatusPreconditionFailed})
		}
		deleted := startCall(v, "metrics:write", "Undo", bound(v.api.DeleteMetricPoints, client.DeleteMetricPointsInput{
			MetricKey: d.Key, From: days[0], To: days[len(days)-1],
		}))
		v.wait()
		if deleted.Failure != nil {
			return undoNotice(name, deleted.Failure)
		}
		return v.definitionScreens().undoCreate(name, d, tag)(v)
	}
}

// keyOf returns the key for a metric whose form gave only a name, such as "custom.leads_won" for
// "Leads won". It returns an empty string if the name has no letter or digit that a key may
// contain. While the user types the name, the page's script proposes the same key.
func keyOf(name string) string {
	words := strings.FieldsFunc(strings.ToLower(name), func(r rune) bool { return (r < 'a' || r > 'z') && (r < '0' || r > '9') })
	if len(words) == 0 {
		return ""
	}
	return "custom." + strings.Join(words, "_")
}

// saveDefinition returns the call that creates a definition or, if id is not empty, the call that
// changes the definition with that id. If the form asks for it, the call that changes a definition
// also confirms it.
func (pr *pageRequest) saveDefinition(c *formChanges, id string) call[client.Definition] {
	name, description, source := c.text("name"), c.text("description"), c.text("source")
	unit, aggregation, polarity := enumValue[client.MetricsUnit](c.text("unit")), enumValue[client.MetricsAggregation](c.text("aggregation")), enumValue[client.MetricsPolarity](c.text("polarity"))
	dimensions, expression := c.list("dimensions"), c.text("formula")
	if text, ok := expression.Get(); ok {
		if _, err := formula.Parse(text); err != nil {
			c.addProblem("formula", err.Error()+". Use + - * / and keys such as growth.signups.")
		}
	}
	if id != "" {
		in := client.UpdateMetricDefinitionInput{
			DefinitionID: id, Name: name, Description: description, Unit: unit, Aggregation: aggregation, Polarity: polarity, Formula: expression,
			Dimensions: dimensions, Source: source,
		}
		if c.sent.Get("confirm") == "true" {
			in.NeedsReview, c.anyChanged = client.Value(false), true
		}
		return bound(pr.api.UpdateMetricDefinition, in)
	}
	pr.firstValues(c)
	in := client.CreateMetricDefinitionInput{
		Key: cmp.Or(typedField(c.sent, "key"), keyOf(typedField(c.sent, "name"))), Name: name, Description: description, Unit: unit, Aggregation: aggregation, Polarity: polarity,
		Kind: optional(client.MetricsKind(typedField(c.sent, "kind"))), Formula: expression, Dimensions: dimensions, Source: source,
	}
	return bound(pr.api.CreateMetricDefinition, in)
}

// confirmMetric confirms a definition without changing it. It reads the definition first to get its
// entity tag, because the list that the page shows contains no entity tags.
func (s *Studio) confirmMetric(v *pageRequest) *view {
	e := v.definitionScreens()
	id := v.r.PathValue("id")
	got := startCall(v, "metrics:write", "The metric", e.get(id))
	v.wait()
	msg := notice{Record: got.Value.Name.Or(got.Value.Key), Text: "Confirmed."}
	switch {
	case got.Failure != nil:
		return v.finish("/metrics", notice{Bad: true, Text: "Not confirmed: " + got.Failure.Text()})
	case version(got.Value.UpdatedAt) != v.r.PostForm.Get("seen"):
		msg.Text, msg.Bad = "Somebody has changed this metric since the page was loaded, so it was not confirmed. This is its current state.", true
		return v.finish(metricPath(got.Value.Key), msg)
	}
	in := client.UpdateMetricDefinitionInput{DefinitionID: id, NeedsReview: client.Value(false)}
	res := startCall(v, "metrics:write", "Confirm the metric",
		bound(v.api.UpdateMetricDefinition, in), client.IfMatch(got.ETag))
	v.wait()
	if res.Failure != nil {
		msg.Text, msg.Bad = "Not confirmed: "+res.Failure.Text(), true
	}
	return v.finish(metricPath(got.Value.Key), msg)
}
