package registry

import (
	"maps"
	"slices"
	"sync"
)

// A vocabulary has the words that stand for servers: their names, and those of
// their tools there. It is never changed.
type vocabulary struct {
	tools map[string]map[string]struct{} // by server

	// servers is the first server, by name, that has a tool of a name. A text can
	// hold a million words, so they are not looked for at one server after the
	// other.
	servers func() map[string]string
}

// vocabulary returns the words of all servers.
func (c *catalogue) vocabulary() *vocabulary {
	tools := make(map[string]map[string]struct{}, len(c.servers))
	for name, s := range c.servers {
		if name != "" {
			tools[name] = s.names
		}
	}
	return &vocabulary{tools, sync.OnceValue(func() map[string]string { return firstOf(tools) })}
}

func firstOf(tools map[string]map[string]struct{}) map[string]string {
	servers := map[string]string{}
	for _, server := range slices.Sorted(maps.Keys(tools)) {
		for tool := range tools[server] {
			if _, taken := servers[tool]; !taken {
				servers[tool] = server
			}
		}
	}
	return servers
}

// others returns a function that finds the server, other than own, that a word
// stands for: by its name, by what one of its tools is called here, or by what it
// is called there, unless own has a tool that is called so.
func (s *Snapshot) others(own string) func(word string) (server string, ok bool) {
	v := s.vocabulary
	if v == nil { // nothing was ever listed
		return func(string) (string, bool) { return "", false }
	}
	return func(word string) (string, bool) {
		if _, has := v.tools[own][word]; has || word == own {
			return "", false
		}
		if _, is := v.tools[word]; is {
			return word, true
		}
		if e := s.find(word); e != nil && e.server != nil && e.server.Name != own {
			return e.server.Name, true
		}
		server, ok := v.servers()[word]
		return server, ok
	}
}
