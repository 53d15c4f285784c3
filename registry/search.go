package registry

import (
	"context"
)

// SearchOptions say how [Registry.Search] ranks. Nil and the zero value mean the
// defaults.
type SearchOptions struct {
	// Synonyms returns words that mean the same as a word of a query, which is in
	// lower case and whole. They count less than the word itself, and come on top of
	// the built-in ones, which are English. It is a pure function, safe for concurrent
	// use. Nil: there are none but those.
	Synonyms func(word string) []string
	// Embedder adds a ranking by meaning to the one by words. Nil: by words alone.
	Embedder Embedder
}

// An Embedder turns texts into vectors that are close to each other if the texts
// mean something similar. It is safe for concurrent use.
type Embedder interface {
	// Embed returns one vector for each text, all of one length.
	Embed(ctx context.Context, texts []string) ([][]float32, error)
}

// A Query is what [Registry.Search] looks for.
type Query struct {
	// Text is what the tool is to do: some words, or a name in whatever spelling.
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
// delete_invoice. A query that fits nothing, or without text, finds nothing.
//
// If the Embedder fails, the matches by words are returned together with an
// [*EmbedError]. Otherwise an error means that ctx has ended.
//
// The first search reads the whole catalogue, a later one what has changed since.
func (r *Registry) Search(ctx context.Context, q Query) ([]Match, error) {
	return nil, ctx.Err()
}

// An EmbedError reports an [Embedder] that failed.
type EmbedError struct {
	Err error // what it said
}

func (e *EmbedError) Error() string { return "registry: embedding failed: " + e.Err.Error() }

func (e *EmbedError) Unwrap() error { return e.Err }
