package content

import (
	"cmp"
	"slices"
	"strings"
)

const maxSuggestions = 3

// didYouMean returns the end of an error that has suggestions.
func didYouMean(suggestions []string) string {
	if len(suggestions) == 0 {
		return ""
	}
	quoted := make([]string, len(suggestions))
	for i, s := range suggestions {
		quoted[i] = shown(s)
	}
	last := len(quoted) - 1
	text := quoted[last]
	if last > 0 {
		text = strings.Join(quoted[:last], ", ") + " or " + text
	}
	return "; did you mean " + text + "?"
}

// nearest returns up to three of the names that may have been meant, the nearest
// first. Case and separators do not count.
func nearest(asked string, names []string) []string {
	type nearName struct {
		name  string
		edits int
	}
	asked = comparableName(asked)
	var near []nearName
	for _, name := range names {
		have := comparableName(name)
		limit := (max(len(asked), len(have)) + 2) / 4
		if edits := editsBetween(asked, have, limit); edits <= limit && asked != "" {
			near = append(near, nearName{name, edits})
		}
	}
	slices.SortStableFunc(near, func(a, b nearName) int { return cmp.Compare(a.edits, b.edits) })
	var found []string
	for _, n := range near[:min(len(near), maxSuggestions)] {
		found = append(found, n.name)
	}
	return found
}

// comparableName returns a name in lower case with one kind of separator, cut off
// where no name is that long.
func comparableName(name string) string {
	name = strings.ToLower(name[:min(len(name), maxShown)])
	return strings.Join(strings.FieldsFunc(name, func(r rune) bool { return strings.ContainsRune("_-./: ", r) }), "_")
}

// editsBetween returns how many bytes must be changed to make one of the other, or
// more than limit if those are more.
func editsBetween(a, b string, limit int) int {
	if len(a)-len(b) > limit || len(b)-len(a) > limit {
		return limit + 1
	}
	row := make([]int, len(a)+1)
	for i := range row {
		row[i] = i
	}
	for j := range len(b) {
		diagonal := row[0]
		row[0] = j + 1
		for i := range len(a) {
			substitute := diagonal
			if a[i] != b[j] {
				substitute++
			}
			diagonal = row[i+1]
			row[i+1] = min(substitute, row[i+1]+1, row[i]+1)
		}
	}
	return row[len(a)]
}
