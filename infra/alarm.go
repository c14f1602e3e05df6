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

// Alarm compares a metric, the sum of several metrics, or an expression over them with a threshold
// that the operator can change.
type Alarm struct {
	ID          string
	Description string
	Metrics     []AlarmMetric
	Expression  string // metric math over the ids of the metrics; if empty, the sum of the metrics
	Threshold   Parameter
	Periods     int  // consecutive periods that must exceed the threshold
	Seconds     int  // the length of a period; 0 means alarmPeriodSeconds
	RollsBack   bool // whether the alarm stops a canary and rolls back to the old version
}

// The expressions of the alarms on a share of the requests. A share of few requests is not
// meaningful: on a quiet day with ten requests, one failure is 10 %, and the 99th percentile is the
// slowest request. So each expression is 0 until a minimum is reached.
//
// For the share and the burn rate, the minimum is a number of failures, not of requests. So these
// alarms also fire if a service has few requests and all of them fail: 30 requests that fail within
// five minutes are 30 failures. At the threshold of 1 %, five failures correspond to 500 requests.
//
// The objective is that over 30 days, 99.9 % of the requests get no 5xx response. The other 0.1 %
// is the error budget. A burn rate of 1 uses up the budget in exactly 30 days. ErrorBudgetBurn
// fires at a burn rate of 6, which uses up the budget in five days, and 5 % of it within the six
// hours that the alarm covers. ServerErrors covers two periods of five minutes. Its threshold of 1
// % is a burn rate of 10.
//
// With fewer than 100 requests, the 99th percentile is the slowest request.
const (
	shareExpression      = "IF(failures >= 5, failures / requests, 0)"
	burnExpression       = "IF(failures >= 5, failures / requests / 0.001, 0)"
	percentileExpression = "IF(requests >= 100, duration, 0)"
	burnSeconds          = 6 * 60 * 60
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
	serviceMetric := func(name, statistic, id string) AlarmMetric {
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
			Metrics: []AlarmMetric{serviceMetric("Duration", "p99", "duration"), serviceMetric("Duration", "SampleCount", "requests")}, Expression: percentileExpression,
			Periods: 3, RollsBack: true,
			Threshold: thresholdParameter("DurationP99MillisecondsMax", 1000, "Alarm when the 99th percentile of the duration of requests is longer")},
		{ID: "FunctionErrors", Description: "Crashes and timeouts of functions, in five minutes", Metrics: perFunction("Errors"), Periods: 1, RollsBack: true,
			Threshold: thresholdParameter("FunctionErrorsMax", 0, "Alarm when functions crash or time out more often in five minutes")},
		{ID: "FunctionThrottles", Description: "Requests throttled for lack of a free function instance, in five minutes", Metrics: perFunction("Throttles"), Periods: 1,
			Threshold: thresholdParameter("FunctionThrottlesMax", 0, "Alarm when more requests find no free function instance in five minutes")},
		{ID: "TableThrottles", Description: "Reads and writes that DynamoDB throttled, in five minutes", Metrics: tableThrottles(), Periods: 1,
			Threshold: thresholdParameter("TableThrottlesMax", 10, "Alarm when DynamoDB throttles more reads and writes in five minutes")},
		{ID: "GatewayThrottles", Description: "Requests that the gateway throttled, in five minutes", Metrics: []AlarmMetric{serviceMetric(GatewayThrottled, "Sum", "")}, Periods: 1,
			Threshold: thresholdParameter("GatewayThrottlesMax", 100, "Alarm when the gateway throttles more requests in five minutes")},
		{ID: "ChangesBehind", Description: "How long ago the oldest write was made that the feed of changes does not have, in milliseconds",
			Metrics: []AlarmMetric{{Namespace: "AWS/Lambda", Name: "IteratorAge", Dimensions: recorderDimensions(), Statistic: "Maximum"}}, Periods: 1,
			Threshold: thresholdParameter("ChangesBehindMillisecondsMax", 3_600_000, "Alarm when the feed of changes is further behind; the stream keeps records for 24 hours")},
		{ID: "ParkedChanges", Description: "Records of the stream that the feed of changes could not read",
			Metrics: []AlarmMetric{{Namespace: "AWS/SQS", Name: "ApproximateNumberOfMessagesVisible", Dimensions: Object{{"QueueName", Attribute(ParkedQueueID, "QueueName")}}, Statistic: "Maximum"}}, Periods: 1,
			Threshold: thresholdParameter("ParkedChangesMax", 0, "Alarm when more records of the stream wait in the queue of those that could not be read")},
		{ID: "AuthFailures", Description: "Requests without a valid key or without the scope, in five minutes", Metrics: []AlarmMetric{serviceMetric("Unauthorised", "Sum", "")}, Periods: 1,
			Threshold: thresholdParameter("AuthFailuresMax", 100, "Alarm when more requests have no valid key or no scope in five minutes")},
	}
}

// recorderDimensions are the dimensions of the metrics of the function that records changes. They
// include only the function's name, so a metric counts the invocations of all aliases and versions
// of the function.
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

// queries returns the alarm's metric queries: one for its expression, or for the sum of its
// metrics, and one for each metric.
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
