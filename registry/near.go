package registry

import (
	"math/bits"
	"strings"

	"github.com/mcpbelt/mcpbelt/internal/nearest"
	"github.com/mcpbelt/mcpbelt/registry/names"
)

// maxEdits is how many mistakes a name may have; beyond that it is a different one.
const maxEdits = 6

// A nearName is a name made comparable: lower case, one separator. A catalogue is
// searched for near names from one end to the other, so it has what tells most names
// apart at a glance.
type nearName struct {
	whole, bare     string // "notes_create_note", and without the server, if there is one: "create_note"
	ofWhole, ofBare bigrams
	lastWord        uint32 // of whole, a hash
}

// A nearEntry is a name of a tool.
type nearEntry struct {
	nearName
	entry  *entry
	server int // its id in the matcher; 0: a native tool
}

// nearNamesOf returns the names by which a tool may be asked for: its own and, if that
// ends in a hash, the one that it would have without.
func nearNamesOf(def *Definition) []nearName {
	own := []nearName{newNearName(def.Name)}
	if names.HasHash(def.Name) && len(def.localName()) <= maxName {
		own = append(own, newNearName(def.Origin.Server+"__"+def.localName()))
	}
	return own
}

func newNearName(name string) nearName {
	name = strings.ToLower(name)
	n := nearName{whole: normalize(name)}
	if n.bare = n.whole; strings.Contains(name, "__") {
		_, bare, _ := strings.Cut(name, "__")
		n.bare = normalize(bare)
	}
	n.ofWhole, n.ofBare = bigramsOf(n.whole), bigramsOf(n.bare)
	n.lastWord = hashOf(n.whole[strings.LastIndexByte(n.whole, '_')+1:])
	return n
}

// normalize returns the words of a name with one underscore between them.
func normalize(name string) string {
	words := strings.FieldsFunc(name, func(r rune) bool { return strings.ContainsRune("_-./: ", r) })
	return strings.Join(words, "_")
}

// maxDistance is the largest distance of names that are near.
const maxDistance = 2*maxEdits + 1

// distance returns how far the name have is from the asked one, and whether that is
// near at all, and at most most. An edit counts two; another server, or none, counts one,
// whatever its name.
func (asked *nearName) distance(have *nearName, most int) (least int, near bool) {
	const otherEnd = 3
	if most >= otherEnd && asked.lastWord == have.lastWord && (endsWith(have.whole, asked.whole) || endsWith(asked.whole, have.whole)) {
		most, least, near = otherEnd, otherEnd, true
	}
	if edits, ok := edits(asked.whole, have.whole, &asked.ofWhole, &have.ofWhole, most/2); ok {
		most, least, near = 2*edits, 2*edits, true
	}
	if edits, ok := edits(asked.bare, have.bare, &asked.ofBare, &have.ofBare, (most-1)/2); ok && 2*edits+1 <= most {
		least, near = 2*edits+1, true
	}
	return least, near
}

// edits returns the edit distance of a and b if it is small for their length, and at
// most most.
func edits(a, b string, ofA, ofB *bigrams, most int) (int, bool) {
	limit := min(most, (max(len(a), len(b))+2)/4)
	if len(a)-len(b) > limit || len(b)-len(a) > limit || ofA.without(ofB) > 2*limit || ofB.without(ofA) > 2*limit || a == "" || b == "" {
		return 0, false
	}
	return nearest.Edits([]byte(a), []byte(b), limit)
}

// endsWith reports whether the last words of name are tail.
func endsWith(name, tail string) bool {
	return tail != "" && len(name) > len(tail) && name[len(name)-len(tail)-1] == '_' && strings.HasSuffix(name, tail)
}

// bigrams is the set of the pairs of neighbours in a name, in whatever order: each pair
// sets one bit. One edit, or one swap of neighbours, changes two pairs at most, so names
// with many bits apart are not near.
type bigrams [2]uint64

func bigramsOf(name string) (b bigrams) {
	for i := 1; i < len(name); i++ {
		first, second := min(name[i-1], name[i]), max(name[i-1], name[i])
		hash := (uint32(first)<<8 | uint32(second)) * 0x9e3779b1 >> 25
		b[hash/64] |= 1 << (hash % 64)
	}
	return b
}

// without returns how many bits b has that o lacks.
func (b *bigrams) without(o *bigrams) int {
	return bits.OnesCount64(b[0]&^o[0]) + bits.OnesCount64(b[1]&^o[1])
}

// hashOf returns the FNV-1a hash of a word.
func hashOf(word string) uint32 {
	hash := uint32(2166136261)
	for i := range len(word) {
		hash = (hash ^ uint32(word[i])) * 16777619
	}
	return hash
}
