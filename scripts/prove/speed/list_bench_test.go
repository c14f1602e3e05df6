//go:build linux

package speed

import (
	"context"
	"io"
	"testing"
)

// BenchmarkList measures the lists of cpu with responses from memory.
func BenchmarkList(b *testing.B) {
	ctx := context.Background()
	s, err := listBed(ctx, io.Discard)
	if err != nil {
		b.Fatal(err)
	}
	defer s.close()
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
