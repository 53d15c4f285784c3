package bm25

import (
	"cmp"
	_ "embed" // the table
	"slices"
	"strings"
	"sync"
)

// Stem returns the form of an English word that stands for its plural, its past and
// its -ing form: issue for issues, create for creates, created and creating, query
// for queries. It is conservative: words that look alike but mean other things stay
// apart, such as state and status, and so do words that are derived from each other,
// such as create and creation.
//
// A word that may not be English is its own stem: one that has fewer than three letters
// or more than 32, or anything but the letters a to z.
func Stem(word string) string {
	if len(word) < 3 || len(word) > 32 {
		return word
	}
	for i := range len(word) {
		if word[i] < 'a' || word[i] > 'z' {
			return word
		}
	}
	if stem, known := stems()[word]; known {
		return stem
	}
	word = singular(word)
	if stem, known := stems()[word]; known || strings.HasSuffix(word, "eed") {
		return cmp.Or(stem, word)
	}
	for _, ending := range [...]string{"ing", "ed"} {
		if root, ok := strings.CutSuffix(word, ending); ok && len(root) >= 2 && syllables(root) > 0 {
			return infinitive(root)
		}
	}
	return word
}

//go:embed stems.txt
var stemsText string

// stems are the stems of the words in the table.
var stems = sync.OnceValue(func() map[string]string {
	all := map[string]string{}
	for line := range strings.Lines(stemsText) {
		words := strings.Fields(line)
		for _, word := range words[1:] {
			switch stem, listed := strings.CutSuffix(words[0], ":"); {
			case listed:
				all[word] = stem
			case stem == "=":
				all[word] = word
			case stem == "e":
				root := strings.TrimSuffix(word, "e")
				all[root+"ed"], all[root+"ing"] = word, word
			}
		}
	}
	return all
})

// singular returns a word without the ending -s of a plural, or of "he creates".
func singular(word string) string {
	n := len(word)
	if n < 4 && word != "ids" && word != "prs" && word != "vms" && word != "dbs" || word[n-1] != 's' {
		return word
	}
	ends := endsWith(word)
	switch {
	case ends("ss", "us", "is"):
		return word
	case ends("ies"):
		return word[:n-3] + "y"
	case ends("sses", "xes", "ches", "shes", "zzes") && n > 4, ends("oes") && n > 5:
		return word[:n-2]
	case ends("uses") && syllables(word[:n-2]) > 1 && !ends("auses", "ouses", "reuses", "fuses"):
		return word[:n-2] // statuses, but causes
	}
	return word[:n-1]
}

// endsWith returns a function that reports whether a word has one of some endings.
func endsWith(word string) func(endings ...string) bool {
	return func(endings ...string) bool {
		return slices.ContainsFunc(endings, func(e string) bool { return strings.HasSuffix(word, e) })
	}
}

// infinitive returns the verb of which root is left when -ing or -ed is taken away.
func infinitive(root string) string {
	n := len(root)
	last, before := root[n-1], root[n-2]
	switch {
	case last == before && !isVowel(root, n-1):
		if n > 3 && !strings.ContainsRune("lsz", rune(last)) {
			return root[:n-1] // running
		}
		if last == 'l' && n > 4 && (strings.HasSuffix(root, "ell") || strings.HasSuffix(root, "troll")) && syllables(root) > 1 {
			return root[:n-1] // cancelled
		}
		return root
	case last == 'i':
		return root[:n-1] + "y" // copied
	case needsE(root):
		return root + "e"
	}
	return root
}

// needsE reports whether a verb that the table does not have has lost its last letter, e,
// before -ing or -ed: as far as can be told by the end of it.
func needsE(root string) bool {
	n := len(root)
	if strings.ContainsRune("cuvz", rune(root[n-1])) || endsWith(root)("iat", "uat", "ang", "rg", "rs", "dl", "bl", "gl") {
		return true
	}
	if n < 3 || isVowel(root, n-1) || !isVowel(root, n-2) || isVowel(root, n-3) {
		return false
	}
	if syllables(root) == 1 { // else the last letter would be doubled
		return !strings.ContainsRune("hkwxy", rune(root[n-1])) || root[n-1] == 'k' && root[n-2] != 'e'
	}
	return endsWith(root)("at", "id", "ud", "ur", "ir", "is", "us", "os", "ag", "ut", "il", "ul", "ok")
}

// isVowel reports whether the letter at i is a vowel; y is one after a consonant.
func isVowel(word string, i int) bool {
	switch word[i] {
	case 'a', 'e', 'i', 'o', 'u':
		return true
	case 'y':
		return i > 0 && !isVowel(word, i-1)
	}
	return false
}

// syllables counts the groups of vowels.
func syllables(word string) int {
	n, vowel := 0, false
	for i := range len(word) {
		is := isVowel(word, i)
		if is && !vowel {
			n++
		}
		vowel = is
	}
	return n
}
