package config

import (
	"cmp"
	"errors"
	"fmt"
	"strings"

	"github.com/mcpbelt/mcpbelt/internal/dialect"
	"github.com/mcpbelt/mcpbelt/internal/jsonc"
)

// A claim is the name that an entry gets.
type claim struct {
	name  string // unique in the file, also if fault is set
	fault error  // why the entry cannot be used under its own name
}

// claimNames gives each entry its name. Entries that are written as a name
// keep it, whatever the order; then the others get theirs, first come first
// served.
func claimNames(members []dialect.Entry) []claim {
	claims := make([]claim, len(members))
	taken := make(map[string]string, len(members)) // name to title
	for _, exact := range []bool{true, false} {
		for i := range members {
			title := members[i].Title
			name := dialect.ServerName(title)
			other, used := taken[name]
			switch {
			case claims[i].name != "" || exact && (used || name == "" || name != title):
			case name == "":
				claims[i].fault = errors.New("the server's name has no ASCII letter or digit: rename it")
			case len(dialect.Sanitize(title)) > dialect.MaxTitle:
				claims[i].fault = fmt.Errorf("the server's name is longer than %d characters: shorten it", dialect.MaxTitle)
			case used && other == title: // which only a list can have
				claims[i].fault = errors.New("another server of the list has this name: rename one of them")
			case used:
				claims[i].fault = fmt.Errorf("the server's name becomes %s, as that of %s does: rename one of them",
					name, jsonc.Path("").Key(other))
			default:
				claims[i].name, taken[name] = name, title
			}
		}
	}
	nameFaulty(claims, members, taken)
	return claims
}

// nameFaulty gives the entries that got no name one with a number, so that
// they too can be told apart. It comes last: a bad entry takes no other's name.
func nameFaulty(claims []claim, members []dialect.Entry, taken map[string]string) {
	last := make(map[string]int) // name to the last number put behind it
	for i := range claims {
		if claims[i].fault == nil {
			continue
		}
		base := dialect.Sanitize(members[i].Title)
		const room = 10 // for the number
		base = cmp.Or(strings.TrimRight(base[:min(len(base), dialect.MaxName-room)], "_"), "server")
		for used := true; used; {
			last[base]++
			claims[i].name = fmt.Sprintf("%s_%d", base, last[base]+1)
			_, used = taken[claims[i].name]
		}
		taken[claims[i].name] = members[i].Title
	}
}
