package studio

import (
	"slices"
	"strings"

	"growthworkspace/scripts/studio/chart"
	"growthworkspace/scripts/studio/formula"
	"growthworkspace/scripts/studio/period"
	"growthworkspace/scripts/studio/series"
	"growthworkspace/scripts/studio/units"
	"growthworkspace/shared/client"
)

// inputReads holds the API calls for the metrics in a formula. The studio evaluates the formula,
// because the service only stores it.
type inputReads struct {
	formula    *formula.Formula
	inputByKey map[string]formulaInput // the metrics, by their keys in the formula
	problem    string                  // why the formula cannot be computed; empty if it can
}

// formulaInput is one metric in a formula, with the calls for its points.
type formulaInput struct {
	metric
	pointReads
}

// readInputs starts the calls for the points of a derived metric's inputs. It returns nil if the
// metric is not derived, or if the page shows it split by a dimension.
func (pr *pageRequest) readInputs(m metric, q metricQuery, all []metric) *inputReads {
	if m.Kind != client.MetricsKindDerived || q.split != "" {
		return nil
	}
	out := &inputReads{inputByKey: map[string]formulaInput{}}
	var err error
	if out.formula, err = formula.Parse(m.Formula); err != nil {
		out.problem = "Not computed: this page computes formulas of + - * / over metrics, and here " + err.Error() + "."
		return out
	}
	for _, key := range out.formula.Keys() {
		at := slices.IndexFunc(all, func(m metric) bool {
			return strings.TrimPrefix(m.Key, "custom.") == strings.TrimPrefix(key, "custom.")
		})
		if at < 0 {
			out.problem = "Not computed: there is no metric " + key + "."
			return out
		}
		out.inputByKey[key] = formulaInput{metric: all[at]}
	}
	left := pr.callsLeft()
	if len(out.inputByKey) > left {
		out.problem = "Not computed: the formula has more metrics than one page reads."
		return out
	}
	for key, input := range out.inputByKey {
		input.pointReads = pr.readTotal("The points of "+input.Name, q.withKey(input.Key), 3*len(out.inputByKey) <= left)
		out.inputByKey[key] = input
	}
	return out
}

// names returns the names of the metrics in the formula, separated by commas.
func (r *inputReads) names() string {
	var names []string
	for _, key := range r.formula.Keys() {
		names = append(names, r.inputByKey[key].Name)
	}
	return strings.Join(names, ", ")
}

// compute returns a derived metric as one line. It evaluates the formula for each bucket, from the
// inputs' values in that bucket, and for the whole period, from the inputs' values for the period.
// If nothing can be computed, advice says why.
func (m metric) compute(rng period.Range, w period.Window, r *inputReads) (d *wholeView, advice string) {
	d = &wholeView{metric: m, Range: rng, Comparison: series.Comparison{Window: w}}
	if r.problem != "" {
		return d, r.problem
	}
	inputs := map[string]series.Comparison{}
	for key, input := range r.inputByKey {
		switch failed := input.total.Failure; {
		case failed.isTotalRefusal():
			return d, "Not computed: " + input.Name + " has values by part only, and no total."
		case failed != nil:
			return d, "Not computed: " + input.Name + " could not be read: " + failed.Text()
		}
		inputs[key] = input.Compare(input.total.Value.Items, w)
		if inputs[key].Money.Mixed {
			return d, "Not computed: " + input.Name + " has several currencies and no value in the base currency."
		}
	}
	d.Computed, d.From = true, r.names()
	value := func(pick func(series.Comparison) chart.Value) chart.Value {
		v, ok := r.formula.Value(func(key string) (float64, bool) { v := pick(inputs[key]); return v.V, v.OK })
		return chart.Value{V: v, OK: ok}
	}
	list := func(n int, pick func(series.Comparison) []chart.Value) []chart.Value {
		out := make([]chart.Value, n)
		for i := range out {
			out[i] = value(func(c series.Comparison) chart.Value { return pick(c)[i] })
		}
		return out
	}
	d.Unit = units.Unit{Name: m.UnitName, Currency: currencyOf(inputs)}
	d.Now = list(len(w.Buckets), func(c series.Comparison) []chart.Value { return c.Now })
	d.Before = list(len(w.Before), func(c series.Comparison) []chart.Value { return c.Before })
	d.Against = list(len(w.Against), func(c series.Comparison) []chart.Value { return c.Against })
	d.Value = value(func(c series.Comparison) chart.Value { return c.Value })
	d.FinishedValue = value(func(c series.Comparison) chart.Value { return c.FinishedValue })
	d.BeforeValue = value(func(c series.Comparison) chart.Value { return c.BeforeValue })
	d.SetChange(d.metric.Metric)
	if series.CountKnown(d.Now) == 0 {
		return d, "Nothing to compute in this range: " + d.From + " have no values together, or a division is by zero."
	}
	d.draw()
	d.computeFullDays(r, inputs)
	return d, ""
}

// computeFullDays evaluates the formula over the days of the current week or month that have ended,
// and over the same number of earlier days. Then it compares the two results.
func (view *wholeView) computeFullDays(r *inputReads, inputs map[string]series.Comparison) {
	value := func(wantBefore bool) chart.Value {
		v, ok := r.formula.Value(func(key string) (float64, bool) {
			current, previous, ok := r.inputByKey[key].fullDays(r.inputByKey[key].metric, inputs[key].Money)
			if wantBefore {
				current = previous
			}
			return current.V, ok
		})
		return chart.Value{V: v, OK: ok}
	}
	if now, before := value(false), value(true); now.OK && before.OK {
		view.compareFullDays(now, before)
	}
}

// currencyOf returns the currency shared by all inputs that have a currency. It returns an empty
// string if no input has a currency, or if the currencies differ.
func currencyOf(inputs map[string]series.Comparison) (currency string) {
	for _, c := range inputs {
		switch {
		case c.Unit.Currency == "" || c.Unit.Currency == currency:
		case currency != "":
			return ""
		default:
			currency = c.Unit.Currency
		}
	}
	return currency
}
