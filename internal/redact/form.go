package redact

import (
	_ "embed" // the table of the forms
	"fmt"
	"regexp"
	"strings"
)

// table has the forms of secrets that have an anchor of their own, and says how it is read.
//
//go:embed forms.tsv
var table string

// A form is what secrets of a kind look like: an anchor with parts around it.
type form struct {
	kind       string
	anchors    []string
	lead, tail *regexp.Regexp // before and behind the anchor; lead is nil if nothing is before it
	last       class          // of the last part of the tail; nil if it is a text, or there is none
	endless    bool           // it may have any number of bytes
}

const (
	// openRun is how many bytes behind an anchor are looked at to tell whether there is a
	// secret, and maxLead how many before it.
	openRun = 400
	maxLead = 100
)

// matcher returns what matches the form at an anchor of that length.
func (f *form) matcher(anchor int) func(string, int) (int, int) {
	return func(text string, at int) (int, int) {
		from, to := at, at+anchor
		if f.lead != nil {
			start := max(0, at-maxLead)
			lead := f.lead.FindStringIndex(text[start:at])
			if lead == nil {
				return 0, 0
			}
			from = start + lead[0]
		}
		tail := f.tail.FindStringIndex(text[to:min(len(text), to+openRun)])
		if tail == nil || !begins(text, from) {
			return 0, 0
		}
		to += tail[1]
		secret := text[at+anchor : to]
		if secret == "" {
			secret = text[from:at]
		}
		if plainWord(secret) {
			return 0, 0
		}
		if f.endless {
			to = run(text, to, len(text), f.last)
		} else if to < len(text) && (alnum(text[to]) || f.last != nil && f.last(text[to])) {
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
	lead, err := f.parseParts(columns[2])
	if err != nil {
		return f, err
	}
	tail, err := f.parseParts(columns[3])
	if err != nil {
		return f, err
	}
	if f.tail, err = regexp.Compile("^(?:" + tail + ")"); err == nil && lead != "" {
		f.lead, err = regexp.Compile("(?:" + lead + ")$")
	}
	return f, err
}

// parseParts returns the regular expression of parts, and notes what the last of them is.
func (f *form) parseParts(text string) (expr string, err error) {
	f.last, f.endless = nil, false
	words := strings.Fields(text)
	for i := 0; i < len(words); i++ {
		f.last, f.endless = classes[words[i]].has, false
		if f.last == nil {
			expr += regexp.QuoteMeta(words[i])
			continue
		}
		expr += "[" + classes[words[i]].expr + "]"
		if i++; i == len(words) {
			return "", fmt.Errorf("%s: %s has no number", text, words[i-1])
		}
		f.endless = strings.HasSuffix(words[i], "-")
		expr += "{" + strings.Replace(words[i], "-", ",", 1) + "}"
	}
	return expr, nil
}

// classes are those of the table, by their names there, as regular expressions have them.
var classes = map[string]struct {
	has  class
	expr string
}{
	"digit": {digit, `0-9`}, "hex": {hex, `0-9a-f`}, "upper": {upper, `0-9A-Z`}, "alnum": {alnum, `0-9A-Za-z`},
	"word": {word, `0-9A-Za-z_-`}, "dotted": {dotted, `0-9A-Za-z_.~-`}, "base": {base, `0-9A-Za-z+/=`}, "wide": {wide, `0-9A-Za-z_+/=-`},
}
