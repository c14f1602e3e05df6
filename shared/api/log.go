package api

import (
	"context"
	"fmt"
	"log/slog"
	"net/http"
	"time"

	"growthworkspace/shared/table"
)

// Detail says which metrics the log lines carry. CloudWatch bills each name and operation by the hour in which it occurs.
type Detail string

// Off writes lines only; ByService counts over all operations; ByOperation also has the duration and the errors of each
// operation, whose number of samples is the number of calls.
const (
	Off         Detail = ""
	ByService   Detail = "service"
	ByOperation Detail = "operations"
)

// MetricNamespace is CloudWatch's namespace of the metrics unless Metrics names another.
const MetricNamespace = "GrowthWorkspace"

// Metrics is what the log lines carry, and in which namespace CloudWatch keeps it. The zero value carries none.
type Metrics struct {
	Detail    Detail
	Namespace string
}

// ParseMetrics reads a setting: operations, service or off; empty means off. It fails on any other text.
func ParseMetrics(detail, namespace string) (Metrics, error) {
	m := Metrics{Detail(detail), namespace}
	if namespace == "" {
		m.Namespace = MetricNamespace
	}
	switch m.Detail {
	case Off, ByService, ByOperation:
		return m, nil
	case "off":
		m.Detail = Off
		return m, nil
	}
	return Metrics{}, fmt.Errorf("metrics: %q is none of operations, service, off", detail)
}

// LogLine is the one structured log line of a request: who, what, how it ended and what it cost. It never holds a key or a body.
// In a function it is a metric, too, in CloudWatch's embedded metric format, so that figures per operation cost no call and
// no agent.
type LogLine struct {
	RequestID string
	Operation string // empty: the request was for none
	CompanyID string // empty: no key, or a malformed one
	KeyID     string
	Status    int
	Time      time.Time
	Took      time.Duration
	Used      table.Units
	Err       error // for the log: both halves
}

// errorBytes bounds what a line quotes of a caller's mistakes.
const errorBytes = 2000

// Write writes the line. Attributes with a capital letter are also names of metrics.
func (r LogLine) Write(log *slog.Logger, m Metrics) {
	operation := r.Operation
	if operation == "" {
		operation = "none"
	}
	attributes := []slog.Attr{
		slog.String("requestId", r.RequestID), slog.String("companyId", r.CompanyID), slog.String("keyId", r.KeyID), slog.Int("status", r.Status),
		slog.String("Operation", operation), slog.Float64("Duration", float64(r.Took.Microseconds())/1000),
		slog.Int("TableCalls", r.Used.Calls), slog.Float64("ReadUnits", r.Used.Read), slog.Float64("WriteUnits", r.Used.Write),
	}
	level := slog.LevelInfo
	if r.Err != nil {
		text := r.Err.Error()
		if r.Status < http.StatusInternalServerError && len(text) > errorBytes {
			text = text[:errorBytes]
		}
		attributes = append(attributes, slog.String("error", text))
	}
	if r.Status >= http.StatusInternalServerError {
		level = slog.LevelError
	}
	if m.Detail != Off {
		attributes = append(attributes,
			slog.Int("Calls", 1), slog.Int("Errors", oneIf(r.Status >= http.StatusInternalServerError)),
			slog.Int("Unauthorised", oneIf(r.Status == http.StatusUnauthorized)), slog.Int("Throttled", oneIf(r.Status == http.StatusTooManyRequests)),
			slog.Any("_aws", embedded(r.Time, m)),
		)
	}
	log.LogAttrs(context.Background(), level, "request", attributes...)
}

func oneIf(b bool) int {
	if b {
		return 1
	}
	return 0
}

type metadata struct {
	Timestamp         int64 // milliseconds
	CloudWatchMetrics []directive
}

type directive struct {
	Namespace  string
	Dimensions [][]string
	Metrics    []metric
}

type metric struct{ Name, Unit string }

var (
	duration  = metric{"Duration", "Milliseconds"}
	failures  = metric{"Errors", "Count"}
	ofService = []metric{
		{"Calls", "Count"}, duration, failures, {"Unauthorised", "Count"}, {"Throttled", "Count"},
		{"ReadUnits", "Count"}, {"WriteUnits", "Count"}, {"TableCalls", "Count"},
	}
	ofOperation = []metric{duration, failures}
)

func embedded(at time.Time, m Metrics) metadata {
	out := metadata{at.UnixMilli(), []directive{{m.Namespace, [][]string{{}}, ofService}}}
	if m.Detail == ByOperation {
		out.CloudWatchMetrics = append(out.CloudWatchMetrics, directive{m.Namespace, [][]string{{"Operation"}}, ofOperation})
	}
	return out
}
