package metrics

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/base32"
	"encoding/json"
	"fmt"
	"time"

	"growthworkspace/shared/api"
	"growthworkspace/shared/fault"
	"growthworkspace/shared/modeltext"
	"growthworkspace/shared/schema"
	"growthworkspace/shared/table"
	"growthworkspace/shared/timestamp"
)

// Point is one value of one series. A series is identified by metric key, grain and dimension
// values.
type Point struct {
	SeriesID   string          `json:"seriesId" doc:"the same for all points with this metricKey, grain and dims"`
	PointKey   string          `json:"pointKey" doc:"identifies the bucket; a push with the same seriesId and pointKey replaces the point"`
	CompanyID  string          `json:"companyId"`
	MetricKey  string          `json:"metricKey" doc:"the key of the metric's definition"`
	Grain      *Grain          `json:"grain" doc:"the length of the bucket"`
	TS         *string         `json:"ts" format:"date-time" doc:"start of the bucket, UTC; weeks start on Monday"`
	Dims       json.RawMessage `json:"dims" doc:"dimension values"`
	Value      *float64        `json:"value" doc:"in the unit of the definition"`
	Currency   *string         `json:"currency" doc:"ISO 4217"`
	BaseValue  *float64        `json:"baseValue" doc:"the value in the company's base currency; value keeps the original"`
	Source     *string         `json:"source" doc:"the system that the value comes from"`
	IngestedAt *string         `json:"ingestedAt" format:"date-time" doc:"when the value was last pushed"`
}

// Rows implements modeltext.Rows: a tool shows points as rows grouped by series.
func (Point) Rows() modeltext.Columns {
	return modeltext.Columns{
		Series: []string{"seriesId", "dims"}, Day: "ts", Always: []string{"value"}, Optional: []string{"currency", "baseValue", "source"},
	}
}

// Identify moves a point to the start of its bucket and sets its identity: seriesId from metricKey,
// grain and canonical dims, and pointKey from grain and bucket. A nil grain becomes day. MetricKey
// must have passed checkKey, and times must be normalised. An error starts with the name of the
// invalid field.
func (p *Point) Identify() error {
	if p.TS == nil {
		return fmt.Errorf("ts: is required")
	}
	t, ok := timestamp.Parse(*p.TS)
	if !ok {
		return fmt.Errorf("ts: must be a timestamp")
	}
	dims, err := canonicalJSON(p.Dims)
	if err != nil {
		return fmt.Errorf("dims: %w", err)
	}
	grain := GrainDay
	if p.Grain != nil {
		grain = *p.Grain
	}
	day := grain.bucketStart(t)
	p.Grain, p.Dims = &grain, dims
	p.TS = new(startOfDay(day))
	p.PointKey = pointKey(grain, day)
	p.SeriesID = seriesID(p.MetricKey, grain, dims)
	return nil
}

func pointKey(grain Grain, day string) string { return string(grain) + ":" + day }

var seriesIDEncoding = base32.NewEncoding("0123456789abcdefghjkmnpqrstvwxyz")

// seriesID returns an 80-bit digest. Null dims and an empty object identify the same series.
func seriesID(metricKey string, grain Grain, dims json.RawMessage) string {
	if string(dims) == "{}" {
		dims = nil
	}
	sum := sha256.Sum256([]byte(metricKey + "\x00" + string(grain) + "\x00" + string(dims)))
	return seriesIDEncoding.EncodeToString(sum[:10])
}

// canonicalJSON returns a JSON value without spaces, with sorted keys and unchanged numbers. Two
// values that differ only in spaces or in the order of keys give the same result. Null becomes nil.
func canonicalJSON(text json.RawMessage) (json.RawMessage, error) {
	if len(text) == 0 {
		return nil, nil
	}
	var value any
	decoder := json.NewDecoder(bytes.NewReader(text))
	decoder.UseNumber()
	if err := decoder.Decode(&value); err != nil || value == nil {
		return nil, err
	}
	return schema.Encode(value)
}

const midnightSuffix = "T00:00:00.000Z"

// startOfDay returns the start of a day as a normalised timestamp.
func startOfDay(day string) string { return day + midnightSuffix }

func dayOf(ts string) string { return ts[:len(time.DateOnly)] }

type listPointsInput struct {
	MetricKey string     `query:"metricKey" max:"127" pattern:"metricKey" doc:"a key from the definitions, with or without custom."`
	Grain     Grain      `query:"grain" default:"day" doc:"the length of the buckets"`
	From      *string    `query:"from" format:"day" doc:"first day, inclusive, UTC; a bucket belongs to the day that it starts on" tool:"first day, UTC"`
	To        *string    `query:"to" format:"day" doc:"last day, inclusive, UTC" tool:"last day, UTC"`
	SeriesID  *string    `query:"seriesId" max:"16" pattern:"seriesId" doc:"only this series; a point has the id, another one for each grain"`
	Total     *bool      `query:"total" doc:"true: one series for the whole metric"`
	Limit     int64      `query:"limit" default:"365" min:"1" max:"1000" doc:"maximum number of points per page; the first page has the newest points of the window" tool:"points per page"`
	Cursor    api.Cursor `query:"cursor" doc:"cursor of the next page, with older points, from the previous response"`
}

// Check implements api.Checker.
func (in listPointsInput) Check() []string {
	problems := keyProblems("query.metricKey", in.MetricKey)
	if in.From != nil && in.To != nil {
		problems = append(problems, windowOrderProblem(*in.From, *in.To)...)
	}
	if in.total() && in.SeriesID != nil {
		problems = append(problems, "query.total: is for all series; leave out seriesId")
	}
	return problems
}

func (in listPointsInput) total() bool { return in.Total != nil && *in.Total }

// windowOrderProblem returns a problem if the window ends before it starts.
func windowOrderProblem(first, last string) []string {
	if timestamp.IsReversed(&first, &last) {
		return []string{"query.from: must not be after to"}
	}
	return nil
}

func (s service) listPoints(ctx context.Context, caller api.Caller, in listPointsInput) (api.List[Point], error) {
	q := PointQuery{MetricKey: in.MetricKey, Grain: in.Grain, From: dayOfBound(in.From), To: dayOfBound(in.To), Limit: int(in.Limit), Total: in.total()}
	if in.SeriesID != nil {
		q.SeriesID = *in.SeriesID
	}
	var ok bool
	if q.Before, ok = parsePosition(string(in.Cursor)); !ok {
		return api.List[Point]{}, fault.Invalid("query.cursor", "is not a cursor of this list; send the request without cursor to start again")
	}
	points, next, err := s.store.ListPoints(ctx, caller.CompanyID, q)
	if err != nil {
		return api.List[Point]{}, err
	}
	return api.NewList(table.Page[Point]{
		Records: points, Next: next.String(), Backward: true, PositionAfter: func(n int) string { return positionOf(&points[n]).String() },
	}), nil
}

// dayOfBound returns the day of a bound of the window, or "" if there is no bound. The bound has
// already been validated.
func dayOfBound(bound *string) string {
	if bound == nil {
		return ""
	}
	t, _ := timestamp.ParseDay(*bound)
	return t.Format(time.DateOnly)
}
