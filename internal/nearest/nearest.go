// Package nearest finds the name that was meant by one with a slip in it.
package nearest

import (
	"cmp"
	"regexp"
	"slices"
	"strings"
)

const (
	// maxEdits is how many slips a name may have at most.
	maxEdits = 6
	// maxName is how long a name may be, in bytes.
	maxName = 256
)

// Names returns the names that may be meant by another one, at most most, the nearest
// first and otherwise in the given order. Case and the separators _ - . / : and space
// do not count, and one slip in four letters is allowed, see [Edits]. Names of more
// than 256 bytes are not near to any.
func Names(asked string, names []string, most int) []string {
	type candidate struct {
		name  string
		edits int
	}
	asked, ok := fold(asked)
	if !ok {
		return nil
	}
	var near []candidate
	for _, name := range names {
		have, ok := fold(name)
		limit := min(maxEdits, (max(len(asked), len(have))+2)/4)
		if edits, found := Edits([]byte(asked), []byte(have), limit); found && ok {
			near = append(near, candidate{name, edits})
		}
	}
	slices.SortStableFunc(near, func(a, b candidate) int { return cmp.Compare(a.edits, b.edits) })
	var found []string
	for _, c := range near[:min(len(near), most)] {
		found = append(found, c.name)
	}
	return found
}

var separators = regexp.MustCompile(`[-_./: ]`)

func fold(name string) (folded string, ok bool) {
	if len(name) > maxName {
		return "", false
	}
	folded = separators.ReplaceAllString(strings.ToLower(name), "")
	return folded, folded != ""
}

// Edits returns how many letters have to be added, removed, changed or swapped with
// their neighbour to make b of a, if they are at most limit.
func Edits[T byte | rune](a, b []T, limit int) (edits int, ok bool) {
	if len(a)-len(b) > limit || len(b)-len(a) > limit {
		return 0, false
	}
	// Three rows of the table of distances between the beginnings of a and b. They
	// are on the stack for names as they usually are.
	const usual = 64
	var space [3 * (usual + 1)]int
	rows := space[:]
	size := len(b) + 1
	if size > usual+1 {
		rows = make([]int, 3*size)
	}
	row, above, before := rows[:size], rows[size:2*size], rows[2*size:3*size]
	for j := range row {
		row[j] = j
	}
	for i := 1; i <= len(a); i++ {
		row, above, before = before, row, above
		// Only cells within limit of the diagonal can be at most limit.
		from, to := max(1, i-limit), min(len(b), i+limit)
		row[0] = i
		if from > 1 {
			row[from-1] = limit + 1
		}
		least := row[from-1]
		for j := from; j <= to; j++ {
			d := above[j-1]
			if a[i-1] != b[j-1] {
				d = 1 + min(d, above[j], row[j-1])
				if i > 1 && j > 1 && a[i-1] == b[j-2] && a[i-2] == b[j-1] {
					d = min(d, 1+before[j-2])
				}
			}
			row[j] = d
			least = min(least, d)
		}
		if to < len(b) {
			row[to+1] = limit + 1
		}
		if least > limit {
			return 0, false
		}
	}
	d := row[len(b)]
	return d, d <= limit
}
