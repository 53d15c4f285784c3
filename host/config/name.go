package config

import (
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
	for i := range members {
		title := members[i].Title
		if _, used := taken[title]; used || title == "" || dialect.Sanitize(title) != title || len(title) > dialect.MaxName {
			continue
		}
		claims[i].name = title
		taken[title] = title
	}
	for i := range members {
		if claims[i].name != "" {
			continue
		}
		name := dialect.ServerName(members[i].Title)
		other, used := taken[name]
		switch {
		case name == "":
			claims[i].fault = errors.New("the server's name has no ASCII letter or digit: rename it")
		case len(dialect.Sanitize(members[i].Title)) > dialect.MaxTitle:
			claims[i].fault = fmt.Errorf("the server's name is longer than %d characters: shorten it", dialect.MaxTitle)
		case used && other == members[i].Title: // which only a list can have
			claims[i].fault = errors.New("another server of the list has this name: rename one of them")
		case used:
			claims[i].fault = fmt.Errorf("the server's name becomes %s, as that of %s does: rename one of them",
				name, jsonc.Path("").Key(other))
		default:
			claims[i].name = name
			taken[name] = members[i].Title
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
		base = strings.TrimRight(base[:min(len(base), dialect.MaxName-room)], "_")
		if base == "" {
			base = "server"
		}
		for used := true; used; {
			last[base]++
			claims[i].name = fmt.Sprintf("%s_%d", base, last[base]+1)
			_, used = taken[claims[i].name]
		}
		taken[claims[i].name] = members[i].Title
	}
}
