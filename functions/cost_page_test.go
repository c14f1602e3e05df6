package functions_test

import (
	"context"
	"fmt"
	"log/slog"
	"net/http"
	"os"
	"strings"
	"testing"
	"time"

	"growthworkspace/functions"
	"growthworkspace/shared/testkit/apitest"
)

// costPage is the documentation page that lists what each operation costs.
const costPage = "scripts/docs/reference/costs.md"

// List prices in us-east-1, in US dollars per million units or requests. infra/RUNBOOK.md#costs
// gives their date and sources.
const (
	priceReadUnits  = 0.125 // DynamoDB on demand
	priceWriteUnits = 0.625
	priceGateway    = 3.50 // requests to a REST API of API Gateway
	priceLambda     = 0.20 // requests only
)

// useRecorder is a slog.Handler that keeps what the last request used, according to its log line.
type useRecorder struct{ calls, readUnits, writeUnits float64 }

func (u *useRecorder) Handle(_ context.Context, r slog.Record) error {
	r.Attrs(func(a slog.Attr) bool {
		switch a.Key {
		case "TableCalls":
			u.calls = float64(a.Value.Int64())
		case "ReadUnits":
			u.readUnits = a.Value.Float64()
		case "WriteUnits":
			u.writeUnits = a.Value.Float64()
		}
		return true
	})
	return nil
}

func (u *useRecorder) Enabled(context.Context, slog.Level) bool { return true }
func (u *useRecorder) WithAttrs([]slog.Attr) slog.Handler       { return u }
func (u *useRecorder) WithGroup(string) slog.Handler            { return u }

// Ensure the page of costs has the table calls, the units and the price of each operation: those of
// one request with default parameters to the fixture's company, whose records are small.
func TestCostPage(t *testing.T) {
	t.Parallel()
	apitest.SkipIfShort(t)
	page, err := os.ReadFile("../" + costPage)
	if err != nil {
		t.Fatal(err)
	}
	s := start(t, nil)
	used := &useRecorder{}
	s.Handler = functions.Handler(s.ServingTable, s.Config(slog.New(used)))
	key := s.IssueKey(t)
	var table strings.Builder
	for _, op := range functions.Operations(nil) {
		s.Clock.Advance(time.Minute) // so that the rate limit bucket is full
		if got := newTestRequest(t, s, op, key).send(t, s); got.Status != http.StatusOK {
			t.Errorf("%s: status %d, want 200: %s", op.ID, got.Status, got.Body)
		}
		price := used.readUnits*priceReadUnits + used.writeUnits*priceWriteUnits
		fmt.Fprintf(&table, "| `%s` | %g | %g | %g | %.2f | %.2f |\n", op.ID, used.calls, used.readUnits, used.writeUnits, price, price+priceGateway+priceLambda)
	}
	if !strings.Contains(string(page), "|\n"+table.String()+"\n") {
		t.Errorf("%s must have the rows\n%s", costPage, table.String())
	}
}

// Ensure the prices of the page of costs are those of infra/RUNBOOK.md.
func TestPricesAreTheRunbooks(t *testing.T) {
	t.Parallel()
	text, err := os.ReadFile("../infra/RUNBOOK.md")
	if err != nil {
		t.Fatal(err)
	}
	want := fmt.Sprintf("| price | $%.2f a million | $%.2f a million, $0.0000133334 a GB-second | $%g a million | $%g a million |", priceGateway, priceLambda, priceReadUnits, priceWriteUnits)
	if !strings.Contains(string(text), want) {
		t.Errorf("RUNBOOK.md does not say: %s", want)
	}
}
