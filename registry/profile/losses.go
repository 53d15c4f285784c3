package profile

import (
	"cmp"
	"fmt"
	"slices"

	"github.com/mcpbelt/mcpbelt/internal/plain"
)

// maxLosses is how many losses of a tool are listed; what is beyond is counted.
const maxLosses = 256

// A ledger collects the losses of one tool.
type ledger struct {
	entries []entry
	seen    map[entry]bool
	// isReshaped says that the schema is another one than the tool's, for it has
	// alternatives at the root or is too large.
	isReshaped bool
}

type entry struct {
	loss Loss
	at   *node // nil: what has no place
}

// add notes a loss. The place is given by the nearest node that was read; a loss
// that was noted before is not noted again, such as that of a schema which several
// references were written out for.
func (l *ledger) add(effect Effect, at *node, format string, args ...any) {
	e := entry{Loss{Effect: effect, Detail: fmt.Sprintf(format, args...)}, at}
	if l.seen[e] || len(l.seen) >= 16*maxLosses {
		return
	}
	if l.seen == nil {
		l.seen = map[entry]bool{}
	}
	l.seen[e] = true
	l.entries = append(l.entries, e)
}

// reshaped is add for a schema that becomes another one.
func (l *ledger) reshaped(effect Effect, at *node, format string, args ...any) {
	l.isReshaped = true
	l.add(effect, at, format, args...)
}

// mark and reset take back what was noted after some moment.
func (l *ledger) mark() int { return len(l.entries) }

func (l *ledger) reset(mark int) {
	for _, e := range l.entries[mark:] {
		delete(l.seen, e)
	}
	l.entries, l.isReshaped = l.entries[:mark], false
}

// list returns the losses in the order of the places.
func (l *ledger) list() []Loss {
	order := func(n *node) int {
		if n == nil {
			return -1
		}
		return n.at
	}
	slices.SortStableFunc(l.entries, func(a, b entry) int { return cmp.Compare(order(a.at), order(b.at)) })
	var all []Loss
	for i, e := range l.entries {
		if i == maxLosses {
			return append(all, Loss{Effect: Looser, Detail: fmt.Sprintf("%d more losses", len(l.entries)-maxLosses)})
		}
		if e.at != nil {
			e.loss.Path = e.at.path()
		}
		all = append(all, e.loss)
	}
	return all
}

// quoted returns a text of the schema for a detail, shortened.
func quoted(text string) string { return `"` + plain.Line(plain.Cut(text, 80)) + `"` }
