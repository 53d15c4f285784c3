package redact

import (
	"cmp"
	_ "embed" // the table of the forms
	"fmt"
	"strconv"
	"strings"
)

// table has the forms of secrets that have an anchor of their own, and says how it is read.
//
//go:embed forms.tsv
var table string

// A form is what secrets of a kind look like: an anchor with parts around it.
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
		if plainWord(cmp.Or(text[at+anchor:to], text[from:at])) {
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

// parseForms reads the forms of a table.
func parseForms(table string) (forms []form, err error) {
	for n, line := range strings.Split(table, "\n") {
		if line == "" || line[0] == '#' {
			continue
		}
		f, err := parseForm(line)
		if err != nil {
			return nil, fmt.Errorf("line %d: %w", n+1, err)
		}
		forms = append(forms, f)
	}
	return forms, nil
}

func parseForm(line string) (f form, err error) {
	columns := strings.Split(line, "\t")
	if len(columns) != 5 {
		return f, fmt.Errorf("%d columns, want 5", len(columns))
	}
	f.kind = columns[0]
	for _, anchor := range strings.Fields(columns[1]) {
		f.anchors = append(f.anchors, strings.ReplaceAll(anchor, `\s`, " "))
	}
	lead, err := parseParts(columns[2])
	if err == nil {
		f.tail, err = parseParts(columns[3])
	}
	if len(lead) > 0 {
		f.lead = lead[0]
	}
	return f, err
}

func parseParts(text string) (parts []part, err error) {
	classes := map[string]class{
		"digit": digit, "hex": hex, "upper": upper, "alnum": alnum, "word": word, "dotted": dotted, "base": base, "wide": wide,
	}
	words := strings.Fields(text)
	for i := 0; i < len(words); i++ {
		of := classes[words[i]]
		if of == nil {
			parts = append(parts, part{text: words[i]})
			continue
		}
		p := part{of: of}
		if i++; i == len(words) {
			return nil, fmt.Errorf("%s: %s has no number", text, words[i-1])
		}
		from, to, span := strings.Cut(words[i], "-")
		if p.least, err = strconv.Atoi(from); err != nil {
			return nil, err
		}
		if p.most = p.least; span {
			if p.most = 0; to != "" {
				if p.most, err = strconv.Atoi(to); err != nil {
					return nil, err
				}
			}
		}
		parts = append(parts, p)
	}
	return parts, nil
}
