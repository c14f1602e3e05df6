package api_test

import (
	"bytes"
	"encoding/json"
	"errors"
	"log/slog"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"growthworkspace/shared/api"
	"growthworkspace/shared/gateway"
	"growthworkspace/shared/table"
)

var serviceMetrics = api.Metrics{Detail: api.MetricsByService, Namespace: "mine"}

func loggedFields(t *testing.T, r api.LogLine, m api.Metrics) map[string]any {
	t.Helper()
	var out bytes.Buffer
	r.Write(slog.New(slog.NewJSONHandler(&out, nil)), m)
	var v map[string]any
	if err := json.Unmarshal(out.Bytes(), &v); err != nil || strings.Count(out.String(), "\n") != 1 {
		t.Fatalf("a line of the log is not one JSON object: %v: %s", err, &out)
	}
	return v
}

// checkLine compares the fields in want with the fields of a log line. The value nil means that the
// line must not contain the field.
func checkLine(t *testing.T, what string, v, want map[string]any) {
	t.Helper()
	got := map[string]any{}
	for name := range want {
		got[name] = v[name]
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("%s (-want +got):\n%s", what, diff)
	}
}

// Ensure a line with metrics is valid for CloudWatch: every metric named in a directive must be a
// number in the line, and every dimension a string.
func TestEmbeddedMetrics(t *testing.T) {
	at := time.UnixMilli(1_786_440_600_123)
	r := api.LogLine{
		RequestIDs: gateway.RequestIDs{Extended: "ext=", Gateway: "gw", Lambda: "fn", Trace: "1-a"}, Bytes: 9, Operation: "get_item", CompanyID: "co_1", KeyID: "key_1", Status: 429, Time: at, Duration: 1500 * time.Microsecond,
		Usage: table.Usage{Calls: 2, Read: 1.5, Write: 1}, Err: errors.New("slow down"),
	}
	v := loggedFields(t, r, api.Metrics{Detail: api.MetricsByOperation, Namespace: "mine"})
	raw, err := json.Marshal(v["_aws"])
	if err != nil {
		t.Fatal(err)
	}
	var aws struct {
		Timestamp         int64
		CloudWatchMetrics []struct {
			Namespace  string
			Dimensions [][]string
			Metrics    []struct{ Name, Unit string }
		}
	}
	if err := json.Unmarshal(raw, &aws); err != nil || aws.Timestamp != at.UnixMilli() || len(aws.CloudWatchMetrics) != 2 {
		t.Fatalf("_aws %s, want the time %d and 2 directives: %v", raw, at.UnixMilli(), err)
	}
	for _, d := range aws.CloudWatchMetrics {
		if d.Namespace != "mine" || len(d.Dimensions) != 1 {
			t.Errorf("directive %+v, want the namespace mine and one list of dimensions", d)
		}
		for _, name := range d.Dimensions[0] {
			if _, isText := v[name].(string); !isText {
				t.Errorf("the dimension %s is %v", name, v[name])
			}
		}
		for _, m := range d.Metrics {
			if _, isNumber := v[m.Name].(float64); !isNumber {
				t.Errorf("the metric %s is %v", m.Name, v[m.Name])
			}
		}
	}
	checkLine(t, "the line of a refused call", v, map[string]any{
		"requestId": "gw", "extendedRequestId": "ext=", "lambdaRequestId": "fn", "xrayTraceId": "1-a", "bytes": 9.0, "companyId": "co_1", "keyId": "key_1", "status": 429.0, "Operation": "get_item", "Duration": 1.5, "TableCalls": 2.0,
		"ReadUnits": 1.5, "WriteUnits": 1.0, "Calls": 1.0, "Errors": 0.0, "Unauthorised": 0.0, "Throttled": 1.0, "error": "slow down", "level": "INFO",
	})
	if aws := loggedFields(t, r, serviceMetrics)["_aws"].(map[string]any); len(aws["CloudWatchMetrics"].([]any)) != 1 {
		t.Errorf("_aws %v, want one directive", aws)
	}
	checkLine(t, "a line without metrics", loggedFields(t, r, api.Metrics{}), map[string]any{"_aws": nil, "Calls": nil})
}

// Ensure a failure that did not change the response is logged as a warning with a note, not as an
// error of the request.
func TestLogOfNotes(t *testing.T) {
	r := table.NewRequest()
	r.AddFailure(nil)
	if r.Failures() != nil {
		t.Error("nothing was noted")
	}
	r.AddFailure(errors.New("could not remove chunks"))
	(*table.Request)(nil).AddFailure(errors.New("of an operator"))
	v := loggedFields(t, api.LogLine{Status: 200, Failures: r.Failures()}, serviceMetrics)
	checkLine(t, "a note", v, map[string]any{"level": "WARN", "note": "could not remove chunks", "error": nil, "Errors": 0.0})
	v = loggedFields(t, api.LogLine{Status: 500, Err: errors.New("down"), Failures: r.Failures()}, serviceMetrics)
	checkLine(t, "an error with a note", v, map[string]any{"level": "ERROR", "error": "down"})
}

// Ensure internal errors are logged in full with the level ERROR, and errors caused by callers are
// truncated.
func TestLogOfErrors(t *testing.T) {
	long := errors.New(strings.Repeat("x", 10_000))
	checkLine(t, "an error of a caller", loggedFields(t, api.LogLine{Status: 400, Err: long}, api.Metrics{}),
		map[string]any{"error": long.Error()[:2000], "level": "INFO", "Operation": "none"})
	checkLine(t, "an internal error", loggedFields(t, api.LogLine{Status: 500, Err: long}, serviceMetrics),
		map[string]any{"error": long.Error(), "level": "ERROR", "Errors": 1.0})
	checkLine(t, "a refused key", loggedFields(t, api.LogLine{Status: 401}, serviceMetrics), map[string]any{"Unauthorised": 1.0, "error": nil})
}

func TestParseMetrics(t *testing.T) {
	for text, want := range map[string]api.MetricDetail{"": "", "off": "", "service": "service", "operations": "operations"} {
		if got, err := api.ParseMetrics(text, ""); got.Detail != want || got.Namespace != api.DefaultMetricNamespace || err != nil {
			t.Errorf("%q: %+v, want %q in %s: %v", text, got, want, api.DefaultMetricNamespace, err)
		}
	}
	if got, err := api.ParseMetrics("service", "mine"); got.Namespace != "mine" || err != nil {
		t.Errorf("namespace %q, want mine: %v", got.Namespace, err)
	}
	if _, err := api.ParseMetrics("all", ""); err == nil {
		t.Error("accepts all")
	}
}
