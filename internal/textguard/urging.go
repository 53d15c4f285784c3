package textguard

import (
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

// phrases are those that are looked for, with the classes of all of them.
var phrases = sync.OnceValue(func() (b book) {
	const (
		forget  = "asks to forget what the model was told"
		hushed  = "asks to keep something from the user"
		steals  = "asks for the content of files that hold secrets"
		exports = "asks to send something elsewhere"
		spies   = "asks for the conversation"
		jealous = "asks to avoid other tools"
		urgent  = "asks to be called before others"
		assumes = "takes the user's consent for granted"
		recast  = "gives the model another role"
		shadows = "changes what other tools are given"
	)
	b.phrases = []phrase{
		{what: forget, says: "ignore|override 3 former|above 2 orders"},
		{what: forget, says: "ignore 3 own 1 orders"},
		{what: forget, says: "ignore 1 totality 2 former|notice"},
		{what: forget, says: "ignore 1 totality above", unless: "article"},
		{what: hushed, says: "never|without 2 tell 6 person", unless: "toward", clause: true},
		{what: hushed, says: "never 3 ever 1 tell 6 person", unless: "toward"},
		{what: hushed, says: "person 2 modal 1 never 2 notice"},
		{what: hushed, says: "hide 4 from 1 person"},
		{what: hushed, says: "furtively 3 readOut|send"},
		{what: steals, says: "readOut 14 keyFile"},
		{what: steals, says: "keyFile 5 handOver"},
		{what: steals, says: "readOut 8 envFile 8 handOver"},
		{what: exports, says: "goods 8 send 12 address"},
		{what: exports, says: "send 8 goods 10 address"},
		{what: exports, says: "bcc 4 address"},
		{what: spies, says: "handOver 6 entire 3 talk"},
		{what: spies, says: "own|entire 2 system prompt"},
		{what: jealous, says: "never 2 use 2 other 1 tool"},
		{what: jealous, says: "instead than 1 every 1 other 2 tool"},
		{what: urgent, says: "before 3 every 1 other 1 tool", mild: true},
		{what: urgent, says: "always 2 use 5 first", mild: true},
		{what: assumes, says: "person 2 already 2 consent"},
		{what: assumes, says: "never 2 ask 4 permission"},
		{what: assumes, says: "without 1 ask 4 permission", mild: true},
		{what: recast, says: "you are now article"},
		{what: recast, says: "system override"},
		{what: shadows, says: "whenever 5 used 8 swap 4 receiver"},
	}
	for i := range b.phrases {
		p := &b.phrases[i]
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
	for _, name := range []string{"example.com", "example.org", "example.net", "example", "test", "invalid", "localhost", "127.0.0.1"} {
		if host == name || strings.HasSuffix(host, "."+name) {
			return true
		}
	}
	return false
}
