// Package requestlog writes one structured line per request: who, what, how it ended and what it cost. Never a key, never
// a body. In a function the line is a metric, too, in CloudWatch's embedded metric format, so that figures per operation
// cost no call and no agent.
package requestlog

import (
	"context"
	"fmt"
	"log/slog"
	"net/http"
	"time"

	"growthworkspace/shared/meter"
)

// Detail says which metrics the lines carry. CloudWatch bills each name and operation by the hour in which it occurs.
type Detail string

// Off writes lines only; ByService counts over all operations; ByOperation also has the duration and the errors of each
// operation, whose number of samples is the number of calls.
const (
	Off         Detail = ""
	ByService   Detail = "service"
	ByOperation Detail = "operations"
)

// Namespace is where CloudWatch keeps the metrics when nothing else is said.
const Namespace = "GrowthWorkspace"

// Metrics is what the lines carry, and where CloudWatch keeps it. The zero value carries none.
type Metrics struct {
	Detail    Detail
	Namespace string
}

// ParseMetrics reads a setting: operations, service or off, which an empty text also is. An error for any other.
func ParseMetrics(detail, namespace string) (Metrics, error) {
	m := Metrics{Detail(detail), namespace}
	if namespace == "" {
		m.Namespace = Namespace
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

// Record is what a line says.
type Record struct {
	RequestID string
	Operation string // empty: the request was for none
	CompanyID string // empty: no key, or one that does not read
	KeyID     string
	Status    int
	Time      time.Time
	Took      time.Duration
	Spent     meter.Total
	Err       error // for the log: both halves
}

// errorBytes bounds what a line quotes of a caller's mistakes.
const errorBytes = 2000

// Write writes the line. Names with a capital are also names of metrics.
func Write(log *slog.Logger, r Record, m Metrics) {
	operation := r.Operation
	if operation == "" {
		operation = "none"
	}
	attributes := []slog.Attr{
		slog.String("requestId", r.RequestID), slog.String("companyId", r.CompanyID), slog.String("keyId", r.KeyID), slog.Int("status", r.Status),
		slog.String("Operation", operation), slog.Float64("Duration", float64(r.Took.Microseconds())/1000),
		slog.Int("TableCalls", r.Spent.Calls), slog.Float64("ReadUnits", r.Spent.ReadUnits), slog.Float64("WriteUnits", r.Spent.WriteUnits),
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
			slog.Int("Calls", 1), slog.Int("Errors", count(r.Status >= http.StatusInternalServerError)),
			slog.Int("Unauthorised", count(r.Status == http.StatusUnauthorized)), slog.Int("Throttled", count(r.Status == http.StatusTooManyRequests)),
			slog.Any("_aws", embedded(r.Time, m)),
		)
	}
	log.LogAttrs(context.Background(), level, "request", attributes...)
}

func count(b bool) int {
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
