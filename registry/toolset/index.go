package toolset

import (
	"bytes"
	"cmp"
	"context"
	"sync"

	"github.com/mcpbelt/mcpbelt/internal/bm25"
	"github.com/mcpbelt/mcpbelt/internal/toolrank"
	"github.com/mcpbelt/mcpbelt/registry"
	"github.com/mcpbelt/mcpbelt/registry/names"
)

// A searchIndex ranks the listed tools by their words. It follows the catalogue at each
// search, and costs nothing before the first one.
type searchIndex struct {
	names names.Scheme // of the registry
	about func(def *registry.Definition) string
	turn  chan struct{}       // holds one token; its holder may change the index
	read  map[string]*indexed // what words was made of, by name; for the holder of turn

	mu      sync.RWMutex // held for one tool at a time
	words   *bm25.Index  // ids are names of tools
	version uint64       // of the snapshot that words was made of; 0: none yet
}

// An indexed is a tool of which so many words count at most.
type indexed struct {
	def     *registry.Definition
	most    int
	version uint64 // of the snapshot that listed it last
}

func newSearchIndex(n names.Scheme, about func(def *registry.Definition) string) *searchIndex {
	ix := &searchIndex{names: n, about: about, turn: make(chan struct{}, 1), read: map[string]*indexed{}, words: bm25.New(toolrank.Options())}
	ix.turn <- struct{}{}
	return ix
}

// rank returns the tools of s, or of a later snapshot, that fit a query, the best
// first, at most limit. The error is that of ctx.
func (ix *searchIndex) rank(ctx context.Context, s *registry.Snapshot, query toolrank.Query, limit int) ([]bm25.Hit, error) {
	ix.mu.RLock()
	for ix.version < s.Version() {
		ix.mu.RUnlock()
		if err := ix.follow(ctx, s); err != nil {
			return nil, err
		}
		ix.mu.RLock()
	}
	defer ix.mu.RUnlock()
	return ix.words.Search(query.In(ix.words), limit), nil
}

// follow makes the index one of s, unless it is one of a later snapshot. Tools that
// have not changed are not read again. If ctx ends before all are read, the next one
// goes on from there.
func (ix *searchIndex) follow(ctx context.Context, s *registry.Snapshot) error {
	select {
	case <-ix.turn:
		defer func() { ix.turn <- struct{}{} }()
	case <-ctx.Done():
		return ctx.Err()
	}
	if ix.version >= s.Version() { // no other goroutine writes it now
		return nil
	}
	counts := listedTools(s)
	for _, t := range s.Tools() {
		def := t.Definition()
		most, was := toolrank.MaxWords(counts[def.Origin.Server]), ix.read[def.Name]
		if was == nil || was.most != most || !sameWords(was.def, def) {
			if err := ctx.Err(); err != nil {
				return err
			}
			ix.put(def, most)
			was = new(indexed)
			ix.read[def.Name] = was
		}
		*was = indexed{def, most, s.Version()}
	}
	for name, was := range ix.read {
		if was.version != s.Version() {
			ix.remove(name)
			delete(ix.read, name)
		}
	}
	ix.mu.Lock()
	ix.version = s.Version()
	ix.mu.Unlock()
	return nil
}

func (ix *searchIndex) put(def *registry.Definition, most int) {
	doc := docOf(def, ix.names)
	if ix.about != nil {
		doc.About = ix.about(def)
	}
	words := toolrank.Words(doc, most)
	ix.mu.Lock()
	defer ix.mu.Unlock()
	ix.words.Put(def.Name, words...)
}

func (ix *searchIndex) remove(name string) {
	ix.mu.Lock()
	defer ix.mu.Unlock()
	ix.words.Remove(name)
}

// listedTools returns how many listed tools each server has.
func listedTools(s *registry.Snapshot) map[string]int {
	counts := map[string]int{}
	for _, t := range s.Tools() {
		counts[t.Definition().Origin.Server]++
	}
	return counts
}

// sameWords reports whether the same is read of two tools of one name.
func sameWords(a, b *registry.Definition) bool {
	return a == b || a.Alias == b.Alias && a.Origin == b.Origin && a.Title == b.Title &&
		a.Description == b.Description && bytes.Equal(a.InputSchema, b.InputSchema)
}

// docOf returns what is read of a tool.
func docOf(def *registry.Definition, n names.Scheme) *toolrank.Doc {
	return &toolrank.Doc{Name: searchName(def, n), Server: def.Origin.Server, Title: def.Title, Description: def.Description, InputSchema: def.InputSchema}
}

// searchName returns what a tool is called, without the name of its server where that
// was put before it.
func searchName(def *registry.Definition, n names.Scheme) string {
	local := localName(def)
	if local == "" || def.Name == local {
		return def.Name
	}
	if def.Name == n.Name(def.Origin.Server, local) || def.Name == names.ServerTool.Name(def.Origin.Server, local) {
		return local
	}
	return local + " " + def.Name // of its owner's choice
}

// localName returns what the tool is called among those of its server.
func localName(def *registry.Definition) string {
	return cmp.Or(def.Alias, def.Origin.Tool)
}
