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
}

func figures() []figure {
	return []figure{
		{"stdio, small answer, mean µs", "stdio-small", micros},
		{"stdio, small, 64 callers, calls/s", "stdio-64", rate},
		{"stdio, 100 KB answer, mean µs", "stdio-big", micros},
		{"HTTP JSON, small answer, mean µs", "http-small", micros},
		{"HTTP JSON, small, 64 callers, calls/s", "http-64", rate},
		{"HTTP JSON, 100 KB answer, mean µs", "http-big", micros},
		{"HTTP SSE, 100 KB answer, mean µs", "sse-big", micros},
		{"registry, stdio, small, 64 callers, calls/s", "registry-64", rate},
		{"tools/list of 1,000 tools, stdio, ms", "stdio-list", millis},
		{"tools/list of 1,000 tools, MB allocated", "stdio-list", func(c cell) float64 { return kilobytes(c) / 1e3 }},
		{"allocations per small call, stdio", "stdio-small", mallocs},
		{"KB allocated per small call, stdio", "stdio-small", kilobytes},
		{"connect one stdio server, ms", "stdio-connect", millis},
		{"connect one HTTP server, ms", "http-connect", millis},
		{"connect 50 stdio servers at once, ms", "stdio-50", more("open")},
		{"close 50 stdio servers at once, ms", "stdio-50", more("close")},
		{"idle stdio server, goroutines", "stdio-50", more("goroutines")},
		{"idle stdio server, live heap KB", "stdio-50", more("heap")},
		{"idle stdio server, RSS KB", "stdio-50", more("resident")},
		{"idle HTTP server, goroutines", "http-50", more("goroutines")},
		{"idle HTTP server, live heap KB", "http-50", more("heap")},
		{"idle HTTP server, RSS KB", "http-50", more("resident")},
		{"idle HTTP server that listens, goroutines", "listen-50", more("goroutines")},
		{"idle HTTP server that listens, live heap KB", "listen-50", more("heap")},
		{"idle HTTP server that listens, RSS KB", "listen-50", more("resident")},
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
