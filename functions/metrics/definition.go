package metrics

import (
	"context"

	"growthworkspace/shared/api"
	"growthworkspace/shared/fault"
)

// Definition describes a metric. The key identifies it; the id is an ordinary field.
type Definition struct {
	ID          string       `json:"id"`
	CompanyID   string       `json:"companyId"`
	Key         string       `json:"key" set:"required,create" max:"127" pattern:"metricKey" doc:"dotted slug, group.name, of at most 120 characters, which never changes; keys specific to the company start with custom. and have up to 127" tool:"dotted slug, group.name; never changes"`
	Name        *string      `json:"name" set:"optional" max:"200" doc:"display name"`
	Description *string      `json:"description" set:"optional" max:"2000" doc:"what the metric counts"`
	Unit        *Unit        `json:"unit" set:"optional" doc:"the unit of the values"`
	Aggregation *Aggregation `json:"aggregation" set:"optional" doc:"how days combine into weeks and months that are not stored; a ratio must not be summed" tool:"how days combine into weeks and months; never sum a ratio"`
	Polarity    *Polarity    `json:"polarity" set:"optional" doc:"which direction is good"`
	Kind        *Kind        `json:"kind" default:"measured" set:"create" doc:"where the values come from: split has dimensions; derived has a formula, and no points can be pushed to it; never changes" tool:"split has dimensions; derived has a formula and takes no points; never changes"`
	Formula     *string      `json:"formula" set:"filled" min:"1" max:"2000" doc:"derived metrics only, required there: an expression over other metric keys; stored, not computed" tool:"derived needs one: an expression over metric keys; stored, not computed"`
	Dimensions  []string     `json:"dimensions" set:"optional" items:"50" each:"200" doc:"names of the dimensions that points may have; required for split" tool:"dimension names; split needs some"`
	Source      *string      `json:"source" set:"optional" max:"200" doc:"the system that the values come from"`
	NeedsReview *bool        `json:"needsReview" set:"filled,update" doc:"true when a push created the key and nobody has confirmed it yet; an update can only send false, which confirms it" tool:"only false: the definition is confirmed"`
	CreatedAt   *string      `json:"createdAt" format:"date-time"`
	UpdatedAt   *string      `json:"updatedAt" format:"date-time"`
}

// Unit is the unit of a metric's values.
type Unit string

// Values implements schema.Enum.
func (Unit) Values() []string {
	return []string{"currency_minor", "count", "ratio", "duration_ms", "score", "bytes"}
}

// Aggregation is how daily values combine into weekly and monthly values.
type Aggregation string

// The aggregations. With AggregationNone, no weeks or months are computed.
const (
	AggregationSum  Aggregation = "sum"
	AggregationAvg  Aggregation = "avg"
	AggregationMin  Aggregation = "min"
	AggregationMax  Aggregation = "max"
	AggregationLast Aggregation = "last"
	AggregationNone Aggregation = "none"
)

// Values implements schema.Enum.
func (Aggregation) Values() []string {
	return []string{
		string(AggregationSum), string(AggregationAvg), string(AggregationMin), string(AggregationMax), string(AggregationLast),
		string(AggregationNone),
	}
}

// Polarity is the direction of change that is good for the metric.
type Polarity string

// Values implements schema.Enum.
func (Polarity) Values() []string { return []string{"up_is_good", "down_is_good", "neutral"} }

// Kind says where a metric's values come from.
type Kind string

// The kinds. A derived metric is computed from other metrics. A split metric has a series for each
// value of a dimension.
const (
	KindMeasured Kind = "measured"
	KindDerived  Kind = "derived"
	KindSplit    Kind = "split"
)

// Values implements schema.Enum.
func (Kind) Values() []string {
	return []string{string(KindMeasured), string(KindDerived), string(KindSplit)}
}

// rollupRule returns how days and series of the metric combine.
func (d Definition) rollupRule() rollupRule { return rollupRule{d.Aggregation, d.Kind} }

// isSplit reports whether the metric has a series for each value of a dimension.
func (d Definition) isSplit() bool { return d.Kind != nil && *d.Kind == KindSplit }

// isDerived reports whether the metric's values are computed from other metrics.
func (d Definition) isDerived() bool { return d.rollupRule().isDerived() }

// ReviewFilter is a value of the query parameter needsReview. The specification declares the
// parameter as a string, so tools accept a string, too.
type ReviewFilter string

// The values of ReviewFilter.
const (
	ReviewNeeded    ReviewFilter = "true"
	ReviewNotNeeded ReviewFilter = "false"
)

// Values implements schema.Enum.
func (ReviewFilter) Values() []string { return []string{string(ReviewNeeded), string(ReviewNotNeeded)} }

// reviewFilterOf returns the filter value that matches a definition, or "" if the definition's
// needsReview is null.
func reviewFilterOf(d Definition) ReviewFilter {
	switch {
	case d.NeedsReview == nil:
		return ""
	case *d.NeedsReview:
		return ReviewNeeded
	}
	return ReviewNotNeeded
}

type listDefinitionsInput struct {
	Limit       int64         `query:"limit" default:"100" min:"1" max:"200"`
	NeedsReview *ReviewFilter `query:"needsReview" doc:"true: only keys to confirm; false: only confirmed keys"`
	Cursor      api.Cursor    `query:"cursor"`
}

func (s service) listDefinitions(ctx context.Context, caller api.Caller, in listDefinitionsInput) (api.List[Definition], error) {
	var review ReviewFilter
	if in.NeedsReview != nil {
		review = *in.NeedsReview
	}
	definitions, err := s.store.ListDefinitions(ctx, caller.CompanyID, review, string(in.Cursor), int(in.Limit))
	if err != nil {
		return api.List[Definition]{}, err
	}
	return api.NewJSONList[Definition](definitions), nil
}

type getDefinitionInput struct {
	DefinitionID string `path:"definitionId"`
}

func (s service) getDefinition(ctx context.Context, caller api.Caller, in getDefinitionInput) (Definition, error) {
	return s.store.GetDefinition(ctx, caller.CompanyID, in.DefinitionID)
}

type createDefinitionInput struct{ api.CreateBody[Definition] }

// Check implements api.Checker.
func (in createDefinitionInput) Check() (problems []string) {
	d := in.Record
	problems = keyProblems("body.key", d.Key)
	switch {
	case d.isDerived() && d.Formula == nil:
		problems = append(problems, "body.formula: is required for a metric of kind derived")
	case !d.isDerived() && d.Formula != nil:
		problems = append(problems, "body.formula: "+formulaProblem)
	}
	if d.isSplit() && len(d.Dimensions) == 0 {
		problems = append(problems, "body.dimensions: is required "+missingDimensionsProblem)
	}
	return problems
}

// missingDimensionsProblem is the end of the message for a split metric without dimensions.
const missingDimensionsProblem = "for a metric of kind split, with at least one name"

// formulaProblem is the message for a formula on a metric that is not derived.
const formulaProblem = "is only for a metric of kind derived"

func (s service) createDefinition(ctx context.Context, caller api.Caller, in createDefinitionInput) (Definition, error) {
	d := in.Record
	d.NeedsReview = new(false)
	return s.store.InsertDefinition(ctx, caller.CompanyID, d)
}

type updateDefinitionInput struct {
	api.UpdateBody[Definition]

	DefinitionID string `path:"definitionId"`
}

// Check implements api.Checker.
func (in updateDefinitionInput) Check() []string {
	if review := in.Record.NeedsReview; review != nil && *review {
		return []string{"body.needsReview: must be false, which confirms the definition; leave it out to keep it"}
	}
	return nil
}

func (s service) updateDefinition(ctx context.Context, caller api.Caller, in updateDefinitionInput) (Definition, error) {
	return s.store.ModifyDefinition(ctx, caller.CompanyID, in.DefinitionID, in.edit)
}

func (in *updateDefinitionInput) edit(d *Definition) error {
	if err := in.Condition.RequireMatch(*d); err != nil {
		return err
	}
	if in.Sent("formula") && !d.isDerived() {
		return fault.Invalid("body.formula", formulaProblem)
	}
	if in.Sent("dimensions") && len(in.Record.Dimensions) == 0 && d.isSplit() {
		return fault.Invalid("body.dimensions", "must stay "+missingDimensionsProblem)
	}
	in.Apply(d)
	return nil
}

type deleteDefinitionInput struct {
	api.Condition

	DefinitionID string `path:"definitionId"`
}

func (s service) deleteDefinition(ctx context.Context, caller api.Caller, in deleteDefinitionInput) (api.Deleted, error) {
	err := s.store.RemoveDefinition(ctx, caller.CompanyID, in.DefinitionID, func(d Definition) error { return in.Condition.RequireMatch(d) })
	return api.Deleted{ID: in.DefinitionID, Deleted: true}, err
}
