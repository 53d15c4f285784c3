package registry

import (
	"cmp"
	"context"
	"slices"
	"strings"

	"github.com/mcpbelt/mcpbelt/internal/toolname"
	"github.com/mcpbelt/mcpbelt/registry/names"
)

const (
	maxSuggestions = 3
	maxEdits       = 6 // beyond this many mistakes a name is a different one
)

// unknown reports a name that no tool of s has, with the names that whoever asked for
// it may have meant. What the user of ctx may not call is not among them.
func (r *Registry) unknown(ctx context.Context, s *Snapshot, name string) *UnknownToolError {
	callable := r.callableBy(ctx)
	return &UnknownToolError{Name: name, Suggestions: s.suggest(name, func(e *entry) bool { return e.hidden || callable(e) })}
}

// suggest returns the names, of tools to keep, that whoever asked for name may have
// meant, nearest first. Case and separators do not count, and a name may lack its
// server or have a wrong one, or lack its hash. If it names a server that is there, no
// tool of another server is meant.
func (s *Snapshot) suggest(name string, keep func(*entry) bool) []string {
	if name == "" || len(name) > maxName {
		return nil
	}
	type nearName struct {
		name     string
		distance int
	}
	var near []nearName
	asked := splitName(name)
	named := s.serversIn(name)
	for _, e := range s.entries {
		if e.change != nil || len(named) > 0 && e.def.Origin.Server != "" && !named[e.def.Origin.Server] {
			continue
		}
		d, ok := asked.distance(splitName(e.def.Name))
		if !ok && names.HasHash(e.def.Name) && len(e.def.localName()) <= maxName {
			d, ok = asked.distance(splitName(e.def.Origin.Server + "__" + e.def.localName()))
		}
		if ok && keep(e) {
			near = append(near, nearName{e.def.Name, d})
		}
	}
	slices.SortFunc(near, func(a, b nearName) int {
		return cmp.Or(cmp.Compare(a.distance, b.distance), cmp.Compare(a.name, b.name))
	})
	var listed []string
	for _, c := range near[:min(len(near), maxSuggestions)] {
		listed = append(listed, c.name)
	}
	return listed
}

// serversIn returns the servers with tools that a name begins with, if a separator
// follows that is made to stand there.
func (s *Snapshot) serversIn(name string) map[string]bool {
	folded := toolname.Fold(name)
	if !folded.Strong() {
		return nil
	}
	begins := map[string]bool{}
	for server := range folded.Splits() {
		begins[server] = true
	}
	named := map[string]bool{}
	seen := ""
	for _, e := range s.entries {
		server := e.def.Origin.Server
		if server == seen { // as that of the neighbour mostly is
			continue
		}
		seen = server
		if server != "" && begins[toolname.Fold(server).Folded] {
			named[server] = true
		}
	}
	return named
}

// A comparableName is a name made comparable: lower case, one separator.
type comparableName struct {
	whole string // "notes_create_note"
	bare  string // without the server, if there is one: "create_note"
}

func splitName(name string) comparableName {
	name = strings.ToLower(name)
	_, bare, ok := strings.Cut(name, "__")
	if !ok {
		bare = name
	}
	return comparableName{normalize(name), normalize(bare)}
}

func normalize(name string) string {
	words := strings.FieldsFunc(name, func(r rune) bool { return strings.ContainsRune("_-./: ", r) })
	return strings.Join(words, "_")
}

// distance returns how far the name have is from the asked one, and whether it
// is near at all. An edit counts two; another server, or none, counts one,
// whatever its name.
func (asked comparableName) distance(have comparableName) (int, bool) {
	best, found := 0, false
	consider := func(distance int) {
		if !found || distance < best {
			best, found = distance, true
		}
	}
	if edits, ok := edits(asked.whole, have.whole); ok {
		consider(2 * edits)
	}
	if edits, ok := edits(asked.bare, have.bare); ok {
		consider(2*edits + 1)
	}
	if endsWith(have.whole, asked.whole) || endsWith(asked.whole, have.whole) {
		consider(3)
	}
	return best, found
}

// edits returns the edit distance of a and b if it is small for their length.
func edits(a, b string) (int, bool) {
	if a == "" || b == "" {
		return 0, false
	}
	return editDistance(a, b, min(maxEdits, (max(len(a), len(b))+2)/4))
}

// endsWith reports whether the last words of name are tail.
func endsWith(name, tail string) bool {
	return tail != "" && strings.HasSuffix(name, "_"+tail)
}

// editDistance returns the Levenshtein distance of a and b in bytes, if it is at
// most limit.
func editDistance(a, b string, limit int) (int, bool) {
	if len(a) > len(b) {
		a, b = b, a
	}
	if len(b)-len(a) > limit {
		return 0, false
	}
	// row[i] is the distance of a[:i] from the part of b seen so far. It starts
	// on the stack: this runs for each tool of the catalogue.
	row := make([]int, 0, maxName+1)
	for i := range len(a) + 1 {
		row = append(row, i)
	}
	for j := range len(b) {
		diagonal := row[0]
		row[0] = j + 1
		least := row[0]
		for i := range len(a) {
			substitute := diagonal
			if a[i] != b[j] {
				substitute++
			}
			diagonal = row[i+1]
			row[i+1] = min(substitute, row[i+1]+1, row[i]+1)
			least = min(least, row[i+1])
		}
		if least > limit {
			return 0, false
		}
	}
	return row[len(a)], row[len(a)] <= limit
}
