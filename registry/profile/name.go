package profile

import (
	"crypto/sha256"
	"encoding/base32"
	"slices"
	"strconv"
	"strings"
)

// A nameRule says which names a provider takes: letters, digits, the underscore,
// the dash, and what is in also.
type nameRule struct {
	most        int    // bytes
	also        string // other characters
	letterFirst bool   // begins with a letter or an underscore
}

func (r nameRule) takes(name string) bool {
	if name == "" || len(name) > r.most {
		return false
	}
	for i := range len(name) {
		if !r.allows(name[i], i == 0) {
			return false
		}
	}
	return true
}

// allows reports whether a name may have c, at its beginning or further on.
func (r nameRule) allows(c byte, first bool) bool {
	switch {
	case 'a' <= c && c <= 'z' || 'A' <= c && c <= 'Z' || c == '_':
		return true
	case first && r.letterFirst:
		return false
	}
	return '0' <= c && c <= '9' || c == '-' || strings.IndexByte(r.also, c) >= 0
}

// clean returns name with each run of what the rule does not take replaced by an
// underscore.
func (r nameRule) clean(name string) string {
	var out strings.Builder
	replaced := false
	for i := 0; i < len(name) && out.Len() <= r.most; i++ {
		c := name[i]
		if out.Len() == 0 && !r.allows(c, true) && r.letterFirst {
			out.WriteByte('_')
		}
		switch {
		case r.allows(c, false):
			out.WriteByte(c)
			replaced = false
		case !replaced:
			out.WriteByte('_')
			replaced = true
		}
	}
	return out.String()
}

// changed returns what stands for a name that the rule does not take: as much of it
// as there is room for, and a hash of the whole. It does not depend on other names
// unless it is taken; then the round is counted up.
func (r nameRule) changed(name string, round int) string {
	const letters = 8
	sum := sha256.Sum256([]byte(strconv.Itoa(round) + ":" + name))
	hash := strings.ToLower(base32.StdEncoding.EncodeToString(sum[:5]))[:letters]
	kept := r.clean(name)
	if room := r.most - letters - 1; len(kept) > room {
		kept = kept[:room]
	}
	kept = strings.TrimRight(kept, "_-.")
	if kept == "" && r.letterFirst {
		kept = "_"
	}
	if kept == "" {
		return hash
	}
	return kept + "_" + hash
}

// assignNames returns names by their rules, by index, each another one. Names that
// a rule takes stay, so that a tool keeps its name whatever others are called. The
// names that come in must be different.
func assignNames(names []string, rule func(i int) nameRule) []string {
	var others []int // whose names are not taken
	for i, name := range names {
		if !rule(i).takes(name) {
			others = append(others, i)
		}
	}
	if others == nil {
		return names
	}
	taken := make(map[string]bool, len(names))
	for _, name := range names {
		taken[name] = true // also those that are not: they differ from all that are made
	}
	all := slices.Clone(names)
	for _, i := range others {
		name, r := names[i], rule(i)
		for round := 0; all[i] == name || taken[all[i]]; round++ {
			all[i] = r.changed(name, round)
		}
		taken[all[i]] = true
	}
	return all
}
