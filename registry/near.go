package registry

import (
	"strings"

	"github.com/mcpbelt/mcpbelt/internal/nearest"
)

// A nearName is a name made comparable: lower case, one separator.
type nearName struct {
	whole, bare string // "notes_create_note", and without the server, if there is one: "create_note"
}

// A nearEntry is a name of a tool.
type nearEntry struct {
	nearName
	entry  *entry
	server string // folded; empty: a native tool
}

func newNearName(name string) nearName {
	name = strings.ToLower(name)
	whole := normalize(name)
	if _, bare, ok := strings.Cut(name, "__"); ok {
		return nearName{whole, normalize(bare)}
	}
	return nearName{whole, whole}
}

// normalize returns the words of a name with one underscore between them.
func normalize(name string) string {
	words := strings.FieldsFunc(name, func(r rune) bool { return strings.ContainsRune("_-./: ", r) })
	return strings.Join(words, "_")
}

// maxEdits is how many mistakes a name may have; beyond that it is a different one.
const maxEdits = 6

// distance returns how far the name have is from the asked one, and whether that is
// near at all. An edit counts two; another server, or none, counts one,
// whatever its name.
func (asked nearName) distance(have nearName) (least int, near bool) {
	const otherEnd = 3
	most := 2*maxEdits + 1
	if endsWith(have.whole, asked.whole) || endsWith(asked.whole, have.whole) {
		most, least, near = otherEnd, otherEnd, true
	}
	if edits, ok := edits(asked.whole, have.whole, most/2); ok {
		most, least, near = 2*edits, 2*edits, true
	}
	if edits, ok := edits(asked.bare, have.bare, (most-1)/2); ok && 2*edits+1 <= most {
		least, near = 2*edits+1, true
	}
	return least, near
}

// edits returns the edit distance of a and b if it is small for their length, and at
// most most.
func edits(a, b string, most int) (int, bool) {
	if a == "" || b == "" {
		return 0, false
	}
	return nearest.Edits([]byte(a), []byte(b), min(most, (max(len(a), len(b))+2)/4))
}

// endsWith reports whether the last words of name are tail.
func endsWith(name, tail string) bool { return tail != "" && strings.HasSuffix(name, "_"+tail) }
