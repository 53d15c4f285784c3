package redact

import (
	"cmp"
	_ "embed" // the table of the forms
	"regexp"
	"strings"
	"sync"
)

// table has the forms of secrets that have an anchor of their own, and says how it is read.
//
//go:embed forms.tsv
var table string

const (
	// maxLead is how many bytes before an anchor are looked at.
	maxLead = 100
	// maxTail is how many bytes behind one are looked at to tell whether it is a secret.
	maxTail = 400
)

// tableRules returns the rules of a table: one for each anchor of each form.
func tableRules(table string) (rules []rule) {
	for line := range strings.Lines(table) {
		if line[0] == '#' {
			continue
		}
		columns := strings.Split(line, "\t")
		lead := sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`(?:` + columns[2] + `)$`) })
		tail := sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`^(?:` + columns[3] + `)`) })
		for _, anchor := range strings.Fields(columns[1]) {
			anchor = strings.ReplaceAll(anchor, `\s`, " ")
			rules = append(rules, rule{columns[0], anchor, func(text string, at int) (int, int) {
				from := at
				if columns[2] != "" {
					before := text[max(0, at-maxLead):at]
					found := lead().FindStringIndex(before)
					if found == nil {
						return 0, 0
					}
					from -= len(before) - found[0]
				}
				if !begins(text, from) {
					return 0, 0
				}
				return from, endOf(tail(), text, from, at+len(anchor))
			}})
		}
	}
	return rules
}

// endOf returns the end of the secret that begins at from and whose tail is looked for at a place; 0 if
// it is none.
func endOf(tail *regexp.Regexp, text string, from, at int) int {
	found := tail.FindStringIndex(text[at:min(len(text), at+maxTail)])
	if found == nil || plainWord(cmp.Or(text[at:at+found[1]], text[from:at])) {
		return 0
	}
	if found[1] == maxTail {
		found = tail.FindStringIndex(text[at:])
	}
	to := at + found[1]
	if to < len(text) && alnum(text[to]) {
		return 0 // the word goes on
	}
	return len(strings.TrimRight(text[:to], ".")) // without the end of a sentence
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
