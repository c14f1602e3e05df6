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

// Metrics says which metrics the lines carry. CloudWatch bills each name and operation by the hour in which it occurs.
type Metrics string

// MetricsOff writes lines only; MetricsService counts over all operations; MetricsOperations also has the duration and the
// errors of each operation, whose number of samples is the number of calls.
const (
	MetricsOff        Metrics = ""
	MetricsService    Metrics = "service"
	MetricsOperations Metrics = "operations"
)

// Namespace is where CloudWatch keeps the metrics.
const Namespace = "GrowthWorkspace"

// ParseMetrics reads a setting. An error for a text that is none.
func ParseMetrics(text string) (Metrics, error) {
	switch m := Metrics(text); m {
	case MetricsOff, MetricsService, MetricsOperations:
		return m, nil
	case "off":
		return MetricsOff, nil
	}
	return MetricsOff, fmt.Errorf("metrics: %q is none of operations, service, off", text)
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
	if m != MetricsOff {
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
	ofService = directive{Namespace, [][]string{{}}, []metric{
		{"Calls", "Count"}, duration, failures, {"Unauthorised", "Count"}, {"Throttled", "Count"},
		{"ReadUnits", "Count"}, {"WriteUnits", "Count"}, {"TableCalls", "Count"},
	}}
	ofOperation = directive{Namespace, [][]string{{"Operation"}}, []metric{duration, failures}}
)

func embedded(at time.Time, m Metrics) metadata {
	out := metadata{at.UnixMilli(), []directive{ofService}}
	if m == MetricsOperations {
		out.CloudWatchMetrics = append(out.CloudWatchMetrics, ofOperation)
	}
	return out
}
