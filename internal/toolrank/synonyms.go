package toolrank

import (
	_ "embed" // the table of synonyms
	"iter"
	"slices"
	"strings"
)

// builtinSynonyms returns words that are used for what a word means, for verbs and
// nouns that are frequent in tools. The word, and what is returned, are stems as of
// bm25.Stem.
func builtinSynonyms(word string) []string {
	var all []string
	for line := range linesWith(synonyms, word) {
		words := strings.Fields(line)
		if i := slices.Index(words, ">"); i >= 0 {
			if slices.Contains(words[:i], word) {
				all = append(all, words[i+1:]...)
			}
		} else if i := slices.Index(words, word); i >= 0 {
			all = append(all, words[:i]...)
			all = append(all, words[i+1:]...)
		}
	}
	slices.Sort(all)
	return slices.Compact(all)
}

// linesWith yields the lines of a text that have a word, or a longer one that it is part of.
func linesWith(text, word string) iter.Seq[string] {
	return func(yield func(string) bool) {
		for word != "" {
			at := strings.Index(text, word)
			if at < 0 {
				return
			}
			line, rest, _ := strings.Cut(text[at:], "\n")
			if begin := strings.LastIndexByte(text[:at], '\n') + 1; !yield(text[begin : at+len(line)]) {
				return
			}
			text = rest
		}
	}
}

// isVerb reports whether a stem is a word for doing something that people ask for.
func isVerb(stem string) bool {
	verbs, _, _ := strings.Cut(synonyms, "\n\n")
	for line := range linesWith(verbs, stem) {
		asked, _, _ := strings.Cut(line, ">")
		if slices.Contains(strings.Fields(asked), stem) {
			return true
		}
	}
	return false
}

// synonyms has lines whose words stand for each other; those before a > are asked with, and
// those behind it found, not the other way round. First come those for doing something, up to an
// empty line.
//
//go:embed synonyms.txt
var synonyms string
