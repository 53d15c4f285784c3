package gate

import (
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/mcpbelt/mcpbelt/internal/plain"
)

const (
	// maxFindings is how many findings are kept of a tool, the severest.
	maxFindings = 16
	// maxAlike is how many of them have one token, so that no kind of finding can
	// hide another.
	maxAlike = 4
	// maxEvidence and maxField are the lengths of texts in a finding, in bytes.
	maxEvidence = 120
	maxField    = 200
)

// findings collects what is to be said of a tool.
type findings struct{ list []Finding }

// add adds a finding, if it is severe enough to be kept. The place is in text, from start
// to end.
func (fs *findings) add(token Token, severity Severity, field, text string, start, end int, detail string) {
	place := fs.place(token, severity)
	if place < 0 {
		return
	}
	f := Finding{token, severity, clip(field, maxField), excerpt(text, start, end), detail}
	if place < len(fs.list) {
		fs.list = slices.Delete(fs.list, place, place+1)
	}
	fs.list = append(fs.list, f)
}

// place returns where in the list there is room for a finding, or that of a milder
// one that makes room; -1 if there is neither.
func (fs *findings) place(token Token, severity Severity) int {
	alike, mildest, mildestAlike := 0, -1, -1
	for i, f := range fs.list {
		if mildest < 0 || f.Severity <= fs.list[mildest].Severity {
			mildest = i
		}
		if f.Token != token {
			continue
		}
		alike++
		if mildestAlike < 0 || f.Severity <= fs.list[mildestAlike].Severity {
			mildestAlike = i
		}
	}
	victim := mildest
	switch {
	case alike >= maxAlike:
		victim = mildestAlike
	case len(fs.list) < maxFindings:
		return len(fs.list)
	}
	if fs.list[victim].Severity < severity {
		return victim
	}
	return -1
}

func (fs *findings) sorted() []Finding { return Merge(fs.list) }

// Merge returns the findings of some lists together, the severest first, as many
// as are kept of one tool. It changes none of the lists.
func Merge(lists ...[]Finding) []Finding {
	all := slices.Concat(lists...)
	slices.SortStableFunc(all, func(a, b Finding) int { return int(b.Severity) - int(a.Severity) })
	return all[:min(len(all), maxFindings):min(len(all), maxFindings)]
}

// excerpt returns the part of a text from start to end with a little around it,
// safe to print.
func excerpt(text string, start, end int) string {
	const around = 24
	from := max(start-around, 0)
	to := min(max(end+around, start+maxEvidence/2), start+maxEvidence, len(text))
	for from > 0 && !utf8.RuneStart(text[from]) {
		from--
	}
	for to < len(text) && !utf8.RuneStart(text[to]) {
		to++
	}
	before, after := "", ""
	if from > 0 {
		before = "…"
	}
	if to < len(text) {
		after = "…"
	}
	return clip(before+text[from:to]+after, maxEvidence)
}

// clip makes a text safe to print on one line of at most so many bytes.
func clip(text string, most int) string {
	short := text
	if len(text) > most {
		short = text[:runeBefore(text, most)]
	}
	safe := plain.Text(strings.ReplaceAll(short, "\n", " "))
	if len(safe) <= most && len(short) == len(text) {
		return safe
	}
	return safe[:runeBefore(safe, most-len("…"))] + "…"
}

// runeBefore returns the last place up to at where a character begins.
func runeBefore(text string, at int) int {
	at = min(at, len(text))
	for at > 0 && at < len(text) && !utf8.RuneStart(text[at]) {
		at--
	}
	return at
}
