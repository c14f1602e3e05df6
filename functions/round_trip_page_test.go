package functions_test

import (
	"os"
	"regexp"
	"strconv"
	"strings"
	"testing"
)

// roundTripPage is the documentation page that explains the exceptions listed in the operation
// tables, in the columns `trips` and `consistent`.
const roundTripPage = "scripts/docs/explanation/one-round-trip.md"

// Ensure the page on round trips lists exactly the exceptions: the operations that need extra round
// trips or strongly consistent reads of several records. Each row of the page must contain the
// value from the operation tables and a reason.
func TestRoundTripsPage(t *testing.T) {
	t.Parallel()
	text, err := os.ReadFile("../" + roundTripPage)
	if err != nil {
		t.Fatal(err)
	}
	page := map[[2]string]bool{}
	for _, m := range regexp.MustCompile("(?m)^\\| `([a-z_]+)` \\| (.+) \\| .+ \\|$").FindAllSubmatch(text, -1) {
		page[[2]string{string(m[1]), string(m[2])}] = true
	}
	rows := 0
	for _, o := range operationTable {
		for column, cell := range map[string]string{"trips": strconv.Itoa(o.RoundTrips), "consistent": strings.Join(o.ConsistentReads, ", ")} {
			if cell == "" || cell == "0" {
				continue
			}
			rows++
			row := [2]string{o.ID, cell}
			if !page[row] {
				t.Errorf("%s: %s must have the row | `%s` | %s | and the reason |", o.CellLocation(column), roundTripPage, o.ID, cell)
			}
			delete(page, row)
		}
	}
	for row := range page {
		t.Errorf("%s has %q, and the tables do not", roundTripPage, row)
	}
	if rows < 25 {
		t.Errorf("%d rows", rows)
	}
}
