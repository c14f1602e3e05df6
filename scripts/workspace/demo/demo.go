// Package demo creates the company of a new local workspace: Mossgrove, an invented maker of a
// notes app, with realistic records of every type. No record is about a real company or person.
//
// The records depend only on a fixed seed and the time at which the data ends. Ids depend only on
// the seed, so creating the company again replaces the same records.
package demo

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"time"

	"growthworkspace/functions"
	"growthworkspace/functions/company"
	"growthworkspace/functions/plan"
	"growthworkspace/shared/id"
	"growthworkspace/shared/table"
	"growthworkspace/shared/transfer"
)

// CompanyID is the demo company's id. It is the same in every table.
var CompanyID = id.FromBytes(id.CompanyPrefix, idBytes(id.CompanyPrefix, 1))

// Line is a record and its type, like a line of an import file.
type Line struct {
	Type   string `json:"type"`
	Record Record `json:"record"`
}

// Record is a record as a JSON object.
type Record = map[string]any

// Lines returns the records of the company. The data ends at now.
func Lines(now time.Time) []Line {
	g := newGenerator(now)
	g.addCompany()
	g.addBrand()
	g.addRoadmap()
	g.addFeedback()
	g.addMetrics()
	g.addOptimise()
	g.addBroadcast()
	g.addExamples(functions.Transfers(nil))
	return g.lines
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
		records, err := checkLines(kind, lines)
		if err != nil {
			return err
		}
		if kind.Name == companyTypeName {
			profile = records[0].(company.Company)
			continue
		}
		for batch := range slices.Chunk(records, batchMax) {
			if err := kind.Write(ctx, CompanyID, batch); err != nil {
				return fmt.Errorf("write records of type %s: %w", kind.Name, err)
			}
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

// checkLines checks the lines of one type as an import would, and returns their records.
func checkLines(kind transfer.Type, lines []Line) ([]any, error) {
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
