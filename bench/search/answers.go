package main

import (
	"context"
	"encoding/json"
	"slices"
	"time"

	"github.com/mcpbelt/mcpbelt/internal/toolcorpus"
	"github.com/mcpbelt/mcpbelt/registry"
	"github.com/mcpbelt/mcpbelt/registry/result"
	"github.com/mcpbelt/mcpbelt/registry/toolset"
)

// Answers are what search_tools costs for the queries held out.
type answers struct {
	fixed   int // bytes of the definitions that a model gets to search with
	all     int // bytes of the definitions of all tools
	mean    int // bytes of an answer
	largest int
	first   time.Duration // the first search, which reads all tools
	median  time.Duration // of the others
	slowest time.Duration
}

// measureAnswers asks search_tools as a model does.
func measureAnswers() (answers, error) {
	var a answers
	finder, err := newFinder()
	if err != nil {
		return a, err
	}
	r := finder.Registry()
	ctx := context.Background()
	set := finder.Toolset(ctx, &toolset.SetOptions{MaxTokens: 1})
	a.fixed, a.all = sizeOf(set.Tools), sizeOf(r.Callable(ctx))
	begin := time.Now()
	if _, err := finder.Search(ctx, toolset.Query{Text: "list issues"}); err != nil {
		return a, err
	}
	a.first = time.Since(begin)
	var times []time.Duration
	total := 0
	for _, q := range toolcorpus.Queries() {
		if q.Half != toolcorpus.HeldOut {
			continue
		}
		args, err := json.Marshal(map[string]string{"query": q.Text})
		if err != nil {
			return a, err
		}
		begin := time.Now()
		res, err := r.Call(ctx, "search_tools", args)
		if err != nil {
			return a, err
		}
		times = append(times, time.Since(begin))
		size := len(result.Text(res))
		total += size
		a.largest = max(a.largest, size)
	}
	slices.Sort(times)
	a.mean, a.median, a.slowest = total/len(times), times[len(times)/2], times[len(times)-1]
	return a, nil
}

// sizeOf returns how many bytes models get of the definitions of tools.
func sizeOf(tools []registry.Tool) int {
	size := 0
	for _, t := range tools {
		def := t.Definition()
		size += len(`{"name":"","description":"","inputSchema":}`) + len(def.Name) + len(def.Description) + len(def.InputSchema)
	}
	return size
}
