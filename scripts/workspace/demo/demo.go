// Package demo makes the company that a fresh workspace begins with: Mossgrove, an invented maker of a notes app, with
// believable records of every kind. Nothing in it is of a real company or person.
//
// Everything follows from one argument, the time at which the data ends, and a fixed seed. Ids follow from the seed
// alone, so that making the company twice makes it once.
package demo

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"time"

	"growthworkspace/functions"
	"growthworkspace/functions/plan"
	"growthworkspace/shared/id"
	"growthworkspace/shared/table"
	"growthworkspace/shared/transfer"
)

// CompanyID is the demo company's id, the same everywhere.
var CompanyID = id.FromBytes(id.Company, idBytes(id.Company, 1))

// Line is a record and its type, as a line of an import has them.
type Line struct {
	Type   string `json:"type"`
	Record Record `json:"record"`
}

// Record is a record as JSON has it.
type Record = map[string]any

// Lines returns the records of the company, whose data ends at now.
func Lines(now time.Time) []Line {
	g := newGenerator(now)
	g.company()
	g.brand()
	g.roadmap()
	g.feedback()
	g.metrics()
	g.optimise()
	g.broadcast()
	g.others(functions.Transfers(nil))
	return g.lines
}

// batchMax is how many records are written at once.
const batchMax = 200

// Seed writes the company. The records go through the same checks as an import's, the published board is published as
// anybody would, and the profile comes last: as long as it is missing the company does not exist, and a seed that died
// is simply done again.
func Seed(ctx context.Context, t *table.Client, now time.Time) error {
	lines := Lines(now)
	types := functions.Transfers(t)
	profile := slices.IndexFunc(types, func(t transfer.Type) bool { return t.Name == companyType })
	for i, kind := range types {
		if i != profile {
			if err := write(ctx, kind, lines); err != nil {
				return err
			}
		}
	}
	if err := publish(ctx, plan.NewStore(t)); err != nil {
		return err
	}
	return write(ctx, types[profile], lines)
}

const companyType = "company"

func write(ctx context.Context, kind transfer.Type, lines []Line) error {
	var records []any
	for _, line := range lines {
		if line.Type != kind.Name {
			continue
		}
		text, err := json.Marshal(line.Record)
		if err != nil {
			return fmt.Errorf("encode a %s: %w", kind.Name, err)
		}
		record, problems := kind.Check(text)
		if len(problems) > 0 {
			return fmt.Errorf("a %s is wrong: %s: %s", kind.Name, strings.Join(problems, "; "), text)
		}
		records = append(records, record)
	}
	for batch := range slices.Chunk(records, batchMax) {
		if err := kind.Write(ctx, CompanyID, batch); err != nil {
			return fmt.Errorf("write records of type %s: %w", kind.Name, err)
		}
	}
	return nil
}
