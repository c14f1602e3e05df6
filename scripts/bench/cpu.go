//go:build linux

package main

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
	"growthworkspace/scripts/workspace/demo"
	"growthworkspace/shared/api"
	"growthworkspace/shared/apitest"
	"growthworkspace/shared/table"
)

// list is a list whose CPU time is measured, from the query to the body of the answer.
type list struct {
	name string // as baseline takes it
	what string
	body func(ctx context.Context, t *table.Client) ([]byte, error)
	most float64 // goal for the ratio
}

var lists = []list{
	{"feedback", "200 feedback", func(ctx context.Context, t *table.Client) ([]byte, error) {
		filter := feedback.Filter{ReplyStatus: new(feedback.ReplyStatusNeedsReview)}
		records, next, err := feedback.NewStore(t).List(ctx, demo.CompanyID, filter, "", 200)
		if err != nil {
			return nil, err
		}
		return api.NewTextList[feedback.Feedback](records, next).Body()
	}, 0.3},
	{"points", "365 points", func(ctx context.Context, t *table.Client) ([]byte, error) {
		q := metrics.PointQuery{MetricKey: "bench.metric0", Grain: metrics.GrainDay, Limit: 365}
		points, next, err := metrics.NewStore(t).ListPoints(ctx, demo.CompanyID, q)
		if err != nil {
			return nil, err
		}
		return api.NewList(points, next.String()).Body()
	}, 0.4},
}

// listStage has the records of lists, and a few that are on a next page. It answers a query from memory once it was made.
func listStage(ctx context.Context, log io.Writer) (*stage, error) {
	var lines []line
	for n := range 250 {
		lines = append(lines, feedbackLine(n))
	}
	for n := range 370 {
		lines = append(lines, pointLine(n))
	}
	replay := &apitest.Replay{}
	s, err := newStage(ctx, replay, false, log)
	if err != nil {
		return nil, err
	}
	if err := load(ctx, s.Table, demo.CompanyID, lines); err != nil {
		s.Close()
		return nil, err
	}
	replay.Begin()
	return s, nil
}

// listsMeasured is how many lists a turn has.
const listsMeasured = 100

// cpu compares what the CPU spends on a list, from the query to the body: ours, and the SDK with attributevalue and
// encoding/json. For both the table is memory, and the program has one processor, as a function has (infra/function.go).
func (b *bench) cpu(ctx context.Context) ([]goal, error) {
	s, err := listStage(ctx, b.log)
	if err != nil {
		return nil, err
	}
	defer s.Close()
	baseline := filepath.Join(s.Dir, "baseline")
	if err := goBuild(ctx, filepath.Join("scripts", "bench", "baseline"), baseline, "", "."); err != nil {
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
		for range b.rounds {
			mine, err := cpuOf(func() error { _, err := l.body(ctx, s.Table); return err })
			if err != nil {
				return nil, err
			}
			theirProgram := exec.CommandContext(ctx, baseline, l.name, file, strconv.Itoa(listsMeasured))
			theirProgram.Env = append(os.Environ(), "GOMAXPROCS=1")
			out, err := theirProgram.Output()
			if err != nil {
				return nil, fmt.Errorf("the baseline of %s: %w", l.name, err)
			}
			micros, err := strconv.ParseFloat(strings.TrimSpace(string(out)), 64)
			if err != nil {
				return nil, fmt.Errorf("the baseline of %s: %w", l.name, err)
			}
			ratios, ours, theirs = append(ratios, mine/micros), append(ours, mine), append(theirs, micros)
		}
		fmt.Fprintf(b.log, "%-14s ours %6.0f µs of CPU, the SDK's way %6.0f µs\n", l.what, median(ours), median(theirs))
		goals = append(goals, goal{"CPU of a list of " + l.what + ", to SDK + attributevalue + encoding/json", median(ratios), l.most})
	}
	return goals, nil
}

// cpuOf returns the microseconds of CPU time that this process uses for one of many calls.
func cpuOf(do func() error) (float64, error) {
	var begin, end syscall.Rusage
	var err error
	for n := range warmUp + listsMeasured {
		if n == warmUp {
			err = errors.Join(err, syscall.Getrusage(syscall.RUSAGE_SELF, &begin))
		}
		err = errors.Join(err, do())
	}
	err = errors.Join(err, syscall.Getrusage(syscall.RUSAGE_SELF, &end))
	used := time.Duration(end.Utime.Nano() + end.Stime.Nano() - begin.Utime.Nano() - begin.Stime.Nano())
	return float64(used.Microseconds()) / listsMeasured, err
}
