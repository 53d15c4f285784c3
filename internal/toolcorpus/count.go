package toolcorpus

import (
	"cmp"
	"slices"
	"strings"
	"unicode"
)

// CountTerms returns the simplest search there is, which others are compared with.
// Its score is how many of the different words of a query are in a document, however
// often; words are runs of letters and digits, in lower case. Tools without any are
// not found; ties go by key.
func CountTerms(docs []Document) func(query string) []string {
	words := make([]map[string]bool, len(docs))
	for i, d := range docs {
		words[i] = terms(strings.Join([]string{d.Server, d.Name, d.Title, d.Description, d.Parameters}, "\n"))
	}
	return func(query string) []string {
		type match struct {
			key   string
			score int
		}
		wanted := terms(query)
		var matches []match
		for i, d := range docs {
			score := 0
			for word := range wanted {
				if words[i][word] {
					score++
				}
			}
			if score > 0 {
				matches = append(matches, match{d.Key, score})
			}
		}
		slices.SortFunc(matches, func(a, b match) int {
			return cmp.Or(cmp.Compare(b.score, a.score), cmp.Compare(a.key, b.key))
		})
		found := make([]string, len(matches))
		for i, m := range matches {
			found[i] = m.key
		}
		return found
	}
}

// terms splits a text at what is neither a letter nor a digit.
func terms(text string) map[string]bool {
	set := map[string]bool{}
	for _, word := range strings.FieldsFunc(strings.ToLower(text), func(r rune) bool { return !unicode.IsLetter(r) && !unicode.IsDigit(r) }) {
		set[word] = true
	}
	return set
}
