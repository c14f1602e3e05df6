package contract

import (
	"encoding/json"
	"fmt"
	"maps"
	"math"
	"math/big"
	"net/http"
	"net/url"
	"reflect"
	"slices"
	"strings"
	"time"

	"growthworkspace/shared/fault"
)

// testMetricKey is the key of the metric that the rules in this file push. The service adds the
// prefix "custom." to it. Each rule deletes the metric at its end.
const testMetricKey = "conformance_check.days"

// testMetricValues are the values of testMetricKey, one for each day from testMetricStart on. The
// days include a leap day and the end of a month, and they are in three different weeks.
var testMetricValues = []float64{.1, .2, .3, 4, -1.5, 9, 2.6, 5, 3.5, 8}

var testMetricStart = time.Date(2020, time.February, 22, 0, 0, 0, 0, time.UTC)

// createMetric pushes the points of testMetricKey and returns the path of its definition. The
// caller must call removeMetric. createMetric skips the rule if the key lacks the scope, or if the
// service does not have the operation.
func (k *runner) createMetric() (path string, ok bool) {
	var points []map[string]any
	for i, value := range testMetricValues {
		points = append(points, map[string]any{
			"metricKey": testMetricKey, "ts": testMetricStart.AddDate(0, 0, i).Format(time.DateOnly), "value": value,
			"dims": map[string]string{"half": []string{"a", "b"}[i%2]}, "source": "workspace check",
		})
	}
	body, err := json.Marshal(map[string]any{"points": points})
	if err != nil {
		k.fail("%v", err)
		return "", false
	}
	got := k.do(http.MethodPost, k.companyPath("/metrics/points"), string(body))
	if got.status == http.StatusUnauthorized || got.status == http.StatusNotFound {
		k.mayCheckNothing = got.status == http.StatusNotFound
		k.skip("the key may not push points, or the service does not support it")
		return "", false
	}
	if k.checkSchema("push_metric_points", got); got.status != http.StatusOK {
		return "", false
	}
	for next := k.companyPath("/metrics/definitions?limit=200"); next != ""; {
		page := k.get(next)
		if page.status == http.StatusUnauthorized {
			k.skip("the key may not read metrics")
			return "", false
		}
		for _, d := range page.records() {
			if name, _ := d["key"].(string); strings.TrimPrefix(name, "custom.") == testMetricKey {
				return k.companyPath("/metrics/definitions/" + url.PathEscape(fmt.Sprint(d["id"]))), true
			}
		}
		if next, err = k.nextPage(page); err != nil {
			k.fail("%s: %v", page.request, err)
			return "", false
		}
	}
	k.fail("%s: the metric has no definition", got.request)
	return "", false
}

// deletePoints deletes the points of testMetricKey in a range of days. from and to are numbers of
// days after testMetricStart. deletePoints returns how many points were deleted, according to the
// service.
func (k *runner) deletePoints(from, to int) (deleted float64) {
	day := func(n int) string { return testMetricStart.AddDate(0, 0, n).Format(time.DateOnly) }
	for more := "true"; more == "true"; {
		got := k.do(http.MethodDelete, k.companyPath("/metrics/points?"+url.Values{"metricKey": {testMetricKey}, "from": {day(from)}, "to": {day(to)}}.Encode()), "")
		var result struct{ DeletedCount float64 }
		if !k.checkSuccess(got, &result) {
			return deleted
		}
		k.checkSchema("delete_metric_points", got)
		deleted += result.DeletedCount
		if more = got.header.Get("Service-Has-More"); more != "true" && more != "false" {
			k.fail("%s: Service-Has-More is %q", got.request, more)
		}
	}
	return deleted
}

func (k *runner) removeMetric(path string) {
	k.deletePoints(0, len(testMetricValues))
	k.deletePath(path)
}

// listTestPoints lists all points of testMetricKey with the given grain. name is the metric's key,
// with or without the prefix. parameters alternates between names and values of additional query
// parameters.
func (k *runner) listTestPoints(name, grain string, parameters ...string) []map[string]any {
	query := url.Values{"metricKey": {name}, "grain": {grain}, "limit": {"1000"}}
	for i := 0; i < len(parameters); i += 2 {
		query.Set(parameters[i], parameters[i+1])
	}
	var list listBody[map[string]any]
	if !k.checkSuccess(k.get(k.companyPath("/metrics/points?"+query.Encode())), &list) {
		return nil
	}
	return list.Items
}

// checkRollup compares the weekly and monthly values that the service returns with values
// computed from the daily ones, for every aggregation.
func checkRollup(k *runner) {
	path, ok := k.createMetric()
	if !ok {
		return
	}
	defer k.removeMetric(path)
	days := k.listTestPoints(testMetricKey, "day")
	if len(days) < len(testMetricValues) {
		k.fail("%d days were pushed, and a read returns %d", len(testMetricValues), len(days))
		return
	}
	for _, aggregation := range []any{"sum", "avg", "min", "max", "last", "none", nil} {
		body, err := json.Marshal(map[string]any{"aggregation": aggregation})
		if err != nil {
			k.fail("%v", err)
			return
		}
		if _, ok := k.checkRecord(k.do(http.MethodPatch, path, string(body))); !ok {
			return
		}
		for _, grain := range []string{"week", "month"} {
			want, got := combineIntoBuckets(days, grain, aggregation), map[string]float64{}
			for _, p := range k.listTestPoints(testMetricKey, grain) {
				if value, ok := p["value"].(float64); ok {
					got[bucketKey(p, fmt.Sprint(p["ts"])[:len(time.DateOnly)])] = value
				}
			}
			if !reflect.DeepEqual(got, want) {
				k.fail("the %ss with the aggregation %v are %v; by their days they are %v", grain, aggregation, got, want)
			}
		}
	}
}

// bucketKey returns a string that identifies the week or month to which a point belongs. day is the
// first day of that week or month. Points with different dimensions belong to different buckets.
func bucketKey(p map[string]any, day string) string { return fmt.Sprint(day, " ", p["dims"]) }

// combineIntoBuckets combines daily points into weeks or months. The result maps the bucketKey of
// each week or month to its value.
func combineIntoBuckets(days []map[string]any, grain string, aggregation any) map[string]float64 {
	values := map[string][]float64{} // for each week or month, the values of its days, in order
	for _, p := range days {
		at, err := time.Parse(time.RFC3339, fmt.Sprint(p["ts"]))
		value, ok := p["value"].(float64)
		if err != nil || !ok {
			continue
		}
		start := at.AddDate(0, 0, 1-at.Day())
		if grain == "week" {
			start = at.AddDate(0, 0, -(int(at.Weekday()+6) % 7))
		}
		name := bucketKey(p, start.Format(time.DateOnly))
		values[name] = append(values[name], value)
	}
	out := map[string]float64{}
	for name, all := range values {
		if value := aggregateDays(all, aggregation); !math.IsNaN(value) {
			out[name] = value
		}
	}
	return out
}

// aggregateDays combines the daily values of a week or month. It returns NaN if the aggregation
// defines no value. It computes sums and means exactly and rounds them once.
func aggregateDays(days []float64, aggregation any) float64 {
	total := new(big.Rat)
	for _, day := range days {
		total.Add(total, new(big.Rat).SetFloat64(day))
	}
	switch aggregation {
	case "min":
		return slices.Min(days)
	case "max":
		return slices.Max(days)
	case "last":
		return days[len(days)-1]
	case "avg":
		total.Quo(total, big.NewRat(int64(len(days)), 1))
	case "sum":
	default:
		return math.NaN()
	}
	rounded, _ := total.Float64()
	return rounded
}

// checkMetricNames reads a metric by its key with and without the prefix "custom.". It pushes a
// point under the form of the key that createMetric did not use.
func checkMetricNames(k *runner) {
	path, ok := k.createMetric()
	if !ok {
		return
	}
	defer k.removeMetric(path)
	push := k.do(http.MethodPost, k.companyPath("/metrics/points"),
		fmt.Sprintf(`{"points":[{"metricKey":"custom.%s","ts":%q,"value":%v,"dims":{"half":"a"},"source":"workspace check"}]}`, testMetricKey, testMetricStart.Format(time.DateOnly), testMetricValues[0]))
	var result struct{ CreatedKeys []string }
	if k.checkSuccess(push, &result) && len(result.CreatedKeys) > 0 {
		k.fail("%s: a push under the other name of a metric created %v", push.request, result.CreatedKeys)
	}
	plain, custom := k.listTestPoints(testMetricKey, "day"), k.listTestPoints("custom."+testMetricKey, "day")
	if len(plain) == 0 || !reflect.DeepEqual(plain, custom) {
		k.fail("%s has %d points and custom.%s has %d: they are names of one metric", testMetricKey, len(plain), testMetricKey, len(custom))
	}
}

// checkMetricDefinition updates and confirms a metric definition.
func checkMetricDefinition(k *runner) {
	path, ok := k.createMetric()
	if !ok {
		return
	}
	defer k.removeMetric(path)
	changed := k.do(http.MethodPatch, path, `{"name":"Conformance check","unit":"count","description":null,"needsReview":false}`)
	k.checkSchema("update_metric_definition", changed)
	if d, ok := k.checkRecord(changed); ok {
		k.checkFields(changed.request, d, map[string]any{"name": "Conformance check", "unit": "count", "description": nil, "needsReview": false, "kind": "measured"})
	}
	for _, refused := range [][2]string{
		{`{"needsReview":true}`, "needsReview"}, {`{"needsReview":null}`, "needsReview"}, {`{"key":"a"}`, "key"}, {`{"kind":"split"}`, "kind"},
		{`{"formula":"a / b"}`, "formula"}, {`{"aggregation":"total"}`, "aggregation"},
	} {
		k.checkError(k.do(http.MethodPatch, path, refused[0]), fault.BadRequest, refused[1])
	}
}

// checkMetricTotal requests the points of one series, and the totals of all series. It compares
// both with the points that the service returns without the parameters "seriesId" and "total".
func checkMetricTotal(k *runner) {
	path, ok := k.createMetric()
	if !ok {
		return
	}
	defer k.removeMetric(path)
	days := k.listTestPoints(testMetricKey, "day")
	if len(days) == 0 {
		k.fail("no points are listed")
		return
	}
	series := fmt.Sprint(days[0]["seriesId"])
	seriesPoints := slices.DeleteFunc(slices.Clone(days), func(p map[string]any) bool { return p["seriesId"] != series })
	if got := k.listTestPoints(testMetricKey, "day", "seriesId", series); !reflect.DeepEqual(got, seriesPoints) {
		k.fail("with the seriesId %s, %d points are listed; %d points have it", series, len(got), len(seriesPoints))
	}
	var points []map[string]any // the points in days, without their dims
	for _, p := range days {
		p = maps.Clone(p)
		p["dims"] = nil
		points = append(points, p)
	}
	for _, aggregation := range []string{"sum", "min", "max", "avg", "last"} {
		if _, ok := k.checkRecord(k.do(http.MethodPatch, path, `{"aggregation":"`+aggregation+`"}`)); !ok {
			return
		}
		if aggregation == "avg" || aggregation == "last" {
			k.checkError(k.get(k.companyPath("/metrics/points?metricKey="+testMetricKey+"&total=true")), fault.BadRequest, "total")
			continue
		}
		want, got := combineIntoBuckets(points, "week", aggregation), map[string]float64{}
		for _, p := range k.listTestPoints(testMetricKey, "week", "total", "true") {
			if value, ok := p["value"].(float64); ok {
				got[bucketKey(p, fmt.Sprint(p["ts"])[:len(time.DateOnly)])] = value
			}
		}
		if !reflect.DeepEqual(got, want) {
			k.fail("the total weeks with the aggregation %s are %v; by the days of all series they are %v", aggregation, got, want)
		}
	}
}

// checkMetricLifecycle creates a metric, deletes its points, and then deletes its definition.
func checkMetricLifecycle(k *runner) {
	path, ok := k.createMetric()
	if !ok {
		return
	}
	defer k.removeMetric(path)
	const collection, pathPrefix = "/metrics/definitions", "/metrics/definitions/"
	k.checkError(k.do(http.MethodDelete, path, ""), fault.Conflict, "points")
	for _, c := range []struct {
		body     string
		code     fault.Code
		wantText string
	}{
		{`{"key":"` + testMetricKey + `"}`, fault.Conflict, "key"},
		{`{"key":"custom.` + testMetricKey + `"}`, fault.Conflict, "key"},
		{`{"key":"custom.` + testMetricKey + `.split","kind":"split"}`, fault.BadRequest, "dimensions"},
		{`{"key":"custom.` + testMetricKey + `.derived","kind":"derived"}`, fault.BadRequest, "formula"},
		{`{"key":"custom.` + testMetricKey + `.formula","formula":"a / b"}`, fault.BadRequest, "formula"},
	} {
		k.checkRefusedCreate(k.do(http.MethodPost, k.companyPath(collection), c.body), pathPrefix, c.code, c.wantText)
	}
	for _, c := range []struct{ from, to, want int }{{1, 2, 2}, {1, 2, 0}, {0, len(testMetricValues), len(testMetricValues) - 2}} {
		if got := k.deletePoints(c.from, c.to); int(got) != c.want {
			k.fail("a delete of the points from day %d to day %d counts %v, want %d", c.from, c.to, got, c.want)
		}
	}
	if left := k.listTestPoints(testMetricKey, "day"); len(left) > 0 {
		k.fail("%d points are left after the delete", len(left))
	}
	k.deletePath(path)
	k.checkError(k.get(path), fault.NotFound, "")
	m, ok := k.create(k.companyPath(collection), `{"key":"`+testMetricKey+`","unit":"count","kind":"split","dimensions":["half"]}`, pathPrefix)
	if !ok {
		return
	}
	defer k.remove(m)
	k.checkSchema("create_metric_definition", m.response)
	k.checkFields(m.request, m.fields, map[string]any{"key": testMetricKey, "kind": "split", "needsReview": false, "unit": "count", "name": nil})
}
