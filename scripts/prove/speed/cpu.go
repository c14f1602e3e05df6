//go:build linux

package speed

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"
	"syscall"
	"time"

	"growthworkspace/functions/feedback"
	"growthworkspace/functions/metrics"
	"growthworkspace/scripts/prove/testbed"
	"growthworkspace/scripts/workspace/demo"
	"growthworkspace/shared/api"
	"growthworkspace/shared/apitest"
	"growthworkspace/shared/table"
)

// list is a list whose CPU time is measured, from the query to the body of the response.
type list struct {
	name string // the argument of baseline
	what string
	most float64 // the goal for the ratio
	body func(ctx context.Context, t *table.Client) ([]byte, error)
}

// metricKey is a metric of the demo company with one point a day.
const metricKey = "growth.activations"

var lists = []list{
	{"feedback", "200 feedback", 0.3, func(ctx context.Context, t *table.Client) ([]byte, error) {
		filter := feedback.Filter{ReplyStatus: new(feedback.ReplyStatusNeedsReview)}
		records, err := feedback.NewStore(t).List(ctx, demo.CompanyID, filter, "", 200)
		if err != nil {
			return nil, err
		}
		body, _, err := api.NewTextList[feedback.Feedback](records).Page()
		return body, err
	}},
	{"points", "365 points", 0.4, func(ctx context.Context, t *table.Client) ([]byte, error) {
		q := metrics.PointQuery{MetricKey: metricKey, Grain: metrics.GrainDay, Limit: 365}
		points, next, err := metrics.NewStore(t).ListPoints(ctx, demo.CompanyID, q)
		if err != nil {
			return nil, err
		}
		body, _, err := api.NewList(table.Page[metrics.Point]{Records: points, Next: next.String()}).Page()
		return body, err
	}},
}

// listBed returns a bed with more records than the lists return. Its transport repeats responses from memory.
func listBed(ctx context.Context, log io.Writer) (*bed, error) {
	replay := &apitest.Replay{}
	b, err := newBed(ctx, replay, log)
	if err != nil {
		return nil, err
	}
	records, reviews, points := testbed.NewRecords(), []any{}, []any{}
	for n := range 250 {
		r := records.Nth("feedback", n)
		r["replyStatus"] = "needs_review"
		reviews = append(reviews, r)
	}
	for n := 0; len(points) < 370; n++ {
		if p := records.Nth("metric-point", n); p["metricKey"] == metricKey && p["grain"] == "day" {
			points = append(points, p)
		}
	}
	err = errors.Join(b.Write(ctx, demo.CompanyID, "feedback", reviews...), b.Write(ctx, demo.CompanyID, "metric-point", points...))
	if err != nil {
		b.close()
		return nil, err
	}
	replay.Begin()
	return b, nil
}

// A round measures listsMeasured calls after uncounted ones.
const (
	listsMeasured = 100
	uncounted     = 20
)

// cpu compares the CPU time of our lists with that of the SDK, attributevalue and encoding/json. Both read responses from
// memory and have one processor.
func (b *bench) cpu(ctx context.Context) ([]goal, error) {
	s, err := listBed(ctx, b.log)
	if err != nil {
		return nil, err
	}
	defer s.close()
	baseline := filepath.Join(s.dir, "baseline")
	if err := goBuild(ctx, filepath.Join("scripts", "prove", "speed", "baseline"), baseline, "", "."); err != nil {
		return nil, err
	}
	defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(1))
	var goals []goal
	for _, l := range lists {
		body, err := l.body(ctx, s.Table)
		if err != nil {
			return nil, err
		}
		file, err := s.write(l.name+".json", body)
		if err != nil {
			return nil, err
		}
		var ratios, ours, theirs []float64
		for range b.Rounds {
			mine, err := cpuOf(func() error { _, err := l.body(ctx, s.Table); return err })
			if err != nil {
				return nil, err
			}
			program := exec.CommandContext(ctx, baseline, l.name, file, strconv.Itoa(listsMeasured))
			program.Env = append(os.Environ(), "GOMAXPROCS=1")
			out, err := program.Output()
			if err != nil {
				return nil, fmt.Errorf("the baseline of %s: %w", l.name, err)
			}
			micros, err := strconv.ParseFloat(strings.TrimSpace(string(out)), 64)
			if err != nil {
				return nil, fmt.Errorf("the baseline of %s: %w", l.name, err)
			}
			ratios, ours, theirs = append(ratios, mine/micros), append(ours, mine), append(theirs, micros)
		}
		fmt.Fprintf(b.log, "%-14s ours %6.0f µs of CPU, baseline %6.0f µs\n", l.what, median(ours), median(theirs))
		goals = append(goals, goal{"CPU of a list of " + l.what + ", to SDK + attributevalue + encoding/json", median(ratios), l.most})
	}
	return goals, nil
}

// cpuOf returns the CPU time of one call in microseconds, averaged over many calls.
func cpuOf(do func() error) (float64, error) {
	var begin, end syscall.Rusage
	var err error
	for n := range uncounted + listsMeasured {
		if n == uncounted {
			err = errors.Join(err, syscall.Getrusage(syscall.RUSAGE_SELF, &begin))
		}
		err = errors.Join(err, do())
	}
	err = errors.Join(err, syscall.Getrusage(syscall.RUSAGE_SELF, &end))
	used := time.Duration(end.Utime.Nano() + end.Stime.Nano() - begin.Utime.Nano() - begin.Stime.Nano())
	return float64(used.Microseconds()) / listsMeasured, err
}
