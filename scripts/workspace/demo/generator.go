package demo

import (
	"crypto/sha256"
	"encoding/binary"
	"fmt"
	"math/rand/v2"
	"time"

	"growthworkspace/functions"
	"growthworkspace/shared/id"
	"growthworkspace/shared/timestamp"
	"growthworkspace/shared/transfer"
)

// generator collects the records. Its random numbers come from a fixed seed.
type generator struct {
	now    time.Time
	today  time.Time // the start of the day on which the data ends
	random *rand.Rand
	lines  []Line
	count  map[string]int // the number of records so far, by type
}

func newGenerator(now time.Time) *generator {
	now = now.UTC().Truncate(time.Second)
	return &generator{
		now: now, today: now.Truncate(24 * time.Hour),
		random: rand.New(rand.NewPCG(20260811, 42)), // a fixed seed is fine, because no secret depends on it
		count:  map[string]int{},
	}
}

// idBytes returns the bytes of the n-th id with a prefix. The ids sort by n, just as real ids sort
// by the time of creation.
func idBytes(prefix string, n uint64) [16]byte {
	sum := sha256.Sum256(fmt.Appendf(nil, "growthworkspace demo %s %d", prefix, n))
	const epoch = 1_767_225_600_000 // the start of 2026, in milliseconds
	binary.BigEndian.PutUint64(sum[:8], (epoch+n)<<16|uint64(sum[6])<<8|uint64(sum[7]))
	return [16]byte(sum[:16])
}

// typesByName maps names to the service's record types.
var typesByName = func() map[string]transfer.Type {
	out := map[string]transfer.Type{}
	for _, t := range functions.Transfers(nil) {
		out[t.Name] = t
	}
	return out
}()

// add adds a record of a type and gives it the next id of that type.
func (g *generator) add(typeName string, record Record) {
	if typesByName[typeName].Prefix != "" {
		record["id"] = idOf(typeName, g.count[typeName])
	}
	g.count[typeName]++
	g.lines = append(g.lines, Line{typeName, record})
}

// idOf returns the id of the n-th record of a type, counted from zero.
func idOf(typeName string, n int) string {
	prefix := typesByName[typeName].Prefix
	return id.FromBytes(prefix, idBytes(prefix, uint64(n)+1))
}

// timeAgo returns a time that is days before now or, if days is negative, after now. It adds up to
// an hour of jitter in the direction away from now, so that a past time stays in the past.
func (g *generator) timeAgo(days float64) time.Time {
	jitter := time.Duration(g.random.IntN(3600)) * time.Second
	t := g.now.Add(-time.Duration(days * 24 * float64(time.Hour)))
	if days > 0 {
		return t.Add(-jitter)
	}
	return t.Add(jitter)
}

func formatTime(t time.Time) string { return timestamp.Format(t) }

// withTimes sets createdAt and updatedAt. updatedAt is never before createdAt.
func withTimes(record Record, created, updated time.Time) Record {
	if updated.Before(created) {
		updated = created
	}
	record["createdAt"], record["updatedAt"] = formatTime(created), formatTime(updated)
	return record
}

func pickOne[T any](g *generator, values []T) T { return values[g.random.IntN(len(values))] }

// chance returns true with the given probability in percent.
func (g *generator) chance(percent int) bool { return g.random.IntN(100) < percent }
