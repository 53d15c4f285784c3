package textguard

import (
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
	steps  []step
	unless class // not if the next word is one of these
	mild   bool
	clause bool  // the words before the last are within one part of a sentence
	any    class // all classes of the steps
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

func phrases() []phrase {
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
	return []phrase{
		{what: forget, steps: []step{{ignore | override, 0}, {former | above, 3}, {orders, 2}}},
		{what: forget, steps: []step{{ignore, 0}, {own, 3}, {orders, 1}}},
		{what: forget, steps: []step{{ignore, 0}, {totality, 1}, {former | notice, 2}}},
		{what: forget, steps: []step{{ignore, 0}, {totality, 1}, {above, 0}}, unless: article},
		{what: hushed, steps: []step{{never | without, 0}, {tell, 2}, {person, 6}}, unless: toward, clause: true},
		{what: hushed, steps: []step{{never, 0}, {ever, 3}, {tell, 1}, {person, 6}}, unless: toward},
		{what: hushed, steps: []step{{person, 0}, {modal, 2}, {never, 1}, {notice, 2}}},
		{what: hushed, steps: []step{{hide, 0}, {from, 4}, {person, 1}}},
		{what: hushed, steps: []step{{furtively, 0}, {readOut | send, 3}}},
		{what: steals, steps: []step{{readOut, 0}, {keyFile, 14}}},
		{what: steals, steps: []step{{keyFile, 0}, {handOver, 5}}},
		{what: steals, steps: []step{{readOut, 0}, {envFile, 8}, {handOver, 8}}},
		{what: exports, steps: []step{{goods, 0}, {send, 8}, {address, 12}}},
		{what: exports, steps: []step{{send, 0}, {goods, 8}, {address, 10}}},
		{what: exports, steps: []step{{bcc, 0}, {address, 4}}},
		{what: spies, steps: []step{{handOver, 0}, {entire, 6}, {talk, 3}}},
		{what: spies, steps: []step{{own | entire, 0}, {system, 2}, {prompt, 0}}},
		{what: jealous, steps: []step{{never, 0}, {use, 2}, {other, 2}, {tool, 1}}},
		{what: jealous, steps: []step{{instead, 0}, {than, 0}, {every, 1}, {other, 1}, {tool, 2}}},
		{what: urgent, steps: []step{{before, 0}, {every, 3}, {other, 1}, {tool, 1}}, mild: true},
		{what: urgent, steps: []step{{always, 0}, {use, 2}, {first, 5}}, mild: true},
		{what: assumes, steps: []step{{person, 0}, {already, 2}, {consent, 2}}},
		{what: assumes, steps: []step{{never, 0}, {ask, 2}, {permission, 4}}},
		{what: assumes, steps: []step{{without, 0}, {ask, 1}, {permission, 4}}, mild: true},
		{what: recast, steps: []step{{you, 0}, {are, 0}, {now, 0}, {article, 0}}},
		{what: recast, steps: []step{{system, 0}, {override, 0}}},
		{what: shadows, steps: []step{{whenever, 0}, {used, 5}, {swap, 8}, {receiver, 4}}},
	}
}

// A book holds the phrases that are looked for. It does not change.
type book struct {
	phrases []phrase
	steps   class // of the words of all phrases
}

var theBook = sync.OnceValue(func() *book {
	b := &book{phrases: phrases()}
	for i := range b.phrases {
		p := &b.phrases[i]
		for _, s := range p.steps {
			p.any |= s.class
		}
		b.steps |= p.any
	}
	return b
})

// Urging returns the first place in the text that urges; the first mild one if
// there are no others.
func Urging(text string) (Urge, bool) {
	if urge, ok := tag(text); ok {
		return urge, true
	}
	m := match{book: theBook()}
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
	book    *book
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
		if m.pending = nil; c&p.unless == 0 {
			m.settle(p, m.wait)
		}
	}
	if c&m.book.steps == 0 {
		return m.found.What != ""
	}
	for i := range m.book.phrases {
		p := &m.book.phrases[i]
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
			if p.unless != 0 {
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
