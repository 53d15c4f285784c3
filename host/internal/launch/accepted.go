package launch

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/mcpbelt/mcpbelt/registry/ledger"
)

const (
	acceptedBy   = 3  // deciders that are named
	acceptedName = 64 // characters of one's name
)

// AcceptedTools says, in one line, how many tools of a server the ledger counts as accepted,
// who accepted them and until when: the ledger may have come with a project. It is empty
// if there are none.
func AcceptedTools(accepted *ledger.Ledger, server, place string) string {
	type decider struct {
		by    string
		tools int
		last  time.Time
	}
	accepted, _ = accepted.At(place)
	var deciders []*decider
	for _, e := range accepted.Entries(server) {
		if e.Tool == "" || e.Rejected {
			continue
		}
		i := slices.IndexFunc(deciders, func(d *decider) bool { return d.by == e.By })
		if i < 0 {
			i = len(deciders)
			deciders = append(deciders, &decider{by: e.By})
		}
		d := deciders[i]
		d.tools++
		if e.At.After(d.last) {
			d.last = e.At
		}
	}
	if len(deciders) == 0 {
		return ""
	}
	slices.SortStableFunc(deciders, func(a, b *decider) int { return b.last.Compare(a.last) })
	var by []string
	for _, d := range deciders[:min(len(deciders), acceptedBy)] {
		name := []rune(d.by)
		by = append(by, fmt.Sprintf("%d by %q until %s", d.tools, string(name[:min(len(name), acceptedName)]), d.last.UTC().Format(time.DateOnly)))
	}
	if more := len(deciders) - len(by); more > 0 {
		by = append(by, fmt.Sprintf("and by %d others", more))
	}
	text := strings.Join(by, ", ")
	if file := accepted.File(); file != "" {
		text += fmt.Sprintf(", in the ledger %q", file)
	}
	return text
}
