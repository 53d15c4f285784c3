package textguard

import (
	_ "embed" // the tables
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
	goods
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
	if c := classOfPath(w, prev); c != 0 {
		return c
	}
	return classOf(w.text())
}

// classOfPath knows the words that only mean something as part of a path.
func classOfPath(w, prev *word) class {
	switch string(w.letters[:w.size]) {
	case "ssh", "aws", "gnupg", "kube", "netrc", "pgpass", "npmrc", "pypirc":
		if w.before == '.' {
			return keyFile
		}
	case "rsa", "ed25519", "ecdsa", "dsa":
		if prev.text() == "id" && (w.before == '_' || w.before == 'd') {
			return keyFile
		}
	case "passwd", "shadow", "sudoers":
		if prev.text() == "etc" && w.before == '/' {
			return keyFile
		}
	case "json":
		if prev.text() == "mcp" && w.before == '.' {
			return keyFile
		}
	case "config":
		if prev.text() == "desktop" && w.before == '_' { // claude_desktop_config.json
			return keyFile
		}
	case "credentials":
		if prev.text() == "git" && w.before == '-' {
			return keyFile | goods
		}
	case "env":
		if w.before == '.' {
			return envFile
		}
	}
	return 0
}

func classOf(text string) class { return classes()[text] }

// classes are the classes of words.
var classes = sync.OnceValue(func() map[string]class {
	known := map[string]class{}
	for i, row := range lexicon() {
		for word := range strings.FieldsSeq(row.words) {
			known[word] |= 1 << i
		}
	}
	return known
})
