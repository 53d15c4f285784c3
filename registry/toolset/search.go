package toolset

import (
	"cmp"
	"context"
	"math"
	"slices"

	"github.com/mcpbelt/mcpbelt/internal/bm25"
	"github.com/mcpbelt/mcpbelt/internal/toolrank"
	"github.com/mcpbelt/mcpbelt/registry"
	"github.com/mcpbelt/mcpbelt/registry/approval"
)

// A Query is what [Finder.Search] looks for.
type Query struct {
	// Text is what the tool is to do: some words, or a name in whatever spelling.
	// Of a longer one the last 16 KiB count.
	Text string
	// Limit is how many tools are returned at most. Default: 5; at most 100.
	Limit int
	// Servers are the configured names of the servers to look at; the empty name
	// stands for native tools. Nil: all.
	Servers []string
	// Keep leaves out the tools for which it returns false. Hints are claims, see
	// [registry.Hints]. Nil: it keeps all.
	Keep func(tool *registry.Definition, hints registry.Hints) bool
}

const (
	defaultMatches = 5
	maxMatches     = 100
	// spareRanks is how many tools more are looked at, of which one may take the place of
	// one that changes or deletes something.
	spareRanks     = 10
	sparedChange   = 0.9
	sparedDeletion = 0.96
)

// A Match is a tool that a search has found.
type Match struct {
	// Tool is the tool.
	Tool registry.Tool
	// Score says how well it fits. It compares the matches of one search, nothing
	// else.
	Score float64
}

// Search returns the tools that fit a query, the best first; of those that are
// callable on behalf of the user of ctx, see [registry.Registry.Callable]. Words count in
// name, title, description, server, and the names and descriptions of parameters,
// in whatever spelling or form: deleteInvoice and "remove invoices" find
// delete_invoice. A query that fits nothing, without text, or of words that say nothing,
// such as "what is it", finds nothing. Of a long text, such as a conversation, the last
// sentence counts most. Of each tool 2,048 words count; 512 if its server has more than 256
// tools, and 128 if more than 1,024; and six of its name as such. Of tools that fit about
// as well, those that change or delete something come last, unless the query asks for that.
//
// An error means that ctx has ended.
//
// The first search reads the whole catalogue, which takes some 30 microseconds a tool, and a
// later one what has changed since. If ctx ends before, the next search goes on from there.
func (f *Finder) Search(ctx context.Context, q Query) ([]Match, error) {
	if err := f.made(); err != nil {
		return nil, err
	}
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	s := &search{finder: f, snapshot: f.registry.Snapshot(), query: q, kept: map[string]registry.Tool{}}
	limit := min(cmp.Or(max(q.Limit, 0), defaultMatches), maxMatches)
	words := toolrank.NewQuery(q.Text)
	found, err := s.byWords(ctx, words, limit+spareRanks)
	if err != nil {
		return nil, err
	}
	s.spare(found, words)
	matches := make([]Match, min(len(found), limit))
	for i := range matches {
		matches[i] = Match{Tool: s.kept[found[i].ID], Score: found[i].Score}
	}
	return matches, nil
}

// A search is one call of Finder.Search.
type search struct {
	finder   *Finder
	snapshot *registry.Snapshot
	query    Query
	kept     map[string]registry.Tool // by name, as far as they were looked at; nil: not wanted
}

// byWords returns the first tools, at most limit, that the search wants, ranked by
// words. Unwanted tools are sorted out without a lock: if too few are left of
// the first, all are asked for. The error is that of ctx.
func (s *search) byWords(ctx context.Context, words toolrank.Query, limit int) ([]bm25.Hit, error) {
	for first := 2*limit + 32; ; first = math.MaxInt {
		found, err := s.finder.index.rank(ctx, s.snapshot, words, first)
		if err != nil {
			return nil, err
		}
		if kept := s.keep(ctx, found, limit); len(kept) == limit || len(found) < first {
			return kept, nil
		}
	}
}

// keep returns those that the query asks for, at most limit.
func (s *search) keep(ctx context.Context, found []bm25.Hit, limit int) []bm25.Hit {
	var kept []bm25.Hit
	for _, f := range found {
		if len(kept) == limit {
			break
		}
		tool, known := s.kept[f.ID]
		if !known {
			if tool, known = s.snapshot.Lookup(f.ID); known && !s.wants(ctx, tool.Definition()) {
				tool = nil
			}
			s.kept[f.ID] = tool
		}
		if tool != nil {
			kept = append(kept, f)
		}
	}
	return kept
}

// spare makes tools count less that change something, if the query asks for less than that,
// by what their names or hints say.
func (s *search) spare(found []bm25.Hit, words toolrank.Query) {
	for i := range found {
		def := s.kept[found[i].ID].Definition()
		name, hints := cmp.Or(localName(def), def.Name), def.Hints()
		if hints.ReadOnly {
			continue
		}
		if !words.Changes() && toolrank.IsChanging(name) {
			found[i].Score *= sparedChange
		}
		if !words.Deletes() && (hints.Annotated && hints.Destructive || toolrank.IsDestructive(name)) {
			found[i].Score *= sparedDeletion
		}
	}
	slices.SortStableFunc(found, func(a, b bm25.Hit) int { return cmp.Compare(b.Score, a.Score) })
}

// wants reports whether the query asks for a tool that the user of ctx may call.
func (s *search) wants(ctx context.Context, def *registry.Definition) bool {
	if s.query.Servers != nil && !slices.Contains(s.query.Servers, def.Origin.Server) {
		return false
	}
	verdict, _ := s.finder.registry.Decide(ctx, def.Name)
	return verdict != approval.Deny && (s.query.Keep == nil || s.query.Keep(def, def.Hints()))
}
