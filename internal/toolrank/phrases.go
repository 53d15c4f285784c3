package toolrank

import (
	_ "embed" // the table of phrases
	"strings"
	"sync"
)

//go:embed phrases.txt
var phrasesText string

// phrases are words for what two words mean together and neither by itself, as in "how many"
// or "get rid of". That is also where one word is often written as two.
var phrases = sync.OnceValue(func() map[string]string {
	all := map[string]string{}
	for line := range strings.Lines(phrasesText) {
		words := strings.Fields(line)
		all[words[0]+" "+words[1]] = words[2]
	}
	return all
})

// phrase returns a word for what two words mean together; "" if they mean what they say.
func phrase(first, second string) string { return phrases()[first+" "+second] }

// derived returns stems that may be the noun of a verb, or the verb of a noun: translation
// for translate. What is no word is among them, too: no tool has it.
func derived(stem string) []string {
	if len(stem) < 5 {
		return nil
	}
	var all []string
	for _, pair := range [...][2]string{ // the endings of a verb and of its noun
		{"ate", "ation"}, {"ify", "ification"}, {"e", "ation"}, {"e", "ion"}, {"", "ation"}, {"", "ion"}, {"", "ment"},
	} {
		for i, ending := range pair {
			if root, ok := strings.CutSuffix(stem, ending); ok && len(root) >= 3 {
				all = append(all, root+pair[1-i])
			}
		}
	}
	return all
}
