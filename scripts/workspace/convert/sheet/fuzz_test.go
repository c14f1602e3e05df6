package sheet_test

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/spf13/pflag"

	"growthworkspace/scripts/workspace/convert"
	"growthworkspace/scripts/workspace/convert/sheet"
)

// FuzzFiles checks that any file is refused or converted to valid JSON, and that every record and
// problem has a row number that the file can have.
func FuzzFiles(f *testing.F) {
	for _, seed := range []string{
		"Day,A\n2026-08-10,1\n", "Day;A\n2026-08-10;1,5\n\"x\ny\";2\n", "sep=;\nDay;A\n", "\xff\xfeD\x00", "# Start date: 20260801\nNth day,Users\n0000,5\n\nCity,Users\nPorto,5\n",
		"date,visitors\n2026-08-01,1\n", "Day,A\n\"2026", "Day\tA\r2026-08-10\t\xf6\r", "PK\x03\x04",
	} {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, text []byte) {
		for kind, flags := range map[string][]string{
			"csv":       {"--type", "metric-point", "--date-column", "Day", "--metric", "A=a", "--comment", "#"},
			"ga4":       nil,
			"plausible": nil,
		} {
			set := pflag.NewFlagSet("convert", pflag.ContinueOnError)
			kinds := sheet.Kinds(set)
			if err := set.Parse(flags); err != nil {
				t.Fatal(err)
			}
			for _, k := range kinds {
				if k.Name == kind {
					checkConversion(t, k, text)
				}
			}
		}
	})
}

func checkConversion(t *testing.T, kind convert.Kind, text []byte) {
	t.Helper()
	result, err := convert.Convert(t.Context(), kind, []convert.Input{convert.NewInput("t.csv", text)})
	if err != nil {
		if !strings.HasPrefix(err.Error(), "t.csv") {
			t.Fatalf("%s: an error without the file: %v", kind.Name, err)
		}
		return
	}
	defer result.Close()
	rows := 1 + strings.Count(string(text), "\n") + strings.Count(string(text), "\r") + strings.Count(string(text), "PK")*1000
	err = result.Each(func(l convert.Line) error {
		if !json.Valid(l.JSON) || l.Row < 1 || l.Row > rows {
			t.Fatalf("%s: row %d of %d: %s", kind.Name, l.Row, rows, l.JSON)
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	err = result.EachProblem(func(p convert.Problem) error {
		if p.Row < 1 || p.Row > rows || p.Message == "" {
			t.Fatalf("%s: %d rows, problem %+v", kind.Name, rows, p)
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
}
