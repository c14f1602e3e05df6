package main

import (
	"fmt"
	"math/rand/v2"
	"time"
)

// generator makes a company whose fields have every value of every closed list, and null, in believable shares.
type generator struct {
	*company
	random *rand.Rand
	scale  float64
	start  time.Time
}

func generate(scale float64) *company {
	g := &generator{
		company: &company{records: map[string][]record{}},
		random:  rand.New(rand.NewPCG(7, 11)), scale: scale, // the same company each time
		start: time.Date(2023, 8, 1, 0, 0, 0, 0, time.UTC),
	}
	g.profile()
	g.plan()
	g.feedback()
	g.metrics()
	g.optimise()
	g.broadcast()
	g.context()
	return g.company
}

// n is a number of records at this scale, never less than least.
func (g *generator) n(full, least int) int { return max(least, int(float64(full)*g.scale)) }

// recordID is the n-th id of a prefix, of all lengths that an import may keep and in no order, as if from elsewhere.
func recordID(prefix string, n int) string {
	const digits = "0123456789abcdefghijklmnopqrstuvwxyz"
	h := uint64(n)*0x9e3779b97f4a7c15 + uint64(len(prefix))
	length := 1 + n%40
	body := make([]byte, length)
	for i := range body {
		body[i] = digits[h%36]
		h = h*6364136223846793005 + 1442695040888963407
	}
	tail := fmt.Sprintf("%d", n) // makes it unique
	if len(tail) >= length {
		return prefix + "_x" + tail
	}
	return prefix + "_" + string(body[:length-len(tail)-1]) + "x" + tail
}

// one is one of the values, null in about one of ten.
func (g *generator) one(values ...string) any {
	if g.random.IntN(10) == 0 {
		return nil
	}
	return values[g.random.IntN(len(values))]
}

// maybe is the value, null in about one of ten.
func (g *generator) maybe(value any) any {
	if g.random.IntN(10) == 0 {
		return nil
	}
	return value
}

const stamp = "2006-01-02T15:04:05.000Z"

// moment is a time within the three years, often one that another record has too: ties are where orders go wrong.
func (g *generator) moment() any {
	if g.random.IntN(12) == 0 {
		return nil
	}
	if g.random.IntN(3) == 0 {
		return g.start.AddDate(0, 0, g.random.IntN(40)).Format(stamp)
	}
	return g.start.Add(time.Duration(g.random.Int64N(int64(3*365*24*time.Hour))) / 1e6 * 1e6).Format(stamp)
}

var words = []string{"sync", "offline", "notes", "rain", "map", "battery", "price", "team", "export", "café", "naïve", "übersicht", "日本語", "🌲", "<b>&</b>", `"quoted"`, "line\nbreak", "tab\there", "don't"}

// prose is some words, awkward ones among them.
func (g *generator) prose(n int) string {
	text := ""
	for i := range n {
		if i > 0 {
			text += " "
		}
		text += words[g.random.IntN(len(words))]
	}
	return text
}

func (g *generator) list(values ...string) any {
	switch g.random.IntN(6) {
	case 0:
		return nil
	case 1:
		return []string{}
	}
	var out []string
	for _, v := range values {
		if g.random.IntN(2) == 0 {
			out = append(out, v)
		}
	}
	if out == nil {
		return []string{values[0]}
	}
	return out
}

func (g *generator) profile() {
	g.add("company", record{
		"id": "co_elsewhere", "name": "Round trip", "slug": "round-trip", "summary": g.prose(8), "stage": "growth",
		"teamSize": "11-50", "targetMarket": "b2b2c", "onboardingStatus": "complete", "timezone": "Europe/Lisbon",
		"primaryLanguage": "en", "websiteUrl": "https://roundtrip.example",
		"createdAt": g.start.Format(stamp), "updatedAt": g.start.Format(stamp),
	})
}
