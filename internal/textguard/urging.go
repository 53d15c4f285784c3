package textguard

import (
	_ "embed" // the table of phrases
	"slices"
	"strconv"
	"strings"
	"sync"
)

// An Urge is a place in a text that speaks to the model behind a person's back.
type Urge struct {
	What       string // in plain words, such as "asks to keep something from the user"
	Start, End int    // in bytes
	// Mild says that honest tools are often described so, too.
	Mild bool
}

// A phrase is what words are looked for, in this order, within one sentence.
type phrase struct {
	what   string
	says   string // classes of the lexicon, or several with | between them; a number before one is how many words may be in between
	unless string // not if the next word is of this class
	mild   bool
	clause bool // the words before the last are within one part of a sentence

	// The following are read from what it says.
	steps []step
	not   class
	any   class // all classes of the steps
}

// A step is the next word of a phrase, with at most gap others before it.
type step struct {
	class class
	gap   int
}

const (
	maxSteps   = 5  // of the longest phrase
	maxPhrases = 32 // there is room for
)

// A book holds the phrases that are looked for. It does not change.
type book struct {
	phrases []phrase
	any     class // of all of them
}

//go:embed phrases.tsv
var phrasesText string

// phrases are those that are looked for, with the classes of all of them.
var phrases = sync.OnceValue(func() (b book) {
	for line := range rowsOf(phrasesText) {
		columns := strings.Split(line, "\t")
		p := phrase{what: columns[0], says: columns[1]}
		for flag := range strings.FieldsSeq(columns[2]) {
			name, class, _ := strings.Cut(flag, "=")
			p.mild, p.clause, p.unless = p.mild || name == "mild", p.clause || name == "clause", p.unless+class
		}
		p.not = classNamed(p.unless)
		gap := 0
		for word := range strings.FieldsSeq(p.says) {
			if n, err := strconv.Atoi(word); err == nil {
				gap = n
				continue
			}
			p.steps = append(p.steps, step{classNamed(word), gap})
			p.any |= classNamed(word)
			gap = 0
		}
		b.phrases = append(b.phrases, p)
		b.any |= p.any
	}
	return b
})

// Urging returns the first place in the text that urges; the first mild one if
// there are no others.
func Urging(text string) (Urge, bool) {
	if urge, ok := tag(text); ok {
		return urge, true
	}
	m := match{book: phrases()}
	r := reader{text: text}
	var prev, w word
	for number := 1; r.next(&w); number++ {
		if w.ends {
			m.sentence()
		}
		if w.clause {
			m.clause = number - 1
		}
		c := classify(&w, &prev)
		if isAddress(text, &w) {
			c |= address
		}
		if m.word(c, number, &w) {
			break
		}
		prev = w
	}
	m.sentence()
	if m.found.What != "" {
		return m.found, true
	}
	return m.mild, m.mild.What != ""
}

// A match is how far the phrases have come. Of each beginning of a phrase only the
// latest is kept: it is what the next word is nearest to.
type match struct {
	book
	clause  int // the last word before this part of the sentence
	reached [maxPhrases][maxSteps]place
	found   Urge
	mild    Urge
	pending *phrase // waits for the next word
	wait    Urge
}

type place struct {
	number int // of the word, from 1; 0: not reached
	start  int // of the first word
}

// word takes the next word, and reports whether it has seen enough.
func (m *match) word(c class, number int, w *word) bool {
	if p := m.pending; p != nil {
		if m.pending = nil; c&p.not == 0 {
			m.settle(p, m.wait)
		}
	}
	if c&m.any == 0 {
		return m.found.What != ""
	}
	for i := range m.phrases {
		p := &m.phrases[i]
		if c&p.any == 0 {
			continue
		}
		reached := &m.reached[i]
		for n := len(p.steps) - 1; n >= 0; n-- {
			if c&p.steps[n].class == 0 {
				continue
			}
			from := place{number, w.start}
			if n > 0 {
				last := reached[n-1]
				if last.number == 0 || number-last.number > p.steps[n].gap+1 {
					continue
				}
				if p.clause && n < len(p.steps)-1 && last.number <= m.clause {
					continue
				}
				from.start = last.start
			}
			reached[n] = from
			if n < len(p.steps)-1 {
				continue
			}
			urge := Urge{What: p.what, Start: from.start, End: w.end, Mild: p.mild}
			if p.not != 0 {
				m.pending, m.wait = p, urge
			} else {
				m.settle(p, urge)
			}
		}
	}
	return m.found.What != ""
}

func (m *match) settle(p *phrase, urge Urge) {
	if p.mild && m.mild.What == "" {
		m.mild = urge
	}
	if !p.mild && m.found.What == "" {
		m.found = urge
	}
}

// sentence ends all phrases.
func (m *match) sentence() {
	if m.pending != nil {
		m.settle(m.pending, m.wait)
		m.pending = nil
	}
	clear(m.reached[:])
}

// isAddress reports whether a word is part of where something can be sent to: a
// mail address, a URL or a telephone number. Addresses that are reserved for
// examples are none.
func isAddress(text string, w *word) bool {
	rest := text[w.end:]
	switch w.text() {
	case "http", "https":
		host, ok := strings.CutPrefix(rest, "://")
		return ok && !isExample(host)
	}
	if strings.HasPrefix(rest, "@") && w.before != '/' {
		return strings.Contains(domain(rest[1:]), ".") && !isExample(rest[1:])
	}
	return w.before == '+' && w.end-w.start >= 9 && w.letters[0] <= '9'
}

// domain returns the host name that text begins with.
func domain(text string) string {
	end := 0
	for end < len(text) && end < 253 && (isLetter(text[end]) || text[end] >= '0' && text[end] <= '9' || text[end] == '.' || text[end] == '-') {
		end++
	}
	return strings.Trim(text[:end], ".")
}

func isExample(text string) bool {
	host := strings.ToLower(domain(text))
	if !strings.Contains(host, ".") {
		return true // localhost, or a placeholder
	}
	names := []string{"example.com", "example.org", "example.net", "example", "test", "invalid", "localhost", "127.0.0.1"}
	return slices.ContainsFunc(names, func(name string) bool { return strings.HasSuffix("."+host, "."+name) })
}
