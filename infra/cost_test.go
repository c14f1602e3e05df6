package infra_test

import (
	"fmt"
	"math"
	"os"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"growthworkspace/functions"
	"growthworkspace/infra"
)

// runbookCosts is the runbook's section on costs, with the values parsed from it.
type runbookCosts struct {
	text     string
	rows     [][]string // the rows of the section's table, without the header
	feedRows [][]string // the rows of the table of the feed's costs

	gatewayPrice, lambdaPrice, gigabyteSecondPrice, readPrice, writePrice, logsPrice float64
}

// readCosts reads and parses the cost section of the runbook.
func readCosts(t *testing.T) (c runbookCosts) {
	t.Helper()
	text, err := os.ReadFile("RUNBOOK.md")
	if err != nil {
		t.Fatal(err)
	}
	_, section, found := strings.Cut(string(text), "\n## Costs\n")
	section, _, _ = strings.Cut(section, "\n## ")
	section, feed, ok := strings.Cut(section, "\n### Costs of the feed of changes\n")
	if !found || !ok {
		t.Fatal("RUNBOOK.md has no section Costs, or that has none of the feed")
	}
	c.feedRows = tableRows(feed)
	c.rows = tableRows(section)
	c.text = strings.Join(strings.Fields(section), " ")
	if len(c.rows) < 3 || c.rows[0][0] != "price" {
		t.Fatalf("the table of costs has the rows %v", c.rows)
	}
	price := c.rows[0]
	lambda := parseDollars(t, price[2])
	c.gatewayPrice, c.lambdaPrice, c.gigabyteSecondPrice = parseDollars(t, price[1])[0], lambda[0], lambda[1]
	c.readPrice, c.writePrice, c.logsPrice = parseDollars(t, price[3])[0], parseDollars(t, price[4])[0], parseDollars(t, price[5])[0]
	return c
}

// tableRows returns the rows of the table in a section, without its header.
func tableRows(section string) (rows [][]string) {
	for line := range strings.Lines(section) {
		if !strings.HasPrefix(line, "| ") || strings.HasPrefix(line, "| |") {
			continue
		}
		var row []string
		for cell := range strings.SplitSeq(strings.Trim(line, "| \n"), "|") {
			row = append(row, strings.TrimSpace(cell))
		}
		rows = append(rows, row)
	}
	return rows
}

// parseDollars returns the dollar amounts in a string.
func parseDollars(t *testing.T, text string) (out []float64) {
	t.Helper()
	for _, amount := range regexp.MustCompile(`\$([0-9]+(?:\.[0-9]+)?)`).FindAllStringSubmatch(text, -1) {
		out = append(out, parseNumber(t, amount[1]))
	}
	if len(out) == 0 {
		t.Fatalf("no amount in %q", text)
	}
	return out
}

func parseNumber(t *testing.T, text string) float64 {
	t.Helper()
	n, err := strconv.ParseFloat(text, 64)
	if err != nil {
		t.Fatal(err)
	}
	return n
}

// Ensure every amount in the runbook's table of costs follows from its prices and units, and the
// fixed costs follow from the stack.
func TestRunbookCosts(t *testing.T) {
	t.Parallel()
	c := readCosts(t)
	functionCost := c.lambdaPrice + 1e6*0.010*0.25*c.gigabyteSecondPrice // a million calls, each of 10 ms with 256 MB
	logBytes := parseNumber(t, regexp.MustCompile(`function's line of ([0-9]+) bytes`).FindStringSubmatch(c.text)[1])
	for _, want := range []string{
		fmt.Sprintf("the gateway's access line of %d bytes", len(sampleAccessLine())),
		fmt.Sprintf("Lambda's two lines of %d bytes", len(sampleLambdaLines)),
	} {
		if !strings.Contains(c.text, want) {
			t.Errorf("RUNBOOK.md does not say: %s", want)
		}
	}
	logBytes += float64(len(sampleAccessLine()) + len(sampleLambdaLines))
	for _, row := range c.rows[1:] {
		units := func(cell string) float64 { n, _, _ := strings.Cut(cell, ":"); return parseNumber(t, n) }
		amount := func(cell string) float64 {
			if cell == "0" {
				return 0
			}
			return parseDollars(t, cell)[0]
		}
		total := 0.0
		for i, want := range []float64{c.gatewayPrice, functionCost, units(row[3]) * c.readPrice, units(row[4]) * c.writePrice, logBytes / 1e3 * c.logsPrice} {
			total += want
			if got := amount(row[i+1]); math.Abs(got-want) > 0.0051 {
				t.Errorf("%s: %s, which should be %.4f", row[0], row[i+1], want)
			}
		}
		if got := amount(row[6]); math.Abs(got-total) > 0.0051 {
			t.Errorf("%s: the total is %.2f, which should be %.4f", row[0], got, total)
		}
	}
	for _, want := range fixedCosts(t) {
		if !strings.Contains(c.text, want) {
			t.Errorf("RUNBOOK.md does not say: %s", want)
		}
	}
}

// sampleAccessLine returns the gateway's access log line for a request that gets an item.
func sampleAccessLine() string {
	return strings.NewReplacer(
		"$context.requestId", "8f3c1f0e-5a53-4d1c-9a52-3f1f7f0d2b11", "$context.extendedRequestId", "TWegAcC4EowCHnA=",
		"$context.integration.requestId", "0d5c3b1e-7a2f-4c55-8f60-1b7d9e2a4c33", "$context.xrayTraceId", "Root=1-6920a1b8-4f1d2c3b5a697887a6b5c4d3",
		"$context.requestTime", "21/Nov/2026:05:30:00 +0000", "$context.identity.sourceIp", "203.0.113.100",
		"$context.httpMethod", "GET", "$context.path", "/prod/v1/companies/"+someCompanyID+"/plan/items/itm_01kdvdna017fxb6j762bd9qnf4",
		"$context.status", "200", "$context.responseLength", "640", "$context.responseLatency", "22",
		"$context.integrationStatus", "200", "$context.integrationLatency", "19",
		"$context.tlsVersion", "TLSv1.3", "$context.cipherSuite", "TLS_AES_128_GCM_SHA256",
		"$context.error.responseType", "-", "$context.integrationErrorMessage", "-",
	).Replace(infra.AccessLog())
}

// sampleLambdaLines are the log lines that Lambda itself writes at the start and the end of a
// request, in the format that AWS documents.
const sampleLambdaLines = `{"time":"2026-11-21T05:30:00.012Z","type":"platform.start","record":{"requestId":"0d5c3b1e-7a2f-4c55-8f60-1b7d9e2a4c33","version":"12"}}` +
	`{"time":"2026-11-21T05:30:00.024Z","type":"platform.report","record":{"requestId":"0d5c3b1e-7a2f-4c55-8f60-1b7d9e2a4c33",` +
	`"metrics":{"durationMs":10.123,"billedDurationMs":11,"memorySizeMB":256,"maxMemoryUsedMB":64},"status":"success"}}`

// Ensure every variable of the gateway's access log line has a value in the sample.
func TestSampleAccessLine(t *testing.T) {
	t.Parallel()
	if line := sampleAccessLine(); strings.Contains(line, "$context") {
		t.Errorf("the sample lacks a value: %s", line)
	}
}

// Ensure every amount in the table of the feed's costs follows from the prices and the table's
// units.
func TestRunbookFeedCosts(t *testing.T) {
	t.Parallel()
	c := readCosts(t)
	if len(c.feedRows) != 3 || !slices.Equal(c.feedRows[0][1:4], c.rows[0][2:5]) {
		t.Fatalf("the table has the rows %v, want the prices %v and two others", c.feedRows, c.rows[0])
	}
	for _, row := range c.feedRows[1:] {
		units := func(cell string) float64 { n, _, _ := strings.Cut(cell, ":"); return parseNumber(t, n) }
		perChange := units(row[2]) // one read for each packet
		total := 0.0
		for i, want := range []float64{perChange * (c.lambdaPrice + 1e6*0.030*0.25*c.gigabyteSecondPrice), perChange * c.readPrice, units(row[3]) * c.writePrice} {
			total += want
			if got := parseDollars(t, row[i+1])[0]; math.Abs(got-want) > 0.0051 {
				t.Errorf("%s: %s, which should be %.4f", row[0], row[i+1], want)
			}
		}
		if got := parseDollars(t, row[4])[0]; math.Abs(got-total) > 0.0051 {
			t.Errorf("%s: the total is %.2f, which should be %.4f", row[0], got, total)
		}
	}
}

// CloudWatch's prices per month.
const (
	alarmPrice  = 0.10 // for each metric in an alarm
	metricPrice = 0.30
)

// alarmAndMetricCosts returns the number of metrics in alarms and three monthly costs. The first is
// for the alarms. The second is for the metrics of the whole service. The third also includes the
// metrics of each operation.
func alarmAndMetricCosts(t *testing.T) (alarmMetrics int, alarmCost, serviceMetricCost, operationMetricCost float64) {
	t.Helper()
	for _, a := range infra.New().Alarms {
		alarmMetrics += len(a.Metrics)
	}
	const gateway, perOperation = 1, 2 // the gateway counts throttled requests; an operation has metrics for its duration and errors
	service := len(metricNamesOfLine(t)) - perOperation + gateway
	return alarmMetrics, float64(alarmMetrics) * alarmPrice, float64(service) * metricPrice, float64(service+perOperation*len(functions.Operations(nil))) * metricPrice
}

// fixedCosts returns what the runbook says about fixed costs.
func fixedCosts(t *testing.T) []string {
	t.Helper()
	alarmMetrics, alarmCost, serviceMetricCost, operationMetricCost := alarmAndMetricCosts(t)
	return []string{
		fmt.Sprintf("%d alarm metrics at $%.2f, $%.2f in all", alarmMetrics, alarmPrice, alarmCost),
		fmt.Sprintf("metrics at $%.2f each", metricPrice),
		fmt.Sprintf("%d of the service, 1 of the gateway's log and 2 of each operation, at most $%.2f in all ($%.2f with `--param Metrics=service`)",
			len(metricNamesOfLine(t))-2, operationMetricCost, serviceMetricCost),
	}
}

// Ensure the prices in the README match the runbook.
func TestReadmePrice(t *testing.T) {
	t.Parallel()
	text, err := os.ReadFile("../README.md")
	if err != nil {
		t.Fatal(err)
	}
	least, most := math.Inf(1), 0.0
	c := readCosts(t)
	for _, row := range c.rows[1:] {
		total := parseDollars(t, row[6])[0]
		least, most = min(least, total), max(most, total)
	}
	_, alarmCost, _, operationMetricCost := alarmAndMetricCosts(t)
	want := fmt.Sprintf("| what AWS bills: $%.2f to $%.2f per million requests, at most %s per million changes in the feed, and each month $%.2f for alarms and at most $%.2f for metrics ([costs](infra/RUNBOOK.md#costs)) |",
		least, most, c.feedRows[1][4], alarmCost, operationMetricCost)
	if !strings.Contains(string(text), want) {
		t.Errorf("README.md does not say: %s", want)
	}
}
