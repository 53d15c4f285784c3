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
// is called there, unless own has a tool that is called so.
func (s *Snapshot) vocabulary(own string) func(word string) (server string, ok bool) {
	return func(word string) (string, bool) {
		if word == own {
			return "", false
		}
		if e := s.find(word); e != nil && e.server != nil && e.server.Name != own {
			return e.server.Name, true
		}
		found := ""
		for _, w := range s.words {
			_, has := w.tools[word]
			switch {
			case w.server == word:
				return word, true
			case has && w.server == own:
				return "", false
			case has && found == "":
				found = w.server
			}
		}
		return found, found != ""
	}
}
