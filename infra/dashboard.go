package infra

import (
	"encoding/json"
	"fmt"
	"strings"
)

// widget is a graph in the dashboard, whose grid has 24 columns. Its metrics are in CloudWatch's
// notation.
type widget struct {
	title   string
	metrics []any
	stat    string
}

// Dashboard returns the body of the dashboard.
func (m Model) Dashboard() Object {
	return Object{{"Fn::Sub", List{dashboard(m.Functions), Object{{"TableName", tableName()}}}}}
}

// dashboard returns the dashboard's body as a string, in which Fn::Sub replaces the ${names}.
func dashboard(functions []Function) string {
	byOperation := func(name, stat string) []any {
		search := fmt.Sprintf(`SEARCH('{"%s",Operation} MetricName="%s"', '%s', %d)`, metricNamespace, name, stat, alarmPeriodSeconds)
		return []any{[]any{map[string]string{"expression": search, "label": ""}}}
	}
	serviceMetrics := func(names ...string) (out []any) {
		for _, name := range names {
			out = append(out, []any{metricNamespace, name})
		}
		return out
	}
	gateway := func(name string) []any {
		return []any{[]any{"AWS/ApiGateway", name, "ApiName", "${AWS::StackName}", "Stage", StageName}}
	}
	perFunction := func(name string) (out []any) {
		for _, f := range functions {
			out = append(out, []any{"AWS/Lambda", name, "FunctionName", "${" + f.ID() + "}"})
		}
		return out
	}
	table := func(names ...string) (out []any) {
		for _, name := range names {
			out = append(out, []any{"AWS/DynamoDB", name, "TableName", "${TableName}"})
		}
		return out
	}
	recorder := "${" + Function{Name: RecorderName}.ID() + "}"
	return layoutWidgets([]widget{
		{"Requests at the gateway", gateway("Count"), "Sum"},
		{"Share of 5xx", gateway("5XXError"), "Average"},
		{"Share of 4xx", gateway("4XXError"), "Average"},
		{"Requests by operation", byOperation("Duration", "SampleCount"), "SampleCount"},
		{"Errors by operation", byOperation("Errors", "Sum"), "Sum"},
		{"p99 by operation, ms", byOperation("Duration", "p99"), "p99"},
		{"Unauthorised requests", serviceMetrics("Unauthorised"), "Sum"},
		{"Requests over their key's quota", serviceMetrics("Throttled"), "Sum"},
		{"Throttled by the gateway", []any{[]any{metricNamespace, GatewayThrottled}}, "Sum"},
		{"Requests at the functions", serviceMetrics("Calls", "Errors"), "Sum"},
		{"Read and write units of the requests", serviceMetrics("ReadUnits", "WriteUnits"), "Sum"},
		{"Table calls", serviceMetrics("TableCalls"), "Sum"},
		{"Read and write units of the table and its indexes", table("ConsumedReadCapacityUnits", "ConsumedWriteCapacityUnits"), "Sum"},
		{"Throttled by the table", table("ReadThrottleEvents", "WriteThrottleEvents"), "Sum"},
		{"Crashes by function", perFunction("Errors"), "Sum"},
		{"Concurrent executions by function", perFunction("ConcurrentExecutions"), "Maximum"},
		{"Throttles by function", perFunction("Throttles"), "Sum"},
		{"p99 by function, ms", perFunction("Duration"), "p99"},
		{"Oldest write that the feed of changes lacks, ms", []any{[]any{"AWS/Lambda", "IteratorAge", "FunctionName", recorder}}, "Maximum"},
		{"Batches of the feed of changes", []any{[]any{"AWS/Lambda", "Invocations", "FunctionName", recorder}}, "Sum"},
		{"Records that the feed of changes could not read", []any{[]any{"AWS/SQS", "ApproximateNumberOfMessagesVisible", "QueueName", "${" + ParkedQueueID + ".QueueName}"}}, "Maximum"},
	})
}

// layoutWidgets returns the body with one widget on each line.
func layoutWidgets(widgets []widget) string {
	const columns, width, height = 3, 8, 6
	lines := make([]string, len(widgets))
	for i, w := range widgets {
		text, err := json.Marshal(map[string]any{
			"type": "metric", "x": i % columns * width, "y": i / columns * height, "width": width, "height": height,
			"properties": map[string]any{
				"title": w.title, "region": "${AWS::Region}", "stat": w.stat, "period": alarmPeriodSeconds, "metrics": w.metrics,
				"view": "timeSeries",
			},
		})
		if err != nil {
			panic("infra: cannot encode a widget: " + err.Error())
		}
		lines[i] = string(text)
	}
	return "{\"widgets\":[\n" + strings.Join(lines, ",\n") + "\n]}"
}
