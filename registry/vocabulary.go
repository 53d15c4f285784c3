package registry

import (
	"maps"
	"slices"
	"sync"
)

// A vocabulary has the words that stand for servers: their names, and those of
// their tools there. All snapshots of a registry share it, and it follows the
// catalogue server by server: with many servers it is too large to be made anew for
// each change.
type vocabulary struct {
	mu    sync.RWMutex
	tools map[string]map[string]struct{} // by server; the sets are never changed
	// servers are those that have a tool of a name, sorted. A text can hold a million
	// words, so they are not looked for at one server after the other.
	servers map[string][]string
}

func newVocabulary() *vocabulary {
	return &vocabulary{tools: map[string]map[string]struct{}{}, servers: map[string][]string{}}
}

// set makes names all the names of a server's tools. Nil: the server is gone.
func (v *vocabulary) set(server string, names map[string]struct{}) {
	v.mu.Lock()
	defer v.mu.Unlock()
	before, known := v.tools[server]
	if known && names != nil && maps.Equal(before, names) {
		return
	}
	for name := range before {
		if _, stays := names[name]; stays {
			continue
		}
		if left := without(v.servers[name], server); len(left) > 0 {
			v.servers[name] = left
		} else {
			delete(v.servers, name)
		}
	}
	for name := range names {
		if at, has := slices.BinarySearch(v.servers[name], server); !has {
			v.servers[name] = slices.Insert(v.servers[name], at, server)
		}
	}
	if names == nil {
		delete(v.tools, server)
	} else {
		v.tools[server] = names
	}
}

// without returns sorted names without one of them.
func without(names []string, name string) []string {
	if at, has := slices.BinarySearch(names, name); has {
		return slices.Delete(names, at, at+1)
	}
	return names
}

// others returns a function that finds the server, other than own, that a word
// stands for: by its name, by what one of its tools is called here, or by what it
// is called there, unless own has a tool that is called so. The servers are those that
// are there now.
func (s *Snapshot) others(own string) func(word string) (server string, ok bool) {
	v := s.vocabulary
	if v == nil { // the snapshot is of no registry
		return func(string) (string, bool) { return "", false }
	}
	return func(word string) (string, bool) {
		v.mu.RLock()
		_, ours := v.tools[own][word]
		_, server := v.tools[word]
		first := ""
		if all := v.servers[word]; len(all) > 0 {
			first = all[0]
		}
		v.mu.RUnlock()
		switch e := s.find(word); {
		case ours || word == own:
			return "", false
		case server:
			return word, true
		case e != nil && e.server != nil && e.server.Name != own:
			return e.server.Name, true
		}
		return first, first != ""
	}
}
