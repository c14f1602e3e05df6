package infra

import (
	"strings"

	"growthworkspace/shared/api"
	"growthworkspace/shared/table"
)

// Metric is what an alarm looks at.
type Metric struct {
	Namespace  any // a text, or a reference
	Name       string
	Dimensions Object // name and value
	Statistic  string // Sum, Average or p99
}

// Alarm compares metrics, summed where there are several, with a threshold that the operator may move.
type Alarm struct {
	ID          string
	Description string
	Metrics     []Metric
	Threshold   Parameter
	Periods     int // of five minutes, that must be over the threshold one after the other
}

// AlarmPeriod is how many seconds of a metric an alarm looks at as one.
const AlarmPeriod = 300

const (
	AlarmTopicID      = "AlarmTopic"
	ThrottledFilterID = "GatewayThrottled"
	// GatewayThrottled is the metric of requests that the gateway refused for their number.
	GatewayThrottled = "GatewayThrottled"
)

// metricNamespace is where the metrics of this stack's logs are, those of another stack in the same account and region apart.
const metricNamespace = api.MetricNamespace + "/${AWS::StackName}"

// StackNamespace is that namespace.
func StackNamespace() Object { return Sub(metricNamespace) }

func alarms(functions []Function) []Alarm {
	perFunction := func(name string) (out []Metric) {
		for _, f := range functions {
			out = append(out, Metric{"AWS/Lambda", name, Object{{"FunctionName", Ref(f.ID())}}, "Sum"})
		}
		return out
	}
	gateway := Object{{"ApiName", Ref("AWS::StackName")}, {"Stage", StageName}}
	return []Alarm{
		{"ServerErrors", "The share of requests that are answered with 5xx, crashes and timeouts included",
			[]Metric{{"AWS/ApiGateway", "5XXError", gateway, "Average"}}, thresholdServerErrors, 2},
		{"SlowRequests", "The time that the slowest percent of the calls take, in milliseconds",
			[]Metric{{StackNamespace(), "Duration", nil, "p99"}}, thresholdDuration, 3},
		{"FunctionErrors", "Functions that crashed or ran out of time, in five minutes", perFunction("Errors"), thresholdFunctionErrors, 1},
		{"FunctionThrottles", "Requests that found no function free to run, in five minutes", perFunction("Throttles"), thresholdFunctionThrottles, 1},
		{"TableThrottles", "Reads and writes that the table refused for their number, in five minutes", tableThrottles(), thresholdTableThrottles, 1},
		{"GatewayThrottles", "Requests that the gateway refused for their number, in five minutes",
			[]Metric{{StackNamespace(), GatewayThrottled, nil, "Sum"}}, thresholdGatewayThrottles, 1},
		{"AuthFailures", "Calls with a key that is missing, unknown or lacks the scope, in five minutes",
			[]Metric{{StackNamespace(), "Unauthorised", nil, "Sum"}}, thresholdAuthFailures, 1},
	}
}

func tableThrottles() (out []Metric) {
	for _, name := range []string{"ReadThrottleEvents", "WriteThrottleEvents"} {
		out = append(out, Metric{"AWS/DynamoDB", name, Object{{"TableName", tableName()}}, "Sum"})
		for _, i := range table.Indexes() {
			out = append(out, Metric{"AWS/DynamoDB", name, Object{
				{"TableName", tableName()}, {"GlobalSecondaryIndexName", i.Name()},
			}, "Sum"})
		}
	}
	return out
}

// The thresholds: an alarm rings above them.
var (
	thresholdServerErrors      = threshold("ServerErrorShareMax", 0.01, "Alarm when more than this share of the requests is answered with 5xx")
	thresholdDuration          = threshold("DurationP99MillisecondsMax", 1000, "Alarm when the slowest percent of the calls takes longer")
	thresholdFunctionErrors    = threshold("FunctionErrorsMax", 0, "Alarm when more functions crash in five minutes")
	thresholdFunctionThrottles = threshold("FunctionThrottlesMax", 0, "Alarm when more requests find no function free in five minutes")
	thresholdTableThrottles    = threshold("TableThrottlesMax", 10, "Alarm when the table refuses more reads and writes in five minutes")
	thresholdGatewayThrottles  = threshold("GatewayThrottlesMax", 100, "Alarm when the gateway refuses more requests in five minutes")
	thresholdAuthFailures      = threshold("AuthFailuresMax", 100, "Alarm when more calls have no valid key or lack the scope in five minutes")
)

func threshold(name string, value any, description string) Parameter {
	return Parameter{Name: name, Type: "Number", Default: value, Description: description}
}

func thresholds() []Parameter {
	return []Parameter{
		thresholdServerErrors, thresholdDuration, thresholdFunctionErrors, thresholdFunctionThrottles,
		thresholdTableThrottles, thresholdGatewayThrottles, thresholdAuthFailures,
	}
}

// AlarmTargets are told when an alarm begins and ends.
func AlarmTargets() List { return List{Ref(AlarmTopicID)} }

// SumExpression adds all metrics of an alarm up, which are known by MetricID.
const SumExpression = "SUM(METRICS())"

// MetricID is how the n-th metric of a sum is known.
func MetricID(n int) string { return "m" + string(rune('a'+n)) }

// Percentile tells whether the statistic is one that a template has another property for.
func (m Metric) Percentile() bool { return strings.HasPrefix(m.Statistic, "p") }

// resource is the alarm as a template has it.
func (a Alarm) resource() Object {
	notify := AlarmTargets()
	properties := Object{
		{"AlarmDescription", a.Description}, {"AlarmActions", notify}, {"OKActions", notify},
		{"ComparisonOperator", "GreaterThanThreshold"}, {"Threshold", Ref(a.Threshold.Name)},
		{"EvaluationPeriods", a.Periods}, {"TreatMissingData", "notBreaching"},
	}
	if len(a.Metrics) == 1 {
		m := a.Metrics[0]
		properties = append(properties, Field{"Namespace", m.Namespace}, Field{"MetricName", m.Name})
		if len(m.Dimensions) > 0 {
			properties = append(properties, Field{"Dimensions", m.dimensions()})
		}
		statistic := Field{"Statistic", m.Statistic}
		if m.Percentile() {
			statistic.Name = "ExtendedStatistic"
		}
		properties = append(properties, statistic, Field{"Period", AlarmPeriod})
		return Object{{"Type", "AWS::CloudWatch::Alarm"}, {"Properties", properties}}
	}
	return Object{{"Type", "AWS::CloudWatch::Alarm"}, {"Properties", append(properties, Field{"Metrics", a.sum()})}}
}

// sum adds the metrics of an alarm up.
func (a Alarm) sum() List {
	out := List{Object{{"Id", "all"}, {"Expression", SumExpression}, {"Label", a.ID}, {"ReturnData", true}}}
	for i, m := range a.Metrics {
		out = append(out, Object{
			{"Id", MetricID(i)}, {"ReturnData", false},
			{"MetricStat", Object{
				{"Metric", Object{{"Namespace", m.Namespace}, {"MetricName", m.Name}, {"Dimensions", m.dimensions()}}},
				{"Period", AlarmPeriod}, {"Stat", m.Statistic},
			}},
		})
	}
	return out
}

func (m Metric) dimensions() (out List) {
	for _, d := range m.Dimensions {
		out = append(out, Object{{"Name", d.Name}, {"Value", d.Value}})
	}
	return out
}
