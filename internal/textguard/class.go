package textguard

import (
	_ "embed" // the tables
	"encoding/binary"
	"iter"
	"slices"
	"strings"
	"sync"
)

// A class is a set of words that can stand for each other in a phrase. A word may
// be of several.
type class uint64

const (
	keyFile class = 1 << iota
	envFile
	address

	inPath class = 1 << 63 // a word of pathParts
)

//go:embed lexicon.txt
var lexiconText string

// lexicon has the classes and their words, see the file.
var lexicon = sync.OnceValue(func() (rows []classWords) {
	for line := range rowsOf(lexiconText) {
		name, words, _ := strings.Cut(line, ":")
		rows = append(rows, classWords{name, words})
	}
	return rows
})

type classWords struct{ name, words string }

// rowsOf yields the lines of a table but for its comments.
func rowsOf(table string) iter.Seq[string] {
	return func(yield func(string) bool) {
		for line := range strings.Lines(table) {
			if line[0] != '#' && !yield(strings.TrimSuffix(line, "\n")) {
				return
			}
		}
	}
}

// classNamed returns a class of the lexicon, or several with | between them; 0 for a name
// that is none.
func classNamed(names string) (all class) {
	for name := range strings.SplitSeq(names, "|") {
		if i := slices.IndexFunc(lexicon(), func(row classWords) bool { return row.name == name }); i >= 0 {
			all |= 1 << i
		}
	}
	return all
}

// classify returns the classes of a word. prev is the word before.
func classify(w, prev *word) class {
	if w.size > maxWord {
		return 0
	}
	c := classes().slot(&w.letters).class
	if c&inPath != 0 {
		c |= classOfPath(w, prev)
	}
	return c
}

// A pathPart are words that mean something as part of a path: behind one of some characters, and
// the word prev unless it is empty.
type pathPart struct {
	words, prev, behind string
	class               class
}

func pathParts() []pathPart {
	return []pathPart{
		{"ssh aws gnupg kube netrc pgpass npmrc pypirc", "", ".", keyFile},
		{"rsa ed25519 ecdsa dsa", "id", "_d", keyFile},
		{"passwd shadow sudoers", "etc", "/", keyFile},
		{"json", "mcp", ".", keyFile},
		{"config", "desktop", "_", keyFile}, // claude_desktop_config.json
		{"credentials", "git", "-", keyFile},
		{"env", "", ".", envFile},
	}
}

func classOfPath(w, prev *word) class {
	for _, p := range pathParts() {
		if strings.IndexByte(p.behind, w.before) >= 0 && (p.prev == "" || p.prev == prev.text()) && slices.Contains(strings.Fields(p.words), w.text()) {
			return p.class
		}
	}
	return 0
}

// A vocabulary is a hash table of the words that are of a class, with room for twice as many. Each
// word of each text of a catalogue is looked up, for which a map takes four times as long.
type vocabulary [512]known

type known struct {
	letters [maxWord]byte
	class   class // 0: nothing is here
}

// slot returns where a word is, or what is empty where it would be.
func (v *vocabulary) slot(letters *[maxWord]byte) *known {
	const odd = 0x9e3779b97f4a7c15 // spreads what is multiplied by it
	at := (binary.LittleEndian.Uint64(letters[:]) ^ binary.LittleEndian.Uint64(letters[8:])*odd) * odd >> 55
	for v[at].class != 0 && v[at].letters != *letters {
		at = (at + 1) % uint64(len(v))
	}
	return &v[at]
}

// classes are the classes of words.
var classes = sync.OnceValue(func() *vocabulary {
	var all vocabulary
	add := func(words string, c class) {
		for word := range strings.FieldsSeq(words) {
			var letters [maxWord]byte
			copy(letters[:], word)
			s := all.slot(&letters)
			s.letters, s.class = letters, s.class|c
		}
	}
	for i, row := range lexicon() {
		add(row.words, 1<<i)
	}
	for _, p := range pathParts() {
		add(p.words, inPath)
	}
	return &all
})
