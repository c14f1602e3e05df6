package metrics

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"growthworkspace/shared/api"
	"growthworkspace/shared/schema"
)

// explainNoPoints tells an agent why a list of points is empty: there is no such metric, the metric
// has points of other grains only, its weeks are not computed, or its points are outside the
// window.
func (s service) explainNoPoints(ctx context.Context, caller api.Caller, in listPointsInput) (string, error) {
	known, err := s.store.DefinitionsByKey(ctx, caller.CompanyID, namesOf(in.MetricKey))
	if err != nil {
		return "", err
	}
	key, defined := storedKey(in.MetricKey, known)
	spans, err := s.store.Coverage(ctx, caller.CompanyID, key)
	if err != nil {
		return "", err
	}
	if !defined && len(spans) == 0 {
		return s.unknownMetricMessage(ctx, caller.CompanyID, in.MetricKey)
	}
	if _, stored := spans[in.Grain]; in.SeriesID != nil && (stored || known[key].rollupRule().effectiveAggregation() != "") {
		return fmt.Sprintf("The metric %s has no point of grain %s of the series %s here. Without seriesId the points name their series; each grain has "+
			"other ids.", key, in.Grain, *in.SeriesID), nil
	}
	return known[key].explainNoPoints(key, in.Grain, spans), nil
}

// unknownMetricMessage returns a message saying that no metric has the given name. The message
// suggests the name that the caller may have meant.
func (s service) unknownMetricMessage(ctx context.Context, companyID, name string) (string, error) {
	keys, err := s.store.definedKeys(ctx, companyID)
	if err != nil {
		return "", err
	}
	if len(keys) == 0 {
		return "The company has no metrics. A push of points creates them.", nil
	}
	names := slices.Clone(keys)
	for _, key := range keys {
		if other := aliasOf(key); isCustom(key) && other != "" {
			names = append(names, other)
		}
	}
	if near := schema.Nearest(name, names); near != "" {
		return fmt.Sprintf("There is no metric %s; did you mean %s?", name, near), nil
	}
	return fmt.Sprintf("There is no metric %s. The metric definitions list the keys.", name), nil
}

// explainNoPoints says why a list of points of one grain is empty, based on the stored points of
// the metric. It returns "" if it has no explanation.
func (d Definition) explainNoPoints(key string, grain Grain, spans map[Grain]DaySpan) string {
	if len(spans) == 0 && d.isDerived() {
		return fmt.Sprintf("The metric %s is derived: it has no points but imported ones, and there are none.", key)
	}
	if len(spans) == 0 {
		return fmt.Sprintf("The metric %s has no points yet.", key)
	}
	span, stored := spans[grain]
	if daySpan, ok := spans[GrainDay]; ok && !stored && d.rollupRule().effectiveAggregation() != "" {
		span, stored = DaySpan{grain.bucketStartFor(daySpan.First), grain.bucketStartFor(daySpan.Last)}, true
	}
	if stored {
		return fmt.Sprintf("The metric %s has points of grain %s from %s to %s, and none that starts between from and to.", key, grain, span.First, span.Last)
	}
	why := fmt.Sprintf("The metric %s has no points of grain %s. Stored grains: %s.", key, grain, strings.Join(grainsOf(spans), ", "))
	if _, hasDays := spans[GrainDay]; !hasDays {
		return why
	}
	switch {
	case d.isDerived():
		why += " Nothing is computed for a derived metric."
	case d.Aggregation == nil:
		why += " Its aggregation is not set, so nothing is computed from days."
	default:
		why += " Its aggregation is none, so nothing is computed from days."
	}
	return why
}

// grainsOf returns the grains that have points, shortest first.
func grainsOf(spans map[Grain]DaySpan) (grains []string) {
	for _, grain := range GrainDay.Values() {
		if _, ok := spans[Grain(grain)]; ok {
			grains = append(grains, grain)
		}
	}
	return grains
}
