package studio

import (
	"growthworkspace/scripts/studio/series"
	"growthworkspace/shared/client"
)

// metric is a metric as the pages show it.
type metric struct {
	series.Metric

	marks *marksView // the marks of its chart; nil if it has none
}

// Version returns the version of the metric's definition.
func (m metric) Version() string { return version(m.UpdatedAt) }

// metricsOf joins definitions with their goals, in the order in which the pages show them.
func metricsOf(definitions []client.Definition, goals []client.Goal) (out []metric) {
	for _, m := range series.Of(definitions, goals) {
		out = append(out, metric{Metric: m})
	}
	return out
}
