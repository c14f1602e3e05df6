package metrics

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"growthworkspace/shared/api"
	"growthworkspace/shared/fault"
	"growthworkspace/shared/schema"
	"growthworkspace/shared/table"
	"growthworkspace/shared/timestamp"
)

// PushResult is what became of a push (decisions.md §5).
type PushResult struct {
	Accepted    float64  `json:"accepted" doc:"how many points were sent; all of them are stored"`
	CreatedKeys []string `json:"createdKeys" null:"never" doc:"keys, as they are stored, that had no definition until this push"`
}

type pushPointsInput struct {
	api.Idempotent

	Points []pushedPoint `json:"points" min:"1" items:"500" required:"true" doc:"of several with the same identity the last one stays"`
}

// pushedPoint is a point as callers send it. A name or a value of dims is as long as any label.
type pushedPoint struct {
	MetricKey string            `json:"metricKey" max:"120" pattern:"metricKey" doc:"key of a definition, or a new one"`
	TS        string            `json:"ts" format:"day" doc:"a day, or an RFC 3339 time; moved to the start of its bucket, UTC"`
	Value     float64           `json:"value" doc:"in the unit of the definition"`
	Grain     Grain             `json:"grain" default:"day" doc:"how long the bucket is; weeks begin on Monday"`
	Dims      map[string]string `json:"dims" items:"10" each:"200" doc:"dimension values"`
	Currency  *string           `json:"currency" pattern:"currency" max:"3" doc:"ISO 4217"`
	BaseValue *float64          `json:"baseValue" doc:"value in the company's base currency"`
	Source    *string           `json:"source" max:"200" doc:"the system that the value comes from"`
}

// customPrefix begins the keys of metrics that nobody has defined (spec.md, Metric definition).
const customPrefix = "custom."

// pushTriesMax bounds how often a push begins again because another one has made a definition first. That happens once
// for each key in the life of a company.
const pushTriesMax = 16

// pushPoints reads the definitions of all keys, then writes. Between the two a definition may come or become derived;
// the push then counts as having come before that, which nobody can tell apart.
func (s service) pushPoints(ctx context.Context, caller api.Caller, in pushPointsInput) (PushResult, error) {
	result := PushResult{Accepted: float64(len(in.Points)), CreatedKeys: []string{}}
	for range pushTriesMax {
		known, err := s.store.Definitions(ctx, caller.CompanyID, in.keys())
		if err != nil {
			return result, err
		}
		points, fresh, err := in.resolve(known, s.store.now())
		if err != nil {
			return result, err
		}
		created, err := s.store.Push(ctx, caller.CompanyID, fresh, points)
		result.CreatedKeys = append(result.CreatedKeys, created...)
		if !errors.Is(err, table.ErrExists) {
			return result, err
		}
	}
	return result, table.ErrContended
}

// keys returns every key that a definition of a pushed point may have, each once.
func (in pushPointsInput) keys() (keys []string) {
	for _, p := range in.Points {
		keys = append(keys, p.MetricKey)
		if !isCustom(p.MetricKey) {
			keys = append(keys, customPrefix+p.MetricKey)
		}
	}
	slices.Sort(keys)
	return slices.Compact(keys)
}

// isCustom tells whether a key says itself that it is nobody's but the company's.
func isCustom(key string) bool { return strings.HasPrefix(key, customPrefix) }

// resolve turns what was sent into identified points under their stored keys, and returns the definitions that these
// need and that are not known. The error names every point that cannot be stored.
func (in pushPointsInput) resolve(known map[string]Definition, now string) (points []Point, fresh []Definition, err error) {
	var problems []string
	missing := map[string]bool{}
	for i, sent := range in.Points {
		path := fmt.Sprintf("body.points[%d].", i)
		key := storedKey(sent.MetricKey, known)
		d, isKnown := known[key]
		if d.Kind != nil && *d.Kind == KindDerived {
			problems = append(problems, path+"metricKey: is of a derived metric, whose values follow from other metrics")
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
			fresh = append(fresh, Definition{Key: key, NeedsReview: new(true), CreatedAt: &now, UpdatedAt: &now})
		}
	}
	if len(problems) > 0 {
		return nil, nil, &fault.Error{Code: fault.BadRequest, Messages: problems}
	}
	return points, fresh, nil
}

// storedKey is the key under which points are stored: the one that was sent when a definition has it, or when it is
// custom; custom.<key> otherwise. So a bare key goes to the same series as at its first push, until somebody defines it.
func storedKey(sent string, known map[string]Definition) string {
	if _, ok := known[sent]; ok || isCustom(sent) {
		return sent
	}
	return customPrefix + sent
}

// point is the point that is stored: under its key, in its bucket, identified.
func (p pushedPoint) point(key, now string) (Point, error) {
	day, _ := timestamp.ParseDay(p.TS) // which is what the input was checked for
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
