package redact

import "strings"

//go:generate go run ./gen

// A form is what secrets of a kind look like: an anchor with parts around it. The
// forms are in forms.tsv, of which gen makes the table.
type form struct {
	kind    string
	anchors []string
	lead    part   // before the anchor; the zero part if nothing is
	tail    []part // behind it
}

// A part is a text, or bytes of a class. Of the last part of a form there may be any
// number of bytes: then most is 0.
type part struct {
	text        string
	of          class
	least, most int
}

// openRun is how many bytes of a part without end are looked at to tell whether it is
// a secret.
const openRun = 400

// end returns the end of the part that begins at a place, or -1.
func (p part) end(text string, from int) int {
	if p.of == nil {
		if !strings.HasPrefix(text[from:], p.text) {
			return -1
		}
		return from + len(p.text)
	}
	limit := p.most + 1
	if p.most == 0 {
		limit = openRun
	}
	to := run(text, from, limit, p.of)
	if to-from < p.least || p.most > 0 && to-from > p.most {
		return -1
	}
	return to
}

// begin returns where the part begins that ends at a place, or -1.
func (p part) begin(text string, to int) int {
	if p.of == nil {
		return to
	}
	from := to
	for from > 0 && to-from <= p.most && p.of(text[from-1]) {
		from--
	}
	if to-from < p.least || to-from > p.most {
		return -1
	}
	return from
}

// matcher returns what matches the form at an anchor of that length.
func (f *form) matcher(anchor int) func(string, int) (int, int) {
	return func(text string, at int) (int, int) {
		from := f.lead.begin(text, at)
		if from < 0 || !begins(text, from) {
			return 0, 0
		}
		to := at + anchor
		for _, p := range f.tail {
			if to = p.end(text, to); to < 0 {
				return 0, 0
			}
		}
		secret := text[at+anchor : to]
		if secret == "" {
			secret = text[from:at]
		}
		if plainWord(secret) {
			return 0, 0
		}
		if last := len(f.tail) - 1; last >= 0 && f.tail[last].most == 0 {
			to = run(text, to, len(text), f.tail[last].of)
		} else if to < len(text) && alnum(text[to]) {
			return 0, 0 // the word goes on
		}
		for text[to-1] == '.' {
			to-- // the end of a sentence
		}
		return from, to
	}
}

// plainWord reports whether what should be a secret is a word or a placeholder: it has
// no digit and no change of case, or is one letter over and over.
func plainWord(text string) bool {
	if strings.Count(text, text[:1]) == len(text) {
		return true
	}
	if strings.ContainsAny(text, "0123456789") {
		return false
	}
	return strings.ToLower(text) == text || strings.ToUpper(text) == text
}
