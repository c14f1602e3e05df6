package agents

import (
	_ "embed"
	"encoding/json"
	"fmt"
	"slices"
)

// earlierReport is the report of build 2e5960f, the last one whose tools returned every record
// twice, each time in full. This command wrote it:
//
//	go run ./scripts/prove agents --survey --json --workspace ../before/workspace
//
//go:embed 2e5960f.json
var earlierReport []byte

// loadEarlier returns the report of build 2e5960f on the same companies, or nil if the seed or the
// tasks differ.
func (r report) loadEarlier() (*report, error) {
	var out report
	if err := json.Unmarshal(earlierReport, &out); err != nil {
		return nil, fmt.Errorf("read 2e5960f.json: %w", err)
	}
	if r.Seed != out.Seed || !slices.EqualFunc(r.Tasks, out.Tasks, func(a, b taskResult) bool { return a.Task == b.Task }) {
		return nil, nil
	}
	return &out, nil
}

// Limits on how much of a model's context the results may use.
const (
	textShareMax   = 0.5    // as a share of the bytes in the text of all results of build 2e5960f
	textBytesMax   = 40_000 // bytes in the text of one result
	resultBytesMax = 80_000 // bytes in the text and the structured content of one result
)

// limitProblems returns a message for each limit that is exceeded.
func (r report) limitProblems() (problems []string) {
	if r.earlier != nil && share(r.Total.TextBytes, r.earlier.Total.TextBytes) > textShareMax {
		problems = append(problems, fmt.Sprintf("the text has more than %.0f %% of the bytes of 2e5960f", 100*textShareMax))
	}
	checkSizes := func(where string, text, result int) {
		if text > textBytesMax || result > resultBytesMax {
			problems = append(problems, fmt.Sprintf("%s: a result has more than %d bytes of text, or %d in all", where, textBytesMax, resultBytesMax))
		}
	}
	for _, t := range r.Tasks {
		checkSizes(t.Task, t.LargestText, t.LargestResult)
	}
	for _, v := range r.Surveys {
		checkSizes(v.Company, v.LargestText, v.LargestResult)
	}
	return problems
}

func share(now, before int) float64 { return float64(now) / float64(max(1, before)) }
