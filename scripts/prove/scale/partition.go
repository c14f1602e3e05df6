package scale

import (
	"math"
	"math/rand/v2"
	"slices"
	"time"
)

// capacity tracks the available write units of a partition. It leaves out burst capacity, which AWS
// does not guarantee.
type capacity struct {
	units     float64
	updatedAt time.Duration
}

func newCapacity() capacity { return capacity{units: partitionWriteUnits} }

// take consumes units at the time now. It returns false, and consumes nothing, if too few are
// available.
func (c *capacity) take(now time.Duration, units float64) bool {
	c.units = min(partitionWriteUnits, c.units+(now-c.updatedAt).Seconds()*partitionWriteUnits)
	c.updatedAt = now
	if c.units < units {
		return false
	}
	c.units -= units
	return true
}

// TableLoad describes the writes of many companies to one table.
type TableLoad struct {
	UnitsPerS  float64 // write units per second of all companies together
	Companies  int
	Skew       float64       // Zipf's exponent: at 0, all companies use the same number of units; 1 is typical of customers
	Partitions int           // at the start; a new on-demand table has 4
	SplitAfter time.Duration // how long a partition is throttled until DynamoDB splits it; AWS does not document it
	Length     time.Duration
}

// TableOutcome is the outcome of a simulated load. FirstMinute and LastMinute are the fractions of
// the units that are throttled in the first and the last minute.
type TableOutcome struct {
	FirstMinute, LastMinute float64
	Partitions              int // at the end
}

// item is a partition key to which companies write.
type item struct {
	hash  float64 // the position of the key in the table, from 0 up to 1
	units float64
}

// tablePartition is a partition, which contains a range of hashes.
type tablePartition struct {
	items          []item // ordered by hash
	units          float64
	throttledSince time.Duration // -1: not throttled
}

// SimulateTable simulates a table in steps of one second. Each company's writes are spread evenly
// over its partition keys: those of its API keys, to which every request writes, and those of its
// records. A partition that has been throttled for long enough is split so that about half of its
// units are on each side. DynamoDB cannot split a single item.
func SimulateTable(load TableLoad, seed uint64) (out TableOutcome) {
	all := itemsOf(load, rand.New(rand.NewPCG(seed, seed)))
	var partitions []*tablePartition
	for n := range load.Partitions {
		from, until := float64(n)/float64(load.Partitions), float64(n+1)/float64(load.Partitions)
		partitions = append(partitions, newPartition(slices.DeleteFunc(slices.Clone(all), func(i item) bool { return i.hash < from || i.hash >= until })))
	}
	for now := time.Duration(0); now < load.Length; now += time.Second {
		throttled, next := 0.0, partitions[:0:0]
		for _, p := range partitions {
			over := max(0, p.units-partitionWriteUnits)
			throttled += over
			switch {
			case over == 0:
				p.throttledSince = -1
			case p.throttledSince < 0:
				p.throttledSince = now
			case now-p.throttledSince >= load.SplitAfter:
				next = append(next, p.split()...)
				continue
			}
			next = append(next, p)
		}
		partitions = next
		if now < time.Minute {
			out.FirstMinute += throttled / load.UnitsPerS / 60
		}
		if now >= load.Length-time.Minute {
			out.LastMinute += throttled / load.UnitsPerS / 60
		}
	}
	out.Partitions = len(partitions)
	return out
}

func newPartition(items []item) *tablePartition {
	p := &tablePartition{items: items, throttledSince: -1}
	for _, i := range items {
		p.units += i.units
	}
	return p
}

// split returns the two halves of a partition, or the partition itself if it contains only one
// item.
func (p *tablePartition) split() []*tablePartition {
	if len(p.items) < 2 {
		return []*tablePartition{p}
	}
	cut, left := 1, p.items[0].units
	for cut < len(p.items)-1 && left+p.items[cut].units <= p.units/2 {
		left += p.items[cut].units
		cut++
	}
	return []*tablePartition{newPartition(p.items[:cut]), newPartition(p.items[cut:])}
}

// itemUnitsMax is the maximum number of units per second that the operator lets one API key use.
// One item can accept more. A company with more requests has more keys.
const itemUnitsMax = 500

// itemsOf returns the items to which the companies write, ordered by hash.
func itemsOf(load TableLoad, random *rand.Rand) (items []item) {
	total := 0.0
	for n := range load.Companies {
		total += math.Pow(float64(n+1), -load.Skew)
	}
	for n := range load.Companies {
		units := load.UnitsPerS * math.Pow(float64(n+1), -load.Skew) / total
		parts := max(8, int(math.Ceil(units/itemUnitsMax)))
		for range parts {
			items = append(items, item{random.Float64(), units / float64(parts)})
		}
	}
	slices.SortFunc(items, func(a, b item) int {
		if a.hash < b.hash {
			return -1
		}
		return 1
	})
	return items
}
