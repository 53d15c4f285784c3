package main

import (
	"fmt"
	"math"
	"slices"
)

// A round is what each client did in one round, by its name.
type round map[string]cell

// A figure is one row of the table.
type figure struct {
	title string
	work  string
	value func(cell) float64
	goal  goal
}

func figures() []figure {
	return []figure{
		{"stdio, small answer, mean µs", "stdio-small", micros, atMostFloor(1.6)},
		{"stdio, small, 64 callers, calls/s", "stdio-64", rate, atLeast(160_000)},
		{"stdio, 100 KB answer, mean µs", "stdio-big", micros, atMostFloor(2)},
		{"HTTP JSON, small answer, mean µs", "http-small", micros, atMostFloor(1.15)},
		{"HTTP JSON, small, 64 callers, calls/s", "http-64", rate, atLeastFloor(0.8)},
		{"HTTP JSON, 100 KB answer, mean µs", "http-big", micros, atMostFloor(1.6)},
		{"HTTP SSE, 100 KB answer, mean µs", "sse-big", micros, goal{}},
		{"registry, stdio, small, 64 callers, calls/s", "registry-64", rate, goal{}},
		{"registry, allocations more than a client's call", "registry-more", more("mallocs"), goal{}},
		{"tools/list of 1,000 tools, stdio, ms", "stdio-list", millis, atMost(6)},
		{"tools/list of 1,000 tools, MB allocated", "stdio-list", func(c cell) float64 { return kilobytes(c) / 1e3 }, atMost(4)},
		{"allocations per small call, stdio", "stdio-small", mallocs, atMost(12)},
		{"KB allocated per small call, stdio", "stdio-small", kilobytes, atMost(2)},
		{"connect one stdio server, ms", "stdio-connect", millis, goal{}},
		{"connect one HTTP server, ms", "http-connect", millis, goal{}},
		{"connect 50 stdio servers at once, ms", "stdio-50", more("open"), goal{}},
		{"close 50 stdio servers at once, ms", "stdio-50", more("close"), goal{}},
		{"idle stdio server, goroutines", "stdio-50", more("goroutines"), goal{}},
		{"idle stdio server, live heap KB", "stdio-50", more("heap"), goal{}},
		{"idle stdio server, RSS KB", "stdio-50", more("resident"), goal{}},
		{"idle HTTP server, goroutines", "http-50", more("goroutines"), goal{}},
		{"idle HTTP server, live heap KB", "http-50", more("heap"), goal{}},
		{"idle HTTP server, RSS KB", "http-50", more("resident"), goal{}},
		{"idle HTTP server that listens, goroutines", "listen-50", more("goroutines"), goal{}},
		{"idle HTTP server that listens, live heap KB", "listen-50", more("heap"), goal{}},
		{"idle HTTP server that listens, RSS KB", "listen-50", more("resident"), goal{}},
		{"HTTP server away and back, until a call works, ms", "http-away", millis, goal{}},
		{"the same with a session that is lost, ms", "session-away", millis, goal{}},
		{"listening stream lost, until it can be seen, ms", "listen-lost", millis, goal{}},
	}
}

func micros(c cell) float64    { return float64(c.Elapsed.Nanoseconds()) / 1e3 / float64(c.Calls) }
func millis(c cell) float64    { return micros(c) / 1e3 }
func mallocs(c cell) float64   { return float64(c.Mallocs) / float64(c.Calls) }
func rate(c cell) float64      { return float64(c.Calls) / c.Elapsed.Seconds() }
func kilobytes(c cell) float64 { return float64(c.Bytes) / 1e3 / float64(c.Calls) }

// more returns what finds a figure of another kind, NaN if the cell has it not.
func more(name string) func(cell) float64 {
	return func(c cell) float64 {
		if v, ok := c.More[name]; ok {
			return v
		}
		return math.NaN()
	}
}

// A goal bounds our figure, or its ratio to the floor. The zero goal is none.
type goal struct {
	limit   float64
	least   bool // from below, else from above
	ofFloor bool
}

func atMost(limit float64) goal       { return goal{limit: limit} }
func atLeast(limit float64) goal      { return goal{limit: limit, least: true} }
func atMostFloor(limit float64) goal  { return goal{limit: limit, ofFloor: true} }
func atLeastFloor(limit float64) goal { return goal{limit: limit, least: true, ofFloor: true} }

func (g goal) String() string {
	if g == (goal{}) {
		return noFigure
	}
	sign := "≤"
	if g.least {
		sign = "≥"
	}
	if g.ofFloor {
		return fmt.Sprintf("%s %g × floor", sign, g.limit)
	}
	return sign + " " + short(g.limit)
}

// met reports whether our figure, and its ratio to the floor, are good enough.
func (g goal) met(ours, ratio float64) bool {
	value := ours
	if g.ofFloor {
		value = ratio
	}
	if g.least {
		return value >= g.limit
	}
	return value <= g.limit
}

// A spread is what several rounds gave for one figure. It is NaN if none gave any.
type spread struct{ min, median, max float64 }

func spreadOf(values []float64) spread {
	if len(values) == 0 {
		return spread{math.NaN(), math.NaN(), math.NaN()}
	}
	slices.Sort(values)
	n := len(values)
	return spread{values[0], (values[(n-1)/2] + values[n/2]) / 2, values[n-1]}
}

// of returns a client's figures in all rounds.
func (f figure) of(rounds []round, peer string) spread {
	var values []float64
	for _, r := range rounds {
		if v := f.value(r[peer]); !math.IsNaN(v) {
			values = append(values, v)
		}
	}
	return spreadOf(values)
}

// ratio returns our figures divided by those of the floor, round by round.
func (f figure) ratio(rounds []round) spread {
	var values []float64
	for _, r := range rounds {
		ours, floor := f.value(r[peerOurs]), f.value(r[peerFloor])
		if !math.IsNaN(ours) && floor > 0 {
			values = append(values, ours/floor)
		}
	}
	return spreadOf(values)
}

// noFigure stands where there is none.
const noFigure = "–"

// short writes a number with three digits that count.
func short(v float64) string {
	switch {
	case math.IsNaN(v):
		return noFigure
	case v >= 99_950:
		return fmt.Sprintf("%.0fk", v/1e3)
	case v >= 9_995:
		return fmt.Sprintf("%.1fk", v/1e3)
	case v >= 99.95:
		return fmt.Sprintf("%.0f", v)
	case v >= 9.995:
		return fmt.Sprintf("%.3g", v)
	default:
		return fmt.Sprintf("%.2g", v)
	}
}
