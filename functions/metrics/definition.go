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
	Key         string       `json:"key" doc:"stable dotted slug, group.name; keys specific to the company start with custom."`
	Name        *string      `json:"name" doc:"display name"`
	Description *string      `json:"description" doc:"what the metric counts"`
	Unit        *Unit        `json:"unit" doc:"the unit of the values"`
	Aggregation *Aggregation `json:"aggregation" doc:"how daily values combine into weeks and months; a ratio must not be summed"`
	Polarity    *Polarity    `json:"polarity" doc:"which direction is good"`
	Kind        *Kind        `json:"kind" doc:"where the values come from"`
	Formula     *string      `json:"formula" doc:"derived metrics only: an expression over other metric keys"`
	Dimensions  []string     `json:"dimensions" doc:"names of the dimensions that points may have"`
	Source      *string      `json:"source" doc:"the system that the values come from"`
	NeedsReview *bool        `json:"needsReview" doc:"true when a push created the key and nobody has confirmed it yet"`
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

// The aggregations. With AggregationNone nothing is computed.
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

// Polarity is the direction in which a change of the metric is good.
type Polarity string

// Values implements schema.Enum.
func (Polarity) Values() []string { return []string{"up_is_good", "down_is_good", "neutral"} }

// Kind is where a metric's values come from.
type Kind string

// The kinds. A derived metric is computed from other metrics, a split one has a series for each value of a dimension.
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

// derived reports whether the metric's values follow from other metrics.
func (d Definition) derived() bool { return d.rollupRule().derived() }

// ReviewFilter is a value of the filter needsReview. The specification declares it as a string, so tools accept a string too.
type ReviewFilter string

// The values of ReviewFilter.
const (
	ReviewNeeded ReviewFilter = "true"
	ReviewDone   ReviewFilter = "false"
)

// Values implements schema.Enum.
func (ReviewFilter) Values() []string { return []string{string(ReviewNeeded), string(ReviewDone)} }

// reviewOf returns the filter value that matches a definition, or "" when its needsReview is null.
func reviewOf(d Definition) ReviewFilter {
	switch {
	case d.NeedsReview == nil:
		return ""
	case *d.NeedsReview:
		return ReviewNeeded
	}
	return ReviewDone
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
	return api.NewTextList[Definition](definitions), nil
}

type getDefinitionInput struct {
	DefinitionID string `path:"definitionId"`
}

func (s service) getDefinition(ctx context.Context, caller api.Caller, in getDefinitionInput) (Definition, error) {
	return s.store.Definition(ctx, caller.CompanyID, in.DefinitionID)
}

type createDefinitionInput struct {
	api.Idempotent

	Key         string       `json:"key" max:"127" pattern:"metricKey" doc:"dotted slug, group.name; at most 120 characters, or 127 with custom.; never changes" tool:"dotted slug, group.name; never changes"`
	Name        *string      `json:"name" max:"200" doc:"display name"`
	Description *string      `json:"description" max:"2000" doc:"what the metric counts"`
	Unit        *Unit        `json:"unit" doc:"the unit of the values"`
	Aggregation *Aggregation `json:"aggregation" doc:"how days combine into weeks and months that are not stored; a ratio must not be summed" tool:"how days combine into weeks and months; never sum a ratio"`
	Polarity    *Polarity    `json:"polarity" doc:"which direction is good"`
	Kind        Kind         `json:"kind" default:"measured" doc:"split has dimensions; derived has a formula, and no points can be pushed to it; never changes" tool:"split has dimensions; derived has a formula and takes no points; never changes"`
	Formula     *string      `json:"formula" min:"1" max:"2000" doc:"derived only, required there: an expression over other metric keys; stored, not computed" tool:"derived needs one: an expression over metric keys; stored, not computed"`
	Dimensions  []string     `json:"dimensions" items:"50" each:"200" doc:"names of the dimensions that points may have; required for split" tool:"dimension names; split needs some"`
	Source      *string      `json:"source" max:"200" doc:"the system that the values come from"`
}

// Check implements api.Checker.
func (in createDefinitionInput) Check() (problems []string) {
	problems = keyProblems("body.key", in.Key)
	switch {
	case in.Kind == KindDerived && in.Formula == nil:
		problems = append(problems, "body.formula: is required for a metric of kind derived")
	case in.Kind != KindDerived && in.Formula != nil:
		problems = append(problems, "body.formula: "+formulaOfOthers)
	}
	if in.Kind == KindSplit && len(in.Dimensions) == 0 {
		problems = append(problems, "body.dimensions: is required "+dimensionsOfSplit)
	}
	return problems
}

// dimensionsOfSplit ends the problem with missing dimensions of a split metric.
const dimensionsOfSplit = "for a metric of kind split, with at least one name"

// formulaOfOthers is the problem with a formula of a metric that is not derived.
const formulaOfOthers = "is only for a metric of kind derived"

func (s service) createDefinition(ctx context.Context, caller api.Caller, in createDefinitionInput) (Definition, error) {
	return s.store.CreateDefinition(ctx, caller.CompanyID, Definition{
		Key: in.Key, Name: in.Name, Description: in.Description, Unit: in.Unit, Aggregation: in.Aggregation, Polarity: in.Polarity,
		Kind: &in.Kind, Formula: in.Formula, Dimensions: in.Dimensions, Source: in.Source, NeedsReview: new(false),
	})
}

type updateDefinitionInput struct {
	api.Condition

	DefinitionID string                      `path:"definitionId"`
	Name         api.Clearable[*string]      `json:"name" max:"200" doc:"display name"`
	Description  api.Clearable[*string]      `json:"description" max:"2000" doc:"what the metric counts"`
	Unit         api.Clearable[*Unit]        `json:"unit" doc:"the unit of the values"`
	Aggregation  api.Clearable[*Aggregation] `json:"aggregation" doc:"how days combine into weeks and months that are not stored; a ratio must not be summed" tool:"how days combine into weeks and months; never sum a ratio"`
	Polarity     api.Clearable[*Polarity]    `json:"polarity" doc:"which direction is good"`
	Formula      *string                     `json:"formula" min:"1" max:"2000" doc:"derived metrics only: an expression over other metric keys; stored, not computed" tool:"derived only: an expression over metric keys; stored, not computed"`
	Dimensions   api.Clearable[[]string]     `json:"dimensions" items:"50" each:"200" doc:"names of the dimensions that points may have; replaces the list" tool:"dimension names; replaces the list"`
	Source       api.Clearable[*string]      `json:"source" max:"200" doc:"the system that the values come from"`
	NeedsReview  *bool                       `json:"needsReview" doc:"only false: the definition is confirmed"`
}

// Check implements api.Checker.
func (in updateDefinitionInput) Check() []string {
	if in.NeedsReview != nil && *in.NeedsReview {
		return []string{"body.needsReview: must be false, which confirms the definition; leave it out to keep it"}
	}
	return nil
}

func (s service) updateDefinition(ctx context.Context, caller api.Caller, in updateDefinitionInput) (Definition, error) {
	return s.store.ModifyDefinition(ctx, caller.CompanyID, in.DefinitionID, func(d *Definition) error {
		if err := in.Condition.Check(*d); err != nil {
			return err
		}
		if in.Formula != nil && !d.derived() {
			return fault.Invalid("body.formula", formulaOfOthers)
		}
		if in.Dimensions.Sent && len(in.Dimensions.Value) == 0 && d.Kind != nil && *d.Kind == KindSplit {
			return fault.Invalid("body.dimensions", "must stay "+dimensionsOfSplit)
		}
		in.Name.Apply(&d.Name)
		in.Description.Apply(&d.Description)
		in.Unit.Apply(&d.Unit)
		in.Aggregation.Apply(&d.Aggregation)
		in.Polarity.Apply(&d.Polarity)
		api.Set(&d.Formula, in.Formula)
		in.Dimensions.Apply(&d.Dimensions)
		in.Source.Apply(&d.Source)
		api.Set(&d.NeedsReview, in.NeedsReview)
		return nil
	})
}

type deleteDefinitionInput struct {
	api.Condition

	DefinitionID string `path:"definitionId"`
}

func (s service) deleteDefinition(ctx context.Context, caller api.Caller, in deleteDefinitionInput) (api.Deleted, error) {
	err := s.store.DeleteDefinition(ctx, caller.CompanyID, in.DefinitionID, func(d Definition) error { return in.Condition.Check(d) })
	return api.Deleted{ID: in.DefinitionID, Deleted: true}, err
}
