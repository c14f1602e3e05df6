package metrics

import (
	"context"

	"growthworkspace/shared/api"
)

type deletePointsInput struct {
	MetricKey string  `query:"metricKey" max:"127" pattern:"metricKey" doc:"a key from the definitions, with or without custom."`
	From      string  `query:"from" format:"day" doc:"first day, inclusive, UTC; a bucket belongs to the day that it starts on" tool:"first day, UTC"`
	To        string  `query:"to" format:"day" doc:"last day, inclusive, UTC" tool:"last day, UTC"`
	Grain     Grain   `query:"grain" default:"day" doc:"only stored points of this length are deleted"`
	SeriesID  *string `query:"seriesId" max:"16" pattern:"seriesId" doc:"only points of this series, from a point's seriesId"`
}

// Check implements api.Checker.
func (in deletePointsInput) Check() []string {
	return append(keyProblems("query.metricKey", in.MetricKey), windowOrderProblem(in.From, in.To)...)
}

// DeletedPoints is the result of deleting points.
type DeletedPoints struct {
	DeletedCount int64 `json:"deletedCount" doc:"how many points this call deleted"`

	more bool
}

// HasMore implements api.PartialResult.
func (d DeletedPoints) HasMore() bool { return d.more }

func (s service) deletePoints(ctx context.Context, caller api.Caller, in deletePointsInput) (DeletedPoints, error) {
	pointRange := PointRange{MetricKey: in.MetricKey, Grain: in.Grain, From: dayOfBound(&in.From), To: dayOfBound(&in.To)}
	if in.SeriesID != nil {
		pointRange.SeriesID = *in.SeriesID
	}
	deleted, more, err := s.store.DeletePoints(ctx, caller.CompanyID, pointRange)
	return DeletedPoints{int64(deleted), more}, err
}
