package profile

import (
	"crypto/sha256"
	"encoding/base32"
	"regexp"
	"slices"
	"strconv"
	"strings"
)

// A nameRule says which names a provider takes: letters, digits, the underscore,
// the dash, and perhaps the dot.
type nameRule struct {
	most        int  // bytes
	dot         bool // names may have one
	letterFirst bool // begins with a letter or an underscore
}

var (
	badInName   = regexp.MustCompile(`[^A-Za-z0-9_.-]+`)
	badOrDot    = regexp.MustCompile(`[^A-Za-z0-9_-]+`)
	startOfName = regexp.MustCompile(`^[A-Za-z_]`)
)

// bad matches what the rule does not take.
func (r nameRule) bad() *regexp.Regexp {
	if r.dot {
		return badInName
	}
	return badOrDot
}

func (r nameRule) takes(name string) bool {
	return name != "" && len(name) <= r.most && !r.bad().MatchString(name) && !(r.letterFirst && !startOfName.MatchString(name))
}

// clean returns name with each run of what the rule does not take replaced by an
// underscore.
func (r nameRule) clean(name string) string {
	name = r.bad().ReplaceAllString(name, "_")
	if r.letterFirst && name != "" && !startOfName.MatchString(name) {
		name = "_" + name
	}
	return name[:min(len(name), r.most+1)]
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
