package config

import (
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"strings"

	"github.com/mcpbelt/mcpbelt/internal/dialect"
	"github.com/mcpbelt/mcpbelt/internal/jsonc"
)

// maxName is the limit of a server's name in bytes: it is half of the name of
// each tool, and models take tool names of 64 to 128.
const maxName = 64

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
		if _, used := taken[title]; used || title == "" || sanitize(title) != title || len(title) > maxName {
			continue
		}
		claims[i].name = title
		taken[title] = title
	}
	for i := range members {
		if claims[i].name != "" {
			continue
		}
		name := serverName(members[i].Title)
		other, used := taken[name]
		switch {
		case name == "":
			claims[i].fault = errors.New("the server's name has no ASCII letter or digit: rename it")
		case len(sanitize(members[i].Title)) > maxTitle:
			claims[i].fault = fmt.Errorf("the server's name is longer than %d characters: shorten it", maxTitle)
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
// they too can be told apart. It comes last: a bad entry takes nobody's name.
func nameFaulty(claims []claim, members []dialect.Entry, taken map[string]string) {
	last := make(map[string]int) // name to the last number put behind it
	for i := range claims {
		if claims[i].fault == nil {
			continue
		}
		base := sanitize(members[i].Title)
		const room = 10 // for the number
		base = strings.TrimRight(base[:min(len(base), maxName-room)], "_")
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

// serverName turns a title into the name of its server: what sanitize makes of it, of
// which a long one is cut and told from its like by a hash of the title.
func serverName(title string) string {
	const room = 9 // for _ and the hash
	name := sanitize(title)
	if len(name) <= maxName {
		return name
	}
	sum := sha256.Sum256([]byte(title))
	return strings.TrimRight(name[:maxName-room], "_") + "_" + hex.EncodeToString(sum[:4])
}

// sanitize turns a title into a name of [A-Za-z0-9_-] that starts with a letter
// or digit: other characters become '_', runs of '_' become one, those at the
// ends go. So the first "__" in the full name of a tool is always the end of
// its server's name. It returns "" if nothing is left.
func sanitize(title string) string {
	var b strings.Builder
	gap := false
	for _, r := range title {
		switch {
		case 'a' <= r && r <= 'z', 'A' <= r && r <= 'Z', '0' <= r && r <= '9', r == '-' && b.Len() > 0:
			if gap && b.Len() > 0 {
				b.WriteByte('_')
			}
			gap = false
			b.WriteRune(r)
		default:
			gap = true
		}
	}
	return b.String()
}
