package main

import (
	"cmp"
	"fmt"
	"io"
	"strings"
)

// steep is the exponent above which a figure of this library needs an explanation.
const steep = 1.1

// unexplained stands in the place of an explanation that there is not. A test finds it in
// what make growth has written.
const unexplained = "unexplained: measure it on a quiet machine; then mend it, or say in whyOf why"

// whyOf explains why a figure of a subject grows faster than its work; empty: there is no explanation.
func whyOf(axis, subject, figure string) string {
	switch axis + ", " + figure {
	case "tools, next turn, µs":
		return "of each tool some six places in memory are read, and some 245 bytes are written, whatever the number of tools. " +
			"What a thousand tools take is in the second-level cache of a core; what ten thousand take is not. " +
			"The garbage collector, which runs once in a dozen turns, has no part in it: without it the figures are the same."
	case "ledger, fill, ms":
		if subject != "with a ledger" {
			break
		}
		return "the servers come one after the other, and for each the ledger writes its file, which has all tools before it."
	case "first start, fill, ms":
		if subject != "8 at once, ledger" {
			break
		}
		return "eight servers share a write, and the file has all tools before them; a host starts its servers all at the same time, which takes a few writes."
	case "callers, refused/s":
		return "a server has places for some 1,100 callers, and those beyond them are refused: N less a constant grows faster than N."
	}
	return ""
}

// writeWhys writes the explanations of an axis's exponents, as far as they are steep. What
// the SDK costs is not explained.
func (r *results) writeWhys(w io.Writer, a axis) {
	begun := false
	for _, figure := range r.figuresOf(a) {
		for _, s := range r.series(a, figure) {
			b, ok := s.exponent()
			if !ok || b <= steep || strings.HasPrefix(s.subject, "sdk") {
				continue
			}
			if !begun {
				fmt.Fprintf(w, "\nExponents above %.1f:\n\n", steep)
				begun = true
			}
			fmt.Fprintf(w, "- %s, %s, %.2f: %s\n", figure, s.subject, b, cmp.Or(whyOf(a.name, s.subject, figure), unexplained))
		}
	}
}
