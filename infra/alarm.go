package infra

import (
	"strconv"
	"strings"

	"growthworkspace/shared/api"
	"growthworkspace/shared/table"
)

// AlarmMetric is a metric of an alarm.
type AlarmMetric struct {
	Namespace  any // a string or a reference
	Name       string
	Dimensions Object // name and value
	Statistic  string // Sum, Average, Maximum or p99
}

// Alarm compares a metric, or the sum of several, with a threshold that the operator may change.
type Alarm struct {
	ID          string
	Description string
	Metrics     []AlarmMetric
	Threshold   Parameter
	Periods     int // consecutive periods that must exceed the threshold
}

const (
	// GatewayThrottled is the name of the metric that counts the requests throttled by the gateway,
	// and the logical id of its filter.
	GatewayThrottled = "GatewayThrottled"

	alarmTopicID       = "AlarmTopic"
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
			out = append(out, AlarmMetric{"AWS/Lambda", name, Object{{"FunctionName", Ref(f.ID())}}, "Sum"})
		}
		return out
	}
	gateway := Object{{"ApiName", Ref("AWS::StackName")}, {"Stage", StageName}}
	return []Alarm{
		{"ServerErrors", "The share of requests with a 5xx response, crashes and timeouts included",
			[]AlarmMetric{{"AWS/ApiGateway", "5XXError", gateway, "Average"}},
			thresholdParameter("ServerErrorShareMax", 0.01, "Alarm when a larger share of the requests gets a 5xx response"), 2},
		{"SlowRequests", "The 99th percentile of the duration of requests, in milliseconds",
			[]AlarmMetric{{StackNamespace(), "Duration", nil, "p99"}},
			thresholdParameter("DurationP99MillisecondsMax", 1000, "Alarm when the 99th percentile of the duration of requests is longer"), 3},
		{"FunctionErrors", "Crashes and timeouts of functions, in five minutes", perFunction("Errors"),
			thresholdParameter("FunctionErrorsMax", 0, "Alarm when functions crash or time out more often in five minutes"), 1},
		{"FunctionThrottles", "Requests throttled for lack of a free function instance, in five minutes", perFunction("Throttles"),
			thresholdParameter("FunctionThrottlesMax", 0, "Alarm when more requests find no free function instance in five minutes"), 1},
		{"TableThrottles", "Reads and writes that DynamoDB throttled, in five minutes", tableThrottles(),
			thresholdParameter("TableThrottlesMax", 10, "Alarm when DynamoDB throttles more reads and writes in five minutes"), 1},
		{"GatewayThrottles", "Requests that the gateway throttled, in five minutes",
			[]AlarmMetric{{StackNamespace(), GatewayThrottled, nil, "Sum"}},
			thresholdParameter("GatewayThrottlesMax", 100, "Alarm when the gateway throttles more requests in five minutes"), 1},
		{"ChangesBehind", "How long ago the oldest write was made that the feed of changes does not have, in milliseconds",
			[]AlarmMetric{{"AWS/Lambda", "IteratorAge", recorderDimensions(), "Maximum"}},
			thresholdParameter("ChangesBehindMillisecondsMax", 3_600_000, "Alarm when the feed of changes is further behind; the stream keeps records for 24 hours"), 1},
		{"ParkedChanges", "Records of the stream that the feed of changes could not read",
			[]AlarmMetric{{"AWS/SQS", "ApproximateNumberOfMessagesVisible", Object{{"QueueName", Attribute(ParkedQueueID, "QueueName")}}, "Maximum"}},
			thresholdParameter("ParkedChangesMax", 0, "Alarm when more records of the stream wait in the queue of those that could not be read"), 1},
		{"AuthFailures", "Requests without a valid key or without the scope, in five minutes",
			[]AlarmMetric{{StackNamespace(), "Unauthorised", nil, "Sum"}},
			thresholdParameter("AuthFailuresMax", 100, "Alarm when more requests have no valid key or no scope in five minutes"), 1},
	}
}

// recorderDimensions are the dimensions of the metrics of the function that records changes.
func recorderDimensions() Object {
	return Object{{"FunctionName", Ref(Function{Name: RecorderName}.ID())}}
}

func tableThrottles() (out []AlarmMetric) {
	for _, name := range []string{"ReadThrottleEvents", "WriteThrottleEvents"} {
		out = append(out, AlarmMetric{"AWS/DynamoDB", name, Object{{"TableName", tableName()}}, "Sum"})
		for _, i := range table.Indexes() {
			out = append(out, AlarmMetric{"AWS/DynamoDB", name, Object{
				{"TableName", tableName()}, {"GlobalSecondaryIndexName", i.Name()},
			}, "Sum"})
		}
	}
	return out
}

// thresholdParameter returns the parameter for the threshold of an alarm.
func thresholdParameter(name string, value any, description string) Parameter {
	return Parameter{Name: name, Type: "Number", Default: value, Description: description}
}

func (a Alarm) resource() Object {
	notify := List{Ref(alarmTopicID)}
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
		if strings.HasPrefix(m.Statistic, "p") { // a percentile
			statistic.Name = "ExtendedStatistic"
		}
		properties = append(properties, statistic, Field{"Period", alarmPeriodSeconds})
	} else {
		properties = append(properties, Field{"Metrics", a.sumQueries()})
	}
	return resource("AWS::CloudWatch::Alarm", properties)
}

// sumQueries returns the metric queries that add up the metrics of an alarm.
func (a Alarm) sumQueries() List {
	out := List{Object{{"Id", "all"}, {"Expression", "SUM(METRICS())"}, {"Label", a.ID}, {"ReturnData", true}}}
	for i, m := range a.Metrics {
		out = append(out, Object{
			{"Id", "m" + string(rune('a'+i))}, {"ReturnData", false},
			{"MetricStat", Object{
				{"Metric", Object{{"Namespace", m.Namespace}, {"MetricName", m.Name}, {"Dimensions", m.dimensions()}}},
				{"Period", alarmPeriodSeconds}, {"Stat", m.Statistic},
			}},
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
