//go:build linux

package main

import (
	"context"
	"io"
	"testing"

	"growthworkspace/scripts/workspace/demo"
	"growthworkspace/shared/apitest"
)

// BenchmarkList is the lists that cpu compares, over a table in memory.
func BenchmarkList(b *testing.B) {
	ctx := context.Background()
	replay := &apitest.Replay{}
	s, err := newStage(ctx, replay, false, io.Discard)
	if err != nil {
		b.Fatal(err)
	}
	defer s.Close()
	if err := load(ctx, s.Table, demo.CompanyID, measuredLines()); err != nil {
		b.Fatal(err)
	}
	replay.Begin()
	for _, l := range lists {
		b.Run(l.name, func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				if _, err := l.body(ctx, s.Table); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}
