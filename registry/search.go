package registry

import (
	"cmp"
	"context"
	"math"
	"slices"
	"strings"

	"github.com/mcpbelt/mcpbelt/internal/toolrank"
)

// SearchOptions say how [Registry.Search] ranks. Nil and the zero value mean the
// defaults.
type SearchOptions struct {
	// Synonyms returns words that mean the same as a word of a query, which is in
	// lower case, without accents, and whole. They count less than the word itself,
	// and come on top of the built-in ones, which are English. It is a pure function,
	// safe for concurrent use. Nil: there are none but those.
	Synonyms func(word string) []string
	// Tokens counts the tokens of a definition, which is its JSON, for
	// [Registry.Toolset]. What it says of a definition is remembered. It is a pure
	// function, safe for concurrent use. Nil: an estimate.
	Tokens func(text string) int
	// Embedder adds a ranking by meaning to the one by words. Nil: by words alone.
	Embedder Embedder
}

// A Query is what [Registry.Search] looks for.
type Query struct {
	// Text is what the tool is to do: some words, or a name in whatever spelling.
	// What is beyond 4 KiB does not count.
	Text string
	// Limit is how many tools are returned at most. Default: 5; at most 100.
	Limit int
	// Servers are the configured names of the servers to look at; the empty name
	// stands for native tools. Nil: all.
	Servers []string
	// Keep leaves out the tools for which it returns false. Hints are claims, see
	// [Hints]. Nil: it keeps all.
	Keep func(tool *Definition, hints Hints) bool
}

const (
	defaultMatches = 5
	maxMatches     = 100
	// fusedRanks is how many tools of each of two rankings are joined.
	fusedRanks = 100
)

// A Match is a tool that a search has found.
type Match struct {
	// Tool is the tool.
	Tool Tool
	// Score says how well it fits. It compares the matches of one search, nothing
	// else.
	Score float64
}

// Search returns the tools that fit a query, the best first; of those that are
// callable on behalf of the user of ctx, see [Registry.Callable]. Words count in
// name, title, description, server, and the names and descriptions of parameters,
// in whatever spelling or form: deleteInvoice and "remove invoices" find
// delete_invoice. A query that fits nothing, or without text, finds nothing. Of each
// tool 2,048 words count; 512 if its server has more than 256 tools, and 128 if more
// than 1,024.
//
// If the Embedder fails, or has not answered when ctx ends, the matches by words are
// returned together with an [*EmbedError]. Any other error means that ctx has ended.
// While one search has the tools embedded, another does not wait for that: tools
// without a vector are ranked by words alone.
//
// The first search reads the whole catalogue, a later one what has changed since. If
// ctx ends before that, the next search goes on from there.
func (r *Registry) Search(ctx context.Context, q Query) ([]Match, error) {
	if err := r.made(); err != nil {
		return nil, err
	}
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	s := r.Snapshot()
	search := &search{snapshot: s, query: q, callable: r.callableBy(ctx), kept: map[string]*entry{}}
	limit := min(cmp.Or(max(q.Limit, 0), defaultMatches), maxMatches)
	words := toolrank.NewQuery(q.Text, r.search.synonyms)
	if r.search.meaning == nil || strings.TrimSpace(q.Text) == "" {
		found, err := r.search.byWords(ctx, search, words, limit)
		return search.matches(found), err
	}
	found, err := r.search.byWords(ctx, search, words, fusedRanks)
	if err != nil {
		return nil, err
	}
	similar, err := r.search.meaning.rank(ctx, q.Text, s.definitions())
	if err == nil {
		found = fuse(found, search.keep(similar, fusedRanks))
	}
	return search.matches(found[:min(len(found), limit)]), err
}

// A searcher ranks the tools of one registry.
type searcher struct {
	index    *searchIndex
	meaning  *meaning // nil: by words alone
	synonyms func(word string) []string
}

func newSearcher(opts *SearchOptions) *searcher {
	s := &searcher{index: newSearchIndex(), synonyms: func(string) []string { return nil }}
	if opts != nil && opts.Synonyms != nil {
		s.synonyms = opts.Synonyms
	}
	if opts != nil && opts.Embedder != nil {
		s.meaning = newMeaning(opts.Embedder)
	}
	return s
}

// byWords returns the first tools, at most limit, that a search wants, ranked by
// words. What it does not want is sorted out without a lock: if too few are left of
// the first, all are asked for. The error is that of ctx.
func (r *searcher) byWords(ctx context.Context, s *search, words toolrank.Query, limit int) ([]ranked, error) {
	if len(words) == 0 {
		return nil, nil
	}
	first := 2*limit + 32
	found, err := r.index.rank(ctx, s.snapshot, words, first)
	if err != nil {
		return nil, err
	}
	kept := s.keep(found, limit)
	if len(kept) < limit && len(found) == first {
		if found, err = r.index.rank(ctx, s.snapshot, words, math.MaxInt); err != nil {
			return nil, err
		}
		kept = s.keep(found, limit)
	}
	return kept, nil
}

// A search is one call of Registry.Search.
type search struct {
	snapshot *Snapshot
	query    Query
	callable func(*entry) bool
	kept     map[string]*entry // by name, as far as they were looked at; nil: not wanted
}

// keep returns those that the query asks for, at most limit.
func (s *search) keep(found []ranked, limit int) []ranked {
	var kept []ranked
	for _, f := range found {
		if len(kept) == limit {
			break
		}
		e, known := s.kept[f.name]
		if !known {
			if e = s.snapshot.find(f.name); e != nil && !s.wants(e) {
				e = nil
			}
			s.kept[f.name] = e
		}
		if e != nil {
			kept = append(kept, f)
		}
	}
	return kept
}

func (s *search) wants(e *entry) bool {
	return e.listed() &&
		(s.query.Servers == nil || slices.Contains(s.query.Servers, e.def.Origin.Server)) &&
		s.callable(e) &&
		(s.query.Keep == nil || s.query.Keep(e.def, e.hints))
}

func (s *search) matches(found []ranked) []Match {
	matches := make([]Match, len(found))
	for i, f := range found {
		matches[i] = Match{Tool: s.kept[f.name].tool, Score: f.score}
	}
	return matches
}
