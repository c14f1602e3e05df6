package metrics

import (
	"context"
	"fmt"
	"unicode/utf8"

	"growthworkspace/shared/table"
	"growthworkspace/shared/transfer"
)

// definitionIDs is the prefix of ids.
const definitionIDs = "mdf"

// Transfers returns the record types that can be imported and exported.
func Transfers(t *table.Client) []transfer.Type {
	s := NewStore(t)
	return []transfer.Type{
		transfer.Define("metric-definition", definitionIDs, checkDefinition,
			transfer.Put(t, keysOf, func(d *Definition) *string { return &d.CompanyID }),
			transfer.Each[Definition](t, func(companyID string) table.Collection {
				return table.Collection{Partition: partition(companyID), Prefix: definitionPrefix}
			})),
		transfer.Define("metric-point", "", checkPoint,
			func(ctx context.Context, companyID string, lines []pointLine) error {
				points := make([]Point, len(lines))
				for i := range lines {
					points[i] = lines[i].Point
				}
				return s.PutPoints(ctx, companyID, points)
			},
			func(ctx context.Context, companyID string, visit func(pointLine) error) error {
				return s.EachPoint(ctx, companyID, func(p Point) error {
					return visit(pointLine{SeriesID: &p.SeriesID, PointKey: &p.PointKey, Point: p})
				})
			}),
	}
}

// Limits of imported records: labelCharsMax for short texts such as names, proseCharsMax for long ones such as descriptions. They
// keep a record far below DynamoDB's limit of 400 KB.
const (
	labelCharsMax = 200
	proseCharsMax = 2000
	dimensionsMax = 50
	dimsBytesMax  = 25_000 // a push can send at most 10 names and 10 values of 200 characters of 6 bytes: 24,000
)

func checkDefinition(d *Definition) (problems []string) {
	if wrong := checkKey(d.Key); wrong != "" {
		problems = append(problems, "record.key: "+wrong)
	}
	problems = append(problems, checkText("name", d.Name, labelCharsMax)...)
	problems = append(problems, checkText("description", d.Description, proseCharsMax)...)
	problems = append(problems, checkText("formula", d.Formula, proseCharsMax)...)
	problems = append(problems, checkText("source", d.Source, labelCharsMax)...)
	if n := len(d.Dimensions); n > dimensionsMax {
		problems = append(problems, fmt.Sprintf("record.dimensions: must have at most %d elements, has %d", dimensionsMax, n))
	}
	for i := range d.Dimensions {
		problems = append(problems, checkText(fmt.Sprintf("dimensions[%d]", i), &d.Dimensions[i], labelCharsMax)...)
	}
	return problems
}

// pointLine is a point in an import file. seriesId and pointKey may be omitted, because they are derived. In JSON, its
// two fields replace the fields of Point with the same names.
type pointLine struct {
	SeriesID *string `json:"seriesId"`
	PointKey *string `json:"pointKey"`
	Point
}

// checkPoint validates a point and sets its identity. seriesId and pointKey in the line must match the derived ones:
// otherwise the same bucket would have two points.
func checkPoint(line *pointLine) (problems []string) {
	p := &line.Point
	if wrong := checkKey(p.MetricKey); wrong != "" {
		problems = append(problems, "record.metricKey: "+wrong)
	}
	problems = append(problems, checkText("currency", p.Currency, labelCharsMax)...)
	problems = append(problems, checkText("source", p.Source, labelCharsMax)...)
	if err := p.Identify(); err != nil {
		return append(problems, "record."+err.Error())
	}
	if n := len(p.Dims); n > dimsBytesMax {
		problems = append(problems, fmt.Sprintf("record.dims: must have at most %d bytes, has %d", dimsBytesMax, n))
	}
	if given := line.SeriesID; given != nil && *given != p.SeriesID {
		problems = append(problems, fmt.Sprintf("record.seriesId: must be %s, derived from metricKey, grain and dims, or omitted", p.SeriesID))
	}
	if given := line.PointKey; given != nil && *given != p.PointKey {
		problems = append(problems, fmt.Sprintf("record.pointKey: must be %s, derived from grain and ts, or omitted", p.PointKey))
	}
	return problems
}

func checkText(name string, text *string, most int) []string {
	if text == nil {
		return nil
	}
	if n := utf8.RuneCountInString(*text); n > most {
		return []string{fmt.Sprintf("record.%s: must have at most %d characters, has %d", name, most, n)}
	}
	return nil
}
