// Package paste reads what people paste into a form: reviews from a table or a JSON file, and the
// values of a metric.
package paste

import (
	"errors"
	"fmt"
	"strings"
	"time"

	"growthworkspace/shared/client"
	"growthworkspace/shared/tabular"
)

// Problem is a row or an element that cannot be read.
type Problem struct {
	Row  int // counted from 1; the headings of a table are row 1
	Text string
}

// Reviews reads reviews from a table with headings (CSV, or copied from a spreadsheet) or from
// JSON. source is the platform of reviews that do not name one, and zone is the time zone of times
// that do not name one. records does not contain the rows with a problem. It returns an error if
// the text contains no list of reviews at all; a tabular.Ambiguous asks how its dates are meant.
func Reviews(text string, source client.FeedbackSource, zone *time.Location, answers tabular.Answers) (records []client.PushFeedbackRecord, problems []Problem, err error) {
	if strings.TrimSpace(text) == "" {
		return nil, nil, errors.New("paste the reviews first")
	}
	out := &pasted{at: map[string]int{}}
	err = tabular.Pasted{Source: source, Zone: zone, Answers: answers}.Read(text, out)
	return out.records, out.problems, err
}

// pasted collects reviews. A later review replaces an earlier one with the same identity.
type pasted struct {
	records  []client.PushFeedbackRecord
	problems []Problem
	at       map[string]int // maps a review's identity to its index in records
}

// Add implements tabular.Reviews.
func (p *pasted) Add(r tabular.Review) error {
	if stars, ok := r.Rating.Get(); ok && (stars < 1 || stars > 5) {
		return p.Report(tabular.Problem{Row: r.Row, Message: fmt.Sprintf("has the rating \"%d\": it must be a whole number from 1 to 5", stars)})
	}
	identity := string(r.Source) + " " + r.ExternalID
	i, known := p.at[identity]
	if known {
		p.records[i] = r.PushFeedbackRecord
		return nil
	}
	p.at[identity] = len(p.records)
	p.records = append(p.records, r.PushFeedbackRecord)
	return nil
}

// Report implements tabular.Reviews.
func (p *pasted) Report(problem tabular.Problem) error {
	text := problem.Message
	if problem.Column != "" {
		text = problem.Column + " " + text
	}
	p.problems = append(p.problems, Problem{problem.Row, text})
	return nil
}

// Skip implements tabular.Reviews.
func (p *pasted) Skip(row int, reason string, _ int) error {
	p.problems = append(p.problems, Problem{row, "is left out: " + reason})
	return nil
}
