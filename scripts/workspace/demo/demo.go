// Package demo creates the company of a new local workspace: Mossgrove, an invented maker of a
// notes app, with realistic records of every type. No record is about a real company or person.
//
// The records are in demo.jsonl, in the form of an import file; a line with a series stands for
// many metric points. They were recorded at recordedAt. Lines moves their times, so that the data
// ends at another time. The ids stay, so creating the company again replaces the same records.
package demo

import (
	"bytes"
	"context"
	_ "embed"
	"encoding/json"
	"fmt"
	"regexp"
	"slices"
	"strings"
	"time"

	"growthworkspace/functions"
	"growthworkspace/functions/company"
	"growthworkspace/functions/plan"
	"growthworkspace/shared/table"
	"growthworkspace/shared/timestamp"
	"growthworkspace/shared/transfer"
)

// CompanyID is the demo company's id. It is the same in every table.
const CompanyID = "co_01kdvdna017fxb6j762bd9qnf4"

//go:embed demo.jsonl
var file []byte

// recordedAt is the time at which the data of demo.jsonl ends.
var recordedAt = time.Date(2026, 8, 11, 9, 30, 0, 0, time.UTC)

// Line is a record and its type, like a line of an import file.
type Line struct {
	Type   string `json:"type"`
	Record Record `json:"record"`
}

// Record is a record as a JSON object.
type Record = map[string]any

var timePattern = regexp.MustCompile(`"\d{4}-\d\d-\d\dT[\d:.]+Z"`)

// Lines returns the records of the company. The data ends at now.
func Lines(now time.Time) (out []Line) {
	now = now.UTC().Truncate(time.Second)
	age := now.Sub(recordedAt)
	for text := range bytes.Lines(file) {
		text = timePattern.ReplaceAllFunc(text, func(quoted []byte) []byte {
			at, _ := timestamp.Parse(string(quoted[1 : len(quoted)-1]))
			return fmt.Appendf(nil, "%q", timestamp.Format(at.Add(age)))
		})
		var line struct {
			Line

			Series *series
		}
		if err := json.Unmarshal(text, &line); err != nil {
			panic(fmt.Sprintf("demo.jsonl: %v: %s", err, text))
		}
		if line.Series != nil {
			out = append(out, line.Series.points(now)...)
		} else {
			out = append(out, line.Line)
		}
	}
	return out
}

// batchMax is the maximum number of records written in one call.
const batchMax = 200

// Seed writes the demo company. The records pass the same checks as imported records. Seed
// publishes the board through the store, and creates the company last, with its entry in the
// registry and its feed of changes. So after an interruption, a caller finds no company and runs
// Seed again. As with an import, the feed of changes does not report the records.
func Seed(ctx context.Context, t *table.Client, now time.Time) error {
	t = t.AsImport()
	var profile company.Company
	lines := Lines(now)
	for _, kind := range functions.Transfers(t) {
		records, err := Check(kind, lines)
		if err != nil {
			return err
		}
		if kind.Name == companyTypeName {
			profile = records[0].(company.Company)
			continue
		}
		if err := Write(ctx, kind, CompanyID, records); err != nil {
			return err
		}
	}
	if err := publishBoard(ctx, plan.NewStore(t)); err != nil {
		return err
	}
	if err := company.NewStore(t).Create(ctx, profile); err != nil {
		return fmt.Errorf("create the company: %w", err)
	}
	return nil
}

const companyTypeName = "company"

// Check checks the lines of one type as an import would, and returns their records.
func Check(kind transfer.Type, lines []Line) ([]any, error) {
	var records []any
	for _, line := range lines {
		if line.Type != kind.Name {
			continue
		}
		text, err := json.Marshal(line.Record)
		if err != nil {
			return nil, fmt.Errorf("encode a %s: %w", kind.Name, err)
		}
		record, problems := kind.Check(text)
		if len(problems) > 0 {
			return nil, fmt.Errorf("a %s is invalid: %s: %s", kind.Name, strings.Join(problems, "; "), text)
		}
		records = append(records, record)
	}
	return records, nil
}

// Write writes checked records of one type into a company.
func Write(ctx context.Context, kind transfer.Type, companyID string, records []any) error {
	for batch := range slices.Chunk(records, batchMax) {
		if err := kind.Write(ctx, companyID, batch); err != nil {
			return fmt.Errorf("write records of type %s: %w", kind.Name, err)
		}
	}
	return nil
}

// The records of demo.jsonl that publishBoard publishes and edits.
const (
	publicBoardID = "brd_01kdvdna01mj8dgdh1mw78kcmv"
	offlineMapsID = "itm_01kdvdna01vv7gtptrkw02yxez"
	wristNotesID  = "itm_01kdvdna0691a7tjna59brgaah"
)

// publishBoard publishes the public board and then edits two items, so that a preview has changes
// to show.
func publishBoard(ctx context.Context, s plan.Store) error {
	acceptAll := func(string) error { return nil }
	if _, err := s.Publish(ctx, CompanyID, publicBoardID, acceptAll); err != nil {
		return fmt.Errorf("publish the board: %w", err)
	}
	_, err := s.Items.Modify(ctx, CompanyID, offlineMapsID, func(i *plan.Item) error {
		i.Title = "Offline maps, with your notes on them"
		return nil
	})
	if err == nil {
		_, err = s.Items.Modify(ctx, CompanyID, wristNotesID, func(i *plan.Item) error {
			status := plan.StatusPublished
			i.Status = &status
			return nil
		})
	}
	if err != nil {
		return fmt.Errorf("edit the published board: %w", err)
	}
	return nil
}
