package infra_test

import (
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"slices"
	"strconv"
	"strings"
	"testing"

	"growthworkspace/infra"
)

// traffic is the traffic during one period of an alarm.
type traffic struct{ requests, failures, p99 float64 }

// Ensure alarms on a share of the requests stay silent when only a few requests fail, and fire when
// the service fails. Each case has the requests and failures of one day, spread evenly over all
// periods.
func TestAlarmsOnShares(t *testing.T) {
	t.Parallel()
	const day = 24 * 60 * 60
	for name, test := range map[string]struct {
		requests, failures, p99 float64 // per day
		burst                   bool    // whether all requests occur in one period
		want                    []string
	}{
		"ten requests, one failure":                           {10, 1, 20, false, nil},
		"ten requests in one period, one failure":             {10, 1, 20, true, nil},
		"ten requests, one of them slow":                      {10, 0, 9000, true, nil},
		"10,000 requests, 5 % failures":                       {10_000, 500, 20, false, []string{"ErrorBudgetBurn"}},
		"10,000 requests in every period, 5 % failures":       {10_000 * day / 300, 500 * day / 300, 20, false, []string{"ErrorBudgetBurn", "ServerErrors"}},
		"30 requests in every period, all fail":               {30 * day / 300, 30 * day / 300, 20, false, []string{"ErrorBudgetBurn", "ServerErrors"}},
		"a million requests, 0.05 % failures":                 {1_000_000, 500, 20, false, nil},
		"a million requests, 0.7 % failures":                  {1_000_000, 7000, 20, false, []string{"ErrorBudgetBurn"}},
		"a million requests, 2 % failures":                    {1_000_000, 20_000, 20, false, []string{"ErrorBudgetBurn", "ServerErrors"}},
		"a million requests, one in a hundred takes a second": {1_000_000, 0, 1001, false, []string{"SlowRequests"}},
	} {
		var got []string
		for _, a := range infra.New().Alarms {
			if a.Expression == "" {
				continue
			}
			seconds := float64(max(a.Seconds, 300))
			share := seconds / day
			if test.burst {
				share = 1
			}
			if value := evaluate(t, a.Expression, traffic{test.requests * share, test.failures * share, test.p99}); value > threshold(t, a) {
				got = append(got, a.ID)
			}
		}
		slices.Sort(got)
		if !slices.Equal(got, test.want) {
			t.Errorf("%s: %v rings, want %v", name, got, test.want)
		}
	}
}

// threshold returns the default of an alarm's threshold.
func threshold(t *testing.T, a infra.Alarm) float64 {
	t.Helper()
	value, err := strconv.ParseFloat(fmt.Sprint(a.Threshold.Default), 64)
	if err != nil {
		t.Fatal(err)
	}
	return value
}

// evaluate returns the value of a CloudWatch metric math expression for one period. It parses the
// expressions of the alarms as Go, because they have Go's syntax.
func evaluate(t *testing.T, expression string, period traffic) float64 {
	t.Helper()
	parsed, err := parser.ParseExpr(expression)
	if err != nil {
		t.Fatal(err)
	}
	var value func(ast.Expr) float64
	value = func(e ast.Expr) float64 {
		switch e := e.(type) {
		case *ast.BasicLit:
			number, err := strconv.ParseFloat(e.Value, 64)
			if err != nil {
				t.Fatal(err)
			}
			return number
		case *ast.Ident:
			known := map[string]float64{"requests": period.requests, "failures": period.failures, "duration": period.p99}
			number, ok := known[e.Name]
			if !ok {
				t.Fatalf("%s has the unknown metric %s", expression, e.Name)
			}
			return number
		case *ast.BinaryExpr:
			switch x, y := value(e.X), value(e.Y); e.Op {
			case token.QUO:
				return x / y
			case token.GEQ:
				if x >= y {
					return 1
				}
				return 0
			}
		case *ast.CallExpr:
			if name, ok := e.Fun.(*ast.Ident); ok && name.Name == "IF" && len(e.Args) == 3 {
				if value(e.Args[0]) != 0 {
					return value(e.Args[1])
				}
				return value(e.Args[2])
			}
		}
		t.Fatalf("this test cannot evaluate %s", expression)
		return 0
	}
	return value(parsed)
}

// Ensure an expression uses every metric of its alarm and no other.
func TestAlarmExpressions(t *testing.T) {
	t.Parallel()
	for _, a := range infra.New().Alarms {
		for _, m := range a.Metrics {
			if (a.Expression == "") != (m.ID == "") || !strings.Contains(a.Expression, m.ID) {
				t.Errorf("%s has the metric %q and the expression %q", a.ID, m.ID, a.Expression)
			}
		}
	}
}

// Ensure the alarms on functions watch the alias, which serves the requests.
func TestAlarmsOfAliases(t *testing.T) {
	t.Parallel()
	watched := 0
	for _, a := range infra.New().Alarms {
		for _, m := range a.Metrics {
			if m.Namespace != "AWS/Lambda" || m.Name == "IteratorAge" { // IteratorAge has only the function's name as a dimension
				continue
			}
			watched++
			dimensions := infra.JSON(m.Dimensions).(map[string]any)
			function := dimensions["FunctionName"].(map[string]any)["Ref"].(string)
			if got := dimensions["Resource"].(map[string]any)["Fn::Sub"]; got != "${"+function+"}:live" {
				t.Errorf("%s of %s watches %v", a.ID, function, got)
			}
		}
	}
	if watched != 2*len(infra.New().Functions) {
		t.Errorf("%d metrics of functions", watched)
	}
}
