package registry

import (
	"sync"

	"github.com/mcpbelt/mcpbelt/internal/bm25"
)

// A searchIndex ranks the listed tools by their words. It follows the catalogue
// when somebody searches, and costs nothing before.
type searchIndex struct {
	mu      sync.RWMutex
	words   *bm25.Index   // ids are names of tools
	version uint64        // of the snapshot that words was made of; 0: none yet
	read    []*Definition // what words was made of, sorted by name
}

func newSearchIndex() *searchIndex {
	return &searchIndex{words: bm25.New(bm25.Options{Fields: searchFields()})}
}

// A ranked is a tool that fits a query, by name.
type ranked struct {
	name  string
	score float64
}

// rank returns the tools of s, or of a later snapshot, that fit a query, the best
// first, at most limit.
func (ix *searchIndex) rank(s *Snapshot, query searchQuery, limit int) []ranked {
	ix.mu.RLock()
	for ix.version < s.version {
		ix.mu.RUnlock()
		ix.follow(s)
		ix.mu.RLock()
	}
	hits := ix.words.Search(query.in(ix.words), limit, nil)
	ix.mu.RUnlock()
	found := make([]ranked, len(hits))
	for i, h := range hits {
		found[i] = ranked{h.ID, h.Score}
	}
	return found
}

// follow makes the index one of s, unless it is one of a later snapshot. Tools that
// have not changed are not read again.
func (ix *searchIndex) follow(s *Snapshot) {
	ix.mu.Lock()
	defer ix.mu.Unlock()
	if ix.version >= s.version {
		return
	}
	ix.version = s.version
	before, after := ix.read, make([]*Definition, 0, len(s.tools))
	for _, e := range s.entries {
		if !e.listed() {
			continue
		}
		for len(before) > 0 && before[0].Name < e.def.Name {
			ix.words.Remove(before[0].Name)
			before = before[1:]
		}
		same := false
		if len(before) > 0 && before[0].Name == e.def.Name {
			same = before[0] == e.def || before[0].equal(e.def)
			before = before[1:]
		}
		if !same {
			ix.words.Put(e.def.Name, wordsOf(e.def)...)
		}
		after = append(after, e.def)
	}
	for _, def := range before {
		ix.words.Remove(def.Name)
	}
	ix.read = after
}
