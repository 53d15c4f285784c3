package registry

import (
	"maps"
	"slices"
)

// The serverWords are the words that stand for a server: its name, and those of
// its tools there. They are never changed.
type serverWords struct {
	server string
	tools  map[string]struct{}
}

// words returns those of all servers, sorted.
func (c *catalogue) words() []serverWords {
	words := make([]serverWords, 0, len(c.servers))
	for _, name := range slices.Sorted(maps.Keys(c.servers)) {
		if name != "" {
			words = append(words, serverWords{name, c.servers[name].names})
		}
	}
	return words
}

// vocabulary returns a function that finds the server, other than own, that a word
// stands for: by its name, by what one of its tools is called here, or by what it
// is called there, unless own has a tool that is called so. Of several servers it
// is the first. The function is not safe for concurrent use.
func (s *Snapshot) vocabulary(own string) func(word string) (server string, ok bool) {
	servers := make(map[string]struct{}, len(s.words))
	for _, w := range s.words {
		servers[w.server] = struct{}{}
	}
	var owners map[string]string // of tools' names there, once it is worth the while
	asked := 0
	owner := func(word string) string {
		if asked++; asked > 100 && owners == nil {
			owners = s.owners(own)
		}
		if owners != nil {
			return owners[word]
		}
		return s.ownerOf(word, own)
	}
	return func(word string) (string, bool) {
		if word == own {
			return "", false
		}
		if _, ok := servers[word]; ok {
			return word, true
		}
		if e := s.find(word); e != nil && e.server != nil && e.server.Name != own {
			return e.server.Name, true
		}
		server := owner(word)
		return server, server != "" && server != own
	}
}

// ownerOf returns the server that has a tool of that name: own, or else the first.
func (s *Snapshot) ownerOf(tool, own string) string {
	first := ""
	for _, w := range s.words {
		if _, has := w.tools[tool]; has && (first == "" || w.server == own) {
			first = w.server
		}
	}
	return first
}

// owners is ownerOf for all names.
func (s *Snapshot) owners(own string) map[string]string {
	owners := map[string]string{}
	for _, w := range s.words {
		for tool := range w.tools {
			if _, taken := owners[tool]; !taken || w.server == own {
				owners[tool] = w.server
			}
		}
	}
	return owners
}
