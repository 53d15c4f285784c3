package registry

import (
	"context"
	"sync"

	"github.com/mcpbelt/mcpbelt/internal/bm25"
	"github.com/mcpbelt/mcpbelt/internal/toolrank"
	"github.com/mcpbelt/mcpbelt/registry/names"
)

// A searchIndex ranks the listed tools by their words. It follows the catalogue
// when somebody searches, and costs nothing before.
type searchIndex struct {
	turn chan struct{} // holds one token; who has it may change the index
	read []indexed     // what words was made of, sorted by name; of who has the turn

	mu      sync.RWMutex // held for one tool at a time
	words   *bm25.Index  // ids are names of tools
	version uint64       // of the snapshot that words was made of; 0: none yet
}

// An indexed is a tool of which so many words count at most.
type indexed struct {
	def  *Definition
	most int
}

func newSearchIndex() *searchIndex {
	ix := &searchIndex{turn: make(chan struct{}, 1), words: bm25.New(bm25.Options{Fields: toolrank.Fields()})}
	ix.turn <- struct{}{}
	return ix
}

// A ranked is a tool that fits a query, by name.
type ranked struct {
	name  string
	score float64
}

// rank returns the tools of s, or of a later snapshot, that fit a query, the best
// first, at most limit. The error is that of ctx.
func (ix *searchIndex) rank(ctx context.Context, s *Snapshot, query toolrank.Query, limit int) ([]ranked, error) {
	ix.mu.RLock()
	for ix.version < s.version {
		ix.mu.RUnlock()
		if err := ix.follow(ctx, s); err != nil {
			return nil, err
		}
		ix.mu.RLock()
	}
	hits := ix.words.Search(query.In(ix.words), limit, nil)
	ix.mu.RUnlock()
	found := make([]ranked, len(hits))
	for i, h := range hits {
		found[i] = ranked{h.ID, h.Score}
	}
	return found, nil
}

// follow makes the index one of s, unless it is one of a later snapshot. Tools that
// have not changed are not read again. If ctx ends before all are read, the next one
// goes on from there.
func (ix *searchIndex) follow(ctx context.Context, s *Snapshot) error {
	select {
	case <-ix.turn:
		defer func() { ix.turn <- struct{}{} }()
	case <-ctx.Done():
		return ctx.Err()
	}
	if ix.version >= s.version { // nobody else writes it now
		return nil
	}
	before, after := ix.read, make([]indexed, 0, len(s.tools))
	defer func() { ix.read = append(after, before...) }()
	counts := listedTools(s)
	for _, e := range s.entries {
		if !e.listed() {
			continue
		}
		for len(before) > 0 && before[0].def.Name < e.def.Name {
			if err := ctx.Err(); err != nil {
				return err
			}
			ix.remove(before[0].def.Name)
			before = before[1:]
		}
		now := indexed{e.def, toolrank.MaxWords(counts[e.def.Origin.Server])}
		same := false
		known := len(before) > 0 && before[0].def.Name == e.def.Name
		if known {
			same = before[0].most == now.most && (before[0].def == e.def || before[0].def.equal(e.def))
		}
		if !same {
			if err := ctx.Err(); err != nil {
				return err
			}
			ix.put(now)
		}
		if known {
			before = before[1:]
		}
		after = append(after, now)
	}
	for len(before) > 0 {
		if err := ctx.Err(); err != nil {
			return err
		}
		ix.remove(before[0].def.Name)
		before = before[1:]
	}
	ix.mu.Lock()
	ix.version = s.version
	ix.mu.Unlock()
	return nil
}

func (ix *searchIndex) put(t indexed) {
	words := toolrank.Words(docOf(t.def), t.most)
	ix.mu.Lock()
	defer ix.mu.Unlock()
	ix.words.Put(t.def.Name, words...)
}

func (ix *searchIndex) remove(name string) {
	ix.mu.Lock()
	defer ix.mu.Unlock()
	ix.words.Remove(name)
}

// listedTools returns how many listed tools each server has.
func listedTools(s *Snapshot) map[string]int {
	counts := map[string]int{}
	for _, e := range s.entries {
		if e.listed() {
			counts[e.def.Origin.Server]++
		}
	}
	return counts
}

// docOf returns what is read of a tool.
func docOf(def *Definition) *toolrank.Doc {
	return &toolrank.Doc{Name: searchName(def), Server: def.Origin.Server, Title: def.Title, Description: def.Description, InputSchema: def.InputSchema}
}

// searchName returns what a tool is called, without the name of its server where that
// was put before it.
func searchName(def *Definition) string {
	local := def.localName()
	if local == "" || def.Name == local {
		return def.Name
	}
	if name, _ := (names.Names{}).Name(def.Origin.Server, local); def.derived || def.Name == name {
		return local
	}
	return local + " " + def.Name // of its owner's choice
}
