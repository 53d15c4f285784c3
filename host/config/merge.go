package config

import "github.com/mcpbelt/mcpbelt/internal/dialect"

// A Shadow is an entry that does not count because a stronger one has its name.
type Shadow struct {
	Server *Server // the entry; it must not be started
	By     *Server // the one that counts in its place
}

// layers puts the entries of the sections of one file, strongest first, into one
// list, and apart those that a stronger section hides.
func layers(sections []dialect.Section) (found, hidden []dialect.Entry) {
	taken := make(map[string]int)
	for i, section := range sections {
		for _, e := range section.Entries {
			if by, ok := taken[e.Title]; ok && by < i && e.Fault == nil {
				hidden = append(hidden, e)
				continue
			}
			taken[e.Title] = i
			found = append(found, e)
		}
	}
	return found, hidden
}
