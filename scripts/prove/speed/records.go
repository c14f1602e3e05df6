//go:build linux

package main

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"time"

	"growthworkspace/functions"
	"growthworkspace/shared/table"
)

// line is a line of an import.
type line struct {
	Type   string         `json:"type"`
	Record map[string]any `json:"record"`
}

var firstDay = time.Date(2023, 8, 1, 0, 0, 0, 0, time.UTC)

// feedbackLine is the n-th of many reviews, each with the text of a usual one.
func feedbackLine(n int) line {
	at := firstDay.Add(time.Duration(n) * 7 * time.Minute)
	return line{"feedback", map[string]any{
		"id": fmt.Sprintf("fbk_%026d", n), "source": []string{"app_store", "google_play", "reddit"}[n%3], "kind": "review", "externalId": fmt.Sprint("review-", n), "authorName": "trailrunner_42",
		"title": "Who can see my locations?", "body": strings.Repeat("A sentence of some forty characters here ", 6), "rating": 1 + n%5, "appVersion": "4.1.0", "territory": "PT", "locale": "pt-PT",
		"postedAt": at, "fetchedAt": at, "flags": []string{"legal", "safety"}, "priority": n % 5, "sentiment": []string{"positive", "neutral", "negative"}[n/3%3],
		"replyBody": strings.Repeat("An answer to it of forty characters, too ", 3), "replyStatus": "needs_review", "createdAt": at, "updatedAt": at,
	}}
}

// pointDays is how many points each metric has, one a day. They come metric by metric, as in an export.
const pointDays = 1000

func pointLine(n int) line {
	day := firstDay.AddDate(0, 0, n%pointDays)
	return line{"metric-point", map[string]any{
		"metricKey": fmt.Sprintf("bench.metric%d", n/pointDays), "grain": "day", "ts": day, "value": 1000.5 + float64(n%9973), "source": "import", "ingestedAt": day.AddDate(0, 0, 1),
	}}
}

// load writes lines into a company.
func load(ctx context.Context, t *table.Client, companyID string, lines []line) error {
	for _, kind := range functions.Transfers(t) {
		var records []any
		for _, l := range lines {
			if l.Type != kind.Name {
				continue
			}
			text, err := json.Marshal(l.Record)
			if err != nil {
				return fmt.Errorf("encode a %s: %w", l.Type, err)
			}
			record, problems := kind.Check(text)
			if len(problems) > 0 {
				return fmt.Errorf("a %s is wrong: %v", l.Type, problems)
			}
			records = append(records, record)
		}
		for batch := range slices.Chunk(records, 200) {
			if err := kind.Write(ctx, companyID, batch); err != nil {
				return fmt.Errorf("write records of type %s: %w", kind.Name, err)
			}
		}
	}
	return nil
}
