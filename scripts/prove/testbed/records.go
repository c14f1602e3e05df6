package testbed

import (
	"fmt"
	"maps"
	"strings"
	"time"

	"growthworkspace/scripts/workspace/demo"
	"growthworkspace/shared/timestamp"
)

// RecordGenerator creates any number of records of each type by copying and varying the demo
// company's records. The n-th record of a type is always the same.
type RecordGenerator struct {
	kinds map[string][]demo.Record
}

// NewRecordGenerator returns a generator that copies the records that the demo company has on a
// fixed day.
func NewRecordGenerator() RecordGenerator {
	r := RecordGenerator{kinds: map[string][]demo.Record{}}
	for _, line := range demo.Lines(time.Date(2026, 8, 1, 12, 0, 0, 0, time.UTC)) {
		r.kinds[line.Type] = append(r.kinds[line.Type], line.Record)
	}
	return r
}

// shiftCount is the number of copies of the demo company's records that have different times. The
// records of the demo company cover a period, and each copy is older than the one before by that
// period, so that a series of points has no gaps. After shiftCount copies, the times repeat, so
// that some records have equal times.
const shiftCount = 9

// demoPeriods maps the grain of a metric point to a function that moves a time back by n times the
// period that the demo company's points of this grain cover. For all other records, that period is
// 120 days.
var demoPeriods = map[any]func(t time.Time, n int) time.Time{
	"week":  func(t time.Time, n int) time.Time { return t.AddDate(0, 0, -7*26*n) },
	"month": func(t time.Time, n int) time.Time { return t.AddDate(0, -12*n, 0) },
}

// Record returns the n-th record of a type. The caller may change it.
func (r RecordGenerator) Record(kind string, n int) demo.Record {
	records := r.kinds[kind]
	record, copyNumber := maps.Clone(records[n%len(records)]), n/len(records)
	if copyNumber == 0 {
		return record
	}
	move := demoPeriods[record["grain"]]
	if move == nil {
		move = func(t time.Time, n int) time.Time { return t.AddDate(0, 0, -120*n) }
	}
	for name, value := range record {
		text, ok := value.(string)
		if !ok {
			continue
		}
		switch name {
		case "id":
			prefix, _, _ := strings.Cut(text, "_")
			record[name] = recordID(prefix, n)
		case "slug", "externalId", "publicKey", "siteKey":
			record[name] = fmt.Sprintf("%s-%d", text, copyNumber)
		case "key":
			record[name] = fmt.Sprintf("%s_%d", text, copyNumber)
		case "metricKey":
			if series := copyNumber / shiftCount; series > 0 {
				record[name] = fmt.Sprintf("%s_%d", text, series)
			}
		default:
			if len(text) == len("2026-08-01T00:00:00.000Z") && text[len(text)-1] == 'Z' {
				if t, ok := timestamp.Parse(text); ok {
					record[name] = timestamp.Format(move(t, copyNumber%shiftCount))
				}
			}
		}
	}
	return record
}

// recordID returns the n-th id with a prefix. The ids look as if they came from another system:
// they are in no particular order, and they have all the lengths that an import accepts.
func recordID(prefix string, n int) string {
	const digits = "0123456789abcdefghijklmnopqrstuvwxyz"
	h := uint64(n)*0x9e3779b97f4a7c15 + uint64(len(prefix))
	body := make([]byte, max(0, n%40-len(fmt.Sprint(n))))
	for i := range body {
		body[i] = digits[h%36]
		h = h*6364136223846793005 + 1442695040888963407
	}
	return fmt.Sprintf("%s_%sx%d", prefix, body, n) // the number after "x" makes the id unique
}
