package toolcorpus

import (
	"maps"
	"slices"
)

// The halves of the queries.
const (
	// Tuning is the half that a search may be fitted to.
	Tuning = "tuning"
	// HeldOut is the half that says whether the fit is more than that.
	HeldOut = "held-out"
)

// A Query is a search with the judgement of what it is to find.
type Query struct {
	// ID is the kind of the query and a number within the kind.
	ID string `json:"id"`
	// Text is what is typed.
	Text string `json:"text"`
	// Half is Tuning or HeldOut.
	Half string `json:"half"`
	// Relevant grades the tools, by "server/tool": 3 is exactly what is wanted, 2
	// does it too, 1 helps in part. The tools that are missing are of no use. No
	// query is without a tool of grade 2 or 3.
	Relevant map[string]int `json:"relevant"`
}

// Queries returns all queries, kind by kind. Each call reads the file again, so that
// the caller may change what it gets.
func Queries() []Query {
	var queries []Query
	read("queries.json", &queries)
	return queries
}

// Unseen returns the queries held out that look for other tools than any query of
// the tuning half: no tool has the highest grade in both. A search gains nothing there
// from what it has learnt by heart.
func Unseen() []Query {
	queries := Queries()
	seen := map[string]bool{}
	for _, q := range queries {
		if q.Half == Tuning {
			for _, tool := range q.best() {
				seen[tool] = true
			}
		}
	}
	return slices.DeleteFunc(queries, func(q Query) bool { // the tuning half has seen itself
		return slices.ContainsFunc(q.best(), func(tool string) bool { return seen[tool] })
	})
}

// best returns the tools that have the highest grade.
func (q Query) best() []string {
	highest := slices.Max(slices.Collect(maps.Values(q.Relevant)))
	var tools []string
	for tool, grade := range q.Relevant {
		if grade == highest {
			tools = append(tools, tool)
		}
	}
	return tools
}
