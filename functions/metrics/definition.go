package metrics

import (
	"context"
	"strconv"

	"growthworkspace/shared/api"
	"growthworkspace/shared/schema"
)

// Definition says what a metric is (spec.md, Metric definition). Its key is its identity; the id is a field.
type Definition struct {
	ID          string       `json:"id"`
	CompanyID   string       `json:"companyId"`
	Key         string       `json:"key" doc:"stable slug, dotted: group.name; anything bespoke begins with custom."`
	Name        *string      `json:"name" doc:"how people call it"`
	Description *string      `json:"description" doc:"what it counts, for people"`
	Unit        *Unit        `json:"unit" doc:"what the values are measured in"`
	Aggregation *Aggregation `json:"aggregation" doc:"how days roll into weeks and months; summing a ratio across days is wrong"`
	Polarity    *Polarity    `json:"polarity" doc:"which way is good"`
	Kind        *Kind        `json:"kind" doc:"where the values come from"`
	Formula     *string      `json:"formula" doc:"derived metrics only: an expression over other metric keys"`
	Dimensions  []string     `json:"dimensions" doc:"names of the dimensions that points may have"`
	Source      *string      `json:"source" doc:"the system that the values come from"`
	NeedsReview *bool        `json:"needsReview" doc:"true for a key that an unrecognised push created and nobody has confirmed yet"`
	CreatedAt   *string      `json:"createdAt" format:"date-time"`
	UpdatedAt   *string      `json:"updatedAt" format:"date-time"`
}

// Unit is what a metric's values count.
type Unit string

// Values is schema.Enum.
func (Unit) Values() []string {
	return []string{"currency_minor", "count", "ratio", "duration_ms", "score", "bytes"}
}

// Aggregation is how the values of days roll into those of weeks and months (decisions.md §7).
type Aggregation string

// Values is schema.Enum.
func (Aggregation) Values() []string { return []string{"sum", "avg", "min", "max", "last", "none"} }

// Polarity is which way is good.
type Polarity string

// Values is schema.Enum.
func (Polarity) Values() []string { return []string{"up_is_good", "down_is_good", "neutral"} }

// Kind is where a metric's values come from.
type Kind string

// KindDerived is that of a metric whose values follow from other metrics.
const KindDerived Kind = "derived"

// Values is schema.Enum.
func (Kind) Values() []string { return []string{"measured", string(KindDerived), "split"} }

// keyCharsMax bounds a metric key as it is stored: one that is pushed has up to 120 characters (decisions.md §5), and custom.
// may be put before it. So bounded, keys fit into sort keys.
const keyCharsMax = 120 + len(customPrefix)

// keyPattern is the pattern `metricKey` that inputs are checked with, for imports, which no input describes. What it
// accepts has no separator of the table's keys in it.
var keyPattern = schema.Pattern("metricKey")

// checkKey says what is wrong with a metric key, "" when nothing is.
func checkKey(key string) string {
	if len(key) > keyCharsMax || !keyPattern.MatchString(key) {
		return "must match " + keyPattern.String() + " and have at most " + strconv.Itoa(keyCharsMax) + " characters"
	}
	return ""
}

// Review is the value of the filter needsReview. The specification has it as a text, so a tool takes one too.
type Review string

// The two values of the filter.
const (
	ReviewNeeded Review = "true"
	ReviewDone   Review = "false"
)

// Values is schema.Enum.
func (Review) Values() []string { return []string{string(ReviewNeeded), string(ReviewDone)} }

// reviewOf is the value of the filter that a definition answers to; "" for one of which it is not known.
func reviewOf(d Definition) Review {
	switch {
	case d.NeedsReview == nil:
		return ""
	case *d.NeedsReview:
		return ReviewNeeded
	}
	return ReviewDone
}

type listDefinitionsInput struct {
	Limit       int64      `query:"limit" default:"100" min:"1" max:"200" doc:"how many records at most"`
	NeedsReview *Review    `query:"needsReview" doc:"true: keys to confirm; false: confirmed ones; absent: all"`
	Cursor      api.Cursor `query:"cursor" doc:"where to go on: the cursor of the page before"`
}

func (s service) listDefinitions(ctx context.Context, caller api.Caller, in listDefinitionsInput) (api.List[Definition], error) {
	var review Review
	if in.NeedsReview != nil {
		review = *in.NeedsReview
	}
	definitions, next, err := s.store.ListDefinitions(ctx, caller.CompanyID, review, string(in.Cursor), int(in.Limit))
	if err != nil {
		return api.List[Definition]{}, err
	}
	return api.NewTextList[Definition](definitions, next), nil
}
