package studio

import (
	"cmp"
	"fmt"
	"net/http"
	"net/url"
	"strings"
	"unicode/utf8"

	"growthworkspace/scripts/studio/phrase"
	"growthworkspace/shared/client"
)

// startForm is the data for the start template, which shows the form of a first step.
type startForm struct {
	Form                *form
	Intro, Action, Verb string
	Scope               string
}

// boardColumns are the columns of the template for a first board.
var boardColumns = []struct{ id, label, hint string }{
	{"now", "Now", "What you are working on. One item on each line."},
	{"next", "Next", "What comes after that. One item on each line."},
	{"later", "Later", "What you have decided to do some day."},
	{"done", "Done", "What you finished recently, so that visitors see that you deliver."},
}

// firstItemsMax is the maximum number of items that the form for a first board creates.
const firstItemsMax = 20

// itemTitleMax is the maximum number of characters in the title of an item.
const itemTitleMax = 200

func (s *Studio) firstBoard(v *pageRequest) *view { return v.firstBoardPage(nil, nil) }

// firstBoardPage shows the form for a first board. After a failed write, sent contains the typed
// values.
func (pr *pageRequest) firstBoardPage(sent url.Values, refused *failure) *view {
	fields := []*field{{Name: "name", Label: "Name", Kind: "text", Required: true, Suggested: "Roadmap"}}
	for _, c := range boardColumns {
		fields = append(fields, &field{Name: c.id, Label: c.label, Kind: "list", Hint: c.hint})
	}
	return pr.startPage("Roadmap", "A first roadmap", sent, refused, &startForm{
		Intro:  "Your roadmap starts with four columns. Columns without items are not shown to visitors. Nobody sees anything before you publish.",
		Action: "/start/board", Verb: "Create the roadmap", Scope: "plan:write", Form: newForm("the board", "/roadmap", "", pr.may("plan:write"), fields...),
	})
}

func (pr *pageRequest) startPage(place, title string, sent url.Values, refused *failure, d *startForm) *view {
	out := &view{page: "start", place: place, title: title, data: d}
	if sent != nil {
		pr.readFrame()
		out.status = refused.status()
		d.Form.restore(sent, refused, false)
	}
	return out
}

// createFirstBoard creates a board and its items. Sending the form twice creates them once.
func (s *Studio) createFirstBoard(v *pageRequest) *view {
	sent := v.r.PostForm
	c := &formChanges{sent: sent}
	var items []client.CreatePlanItemInput
	for _, column := range boardColumns {
		for i, title := range lines(sent.Get(column.id)) {
			if utf8.RuneCountInString(title) > itemTitleMax {
				c.addProblem(column.id, fmt.Sprintf("has a line with more than %d characters", itemTitleMax))
			}
			items = append(items, client.CreatePlanItemInput{
				Title: title, ColumnID: client.Value(column.id), Status: client.Value(client.PlanStatusPublished), SortOrder: client.Value(10 * (i + 1)),
			})
		}
	}
	if len(items) > firstItemsMax {
		c.addProblem("now", fmt.Sprintf("and the other columns have %d items, but this form creates at most %d: add the others on the board", len(items), firstItemsMax))
	}
	if c.problem != nil {
		return v.firstBoardPage(sent, c.problem)
	}
	board := startCall(v, "plan:write", "Create the board", bound(v.api.CreatePlanBoard, client.CreatePlanBoardInput{
		Name: typedField(sent, "name"),
	}), client.IdempotencyKey(sent.Get("once")))
	v.wait()
	if board.Failure != nil {
		return v.firstBoardPage(sent, board.Failure)
	}
	results := make([]*result[client.Item], len(items))
	for i, in := range items {
		in.BoardID = board.Value.ID
		results[i] = startCall(v, "plan:write", "Create an item",
			bound(v.api.CreatePlanItem, in), client.IdempotencyKey(fmt.Sprintf("%s-%d", sent.Get("once"), i)))
	}
	v.wait()
	var missing []string
	var failed *failure
	for i, r := range results {
		if r.Failure != nil {
			missing, failed = append(missing, items[i].Title), r.Failure
		}
	}
	msg := notice{Record: board.Value.Name.Or(""), Text: fmt.Sprintf("Created with %s. Visitors see it once you publish it.", phrase.Plural(len(items), "item", "items"))}
	if failed != nil {
		msg.Bad, msg.Text = true, fmt.Sprintf("The roadmap was created, but not these items: %s. %s", strings.Join(missing, "; "), failed.Text())
	}
	return v.finish(boardPath(board.Value.ID), msg)
}

func (s *Studio) firstNumber(v *pageRequest) *view { return v.firstNumberPage(nil, nil) }

// numberUnits are the units that the form for a first number offers.
var numberUnits = []client.MetricsUnit{client.MetricsUnitCount, client.MetricsUnitCurrencyMinor, client.MetricsUnitRatio, client.MetricsUnitDurationMs}

func (pr *pageRequest) firstNumberPage(sent url.Values, refused *failure) *view {
	unitNames := func(all []client.MetricsUnit) (out []string) {
		for _, u := range all {
			out = append(out, string(u))
		}
		return out
	}
	fields := []*field{
		{Name: "name", Label: "Name", Kind: "text", Required: true, Hint: "What people call it, such as Sign-ups."},
		{Name: "unit", Label: "What one value is", Kind: "choice", Required: true, Choices: unitNames(numberUnits), Labels: map[string]string{
			string(client.MetricsUnitCount): "a number of things", string(client.MetricsUnitCurrencyMinor): "money", string(client.MetricsUnitRatio): "a share, in percent", string(client.MetricsUnitDurationMs): "a duration, in milliseconds"}},
		{Name: "aggregation", Label: "The value of a week or a month", Kind: "choice", Required: true,
			Choices: []string{string(client.MetricsAggregationSum), string(client.MetricsAggregationLast), string(client.MetricsAggregationAvg)},
			Labels:  map[string]string{string(client.MetricsAggregationSum): "all days added up, as for sign-ups", string(client.MetricsAggregationLast): "that of its last day, as for customers", string(client.MetricsAggregationAvg): "the average of its days, as for a rating"}},
		{Name: "currency", Label: "Currency", Kind: "text", Hint: "Only for money. Three letters, such as EUR."},
		{Name: "values", Label: "Values", Kind: "list", Required: true, Hint: firstValuesHint(pr.Now())},
	}
	return pr.startPage("Metrics", "A first number", sent, refused, &startForm{
		Intro:  "Two or more days become a chart. Later, a program can push the values.",
		Action: "/start/number", Verb: "Create the chart", Scope: "metrics:write", Form: newForm("the metric", "/metrics", "", pr.may("metrics:write"), fields...),
	})
}

// createFirstNumber defines a metric and pushes its values. Sending the form twice creates one
// metric.
func (s *Studio) createFirstNumber(v *pageRequest) *view {
	sent := v.r.PostForm
	c := &formChanges{sent: sent}
	name, unit := typedField(sent, "name"), typedField(sent, "unit")
	key := keyOf(name)
	if key == "" {
		c.addProblem("name", "needs at least one of the letters a to z, or a digit")
	}
	if v.firstValues(c); typedField(sent, "values") == "" {
		c.addProblem("values", "needs at least one value")
	}
	if refused := c.check(); refused != nil {
		return v.firstNumberPage(sent, refused)
	}
	in := client.CreateMetricDefinitionInput{
		Key: key, Name: client.Value(name), Unit: optional(client.MetricsUnit(unit)), Aggregation: optional(client.MetricsAggregation(typedField(sent, "aggregation"))), Polarity: client.Value(client.MetricsPolarityUpIsGood),
	}
	defined := startCall(v, "metrics:write", "Define the metric",
		bound(v.api.CreateMetricDefinition, in), client.IdempotencyKey(sent.Get("once")))
	v.wait()
	if failed := defined.Failure; failed != nil {
		if failed.Status == http.StatusConflict {
			failed = &failure{Status: http.StatusBadRequest, Messages: []string{"body.name: is the name of a metric that exists already"}}
		}
		return v.firstNumberPage(sent, failed)
	}
	query := url.Values{"key": {cmp.Or(defined.Value.Key, key)}, "range": {"30d"}}
	return v.finish("/metrics?"+query.Encode(), v.pushFirstValues(defined.Value, defined.ETag, sent))
}

// pushPointsMax is the maximum number of points in one push.
const pushPointsMax = 500
