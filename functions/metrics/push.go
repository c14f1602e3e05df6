package metrics

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"growthworkspace/shared/api"
	"growthworkspace/shared/fault"
	"growthworkspace/shared/schema"
	"growthworkspace/shared/table"
	"growthworkspace/shared/timestamp"
)

// PushResult is the result of a push.
type PushResult struct {
	Accepted    int64    `json:"accepted" doc:"the number of points in the request; all of them are stored"`
	CreatedKeys []string `json:"createdKeys" null:"never" doc:"the stored keys whose definitions this push created"`
}

type pushPointsInput struct {
	api.Idempotent

	Points []pushedPoint `json:"points" min:"1" items:"500" required:"true" doc:"when several have the same identity, the last one is stored" tool:"of several for one bucket the last one counts"`
}

// pushedPoint is a point as callers send it. Names and values in dims have the length limit that
// applies to all labels.
type pushedPoint struct {
	MetricKey string            `json:"metricKey" max:"127" pattern:"metricKey" doc:"the key of a definition, with or without custom., or a new key; at most 120 characters, or 127 with custom." tool:"a defined key, with or without custom., or a new one"`
	TS        string            `json:"ts" format:"day" doc:"moved to the start of its bucket, UTC"`
	Value     float64           `json:"value" doc:"in the unit of the definition"`
	Grain     Grain             `json:"grain" default:"day" doc:"the length of the bucket; weeks start on Monday"`
	Dims      map[string]string `json:"dims" items:"10" each:"200" doc:"dimension values" tool:"breakdown labels, such as {\"country\":\"de\"}"`
	Currency  *string           `json:"currency" pattern:"currency" max:"3" doc:"ISO 4217" tool:"ISO 4217, such as EUR"`
	BaseValue *float64          `json:"baseValue" doc:"value in the company's base currency"`
	Source    *string           `json:"source" max:"200" doc:"the system that the value comes from"`
}

// pushAttemptsMax limits the attempts of a push. A push starts again if another push has created
// one of its definitions first, which happens at most once per key of a company.
const pushAttemptsMax = 16

// pushPoints reads the definitions of all keys, then writes. If a definition becomes derived in
// between, the push is treated as having happened before that change.
func (s service) pushPoints(ctx context.Context, caller api.Caller, in pushPointsInput) (PushResult, error) {
	result := PushResult{Accepted: int64(len(in.Points)), CreatedKeys: []string{}}
	for range pushAttemptsMax {
		known, createdEarlier, err := s.store.readPushedDefinitions(ctx, caller.CompanyID, in.keys())
		if err != nil {
			return result, err
		}
		points, fresh, err := in.resolveKeys(known, s.store.now())
		if err != nil {
			return result, err
		}
		buildResult := func(created []string) PushResult {
			keys := slices.Clone(result.CreatedKeys)
			for _, key := range slices.Concat(createdEarlier, created) {
				if !slices.Contains(keys, key) {
					keys = append(keys, key)
				}
			}
			return PushResult{result.Accepted, keys}
		}
		created, err := s.store.Push(ctx, caller.CompanyID, known, fresh, points, buildResult)
		result = buildResult(created)
		if !errors.Is(err, table.ErrExists) {
			return result, err
		}
	}
	return result, table.ErrTooMuchContention
}

// Check implements api.Checker. It is needed because the schema allows every key to be as long as
// one with customPrefix.
func (in pushPointsInput) Check() (problems []string) {
	for i, p := range in.Points {
		problems = append(problems, keyProblems(fmt.Sprintf("body.points[%d].metricKey", i), p.MetricKey)...)
	}
	return problems
}

// keys returns every key under which a pushed point's definition may exist, without duplicates.
func (in pushPointsInput) keys() (keys []string) {
	for _, p := range in.Points {
		keys = append(keys, namesOf(p.MetricKey)...)
	}
	slices.Sort(keys)
	return slices.Compact(keys)
}

// resolveKeys returns the pushed points with their stored keys and identities, and the definitions
// that have to be created for them. Its error lists every point that cannot be stored.
func (in pushPointsInput) resolveKeys(known map[string]Definition, now string) (points []Point, fresh []Definition, err error) {
	var problems []string
	missing := map[string]bool{}
	for i, sent := range in.Points {
		path := fmt.Sprintf("body.points[%d].", i)
		key, isKnown := storedKey(sent.MetricKey, known)
		if !isKnown {
			key = customName(key)
		}
		if known[key].isDerived() {
			problems = append(problems, path+"metricKey: must not be a derived metric, whose values are computed from other metrics")
			continue
		}
		p, err := sent.point(key, now)
		if err != nil {
			problems = append(problems, path+err.Error())
			continue
		}
		points = append(points, p)
		if !isKnown && !missing[key] {
			missing[key] = true
			fresh = append(fresh, newPushedDefinition(key, now))
		}
	}
	if len(problems) > 0 {
		return nil, nil, &fault.Error{Code: fault.BadRequest, Messages: problems}
	}
	return points, fresh, nil
}

// newPushedDefinition returns the definition to create with the first point of a key that has none.
// The caller must set the definition's id.
func newPushedDefinition(key, now string) Definition {
	return Definition{Key: key, Kind: new(KindMeasured), NeedsReview: new(true), CreatedAt: &now, UpdatedAt: &now}
}

// point returns the point to store under the given key, with its identity set.
func (p pushedPoint) point(key, now string) (Point, error) {
	day, _ := timestamp.ParseDay(p.TS) // cannot fail, because the input was validated
	out := Point{
		MetricKey: key, Grain: &p.Grain, TS: new(timestamp.Format(day)), Value: &p.Value,
		Currency: p.Currency, BaseValue: p.BaseValue, Source: p.Source, IngestedAt: &now,
	}
	if len(p.Dims) > 0 {
		dims, err := schema.Encode(p.Dims)
		if err != nil {
			return out, fmt.Errorf("dims: %w", err)
		}
		out.Dims = dims
	}
	return out, out.Identify()
}
