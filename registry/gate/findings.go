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

// findings collects what is to be said of a tool: of one token and severity no more than are kept.
type findings struct{ list []Finding }

// add adds a finding. The place is in text, from start to end.
func (fs *findings) add(token string, severity Severity, field, text string, start, end int, detail string) {
	alike := 0
	for _, f := range fs.list {
		if f.Token == token && f.Severity == severity {
			alike++
		}
	}
	if alike < maxAlike {
		fs.list = append(fs.list, Finding{token, severity, clip(field, maxField), excerpt(text, start, end), detail})
	}
}

// Merge returns the findings of some lists together, the severest first, as many
// as are kept of one tool. It changes none of the lists.
func Merge(lists ...[]Finding) []Finding {
	all := slices.Concat(lists...)
	if len(all) == 0 {
		return nil
	}
	slices.SortStableFunc(all, func(a, b Finding) int { return int(b.Severity) - int(a.Severity) })
	count := map[string]int{}
	all = slices.DeleteFunc(all, func(f Finding) bool { count[f.Token]++; return count[f.Token] > maxAlike })
	return slices.Clip(all[:min(len(all), maxFindings)])
}

// excerpt returns the part of a text from start to end with a little around it,
// safe to print.
func excerpt(text string, start, end int) string {
	const around = 24
	from := runeBefore(text, max(start-around, 0))
	to := runeBefore(text, min(max(end+around, start+maxEvidence/2), start+maxEvidence))
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
	return plain.Cut(plain.Text(strings.ReplaceAll(plain.Cut(text, most), "\n", " ")), most)
}

// runeBefore returns the last place up to at where a character begins.
func runeBefore(text string, at int) int {
	if at >= len(text) {
		return len(text)
	}
	for at > 0 && !utf8.RuneStart(text[at]) {
		at--
	}
	return at
}
