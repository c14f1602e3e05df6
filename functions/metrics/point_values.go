package metrics

import (
	"encoding/json"
	"strconv"
	"strings"
	"time"

	"growthworkspace/shared/timestamp"
)

// pointValues holds the values that a Point's pointers refer to. A list contains hundreds of
// points, so the pointValues of all points of a record are allocated at once.
type pointValues struct {
	ts, ingestedAt, currency, source string
	value, baseValue                 float64
	ms                               int64
	ingested                         *int64 // milliseconds after ts
}

// read decodes a string that encodePoint returned, and stores the values in p. p.TS must be set.
// All points of a record share the cache m.
func (v *pointValues) read(text string, p *Point, m *monthCache) error {
	if !v.readFast(text, p) {
		parts := []any{&p.Value, &v.ingested, &p.Currency, &p.BaseValue, &p.Source}
		if err := json.Unmarshal([]byte(text), &parts); err != nil {
			return err
		}
	}
	if v.ingested == nil {
		return nil
	}
	start, err := m.millis(dayOf(v.ts))
	v.ingestedAt = timestamp.Format(time.UnixMilli(start + *v.ingested))
	p.IngestedAt = &v.ingestedAt
	return err
}

// monthCache remembers the start of the last month that it parsed. A list contains hundreds of days
// from only a few months, and time.Parse would parse its layout again for each of them.
type monthCache struct {
	name  string // 2026-01
	begin int64  // in milliseconds of Unix time
}

// millis returns the start of a day in milliseconds of Unix time.
func (m *monthCache) millis(day string) (int64, error) {
	const nameLen = len("2006-01")
	if day[:nameLen] != m.name {
		t, err := time.Parse("2006-01", day[:nameLen])
		if err != nil {
			return 0, err
		}
		m.name, m.begin = day[:nameLen], t.UnixMilli()
	}
	n, err := strconv.Atoi(day[nameLen+1:])
	return m.begin + int64(n-1)*24*time.Hour.Milliseconds(), err
}

// readFast decodes an encoded point whose strings contain no escapes and no commas, five times as
// fast as encoding/json. It reports whether it succeeded; if not, read uses encoding/json.
func (v *pointValues) readFast(text string, p *Point) bool {
	if len(text) < 2 || text[0] != '[' || text[len(text)-1] != ']' || strings.Contains(text, `\`) {
		return false
	}
	part, rest, more := "", text[1:len(text)-1], true
	for i, ok := 0, true; more; i++ {
		part, rest, more = strings.Cut(rest, ",")
		switch {
		case i > 4:
			return false
		case part == "null":
		case i == 0:
			p.Value, ok = &v.value, parseFloatInto(part, &v.value)
		case i == 1:
			ms, err := strconv.ParseInt(part, 10, 64)
			v.ms, v.ingested, ok = ms, &v.ms, err == nil
		case i == 2:
			p.Currency, ok = &v.currency, unquoteInto(part, &v.currency)
		case i == 3:
			p.BaseValue, ok = &v.baseValue, parseFloatInto(part, &v.baseValue)
		case i == 4:
			p.Source, ok = &v.source, unquoteInto(part, &v.source)
		}
		if !ok {
			return false
		}
	}
	return true
}

func parseFloatInto(text string, into *float64) (ok bool) {
	f, err := strconv.ParseFloat(text, 64)
	*into = f
	return err == nil
}

func unquoteInto(text string, into *string) (ok bool) {
	if len(text) < 2 || text[0] != '"' || text[len(text)-1] != '"' {
		return false
	}
	*into = text[1 : len(text)-1]
	return true
}
