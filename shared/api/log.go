package api

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"time"

	"growthworkspace/shared/auth"
	"growthworkspace/shared/gateway"
	"growthworkspace/shared/table"
)

// MetricDetail says how detailed the metrics in the log lines are. CloudWatch bills every
// combination of metric name and operation by the hour.
type MetricDetail string

// MetricsOff adds no metrics. MetricsByService adds metrics that are aggregated over all
// operations. MetricsByOperation also adds the duration and the error count of each operation. The
// number of calls is the sample count of the duration.
const (
	MetricsOff         MetricDetail = ""
	MetricsByService   MetricDetail = "service"
	MetricsByOperation MetricDetail = "operations"
)

// DefaultMetricNamespace is the default CloudWatch namespace of the metrics.
const DefaultMetricNamespace = "GrowthWorkspace"

// Metrics selects the metrics in the log lines and their CloudWatch namespace. The zero value
// selects none.
type Metrics struct {
	Detail    MetricDetail
	Namespace string
}

// ParseMetrics parses the metrics settings. detail is "operations", "service" or "off"; empty means
// "off". Any other value is an error. An empty namespace means DefaultMetricNamespace.
func ParseMetrics(detail, namespace string) (Metrics, error) {
	m := Metrics{MetricDetail(detail), namespace}
	if namespace == "" {
		m.Namespace = DefaultMetricNamespace
	}
	switch m.Detail {
	case MetricsOff, MetricsByService, MetricsByOperation:
		return m, nil
	case "off":
		m.Detail = MetricsOff
		return m, nil
	}
	return Metrics{}, fmt.Errorf("metrics: must be operations, service or off, not %q", detail)
}

// LogLine is the one structured log line of a request: caller, operation, outcome and cost. It
// never contains a whole key or a body. It may also contain metrics in CloudWatch's embedded metric
// format, which requires neither API calls nor an agent.
type LogLine struct {
	RequestIDs gateway.RequestIDs
	Operation  string // empty if no operation matched
	CompanyID  string // empty if the key is missing or malformed
	KeyID      string
	Trace      Trace
	Status     int
	Bytes      int // the size of the body of the HTTP response
	Time       time.Time
	Duration   time.Duration
	Usage      table.Usage
	Err        error // in full, including the details that are not sent to the caller
	Failures   error // failures that did not change the response; logged as "note"
}

// errorBytesMax is the maximum length of the error of a 4xx response in the log.
const errorBytesMax = 2000

const attributesMax = 24

// Write writes the line. Attributes whose names begin with a capital letter are also metrics or
// their dimensions.
func (l LogLine) Write(log *slog.Logger, m Metrics) {
	operation := auth.Redact(l.Operation) // over MCP, this may be a method name that the caller sent
	if operation == "" {
		operation = "none"
	}
	attributes := append(make([]slog.Attr, 0, attributesMax), l.RequestIDs.Attributes()...)
	attributes = append(attributes,
		slog.String("companyId", l.CompanyID), slog.String("keyId", l.KeyID), slog.Int("status", l.Status), slog.Int("bytes", l.Bytes),
		slog.String("Operation", operation), slog.Float64("Duration", float64(l.Duration.Microseconds())/1000),
		slog.Int("TableCalls", l.Usage.Calls), slog.Float64("ReadUnits", l.Usage.Read), slog.Float64("WriteUnits", l.Usage.Write),
	)
	if l.Trace != (Trace{}) {
		attributes = append(attributes, slog.String("traceId", l.Trace.ID), slog.String("parentId", l.Trace.ParentID))
	}
	level := slog.LevelInfo
	if l.Err != nil {
		text := auth.Redact(l.Err.Error())
		if l.Status < http.StatusInternalServerError && len(text) > errorBytesMax {
			text = text[:errorBytesMax]
		}
		attributes = append(attributes, slog.String("error", text))
	}
	if l.Failures != nil {
		level = slog.LevelWarn
		attributes = append(attributes, slog.String("note", auth.Redact(l.Failures.Error())))
	}
	if l.Status >= http.StatusInternalServerError {
		level = slog.LevelError
	}
	if m.Detail != MetricsOff {
		attributes = append(attributes,
			slog.Int("Calls", 1), slog.Int("Errors", boolToInt(l.Status >= http.StatusInternalServerError)),
			slog.Int("Unauthorised", boolToInt(l.Status == http.StatusUnauthorized)), slog.Int("Throttled", boolToInt(l.Status == http.StatusTooManyRequests)),
			slog.Any("_aws", newEMFMetadata(l.Time, m)),
		)
	}
	log.LogAttrs(context.Background(), level, "request", attributes...)
}

// setFinal sets the fields that only the transport knows: the size of the response and, if the
// transport changed it, the status.
func (l *LogLine) setFinal(f gateway.FinalResponse) {
	l.Bytes = f.Bytes
	switch {
	case f.Failure != nil:
		l.Status, l.Err = f.Status, errors.Join(f.Failure, l.Err)
	case f.Status == http.StatusNotModified: // the 304 was decided after the call
		l.Status = f.Status
	}
}

func boolToInt(b bool) int {
	if b {
		return 1
	}
	return 0
}

type emfMetadata struct {
	Timestamp         int64 // milliseconds
	CloudWatchMetrics []emfDirective
}

type emfDirective struct {
	Namespace  string
	Dimensions [][]string
	Metrics    []emfMetric
}

type emfMetric struct{ Name, Unit string }

var (
	durationMetric = emfMetric{"Duration", "Milliseconds"}
	errorsMetric   = emfMetric{"Errors", "Count"}
	serviceMetrics = []emfMetric{
		{"Calls", "Count"}, durationMetric, errorsMetric, {"Unauthorised", "Count"}, {"Throttled", "Count"},
		{"ReadUnits", "Count"}, {"WriteUnits", "Count"}, {"TableCalls", "Count"},
	}
	operationMetrics = []emfMetric{durationMetric, errorsMetric}
)

func newEMFMetadata(at time.Time, m Metrics) emfMetadata {
	out := emfMetadata{at.UnixMilli(), []emfDirective{{m.Namespace, [][]string{{}}, serviceMetrics}}}
	if m.Detail == MetricsByOperation {
		out.CloudWatchMetrics = append(out.CloudWatchMetrics, emfDirective{m.Namespace, [][]string{{"Operation"}}, operationMetrics})
	}
	return out
}
