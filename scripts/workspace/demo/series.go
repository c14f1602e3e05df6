package demo

import (
	"math"
	"time"

	"growthworkspace/shared/timestamp"
)

// series is the values of a metric for consecutive days, weeks or months. Days and weeks move by
// whole weeks, so that weekends stay weekends. demo.jsonl has days up to the Sunday after
// recordedAt. Days after now have no points.
type series struct {
	MetricKey string
	Grain     string
	First     string // the date of the first value
	Before    string // the first day with points for days: the months after it are computed from them
	Dims      Record
	Source    string
	Currency  string
	BaseRate  float64 // baseValue is the value times BaseRate
	Values    []float64
}

func (s series) points(now time.Time) (out []Line) {
	weeks := int(mondayOf(now).Sub(mondayOf(recordedAt)).Hours()) / (7 * 24)
	months := 12*(now.Year()-recordedAt.Year()) + int(now.Month()-recordedAt.Month())
	end := now
	if s.Before != "" {
		end = parseDate(s.Before).AddDate(0, 0, 7*weeks-1)
	}
	for n, value := range s.Values {
		start := parseDate(s.First)
		switch s.Grain {
		case "day":
			start = start.AddDate(0, 0, 7*weeks+n)
		case "week":
			start = start.AddDate(0, 0, 7*(weeks+n))
		case "month":
			start = start.AddDate(0, months+n, 0)
		}
		if !start.After(end) {
			out = append(out, Line{"metric-point", s.point(start, value, now)})
		}
	}
	return out
}

func (s series) point(start time.Time, value float64, now time.Time) Record {
	ingested := start.Add(26*time.Hour + 11*time.Minute)
	if ingested.After(now) {
		ingested = now
	}
	record := Record{
		"metricKey": s.MetricKey, "grain": s.Grain, "ts": timestamp.Format(start), "value": value,
		"source": s.Source, "ingestedAt": timestamp.Format(ingested),
	}
	if s.Dims != nil {
		record["dims"] = s.Dims
	}
	if s.Currency != "" {
		record["currency"], record["baseValue"] = s.Currency, math.Round(value*s.BaseRate)
	}
	return record
}

func mondayOf(t time.Time) time.Time {
	return t.Truncate(24*time.Hour).AddDate(0, 0, -(int(t.Weekday())+6)%7)
}

func parseDate(date string) time.Time {
	t, err := time.Parse(time.DateOnly, date)
	if err != nil {
		panic("demo.jsonl: " + err.Error())
	}
	return t
}
