package sheet_test

import (
	"archive/zip"
	"bytes"
	"crypto/sha256"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/spf13/pflag"
	"golang.org/x/text/encoding/charmap"
	"golang.org/x/text/encoding/unicode"

	"growthworkspace/scripts/workspace/convert"
	"growthworkspace/scripts/workspace/convert/sheet"
	"growthworkspace/shared/id"
)

// convertFiles converts files of the given kind. The caller must close the result.
func convertFiles(tb testing.TB, kind string, flags []string, files ...convert.Input) (*convert.Result, error) {
	tb.Helper()
	set := pflag.NewFlagSet("convert", pflag.ContinueOnError)
	kinds := sheet.Kinds(set)
	if err := set.Parse(flags); err != nil {
		tb.Fatal(err)
	}
	at := slices.IndexFunc(kinds, func(k convert.Kind) bool { return k.Name == kind })
	return convert.Convert(tb.Context(), kinds[at], files)
}

// run converts text as a file of the given kind. It returns the import lines, one per record.
// problems contains the problems and the reasons for skipping rows.
func run(tb testing.TB, kind, text string, flags ...string) (lines, problems []string, err error) {
	tb.Helper()
	result, err := convertFiles(tb, kind, flags, convert.NewInput("t.csv", []byte(text)))
	if err != nil {
		return nil, nil, err
	}
	defer result.Close()
	err = result.Each(func(l convert.Line) error {
		lines = append(lines, string(l.JSON))
		return nil
	})
	if err == nil {
		err = result.EachProblem(func(p convert.Problem) error {
			problems = append(problems, p.Error())
			return nil
		})
	}
	for reason, n := range result.Skipped {
		problems = append(problems, fmt.Sprintf("skipped %d %s", n, reason))
	}
	return lines, problems, err
}

// shortenLines shortens import lines, so that a table of test cases can show them.
func shortenLines(lines []string) string {
	r := strings.NewReplacer(`{"type":"metric-point","record":`, "", `{"type":"metric-definition","record":`, "def ", `T00:00:00.000Z`, "", "}}", "}", `"`, "")
	var out []string
	for _, l := range lines {
		out = append(out, r.Replace(l))
	}
	return strings.Join(out, "\n")
}

var pointFlags = []string{"--type", "metric-point", "--date-column", "Day"}

func TestCSV(t *testing.T) {
	for _, tt := range []struct {
		name, text    string
		flags         []string
		want, problem string // problem is a prefix of the problems or of the error
	}{
		{
			name: "a row per day is many series", text: "Day,Visitors,Sign-ups\n2026-08-10,1200,7\n2026-08-11,900,\n",
			flags:   []string{"--metric", "Visitors=web.visitors", "--metric", "Sign-ups=growth.signups"},
			want:    "{metricKey:web.visitors,ts:2026-08-10,value:1200}\n{metricKey:growth.signups,ts:2026-08-10,value:7}\n{metricKey:web.visitors,ts:2026-08-11,value:900}",
			problem: "skipped 1 cells without a value in columns of metrics",
		},
		{
			name: "semicolons and decimal commas", text: "Day;Umsatz\r\n31.12.2026;\"1.234,56 €\"\r\n",
			flags: []string{"--metric", "Umsatz=revenue.gross", "--currency", "EUR", "--scale", "100"},
			want:  "{currency:EUR,metricKey:revenue.gross,ts:2026-12-31,value:123456}",
		},
		{
			name: "tabs", text: "Day\tA, B\n2026-08-10\t1\n", flags: []string{"--metric", "A, B=a"},
			want: "{metricKey:a,ts:2026-08-10,value:1}",
		},
		{
			name: "the separator line of Excel", text: "sep=;\nDay;A\n2026-08-10;1,5\n", flags: []string{"--metric", "A=a"},
			want: "{metricKey:a,ts:2026-08-10,value:1.5}",
		},
		{
			name: "an ambiguous number", text: "Day,A\n2026-08-10,\"1,234\"\n", flags: []string{"--metric", "A=a"},
			problem: `t.csv, row 2, column A: "1,234" could be 1234 or 1.234: name the decimal separator with --decimal . or --decimal ,`,
		},
		{
			name: "the same number with --decimal", text: "Day,A\n2026-08-10,\"1,234\"\n", flags: []string{"--metric", "A=a", "--decimal", "."},
			want: "{metricKey:a,ts:2026-08-10,value:1234}",
		},
		{
			name: "a later number that decides for its column", text: "Day;A;B\n2026-08-10;1.234;1.234\n2026-08-11;12,5;5\n", flags: []string{"--metric", "A=a", "--metric", "B=b"},
			want:    "{metricKey:a,ts:2026-08-10,value:1234}\n{metricKey:a,ts:2026-08-11,value:12.5}\n{metricKey:b,ts:2026-08-11,value:5}",
			problem: `t.csv, row 2, column B: "1.234" could be 1234 or 1.234: name the decimal separator with --decimal . or --decimal ,`,
		},
		{
			name: "an ambiguous date", text: "Day,A\n01/02/2026,1\n", flags: []string{"--metric", "A=a"},
			problem: `t.csv, row 2, column Day: "01/02/2026" could be 1 February or 2 January: name the format with --date-format DD/MM/YYYY or --date-format MM/DD/YYYY`,
		},
		{
			name: "a date with a format", text: "Day,A\n01.02.2026,1\n", flags: []string{"--metric", "A=a", "--date-format", "DD.MM.YYYY"},
			want: "{metricKey:a,ts:2026-02-01,value:1}",
		},
		{
			name: "the day of a time is that of the zone", text: "Day,A\n2026-08-10T23:30:00Z,1\n", flags: []string{"--metric", "A=a", "--timezone", "Europe/Berlin"},
			want: "{metricKey:a,ts:2026-08-11,value:1}",
		},
		{
			name: "percent, parentheses and definitions", text: "Day,Rate,Refunds\n2026-08-10,12.5 %,($5.25)\n",
			flags: []string{"--metric", "Rate=growth.rate", "--metric", "Refunds=revenue.refunds", "--unit", "Rate=ratio", "--currency", "Refunds=USD", "--aggregation", "Rate=none"},
			want: "def {aggregation:none,id:mdf_,key:growth.rate,kind:measured,name:Rate,needsReview:false,unit:ratio}\n" +
				"{metricKey:growth.rate,ts:2026-08-10,value:0.125}\n{currency:USD,metricKey:revenue.refunds,ts:2026-08-10,value:-5.25}",
		},
		{
			name: "an amount that is not in minor units", text: "Day,A\n2026-08-10,5.25\n", flags: []string{"--metric", "A=a", "--unit", "currency_minor"},
			want:    "def {id:mdf_,key:a,kind:measured,name:A,needsReview:false,unit:currency_minor}",
			problem: "t.csv, row 2, column A: 5.25 is not a whole number of currency_minor, such as cents: multiply the column with --scale",
		},
		{
			name: "a currency that nobody named", text: "Day,A\n2026-08-10,€5\n", flags: []string{"--metric", "A=a"},
			problem: "t.csv, row 2, column A: has the currency €: name it with --currency COLUMN=EUR",
		},
		{
			name: "another currency", text: "Day,A\n2026-08-10,5 GBP\n", flags: []string{"--metric", "A=a", "--currency", "A=EUR"},
			problem: "t.csv, row 2, column A: has the currency GBP, but the column has EUR",
		},
		{
			name: "dimensions", text: "Day,Country,A\n2026-08-10,de,1\n2026-08-10,pt,2\n2026-08-10,,3\n", flags: []string{"--metric", "A=a", "--map", "dims.country=Country"},
			want: "{dims:{country:de},metricKey:a,ts:2026-08-10,value:1}\n{dims:{country:pt},metricKey:a,ts:2026-08-10,value:2}\n{metricKey:a,ts:2026-08-10,value:3}",
		},
		{
			name: "the same day twice", text: "Day,Country,A\n2026-08-10,de,1\n2026-08-10,pt,2\n", flags: []string{"--metric", "A=a"},
			want:    "{metricKey:a,ts:2026-08-10,value:1}",
			problem: "t.csv, row 3, column A: an earlier row has the same day; if another column tells the rows apart, name it with --map dims.NAME=COLUMN",
		},
		{
			name: "two days of a week", text: "Day,A\n2026-08-10,1\n2026-08-16,2\n2026-08-17,3\n", flags: []string{"--metric", "A=a", "--set", "grain=week"},
			want:    "{grain:week,metricKey:a,ts:2026-08-10,value:1}\n{grain:week,metricKey:a,ts:2026-08-17,value:3}",
			problem: "t.csv, row 3, column A: an earlier row has the same week; if another column tells the rows apart, name it with --map dims.NAME=COLUMN",
		},
		{
			name: "a metric to a row", text: "Day,Metric,Amount\n2026-08-10,a,1\n2026-08-10,b,2\n", flags: []string{"--map", "metricKey=Metric,value=Amount"},
			want: "{metricKey:a,ts:2026-08-10,value:1}\n{metricKey:b,ts:2026-08-10,value:2}",
		},
		{
			name: "totals, comments, empty rows and a title", text: "My numbers\n\n# made today\nDay,A\n2026-08-10,1\n,,\n\nTotal,1\n", flags: []string{"--metric", "A=a", "--skip-lines", "1", "--comment", "#"},
			want: "{metricKey:a,ts:2026-08-10,value:1}", problem: "skipped 1 rows of totals",
		},
		{
			name: "a header below a title", text: "My numbers,\n\nDay,A\n2026-08-10,1\n", flags: []string{"--metric", "A=a"},
			problem: "t.csv, row 1, column Day: is not in the header; the columns are My numbers; row 3 has it: use --skip-lines 2",
		},
		{
			name: "a missing column", text: "Day,Visitors\n2026-08-10,1\n", flags: []string{"--metric", "Visitor=a"},
			problem: `t.csv, row 1, column Visitor: is not in the header; did you mean "Visitors"?; the columns are Day, Visitors`,
		},
		{
			name: "a column twice", text: "Day,A,A\n2026-08-10,1,2\n", flags: []string{"--metric", "A=a"},
			problem: "t.csv, row 1, column A: is in the header twice, as columns B and C",
		},
		{
			name: "a row that ends early", text: "Day,A,B\n2026-08-10,1,2\n2026-08", flags: []string{"--metric", "A=a"},
			want:    "{metricKey:a,ts:2026-08-10,value:1}",
			problem: "t.csv, row 3: has 1 cells, but the header has 3; a separator or a quote is missing, or the file is truncated",
		},
		{
			name: "a separator at the end of each row", text: "Day,A,B\n2026-08-10,1,,\n2026-08-11,2,x,\n", flags: []string{"--metric", "A=a"},
			want: "{metricKey:a,ts:2026-08-10,value:1}\n{metricKey:a,ts:2026-08-11,value:2}",
		},
		{
			name: "a number whose separator shifts the cells", text: "Day,A,B\n2026-08-10,999,\n2026-08-11,1,234,\n", flags: []string{"--metric", "A=a"},
			want:    "{metricKey:a,ts:2026-08-10,value:999}",
			problem: "t.csv, row 3: has 4 cells, but the first row has 3; is a cell with a separator not quoted?",
		},
		{
			name: "a quote that never ends", text: "Day,A,B\n2026-08-10,1,x\n2026-08-11,2,\"y\n2026-08-12,3,z\n", flags: []string{"--metric", "A=a"},
			problem: "t.csv, row 3, column B: has a quote that is never closed",
		},
		{
			name: "a quote in a cell", text: "Day,A,B\n2026-08-10,1,5\" screen\"\n", flags: []string{"--metric", "A=a"},
			problem: "t.csv, row 2: has a quote inside a cell that is not quoted, at character 15: quote the cell, and write the quote twice",
		},
		{
			name: "another encoding", text: "Day,Gr\xf6\xdfe\n2026-08-10,1\n", flags: []string{"--metric", "Größe=a"},
			problem: `t.csv, row 1, column B: is not UTF-8: name the encoding, for example --encoding windows-1252, in which a word of the cell reads "Größe"`,
		},
		{
			name: "another encoding that is named", text: "Day,Gr\xf6\xdfe\n2026-08-10,1\n", flags: []string{"--metric", "Größe=a", "--encoding", "windows-1252"},
			want: "{metricKey:a,ts:2026-08-10,value:1}",
		},
		{
			name: "an encoding that is not that of the file", text: "Day,A,B\n2026-08-10,1,\xff\xff\n", flags: []string{"--metric", "A=a", "--encoding", "shift_jis"},
			problem: "t.csv, row 2, column B: has bytes that are invalid in --encoding shift_jis: choose another encoding",
		},
		{
			name: "half a surrogate pair", text: "\xff\xfeD\x00a\x00y\x00,\x00A\x00\n\x002\x000\x00,\x00\x3d\xd8x\x00\n\x00", flags: []string{"--metric", "A=a"},
			problem: "t.csv, row 2, column A: has half a surrogate pair, which is no character of UTF-16",
		},
		{name: "a workbook", text: "PK\x03\x04...", flags: []string{"--metric", "A=a"}, problem: "t.csv: is a workbook or a zip archive: save the sheet as CSV"},
		{name: "no file", text: "", flags: []string{"--metric", "A=a"}, problem: "t.csv: is empty"},
		{name: "an unknown unit", text: "Day,A\n2026-08-10,1\n", flags: []string{"--metric", "A=a", "--unit", "euros"}, want: "{metricKey:a,ts:2026-08-10,value:1}",
			problem: "t.csv, row 1, column A: must be one of currency_minor, count, ratio, duration_ms, score, bytes"},
		{name: "an invalid key", text: "Day,A\n2026-08-10,1\n", flags: []string{"--metric", "A=Web Visitors"}, problem: `t.csv, row 2, column A: must match`},
		{name: "no metric", text: "Day,A\n2026-08-10,1\n", problem: "t.csv: a metric-point needs a value: name its columns with --metric COLUMN=KEY"},
		{name: "a scale of another column", text: "Day,A\n2026-08-10,1\n", flags: []string{"--metric", "A=a", "--scale", "B=2"}, problem: "t.csv: --scale B: is not a column of --metric"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			lines, problems, err := run(t, "csv", tt.text, append(append([]string{}, pointFlags...), tt.flags...)...)
			if err != nil {
				problems = []string{err.Error()}
			}
			if diff := cmp.Diff(tt.want, withoutDigests(shortenLines(lines))); diff != "" {
				t.Errorf("records (-want +got):\n%s", diff)
			}
			if got := strings.Join(problems, "\n"); got != tt.problem && (tt.problem == "" || !strings.HasPrefix(got, tt.problem)) {
				t.Errorf("problems:\n%s\nwant:\n%s", got, tt.problem)
			}
		})
	}
}

// Ensure rows become valid records of types other than metric points. Converting the rows again
// must give the same ids.
func TestRecords(t *testing.T) {
	for _, tt := range []struct {
		name, text string
		flags      []string
		want       string
	}{
		{
			"feedback with an id", "Id,Headline,Stars,Day\n7,=HYPERLINK(1),5,11 Aug 2026 09:30\n",
			[]string{"--type", "feedback", "--map", "title=Headline,rating=Stars", "--id-column", "Id", "--date-column", "Day", "--timezone", "Europe/Berlin", "--set", "source=App Store"},
			`{"externalId":"7","kind":"review","postedAt":"2026-08-11T07:30:00.000Z","rating":5,"source":"app_store","title":"=HYPERLINK(1)"}`,
		},
		{
			"feedback without an id", "Headline,Stars\nGood,5\n", []string{"--type", "feedback", "--map", "title=Headline,rating=Stars", "--set", "source=reddit", "--set", "kind=review"},
			`{"externalId":"1e0d393qz0p0xgmm2tsdrddwr2","kind":"review","rating":5,"source":"reddit","title":"Good"}`,
		},
		{
			"post", "Text,When,Tags\nHello,2026-08-11 09:30,\"#a, #b\"\n",
			[]string{"--type", "post", "--map", "body=Text,hashtags=Tags", "--date-column", "When", "--set", "platform=x"},
			`{"body":"Hello","hashtags":["#a","#b"],"id":"pst_","platform":"x","scheduledFor":"2026-08-11T09:30:00.000Z","status":"draft"}`,
		},
		{
			"idea", "Idea\nShow the new editor\n", []string{"--type", "content-idea", "--map", "title=Idea"},
			`{"id":"ida_","sourceKind":"manual","status":"suggested","title":"Show the new editor"}`,
		},
		{
			"item", "Name\nOffline mode\n", []string{"--type", "item", "--map", "title=Name", "--set", "roadmapId=brd_1"},
			`{"id":"itm_","roadmapId":"brd_1","slug":"offline-mode","status":"draft","title":"Offline mode"}`,
		},
	} {
		t.Run(tt.name, func(t *testing.T) {
			lines, problems, err := run(t, "csv", tt.text, tt.flags...)
			if err != nil || len(problems) > 0 || len(lines) != 1 {
				t.Fatalf("lines %q, problems %q, error %v", lines, problems, err)
			}
			again, _, _ := run(t, "csv", tt.text, tt.flags...)
			if !cmp.Equal(lines, again) {
				t.Errorf("the second time:\n%s\n%s", lines, again)
			}
			_, got, _ := strings.Cut(strings.TrimSuffix(lines[0], "}"), `"record":`)
			if head, rest, ok := strings.Cut(tt.want, `_",`); ok { // want leaves out the digest in the id
				gotHead, gotRest, _ := strings.Cut(got, head+"_")
				_, gotRest, _ = strings.Cut(gotRest, `",`)
				got, tt.want = gotHead+gotRest, rest
			}
			if got != tt.want {
				t.Errorf("record\n%s\nwant\n%s", got, tt.want)
			}
		})
	}
}

// Ensure the id of a row does not depend on the API's defaults if there is no --id-column. The id
// then stays the same when the API adds a default.
func TestDigestWithoutDefaults(t *testing.T) {
	lines, _, err := run(t, "csv", "Idea\nShow the new editor\n", "--type", "content-idea", "--map", "title=Idea")
	want := digestID("ida", `content-idea`, `{"title":"Show the new editor"}`)
	if err != nil || len(lines) != 1 || !strings.Contains(lines[0], want) {
		t.Errorf("lines %q, %v, want the id %s", lines, err, want)
	}
}

// digestID returns an id that is a digest of text.
func digestID(prefix, kind, text string) string {
	sum := sha256.Sum256([]byte(kind + "\n" + text))
	return id.FromBytes(prefix, [16]byte(sum[:16]))
}

// Ensure only the newest of several rows with the same identity is kept, or the last one if they
// have no time. The others must be counted as skipped.
func TestRowsWithOneIdentity(t *testing.T) {
	const reason = "skipped 1 an older version of a record that is in the files again"
	for _, tt := range []struct {
		text, want string
		flags      []string
	}{
		{"Id,Text,Day\n1,new,2026-08-09\n1,old,2026-08-01\n", `"body":"new"`, []string{"--type", "feedback", "--map", "body=Text", "--set", "source=reddit", "--id-column", "Id", "--date-column", "Day"}},
		{"Id,Text,Day\n1,old,2026-08-01\n1,new,2026-08-09\n", `"body":"new"`, []string{"--type", "feedback", "--map", "body=Text,externalId=Id", "--set", "source=reddit", "--date-column", "Day"}},
		{"Id,Text\n1,first\n1,last\n", `"body":"last"`, []string{"--type", "post", "--map", "body=Text", "--set", "platform=x", "--id-column", "Id"}},
	} {
		lines, problems, err := run(t, "csv", tt.text, tt.flags...)
		if err != nil || len(lines) != 1 || !strings.Contains(lines[0], tt.want) || len(problems) != 1 || problems[0] != reason {
			t.Errorf("%q: lines %q, problems %q, %v", tt.text, lines, problems, err)
		}
	}
}

// Ensure a point that occurs in two files of a command is an error, as it is within one file.
func TestPointInTwoFiles(t *testing.T) {
	result, err := convertFiles(t, "csv", append([]string{"--metric", "A=a"}, pointFlags...),
		convert.NewInput("july.csv", []byte("Day,A\n2026-07-31,1\n")), convert.NewInput("august.csv", []byte("Day,A\n2026-07-31,2\n2026-08-01,3\n")))
	if err != nil {
		t.Fatal(err)
	}
	defer result.Close()
	if err := result.Err(); result.ProblemCount != 1 || !strings.HasPrefix(err.Error(), "august.csv, row 2, column A: an earlier row has the same day") {
		t.Errorf("%d problems: %v", result.ProblemCount, err)
	}
}

// Ensure different items with the same title get different slugs, and an item that occurs twice
// gets the same slug again.
func TestSlugs(t *testing.T) {
	lines, _, err := run(t, "csv", "Name,Text\nEditor,a\nEditor,b\nEditor,a\n", "--type", "item", "--map", "title=Name,summary=Text", "--set", "roadmapId=brd_1")
	if err != nil || len(lines) != 3 || !strings.Contains(lines[0], `"slug":"editor"`) || !strings.Contains(lines[1], `"slug":"editor-2"`) || lines[2] != lines[0] {
		t.Errorf("lines %q, %v", lines, err)
	}
}

func TestFlagErrors(t *testing.T) {
	for _, tt := range []struct {
		flags []string
		want  string
	}{
		{nil, "--type is required: one of feedback, metric-point, post, content-idea, item"},
		{[]string{"--type", "audit"}, "--type audit: must be one of feedback, "},
		{[]string{"--type", "feedback", "--set", "source=reddit", "--map", "titel=A"}, "--map titel: a record of type feedback has no such field; did you mean title?; the fields are appVersion, "},
		{[]string{"--type", "feedback", "--map", "id=A"}, "--map id: is not set from a sheet; --id-column names the column"},
		{[]string{"--type", "feedback", "--map", "title"}, "--map title: must be FIELD=COLUMN"},
		{[]string{"--type", "feedback", "--metric", "A=a"}, "--metric, --scale, --unit, --currency and --aggregation are for --type metric-point"},
		{[]string{"--type", "item", "--map", "title=A"}, "a record of type item needs roadmapId: name its column with --map roadmapId=COLUMN, or its value with --set roadmapId=VALUE"},
		{[]string{"--type", "post", "--map", "body=A"}, "a record of type post needs platform: "},
		{[]string{"--type", "feedback", "--decimal", ";"}, "--decimal ;: must be . or ,"},
		{[]string{"--type", "feedback", "--timezone", "Berlin"}, "--timezone Berlin: must be a name of the IANA time zone database"},
		{[]string{"--type", "feedback", "--date-format", "DD.MM.jjjj"}, `--date-format DD.MM.jjjj: "j" has no meaning; use YYYY`},
		{[]string{"--type", "feedback", "--encoding", "ansi2"}, "--encoding ansi2: is not the name of an encoding"},
		{[]string{"--type", "feedback", "--mapping", "testdata/none.json"}, "--mapping: open testdata/none.json"},
	} {
		_, _, err := run(t, "csv", "A,B\n1,2\n", tt.flags...)
		if err == nil || !strings.HasPrefix(err.Error(), "t.csv: "+tt.want) {
			t.Errorf("%q: %v, want %s", tt.flags, err, tt.want)
		}
	}
}

// Ensure a saved mapping has the same effect as the flags with which it was saved. Other flags must
// take precedence over it.
func TestMappingFile(t *testing.T) {
	file := filepath.Join(t.TempDir(), "mapping.json")
	flags := append([]string{"--metric", "A=a", "--scale", "A=100", "--decimal", ",", "--skip-rows", "Summe", "--save-mapping", file}, pointFlags...)
	want, _, err := run(t, "csv", "Day;A\n2026-08-10;1,5\nSumme;1\n", flags...)
	if err != nil {
		t.Fatal(err)
	}
	got, _, err := run(t, "csv", "Day;A\n2026-08-10;1,5\nSumme;1\n", "--mapping", file)
	if err != nil || !cmp.Equal(got, want) {
		t.Errorf("records %q, %v, want %q", got, err, want)
	}
	got, _, err = run(t, "csv", "Day;A\n2026-08-10;1,5\n", "--mapping", file, "--scale", "A=10", "--metric", "A=b")
	if err != nil || shortenLines(got) != "{metricKey:b,ts:2026-08-10,value:15}" {
		t.Errorf("records %q, %v", got, err)
	}
	text, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(file, bytes.Replace(text, []byte(`"scale"`), []byte(`"scales"`), 1), 0o600); err != nil {
		t.Fatal(err)
	}
	if _, _, err := run(t, "csv", "Day;A\n", "--mapping", file); err == nil || !strings.Contains(err.Error(), `unknown field "scales"`) {
		t.Errorf("error %v", err)
	}
}

// Ensure the same content is read in every encoding that is recognised.
func TestEncodings(t *testing.T) {
	const text = "Day;Größe 東京\n2026-08-10;1\n"
	must := func(name, text string, err error) string {
		if err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		return text
	}
	little, err := unicode.UTF16(unicode.LittleEndian, unicode.UseBOM).NewEncoder().String(text)
	big, err2 := unicode.UTF16(unicode.BigEndian, unicode.UseBOM).NewEncoder().String(text)
	bare, err3 := unicode.UTF16(unicode.LittleEndian, unicode.IgnoreBOM).NewEncoder().String(text)
	for name, file := range map[string]string{
		"UTF-8": text, "UTF-8 with a mark": "\ufeff" + text, "UTF-16LE": must("le", little, err), "UTF-16BE": must("be", big, err2), "UTF-16 without a mark": must("bare", bare, err3),
		"carriage returns": strings.ReplaceAll(text, "\n", "\r"), "both": strings.ReplaceAll(text, "\n", "\r\n"), "no end": strings.TrimSuffix(text, "\n"),
	} {
		lines, problems, err := run(t, "csv", file, append([]string{"--metric", "größe 東京=a"}, pointFlags...)...)
		if err != nil || shortenLines(lines) != "{metricKey:a,ts:2026-08-10,value:1}" {
			t.Errorf("%s: records %q, problems %q, %v", name, lines, problems, err)
		}
	}
	if _, _, err := run(t, "csv", little[:len(little)-1], append([]string{"--metric", "a=a"}, pointFlags...)...); err == nil || !strings.Contains(err.Error(), "is truncated: UTF-16") {
		t.Errorf("truncated UTF-16: %v", err)
	}
	cyrillic, err := charmap.Windows1251.NewEncoder().String("Day;Размер\n2026-08-10;1\n")
	if err != nil {
		t.Fatal(err)
	}
	lines, _, err := run(t, "csv", cyrillic, append([]string{"--metric", "Размер=a", "--encoding", "windows-1251"}, pointFlags...)...)
	if err != nil || len(lines) != 1 {
		t.Errorf("windows-1251: %q, %v", lines, err)
	}
}

func readTestdata(tb testing.TB, name string) string {
	tb.Helper()
	text, err := os.ReadFile(filepath.Join("testdata", name))
	if err != nil {
		tb.Fatal(err)
	}
	return string(text)
}

// Ensure days that count from the report's start date are converted to dates, and tables without a
// day are skipped.
func TestGA4Report(t *testing.T) {
	lines, problems, err := run(t, "ga4", readTestdata(t, "ga4-report.csv"))
	if err != nil {
		t.Fatal(err)
	}
	want := strings.Join([]string{
		"def {aggregation:none,id:mdf_,key:ga4.active_users,kind:measured,name:Active users,needsReview:false,unit:count}",
		"{metricKey:ga4.active_users,ts:2026-08-01,value:120}",
		"{metricKey:ga4.active_users,ts:2026-08-02,value:95}",
		"{metricKey:ga4.active_users,ts:2026-08-03,value:1204}",
		"def {aggregation:none,id:mdf_,key:ga4.average_engagement_time,kind:measured,name:Average engagement time,needsReview:false,unit:duration_ms}",
		"{metricKey:ga4.average_engagement_time,ts:2026-08-01,value:41500}",
		"{metricKey:ga4.average_engagement_time,ts:2026-08-03,value:38214}",
	}, "\n")
	if diff := cmp.Diff(want, withoutDigests(shortenLines(lines))); diff != "" {
		t.Errorf("records (-want +got):\n%s", diff)
	}
	if diff := cmp.Diff([]string{"skipped 3 rows of tables without a day (a column Nth day or Date)"}, problems); diff != "" {
		t.Errorf("problems (-want +got):\n%s", diff)
	}
}

// withoutDigests cuts the ids of metric definitions after their prefix.
func withoutDigests(lines string) string {
	var out []string
	for _, l := range strings.Split(lines, "\n") {
		if head, rest, ok := strings.Cut(l, "mdf_"); ok {
			_, rest, _ = strings.Cut(rest, ",")
			l = head + "mdf_," + rest
		}
		out = append(out, l)
	}
	return strings.Join(out, "\n")
}

// Ensure an exploration with dates and dimensions is converted. Its row of totals, which has an
// additional cell, must be skipped.
func TestGA4Exploration(t *testing.T) {
	lines, problems, err := run(t, "ga4", readTestdata(t, "ga4-exploration.csv"), "--metric", "Views=web.views")
	if err != nil {
		t.Fatal(err)
	}
	want := "def {aggregation:sum,id:mdf_,key:web.views,kind:measured,name:Views,needsReview:false,unit:count}\n" +
		"{metricKey:web.views,ts:2026-08-26,value:68392}\n{metricKey:web.views,ts:2026-08-25,value:130}"
	if got := withoutDigests(shortenLines(lines)); got != want || len(problems) != 1 || problems[0] != "skipped 1 rows of totals" {
		t.Errorf("records\n%s\nwant\n%s\nproblems %q", got, want, problems)
	}
	lines, _, err = run(t, "ga4", strings.Replace(readTestdata(t, "ga4-exploration.csv"), "20260825,/", "20260826,/pricing", 1))
	if err != nil || !strings.Contains(shortenLines(lines), "{dims:{page_path:/pricing},metricKey:ga4.views,ts:2026-08-26,value:130}") {
		t.Errorf("records\n%s\n%v", shortenLines(lines), err)
	}
}

// Ensure a row of totals that has no label is skipped, wherever it is, and a row without a day does
// not turn the other days into numbers of days.
func TestGA4Totals(t *testing.T) {
	const want = "{dims:{country:Chile},metricKey:ga4.revenue,ts:2026-10-01,value:1000.5}\n{dims:{country:Peru},metricKey:ga4.revenue,ts:2026-10-02,value:234}"
	const first, second = "20261001,Chile,1000.5\n", "20261002,Peru,234\n"
	for name, rows := range map[string]string{"first": ",,1234.5\n" + first + second, "last": first + second + ",,1234.5\n", "between": first + ",,1234.5\n" + second} {
		lines, problems, err := run(t, "ga4", "# ---\nDate,Country,Revenue\n"+rows)
		if got := shortenLines(lines); err != nil || got != want || fmt.Sprint(problems) != "[skipped 1 rows of totals]" {
			t.Errorf("totals %s:\n%s\nproblems %q, %v", name, got, problems, err)
		}
	}
	lines, problems, err := run(t, "ga4", "Date,Country,Revenue\n,Chile,7\n"+first+second)
	if err != nil || shortenLines(lines) != want || fmt.Sprint(problems) != "[t.csv, row 2, column Date: is empty, but a point needs a day]" {
		t.Errorf("a row without a day:\n%s\nproblems %q, %v", shortenLines(lines), problems, err)
	}
}

func TestGA4Errors(t *testing.T) {
	for _, tt := range []struct {
		name, text, want string
		flags            []string
	}{
		{"no day", "# Start date: 20260801\nCity,Users\nPorto,5\n", "t.csv: has no table with a column Nth day or Date", nil},
		{"no start", "Nth day,Users\n0000,5\n", "t.csv, row 1, column Nth day: counts from the start date, but no comment above has one", nil},
		{"another column", "# Start date: 20260801\nNth day,Users\n0000,5\n", `t.csv: no table with a day has the column "views"`, []string{"--metric", "Users=a", "--metric", "views=b"}},
		{"another type", "Nth day,Users\n0000,5\n", "t.csv: --from ga4 yields records of type metric-point", []string{"--type", "feedback"}},
	} {
		if _, _, err := run(t, "ga4", tt.text, tt.flags...); err == nil || !strings.HasPrefix(err.Error(), tt.want) {
			t.Errorf("%s: %v, want %s", tt.name, err, tt.want)
		}
	}
	_, problems, err := run(t, "ga4", "# Start date: 20260801\n# End date: 20260802\nNth day,Users\n0000,5\n0002,6\n")
	if err != nil || len(problems) != 1 || problems[0] != `t.csv, row 5, column Nth day: "0002" is 2026-08-03, after the end of the report` {
		t.Errorf("problems %q, %v", problems, err)
	}
	_, problems, err = run(t, "ga4", "# Start date: 20260801\nNth day,Users\n0000,5\n\nNth day,Users\n0000,6\n")
	if err != nil || len(problems) != 1 || !strings.HasPrefix(problems[0], "t.csv, row 6, column Users: an earlier row has the same day") {
		t.Errorf("a metric in two tables: %q, %v", problems, err)
	}
	lines, _, err := run(t, "ga4", "# Account: 20250101\n# Property: 98765432\n# Start date: 20260801\n# End date: 20260802\nNth day,Users\n0000,5\n", "--metric", "Users=a", "--unit", "count")
	if err != nil || !strings.Contains(shortenLines(lines), "ts:2026-08-01,value:5") {
		t.Errorf("records of an account whose name is eight digits:\n%s\n%v", shortenLines(lines), err)
	}
	lines, _, err = run(t, "ga4", "# Startdatum: 20260801\n# Enddatum: 20260802\nN-ter Tag,Nutzer\n0000,5\n0001,6\n", "--date-column", "N-ter Tag")
	if err != nil || shortenLines(lines) != "{metricKey:ga4.nutzer,ts:2026-08-01,value:5}\n{metricKey:ga4.nutzer,ts:2026-08-02,value:6}" {
		t.Errorf("records of a report in German:\n%s\n%v", shortenLines(lines), err)
	}
}

// archive returns a compressed zip archive of the files.
func archive(tb testing.TB, files map[string]string) string {
	tb.Helper()
	return archiveWith(tb, zip.Deflate, files)
}

func archiveWith(tb testing.TB, method uint16, files map[string]string) string {
	tb.Helper()
	var out bytes.Buffer
	w := zip.NewWriter(&out)
	for name, text := range files {
		f, err := w.CreateHeader(&zip.FileHeader{Name: name, Method: method})
		if err == nil {
			_, err = f.Write([]byte(text))
		}
		if err != nil {
			tb.Fatal(err)
		}
	}
	if err := w.Close(); err != nil {
		tb.Fatal(err)
	}
	return out.String()
}

func TestPlausible(t *testing.T) {
	dashboard := "date,visitors,pageviews,visits,views_per_visit,bounce_rate,visit_duration\n2026-08-01,10,18,11,1.8,40,90\n2026-08-02,6,6,6,1.0,100,\n"
	lines, problems, err := run(t, "plausible", archive(t, map[string]string{"visitors.csv": dashboard, "pages.csv": "name,visitors\n/,12\n"}))
	if err != nil {
		t.Fatal(err)
	}
	got := withoutDigests(shortenLines(lines))
	for _, want := range []string{
		"def {aggregation:none,id:mdf_,key:plausible.bounce_rate,kind:measured,name:bounce_rate,needsReview:false,unit:ratio}",
		"{metricKey:plausible.bounce_rate,ts:2026-08-01,value:0.4}", "{metricKey:plausible.visit_duration,ts:2026-08-01,value:90000}", "{metricKey:plausible.visitors,ts:2026-08-02,value:6}",
	} {
		if !strings.Contains(got+"\n", want+"\n") {
			t.Errorf("records\n%s\nwithout %s", got, want)
		}
	}
	if len(lines) != 6+11 || len(problems) != 2 {
		t.Errorf("%d records, problems %q", len(lines), problems)
	}
	site := "\ufeff\"date\",\"visitors\",\"pageviews\",\"bounces\",\"visits\",\"visit_duration\"\n\"2026-08-01\",5,50,2,7,8640\n"
	lines, _, err = run(t, "plausible", archive(t, map[string]string{"imported_visitors_20260801_20260831.csv": site}), "--metric", "visitors=web.visitors", "--metric", "visit_duration=web.time")
	if err != nil || !strings.Contains(shortenLines(lines), "{metricKey:web.time,ts:2026-08-01,value:8640000}") {
		t.Errorf("records\n%s\n%v", shortenLines(lines), err)
	}
	alone, problems, err := run(t, "plausible", site+"\"2026-08-09\",5,50,2,7,8640\n")
	if len(problems) > 0 {
		t.Errorf("days without visits: %q", problems)
	}
	if err != nil || !strings.Contains(shortenLines(alone), "{metricKey:plausible.visit_duration_total,ts:2026-08-01,value:8640000}") {
		t.Errorf("records\n%s\n%v", shortenLines(alone), err)
	}
}

// Ensure a problem in an archive names the file, and an archive that is not an export is refused.
func TestPlausibleErrors(t *testing.T) {
	full := archiveWith(t, zip.Store, map[string]string{"visitors.csv": "date,visitors\n2026-08-01,1\n"})
	files := map[string]string{}
	for i := range 10_000 {
		files[fmt.Sprintf("%0100d", i)] = ""
	}
	for _, tt := range []struct{ name, file, want string }{
		{"a list of files that takes memory", archiveWith(t, zip.Store, files), "t.csv: has more than the 1000 files that an export can have"},
		{"truncated", full[:len(full)-10], "t.csv: is not a complete zip archive"},
		{"another archive", archive(t, map[string]string{"a.txt": "a"}), "t.csv: has no file visitors.csv"},
		{"a bomb", archive(t, map[string]string{"visitors.csv": "date,visitors\n" + strings.Repeat("0", 10<<20)}), "t.csv: visitors.csv would unpack "},
		{"damaged", strings.Replace(full, "2026-08-01,1", "2026-08-01,2", 1), "t.csv: visitors.csv is damaged: zip: checksum error"},
		{"weeks", archive(t, map[string]string{"visitors.csv": "date,visitors\n2026-08-03,1\n2026-08-10,1\n"}), `t.csv, row 3, column date of visitors.csv: "2026-08-10" is not the day after the row before`},
		{"another header", archive(t, map[string]string{"visitors.csv": "day,people\n2026-08-03,1\n"}), "t.csv: visitors.csv has no columns date and visitors"},
	} {
		_, problems, err := run(t, "plausible", tt.file)
		if err != nil {
			problems = []string{err.Error()}
		}
		if len(problems) == 0 || !strings.HasPrefix(problems[0], tt.want) {
			t.Errorf("%s: %q, want %s", tt.name, problems, tt.want)
		}
	}
	if _, problems, err := run(t, "plausible", archive(t, map[string]string{"visitors.csv": "date,visitors\n2026-08-03,1\n2026-08-10,1\n"}), "--set", "grain=week"); err != nil || len(problems) > 0 {
		t.Errorf("weeks that are named: %q, %v", problems, err)
	}
}

// Ensure the service's rules check one point of a series, not each of them: a check allocates more
// than a hundred times, so a file of millions of points would take minutes.
func TestPointsAreCheckedOnce(t *testing.T) {
	flags := append([]string{"--metric", "Visitors=web.visitors", "--map", "dims.country=Country"}, pointFlags...)
	allocations := func(rows int) float64 {
		var text strings.Builder
		text.WriteString("Day,Country,Visitors\n")
		for n := range rows {
			fmt.Fprintf(&text, "%s,country-%d,%d\n", time.Date(2000, 1, 1+n, 0, 0, 0, 0, time.UTC).Format(time.DateOnly), n%7, n)
		}
		in := convert.NewInput("t.csv", []byte(text.String()))
		return testing.AllocsPerRun(1, func() {
			result, err := convertFiles(t, "csv", flags, in)
			if err != nil || result.Counts["metric-point"] != rows {
				t.Fatal(result, err)
			}
			result.Close()
		})
	}
	each := (allocations(9000) - allocations(1000)) / 8000
	if each > 20 {
		t.Errorf("%.0f allocations for each point, want at most 20", each)
	}
}

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
		rows := 1 + bytes.Count(text, []byte("\n")) + bytes.Count(text, []byte("\r")) + bytes.Count(text, []byte("PK"))*1000
		for kind, flags := range map[string][]string{
			"csv": append([]string{"--metric", "A=a", "--comment", "#"}, pointFlags...), "ga4": nil, "plausible": nil,
		} {
			result, err := convertFiles(t, kind, flags, convert.NewInput("t.csv", text))
			if err != nil {
				if !strings.HasPrefix(err.Error(), "t.csv") {
					t.Fatalf("%s: an error without the file: %v", kind, err)
				}
				continue
			}
			err = result.Each(func(l convert.Line) error {
				if !json.Valid(l.JSON) || l.Row < 1 || l.Row > rows {
					t.Errorf("%s: row %d of %d: %s", kind, l.Row, rows, l.JSON)
				}
				return nil
			})
			err = errors.Join(err, result.EachProblem(func(p convert.Problem) error {
				if p.Row < 1 || p.Row > rows || p.Message == "" {
					t.Errorf("%s: %d rows, problem %+v", kind, rows, p)
				}
				return nil
			}))
			result.Close()
			if err != nil {
				t.Fatal(err)
			}
		}
	})
}
