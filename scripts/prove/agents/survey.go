package agents

import (
	"context"
	"fmt"
	"maps"
	"regexp"
	"slices"
	"time"

	"growthworkspace/scripts/prove/testbed"
	"growthworkspace/scripts/workspace/demo"
)

// survey contains the largest results of all read-only tools, for one company.
type survey struct {
	Company           string `json:"company"`
	Calls             int    `json:"calls"`
	LargestText       int    `json:"largestText"`
	LargestTextTool   string `json:"largestTextTool"`
	LargestResult     int    `json:"largestResult"`
	LargestResultTool string `json:"largestResultTool"`
}

// largeCounts is the number of records of each type in a large company: 5,000 in total.
var largeCounts = map[string]int{
	"company": 1, "brand-kit": 1, "board": 20, "item": 700, "feedback": 2000, "metric-definition": 40, "metric-point": 1000, "site": 6, "site-goal": 30,
	"audit": 20, "content-plan": 20, "content-idea": 350, "post": 780, "channel": 5, "content-type": 20, "brand-goal": 7,
}

// surveyedAt is the time at which the demo company's data ends.
var surveyedAt = time.Date(2026, 6, 30, 12, 0, 0, 0, time.UTC)

// surveyBuild calls every read-only tool, for the demo company and for a large one.
func surveyBuild(ctx context.Context, b build) (out []survey, err error) {
	var large []demo.Line
	records := testbed.NewRecordGenerator()
	for _, kind := range slices.Sorted(maps.Keys(largeCounts)) {
		for n := range largeCounts[kind] {
			large = append(large, demo.Line{Type: kind, Record: records.Record(kind, n)})
		}
	}
	for name, lines := range map[string][]demo.Line{"the demo company": demo.Lines(surveyedAt), "a company with 5,000 records": large} {
		c, err := b.newCompany(ctx, lines)
		if err != nil {
			return nil, fmt.Errorf("seed %s: %w", name, err)
		}
		s, err := connect(ctx, c, nil)
		if err != nil {
			return nil, err
		}
		one := survey{Company: name}
		for _, tool := range slices.Sorted(maps.Keys(s.tools)) {
			if s.tools[tool].Annotations.ReadOnlyHint {
				one.callTool(s, tool[len(toolPrefix):])
			}
		}
		if s.err != nil {
			return nil, s.err
		}
		one.Calls = s.Calls
		out = append(out, one)
	}
	slices.SortFunc(out, func(a, b survey) int { return a.Calls - b.Calls })
	return out, nil
}

// callTool calls a tool for some records, with its default page size and with the maximum one.
func (v *survey) callTool(s *session, tool string) {
	for _, a := range argumentSets(s, tool) {
		limits := []int{0}
		if most := s.tools[toolPrefix+tool].InputSchema.Properties["limit"].Maximum; most > 0 {
			limits = append(limits, most)
		}
		for _, limit := range limits {
			a = maps.Clone(a)
			if limit > 0 {
				a["limit"] = limit
			}
			before := s.Counts
			s.LargestText, s.LargestResult = 0, 0
			s.call(tool, a)
			if s.LargestText > v.LargestText {
				v.LargestText, v.LargestTextTool = s.LargestText, tool
			}
			if s.LargestResult > v.LargestResult {
				v.LargestResult, v.LargestResultTool = s.LargestResult, tool
			}
			s.LargestText, s.LargestResult = before.LargestText, before.LargestResult
		}
	}
}

// argumentSetsMax is the maximum number of records for which a tool is called.
const argumentSetsMax = 12

// listToolPattern matches the part of an argument's description that names the tool for listing its
// values.
var listToolPattern = regexp.MustCompile(`from ` + toolPrefix + `(list_\w+)`)

// argumentSets returns values for the required arguments of a tool. It reads them from the lists
// that the descriptions of the arguments mention.
func argumentSets(s *session, tool string) []arguments {
	sets := []arguments{{}}
	schema := s.tools[toolPrefix+tool].InputSchema
	for _, name := range schema.Required {
		list, property := "list_metric_definitions", "key"
		if found := listToolPattern.FindStringSubmatch(schema.Properties[name].Description); found != nil {
			list, property = found[1], "id"
		}
		var next []arguments
		for _, set := range sets {
			a := arguments{}
			for _, needed := range s.tools[toolPrefix+list].InputSchema.Required {
				if set[needed] == nil { // accept any value for the list's own arguments
					if listSets := argumentSets(s, list); len(listSets) > 0 {
						a = listSets[0]
					}
					break
				}
				a[needed] = set[needed]
			}
			for _, r := range s.list(list, a, func([]record) bool { return true }, property) {
				extended := maps.Clone(set)
				extended[name] = r.text(property)
				next = append(next, extended)
			}
		}
		sets = next[:min(argumentSetsMax, len(next))]
	}
	return sets
}
