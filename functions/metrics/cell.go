package metrics

import (
	"encoding/json"
	"errors"
	"strconv"
	"strings"
	"time"

	"growthworkspace/shared/timestamp"
)

// cell is what a point has of its own: what encodePoint stores, and its ts. A list has hundreds, so those of a record
// are one allocation, and their texts are read without encoding/json wherever they are the usual ones.
type cell struct {
	ts, ingestedAt string
	has            [5]bool // the parts that are not null

	value     float64 // part 0
	ingested  int64   // part 1: milliseconds after ts
	currency  string
	baseValue float64
	source    string
}

// read reads what encodePoint returned. ts is set.
func (c *cell) read(text string) error {
	if !c.quick(text) {
		if err := c.slow(text); err != nil {
			return err
		}
	}
	if c.has[1] {
		start, err := time.Parse(time.DateOnly, dayOf(c.ts))
		if err != nil {
			return err
		}
		c.ingestedAt = timestamp.Format(time.UnixMilli(start.UnixMilli() + c.ingested))
	}
	return nil
}

// fill lets the point's fields point to what is not null.
func (c *cell) fill(p *Point) {
	p.Value, p.IngestedAt, p.Currency = ifHas(c.has[0], &c.value), ifHas(c.has[1], &c.ingestedAt), ifHas(c.has[2], &c.currency)
	p.BaseValue, p.Source = ifHas(c.has[3], &c.baseValue), ifHas(c.has[4], &c.source)
}

func ifHas[T any](has bool, value *T) *T {
	if has {
		return value
	}
	return nil
}

func (c *cell) slow(text string) error {
	c.has = [5]bool{}
	var parts []json.RawMessage
	err := json.Unmarshal([]byte(text), &parts)
	fields := []any{&c.value, &c.ingested, &c.currency, &c.baseValue, &c.source}
	for i := range min(len(parts), len(fields)) {
		err = errors.Join(err, json.Unmarshal(parts[i], fields[i]))
		c.has[i] = string(parts[i]) != "null"
	}
	return err
}

// quick reads texts whose strings are plain. ok is false for every other one.
func (c *cell) quick(text string) (ok bool) {
	rest, ok := strings.CutPrefix(text, "[")
	for i := 0; ok && i < len(c.has); i++ {
		if after, null := strings.CutPrefix(rest, "null"); null {
			rest = after
		} else if rest, ok = c.quickPart(i, rest); ok {
			c.has[i] = true
		}
		if rest == "]" {
			return ok
		}
		if ok {
			rest, ok = strings.CutPrefix(rest, ",")
		}
	}
	return false
}

// quickPart reads a part and returns what follows it.
func (c *cell) quickPart(i int, text string) (rest string, ok bool) {
	if i == 2 {
		return quickText(text, &c.currency)
	}
	if i == 4 {
		return quickText(text, &c.source)
	}
	end := plainNumber(text)
	var err error
	switch i {
	case 0:
		c.value, err = strconv.ParseFloat(text[:end], 64)
	case 1:
		c.ingested, err = strconv.ParseInt(text[:end], 10, 64)
	case 3:
		c.baseValue, err = strconv.ParseFloat(text[:end], 64)
	}
	return text[end:], end > 0 && err == nil
}

// quickText reads a text in quotes, if it is one of ASCII without escapes.
func quickText(text string, into *string) (rest string, ok bool) {
	if text == "" || text[0] != '"' {
		return text, false
	}
	for i := 1; i < len(text); i++ {
		switch c := text[i]; {
		case c == '"':
			*into = text[1:i]
			return text[i+1:], true
		case c < ' ' || c > '~' || c == '\\':
			return text, false
		}
	}
	return text, false
}

// plainNumber returns the length of a number without an exponent, 0 when there is none.
func plainNumber(text string) (length int) {
	i := 0
	if strings.HasPrefix(text, "-") {
		i++
	}
	whole := i
	for i < len(text) && text[i] >= '0' && text[i] <= '9' {
		i++
	}
	if i == whole || text[whole] == '0' && i > whole+1 { // JSON knows no 01
		return 0
	}
	if i < len(text) && text[i] == '.' {
		point := i
		for i++; i < len(text) && text[i] >= '0' && text[i] <= '9'; i++ {
		}
		if i == point+1 {
			return 0
		}
	}
	return i
}
