package toolcorpus

import (
	"fmt"
	"maps"
	"math"
	"slices"
)

// How many of the tools that a search finds are looked at: those that search_tools shows
// with their parameters, and those whose names it shows.
const (
	measured = 5
	shown    = 15
)

// Measures say how well a search does on queries. Each is a mean, from 0 to 1.
type Measures struct {
	// Queries is how many queries the means are of.
	Queries int
	// NDCG5 is the mean of [NDCG5].
	NDCG5 float64
	// Recall5 is the mean of [Recall5].
	Recall5 float64
	// Recall15 is that of the first 15 tools.
	Recall15 float64
	// Right5 is how many of the queries have one of their best tools among the first 5.
	Right5 float64
	// Right15 is how many have it among the first 15.
	Right15 float64
}

// Measure searches for each query of a half, Tuning or HeldOut, see [MeasureOf].
func Measure(half string, search func(text string) ([]string, error)) (Measures, error) {
	queries := slices.DeleteFunc(Queries(), func(q Query) bool { return q.Half != half })
	if len(queries) == 0 {
		return Measures{}, fmt.Errorf("toolcorpus: there is no half %q; there are %s and %s", half, Tuning, HeldOut)
	}
	return MeasureOf(queries, search)
}

// MeasureOf searches for each of the queries, at least one. The search returns
// tools, "server/tool", the best first; those after the first 15 do not count. An
// error of the search ends the measurement.
func MeasureOf(queries []Query, search func(text string) ([]string, error)) (Measures, error) {
	m := Measures{Queries: len(queries)}
	for _, q := range queries {
		found, err := search(q.Text)
		if err != nil {
			return Measures{}, fmt.Errorf("toolcorpus: query %s: %w", q.ID, err)
		}
		m.NDCG5 += NDCG5(q.Relevant, found) / float64(len(queries))
		m.Recall5 += Recall5(q.Relevant, found) / float64(len(queries))
		m.Recall15 += recall(q.Relevant, found, shown) / float64(len(queries))
		m.Right5 += q.right(found, measured) / float64(len(queries))
		m.Right15 += q.right(found, shown) / float64(len(queries))
	}
	return m, nil
}

// NDCG5 is the normalised discounted cumulative gain of the first five tools found:
// the sum of (2^grade - 1) / log2(1 + rank), where ranks begin at 1, divided by what
// the best order of all graded tools has. It is 1 if no order is better. A tool that
// is found again counts no second time. Without a graded tool it is 0.
func NDCG5(relevant map[string]int, found []string) float64 {
	grades := slices.SortedFunc(maps.Values(relevant), func(a, b int) int { return b - a })
	ideal := gain(grades[:min(measured, len(grades))])
	if ideal == 0 {
		return 0
	}
	var got []int
	for i, tool := range found[:min(measured, len(found))] {
		grade := relevant[tool]
		if slices.Contains(found[:i], tool) {
			grade = 0
		}
		got = append(got, grade)
	}
	return gain(got) / ideal
}

func gain(grades []int) float64 {
	sum := 0.0
	for i, grade := range grades {
		sum += (math.Exp2(float64(grade)) - 1) / math.Log2(float64(i+2))
	}
	return sum
}

// Recall5 is how many tools of grade 2 or 3 are among the first five found, divided
// by how many could be: the number of those tools, or 5 if there are more. Without
// such a tool it is 0.
func Recall5(relevant map[string]int, found []string) float64 {
	return recall(relevant, found, measured)
}

// recall is Recall5 of the first n tools.
func recall(relevant map[string]int, found []string, n int) float64 {
	wanted, got := 0, 0
	top := found[:min(n, len(found))]
	for tool, grade := range relevant {
		if grade < 2 {
			continue
		}
		wanted++
		if slices.Contains(top, tool) {
			got++
		}
	}
	if wanted == 0 {
		return 0
	}
	return float64(got) / float64(min(n, wanted))
}

// right is 1 if one of the best tools is among the first n found, else 0.
func (q Query) right(found []string, n int) float64 {
	best := q.best()
	if slices.ContainsFunc(found[:min(n, len(found))], func(tool string) bool { return slices.Contains(best, tool) }) {
		return 1
	}
	return 0
}
