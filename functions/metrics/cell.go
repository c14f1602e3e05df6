package metrics

import (
	"encoding/json"
	"errors"
	"strconv"
	"strings"
	"time"

	"growthworkspace/shared/timestamp"
)

// cell holds the values that a Point's pointers refer to. A list has hundreds of points, so all cells of a record are
// allocated at once.
type cell struct {
	ts, ingestedAt, currency, source string
	value, baseValue                 float64
	ms                               int64
	ingested                         *int64 // milliseconds after ts
}

// read decodes a text that encodePoint returned into p. p.TS must be set.
func (c *cell) read(text string, p *Point) error {
	if !c.quick(text, p) {
		parts := []any{&p.Value, &c.ingested, &p.Currency, &p.BaseValue, &p.Source}
		if err := json.Unmarshal([]byte(text), &parts); err != nil {
			return err
		}
	}
	if c.ingested == nil {
		return nil
	}
	start, err := millis(dayOf(c.ts))
	c.ingestedAt = timestamp.Format(time.UnixMilli(start + *c.ingested))
	p.IngestedAt = &c.ingestedAt
	return err
}

// millis returns the start of a day in milliseconds of Unix time. It is written by hand: a list has hundreds of days, and
// time.Parse parses its layout for each.
func millis(day string) (int64, error) {
	year, err1 := strconv.Atoi(day[:4])
	month, err2 := strconv.Atoi(day[5:7])
	of, err3 := strconv.Atoi(day[8:])
	return time.Date(year, time.Month(month), of, 0, 0, 0, 0, time.UTC).UnixMilli(), errors.Join(err1, err2, err3)
}

// quick decodes a text whose strings contain no escapes and no commas, five times as fast as encoding/json. It reports
// whether it could; when it could not, read uses encoding/json.
func (c *cell) quick(text string, p *Point) bool {
	if len(text) < 2 || text[0] != '[' || text[len(text)-1] != ']' || strings.Contains(text, `\`) {
		return false
	}
	i, ok := -1, true
	for part := range strings.SplitSeq(text[1:len(text)-1], ",") {
		i++
		switch {
		case !ok || i > 4:
			return false
		case part == "null":
		case i == 0:
			p.Value, ok = &c.value, number(part, &c.value)
		case i == 1:
			ms, err := strconv.ParseInt(part, 10, 64)
			c.ms, c.ingested, ok = ms, &c.ms, err == nil
		case i == 2:
			p.Currency, ok = &c.currency, unquote(part, &c.currency)
		case i == 3:
			p.BaseValue, ok = &c.baseValue, number(part, &c.baseValue)
		case i == 4:
			p.Source, ok = &c.source, unquote(part, &c.source)
		}
	}
	return ok
}

func number(text string, into *float64) (ok bool) {
	f, err := strconv.ParseFloat(text, 64)
	*into = f
	return err == nil
}

func unquote(text string, into *string) (ok bool) {
	if len(text) < 2 || text[0] != '"' || text[len(text)-1] != '"' {
		return false
	}
	*into = text[1 : len(text)-1]
	return true
}
