package toolrank

import (
	_ "embed" // the table of classes
	"strings"
	"sync"
)

//go:embed classes.txt
var classesText string

// classes are the words of the table, by the name of their class.
var classes = sync.OnceValue(func() map[string]map[string]bool {
	all := map[string]map[string]bool{}
	for line := range strings.Lines(classesText) {
		name, words, _ := strings.Cut(line, ":")
		all[name] = map[string]bool{}
		for word := range strings.FieldsSeq(words) {
			all[name][word] = true
		}
	}
	return all
})

// isStopWord reports whether a word, or its stem, says nothing about the tool that a
// query is after.
func isStopWord(word string) bool { return classes()["stop"][word] }

// isReading reports whether a stem is a word for finding and reading.
func isReading(stem string) bool { return classes()["reading"][stem] }

// isChange reports whether a stem is a word for changing something, as in names of tools.
func isChange(stem string) bool { return classes()["change"][stem] }

// isDeletion reports whether a stem is a word for deleting something.
func isDeletion(stem string) bool { return classes()["deletion"][stem] }
