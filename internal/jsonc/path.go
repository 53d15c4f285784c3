package jsonc

import (
	"regexp"
	"strconv"
	"unicode/utf8"
)

// A Path names a value inside a document, such as mcpServers.github.args[2].
// The empty path is the document's root.
type Path string

// PathOf returns the path of nested keys.
func PathOf(keys []string) (p Path) {
	for _, key := range keys {
		p = p.Key(key)
	}
	return p
}

// Key returns the path of p's member key. A key that is not a plain word is
// quoted; a very long one is cut.
func (p Path) Key(key string) Path {
	text := key
	if !plain.MatchString(key) {
		const longest = 80
		if len(key) > longest {
			cut := longest
			for !utf8.RuneStart(key[cut]) {
				cut--
			}
			key = key[:cut] + "…"
		}
		text = strconv.Quote(key)
	}
	if p == "" {
		return Path(text)
	}
	return p + "." + Path(text)
}

// Index returns the path of p's element i.
func (p Path) Index(i int) Path { return p + Path("["+strconv.Itoa(i)+"]") }

// plain matches a key that needs no quotes.
var plain = regexp.MustCompile(`^[A-Za-z0-9_-]{1,80}$`)
