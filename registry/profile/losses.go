package profile

import (
	"cmp"
	"fmt"
	"slices"
	"unicode/utf8"

	"github.com/mcpbelt/mcpbelt/internal/plain"
)

// maxLosses is how many losses of a tool are listed; what is beyond is counted.
const maxLosses = 256

// A ledger collects the losses of one tool.
type ledger struct {
	entries []entry
	seen    map[entryKey]bool
	more    map[Effect]int // beyond those that are kept
}

type entry struct {
	loss Loss
	at   *node // nil: what has no place
}

type entryKey struct {
	kind   Kind
	effect Effect
	at     *node
	detail string
}

// add notes a loss. The place is given by the nearest node that was read; a loss
// that was noted before is not noted again, such as that of a schema which several
// references were written out for.
func (l *ledger) add(kind Kind, effect Effect, at *node, format string, args ...any) {
	detail := fmt.Sprintf(format, args...)
	if at == nil || len(at.parts) == 0 {
		l.note(kind, effect, at, detail)
		return
	}
	parts := at.parts
	for i := 0; i < len(parts) && i < maxParts; i++ {
		if inner := parts[i].parts; len(inner) > 0 {
			parts = append(slices.Clip(parts), inner...)
			continue
		}
		l.note(kind, effect, parts[i], detail)
	}
}

// maxParts bounds how many places one loss is noted for.
const maxParts = 64

func (l *ledger) note(kind Kind, effect Effect, at *node, detail string) {
	key := entryKey{kind, effect, at, detail}
	if l.seen[key] {
		return
	}
	if l.seen == nil {
		l.seen = map[entryKey]bool{}
		l.more = map[Effect]int{}
	}
	if len(l.seen) >= 16*maxLosses {
		l.more[effect]++
		return
	}
	l.seen[key] = true
	l.entries = append(l.entries, entry{Loss{Kind: kind, Effect: effect, Detail: detail}, at})
}

// has reports whether a loss of one of some kinds was noted.
func (l *ledger) has(kinds ...Kind) bool {
	return slices.ContainsFunc(l.entries, func(e entry) bool { return slices.Contains(kinds, e.loss.Kind) })
}

// mark and reset take back what was noted after some moment.
func (l *ledger) mark() int { return len(l.entries) }

func (l *ledger) reset(mark int) {
	for _, e := range l.entries[mark:] {
		delete(l.seen, entryKey{e.loss.Kind, e.loss.Effect, e.at, e.loss.Detail})
	}
	l.entries = l.entries[:mark]
	clear(l.more) // nothing is beyond so few
}

// list returns the losses in the order of the places.
func (l *ledger) list() []Loss {
	if len(l.entries) == 0 {
		return nil
	}
	order := func(n *node) int {
		if n == nil {
			return -1
		}
		return n.at
	}
	slices.SortStableFunc(l.entries, func(a, b entry) int { return cmp.Compare(order(a.at), order(b.at)) })
	kept := min(len(l.entries), maxLosses)
	all := make([]Loss, 0, kept)
	for _, e := range l.entries[:kept] {
		if e.at != nil {
			e.loss.Path = e.at.path()
		}
		all = append(all, e.loss)
	}
	for _, e := range l.entries[kept:] {
		l.more[e.loss.Effect]++
	}
	for _, effect := range []Effect{Looser, Narrower, Recoded, Unsaid} {
		if n := l.more[effect]; n > 0 {
			all = append(all, Loss{Kind: MoreLosses, Effect: effect, Detail: fmt.Sprintf("%d more losses of this effect", n)})
		}
	}
	return all
}

// quoted returns a text of the schema for a detail, shortened.
func quoted(text string) string {
	const most = 80
	if len(text) > most {
		cut := most
		for cut > 0 && !utf8.RuneStart(text[cut]) {
			cut--
		}
		text = text[:cut] + "…"
	}
	return `"` + plain.Line(text) + `"`
}
