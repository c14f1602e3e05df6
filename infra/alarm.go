package infra

import (
	"cmp"
	"strconv"

	"growthworkspace/shared/api"
	"growthworkspace/shared/table"
)

// AlarmMetric is a metric of an alarm.
type AlarmMetric struct {
	Namespace  any // a string or a reference
	Name       string
	Dimensions Object // name and value
	Statistic  string // Sum, Maximum, SampleCount or p99
	ID         string // the metric's name in the alarm's expression, if there is one
}

// Alarm compares a metric, the sum of several, or an expression over them with a threshold that the
// operator may change.
type Alarm struct {
	ID          string
	Description string
	Metrics     []AlarmMetric
	Expression  string // metric math over the ids of the metrics; empty: their sum
	Threshold   Parameter
	Periods     int  // consecutive periods that must exceed the threshold
	Seconds     int  // the length of a period; 0: alarmPeriodSeconds
	RollsBack   bool // whether the alarm ends a canary and takes the new version back
}

// The expressions of the alarms on a share of the requests. A share of few requests says little: one
// failure is 10 % of the ten requests of a quiet day, and the 99th percentile of ten requests is the
// slowest one. So the alarms wait for a minimum.
//
// Failures are counted, not requests, so that an alarm also rings if all of few requests fail: a
// service with 30 requests in five minutes that all fail has 30 failures. At the threshold of 1 %,
// five failures are those of 500 requests.
//
// The objective is that 99.9 % of the requests of 30 days get no 5xx response. The other 0.1 % are
// the error budget. A burn of 1 uses it up in exactly 30 days. ErrorBudgetBurn rings at 6: the
// budget is gone in five days, and the six hours that the alarm looks at have used 5 % of it.
// ServerErrors looks at five minutes, twice, with a share of 1 %, which is a burn of 10.
//
// A percentile needs 100 requests before the 99th differs from the slowest.
const (
	shareExpression   = "IF(failures >= 5, failures / requests, 0)"
	burnExpression    = "IF(failures >= 5, failures / requests / 0.001, 0)"
	percentileMinimum = "IF(requests >= 100, duration, 0)"
	burnSeconds       = 6 * 60 * 60
)

const (
	// GatewayThrottled is the name of the metric that counts the requests throttled by the gateway,
	// and the logical id of its filter.
	GatewayThrottled = "GatewayThrottled"

	AlarmTopicID       = "AlarmTopic"
	alarmPeriodSeconds = 300
	// metricNamespace is the namespace of the metrics in this stack's logs. Each stack in an
	// account and region has its own namespace.
	metricNamespace = api.DefaultMetricNamespace + "/${AWS::StackName}"
)

// StackNamespace is the namespace of the metrics in this stack's logs.
func StackNamespace() Object { return Sub(metricNamespace) }

// metricsMax is the maximum number of metrics that CloudWatch accepts in an alarm.
const metricsMax = 10

// alarms returns the alarms of the stack. The number of metrics grows with the functions and
// indexes. An alarm that would have too many metrics is split into several alarms that share its
// threshold.
func alarms(functions []Function) (out []Alarm) {
	for _, a := range declaredAlarms(functions) {
		all, id := a.Metrics, a.ID
		parts := (len(all) + metricsMax - 1) / metricsMax
		for n := range parts {
			a.Metrics = all[n*len(all)/parts : (n+1)*len(all)/parts]
			out = append(out, a)
			a.ID = id + strconv.Itoa(n+2)
		}
	}
	return out
}

func declaredAlarms(functions []Function) []Alarm {
	perFunction := func(name string) (out []AlarmMetric) {
		for _, f := range functions {
			out = append(out, AlarmMetric{Namespace: "AWS/Lambda", Name: name, Dimensions: Object{{"FunctionName", Ref(f.ID())}, {"Resource", f.aliasResource()}}, Statistic: "Sum"})
		}
		return out
	}
	gateway := Object{{"ApiName", Ref("AWS::StackName")}, {"Stage", StageName}}
	requests := []AlarmMetric{
		{Namespace: "AWS/ApiGateway", Name: "5XXError", Dimensions: gateway, Statistic: "Sum", ID: "failures"},
		{Namespace: "AWS/ApiGateway", Name: "Count", Dimensions: gateway, Statistic: "Sum", ID: "requests"},
	}
	ofService := func(name, statistic, id string) AlarmMetric {
		return AlarmMetric{Namespace: StackNamespace(), Name: name, Statistic: statistic, ID: id}
	}
	return []Alarm{
		{ID: "ServerErrors", Description: "The share of requests with a 5xx response, crashes and timeouts included, if there are five or more",
			Metrics: requests, Expression: shareExpression, Periods: 2, RollsBack: true,
			Threshold: thresholdParameter("ServerErrorShareMax", 0.01, "Alarm when a larger share of the requests gets a 5xx response")},
		{ID: "ErrorBudgetBurn", Description: "How much faster than in 30 days the last six hours used up the error budget, which is 0.1 % of the requests",
			Metrics: requests, Expression: burnExpression, Periods: 1, Seconds: burnSeconds,
			Threshold: thresholdParameter("ErrorBudgetBurnMax", 6, "Alarm when the error budget of 0.1 % of the requests burns faster, in multiples of the rate that uses it up in 30 days")},
		{ID: "SlowRequests", Description: "The 99th percentile of the duration of requests, in milliseconds, if there are a hundred or more",
			Metrics: []AlarmMetric{ofService("Duration", "p99", "duration"), ofService("Duration", "SampleCount", "requests")}, Expression: percentileMinimum,
			Periods: 3, RollsBack: true,
			Threshold: thresholdParameter("DurationP99MillisecondsMax", 1000, "Alarm when the 99th percentile of the duration of requests is longer")},
		{ID: "FunctionErrors", Description: "Crashes and timeouts of functions, in five minutes", Metrics: perFunction("Errors"), Periods: 1, RollsBack: true,
			Threshold: thresholdParameter("FunctionErrorsMax", 0, "Alarm when functions crash or time out more often in five minutes")},
		{ID: "FunctionThrottles", Description: "Requests throttled for lack of a free function instance, in five minutes", Metrics: perFunction("Throttles"), Periods: 1,
			Threshold: thresholdParameter("FunctionThrottlesMax", 0, "Alarm when more requests find no free function instance in five minutes")},
		{ID: "TableThrottles", Description: "Reads and writes that DynamoDB throttled, in five minutes", Metrics: tableThrottles(), Periods: 1,
			Threshold: thresholdParameter("TableThrottlesMax", 10, "Alarm when DynamoDB throttles more reads and writes in five minutes")},
		{ID: "GatewayThrottles", Description: "Requests that the gateway throttled, in five minutes", Metrics: []AlarmMetric{ofService(GatewayThrottled, "Sum", "")}, Periods: 1,
			Threshold: thresholdParameter("GatewayThrottlesMax", 100, "Alarm when the gateway throttles more requests in five minutes")},
		{ID: "ChangesBehind", Description: "How long ago the oldest write was made that the feed of changes does not have, in milliseconds",
			Metrics: []AlarmMetric{{Namespace: "AWS/Lambda", Name: "IteratorAge", Dimensions: recorderDimensions(), Statistic: "Maximum"}}, Periods: 1,
			Threshold: thresholdParameter("ChangesBehindMillisecondsMax", 3_600_000, "Alarm when the feed of changes is further behind; the stream keeps records for 24 hours")},
		{ID: "ParkedChanges", Description: "Records of the stream that the feed of changes could not read",
			Metrics: []AlarmMetric{{Namespace: "AWS/SQS", Name: "ApproximateNumberOfMessagesVisible", Dimensions: Object{{"QueueName", Attribute(ParkedQueueID, "QueueName")}}, Statistic: "Maximum"}}, Periods: 1,
			Threshold: thresholdParameter("ParkedChangesMax", 0, "Alarm when more records of the stream wait in the queue of those that could not be read")},
		{ID: "AuthFailures", Description: "Requests without a valid key or without the scope, in five minutes", Metrics: []AlarmMetric{ofService("Unauthorised", "Sum", "")}, Periods: 1,
			Threshold: thresholdParameter("AuthFailuresMax", 100, "Alarm when more requests have no valid key or no scope in five minutes")},
	}
}

// recorderDimensions are the dimensions of the metrics of the function that records changes. With
// the function's name alone, a metric has the invocations of all its aliases and versions.
func recorderDimensions() Object {
	return Object{{"FunctionName", Ref(Function{Name: RecorderName}.ID())}}
}

func tableThrottles() (out []AlarmMetric) {
	for _, name := range []string{"ReadThrottleEvents", "WriteThrottleEvents"} {
		out = append(out, AlarmMetric{Namespace: "AWS/DynamoDB", Name: name, Dimensions: Object{{"TableName", tableName()}}, Statistic: "Sum"})
		for _, i := range table.Indexes() {
			out = append(out, AlarmMetric{Namespace: "AWS/DynamoDB", Name: name, Statistic: "Sum", Dimensions: Object{
				{"TableName", tableName()}, {"GlobalSecondaryIndexName", i.Name()},
			}})
		}
	}
	return out
}

// thresholdParameter returns the parameter for the threshold of an alarm.
func thresholdParameter(name string, value any, description string) Parameter {
	return Parameter{Name: name, Type: "Number", Default: value, Description: description}
}

// resourceID is the logical id of the alarm.
func (a Alarm) resourceID() string { return a.ID + "Alarm" }

func (a Alarm) resource() Object {
	notify := List{Ref(AlarmTopicID)}
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
		properties = append(properties, Field{"Statistic", m.Statistic}, Field{"Period", a.seconds()})
	} else {
		properties = append(properties, Field{"Metrics", a.queries()})
	}
	return resource("AWS::CloudWatch::Alarm", properties)
}

func (a Alarm) seconds() int { return cmp.Or(a.Seconds, alarmPeriodSeconds) }

// queries returns the alarm's metric queries: its expression, or the sum of its metrics, and each
// metric.
func (a Alarm) queries() List {
	out := List{Object{{"Id", "all"}, {"Expression", cmp.Or(a.Expression, "SUM(METRICS())")}, {"Label", a.ID}, {"ReturnData", true}}}
	for i, m := range a.Metrics {
		metric := Object{{"Namespace", m.Namespace}, {"MetricName", m.Name}}
		if len(m.Dimensions) > 0 {
			metric = append(metric, Field{"Dimensions", m.dimensions()})
		}
		out = append(out, Object{
			{"Id", cmp.Or(m.ID, "m"+string(rune('a'+i)))}, {"ReturnData", false},
			{"MetricStat", Object{{"Metric", metric}, {"Period", a.seconds()}, {"Stat", m.Statistic}}},
		})
	}
	return out
}

func (m AlarmMetric) dimensions() (out List) {
	for _, d := range m.Dimensions {
		out = append(out, Object{{"Name", d.Name}, {"Value", d.Value}})
	}
	return out
}
