package studio

import (
	"cmp"
	"slices"
	"strings"

	"growthworkspace/shared/client"
)

// references are the records that a field can refer to. People choose them by name.
type references struct {
	ids   []string
	names map[string]string // by id
	why   string            // why the records could not be listed, or empty
}

// newReferences returns the records of a list.
func newReferences[T any](read *result[client.Page[T]], idAndName func(T) (id, name string)) references {
	out := references{names: map[string]string{}}
	out.add("", addressed(read, idAndName))
	if read.Failure != nil {
		out.why = "They cannot be listed: " + read.Failure.Text()
	}
	return out
}

// addressed returns pairs of an id and a name.
func addressed[T any](read *result[client.Page[T]], idAndName func(T) (id, name string)) (pairs [][2]string) {
	for _, record := range read.Value.Items {
		id, name := idAndName(record)
		pairs = append(pairs, [2]string{id, name})
	}
	return pairs
}

func (r *references) add(prefix string, pairs [][2]string) {
	for _, pair := range pairs {
		r.ids = append(r.ids, pair[0])
		r.names[pair[0]] = prefix + pair[1]
	}
}

// choice returns a field that refers to at most one of the records.
func (r references) choice(name, label, hint, stored string) *field {
	return &field{Name: name, Label: label, Hint: cmp.Or(r.why, hint), Kind: "choice", Choices: r.ids, Labels: r.names, Stored: stored}
}

// checks returns a field that refers to any of the records. A stored id stays in the list even if
// its record does not exist any more.
func (r references) checks(name, label, hint string, stored []string) *field {
	f := &field{Name: name, Label: label, Hint: cmp.Or(r.why, hint), Kind: "checks", Choices: slices.Clone(r.ids), Labels: r.names}
	for _, id := range stored {
		if !slices.Contains(f.Choices, id) {
			f.Choices = append(f.Choices, id)
		}
	}
	chosen := slices.DeleteFunc(slices.Clone(f.Choices), func(id string) bool { return !slices.Contains(stored, id) })
	f.Stored = strings.Join(chosen, "\n") // in the order of the check boxes, in which browsers send them
	return f
}

// IsChosen reports whether the box of a choice is checked.
func (f *field) IsChosen(choice string) bool { return slices.Contains(lines(f.Text), choice) }

// StoredText returns the stored value for users: the name of a record in place of its id.
func (f *field) StoredText() string {
	switch f.Kind {
	case "choice", "checks":
		var names []string
		for _, value := range lines(f.Stored) {
			names = append(names, f.LabelOf(value))
		}
		return strings.Join(names, ", ")
	}
	return f.Stored
}

// Limits on the records that the form of an idea offers as its source.
const (
	sourceReviews = 50
	sourceBoards  = 5
)

// readSources reads the records that an idea can come from: the most urgent reviews, the metrics, the
// latest audits and the items of the boards. A list that the key may not read has no choices.
func (pr *pageRequest) readSources() references {
	out := references{names: map[string]string{}}
	reviews := pr.listReviews("The reviews", reviewFilter{}, sourceReviews)
	metrics := startCall(pr, "metrics:read", "The metrics",
		bound(pr.api.ListMetricDefinitions, client.ListMetricDefinitionsInput{Limit: client.Value(200)}))
	audits := startCall(pr, "optimise:read", "The audits",
		bound(pr.api.ListOptimiseAudits, client.ListOptimiseAuditsInput{}))
	boards := startCall(pr, "plan:read", "The boards",
		bound(pr.api.ListPlanBoards, client.ListPlanBoardsInput{Limit: client.Value(sourceBoards)}))
	pr.wait()
	var items []*result[client.Page[client.Item]]
	for _, board := range boards.Value.Items {
		items = append(items, startCall(pr, "plan:read", "The items",
			bound(pr.api.ListPlanItems, client.ListPlanItemsInput{BoardID: board.ID, Limit: client.Value(200)})))
	}
	pr.wait()
	out.add("Review: ", addressed(reviews, func(f client.Feedback) (id, name string) { return f.ID, reviewName(f) }))
	out.add("Metric: ", addressed(metrics, func(m client.Definition) (id, name string) { return m.ID, m.Name.Or(m.Key) }))
	out.add("Audit: ", addressed(audits, func(a client.AuditSummary) (id, name string) { return a.ID, cmp.Or(a.RootURL.Or(""), "Audit") }))
	for _, list := range items {
		out.add("Roadmap: ", addressed(list, func(i client.Item) (id, name string) { return i.ID, i.Title }))
	}
	return out
}
