package bm25

import (
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
	if isWhole(word) {
		return word
	}
	if stem := irregular(word); stem != "" {
		return stem
	}
	word = singular(word)
	if isWhole(word) {
		return word
	}
	for _, ending := range [...]string{"ing", "ed"} {
		if root, ok := strings.CutSuffix(word, ending); ok && len(root) >= 2 && hasVowel(root) {
			return infinitive(root)
		}
	}
	return word
}

// isWhole reports whether a word that ends like a plural, a past or an -ing form is
// none.
func isWhole(word string) bool {
	switch word {
	case "has", "was", "its", "this", "yes", "plus", "thus", "always", "perhaps",
		"alias", "atlas", "bias", "canvas", "gas", "pandas", "texas", "kansas", "saas", "paas", "iaas",
		"aws", "dns", "tls", "https", "sms", "gps", "cors", "nfs", "vps", "eks", "ecs", "rds", "sqs", "sns", "kms",
		"chaos", "ios", "macos", "news", "lens", "series", "species", "kubernetes", "jenkins", "postgres", "analytics",
		"setting", "meeting", "building", "sibling", "heading", "padding", "pricing", "during", "evening", "morning",
		"nothing", "something", "anything", "everything", "string", "outing", "being",
		"embed", "hundred", "indeed", "wicked", "sacred", "biped":
		return true
	}
	return strings.HasSuffix(word, "eed")
}

// irregular returns the stem of a form that follows no rule; "" if it is not one.
func irregular(word string) string {
	switch word {
	case "menus", "gpus", "cpus", "skus", "apis", "wikis", "emojis", "uris", "kpis", "guis", "clis",
		"movies", "cookies", "selfies", "ties", "pies", "lies", "dies", "caches", "niches":
		return word[:len(word)-1]
	case "aliases", "canvases", "atlases", "biases", "lenses", "buses", "gases":
		return word[:len(word)-2]
	}
	return irregulars()[word]
}

// irregulars are the stems of forms that follow no rule.
var irregulars = sync.OnceValue(func() map[string]string {
	stems := map[string]string{}
	for stem, forms := range map[string]string{
		"child":  "children",
		"person": "people",
		"index":  "indices",
		"vertex": "vertices",
		"matrix": "matrices",
		"leave":  "leaves",
		"do":     "does did done doing",
		"go":     "goes gone went going",
		"get":    "got gotten getting",
		"send":   "sent",
		"build":  "built",
		"make":   "made",
		"find":   "found",
		"write":  "wrote written",
		"run":    "ran",
		"show":   "shown",
		"hide":   "hidden hid",
		"take":   "took taken",
		"choose": "chose chosen",
		"give":   "gave given",
		"buy":    "bought",
		"sell":   "sold",
		"pay":    "paid",
		"hold":   "held",
		"keep":   "kept",
		"draw":   "drew drawn",
		"break":  "broke broken",
		"lie":    "lying",
		"tie":    "tying",
	} {
		for form := range strings.FieldsSeq(forms) {
			stems[form] = stem
		}
	}
	return stems
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

// needsE reports whether a verb has lost its last letter, e, before -ing or -ed.
func needsE(root string) bool {
	n := len(root)
	last, before := root[n-1], root[n-2]
	ends := endsWith(root)
	if !isVowel(root, n-2) {
		switch last {
		case 'c': // announce
			return root != "sync" && root != "async" && root != "resync"
		case 'g': // merge, change
			return before != 'n' || n > 4 && ends("ang", "eng")
		case 's', 'v', 'z': // parse, serve
			return true
		case 'l': // handle
			return before != 'r' && before != 'w'
		case 'u': // queue
			return true
		}
		return false
	}
	double := n > 2 && isVowel(root, n-3) && !(root[n-3] == 'u' && n > 3 && root[n-4] == 'q')
	short := syllables(root) == 1
	switch last {
	case 'c', 'u', 'v', 'z': // trace, queue, save, resize
		return true
	case 's': // close, purchase
		return !ends("focus", "virus", "bonus", "status")
	case 'g': // manage
		return !double
	case 't':
		switch before {
		case 'a': // create, initiate, rotate
			return !double || ends("creat", "iat", "uat")
		case 'e':
			return ends("delet", "complet", "deplet")
		case 'i':
			return ends("writ", "invit", "unit", "ignit") || root == "cit"
		case 'u':
			return !ends("out", "put") || ends("rout", "comput")
		case 'o':
			return !double && (short || ends("mot", "not"))
		}
	case 'd':
		return !double && before != 'e' && !ends("pload") // provide, include
	case 'r':
		switch before {
		case 'a', 'i', 'u':
			return !double || ends("quir") // share, require, configure
		case 'o':
			return !double && (short && n > 2 || ends("stor", "plor", "gnor")) && !ends("monitor", "author")
		}
	case 'n':
		switch before {
		case 'i': // define
			return !double && !ends("login", "admin", "begin", "pin")
		case 'u', 'a', 'o':
			return !double && short && n > 2
		}
	case 'l':
		switch before {
		case 'i', 'u': // compile, schedule
			return !double
		case 'a', 'o':
			return !double && (short || ends("consol"))
		}
	case 'p':
		switch before {
		case 'a', 'y':
			return !double
		default:
			return !double && short
		}
	case 'm':
		switch before {
		case 'a', 'u': // rename, resume
			return !double && !ends("program")
		default:
			return !double && short
		}
	case 'b':
		return !double && (short || ends("crib")) // describe
	case 'k':
		return !double && before != 'e' // invoke
	case 'h':
		return false
	}
	return false
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

func hasVowel(word string) bool { return syllables(word) > 0 }

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
