package layers

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/mcpbelt/mcpbelt/internal/assert"
)

// golden compares lines, which it sorts, with the lines of testdata/name that
// are no comments. With -update it writes the file instead. If the test saw a part
// of what the file tells of, part turns each line of the file into what the
// test should have seen of it, and reports whether it should have seen any.
func golden(t *testing.T, name, heading string, lines []string, part func(line string) (string, bool)) {
	t.Helper()
	lines = slices.Clone(lines)
	slices.Sort(lines)
	path := filepath.Join("testdata", name)
	if *update {
		text := "# " + heading + "\n# Written by `make api`.\n" + strings.Join(lines, "\n") + "\n"
		assert.OK(t, os.WriteFile(path, []byte(text), 0o644))
		return
	}
	data, err := os.ReadFile(path)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		t.Fatal(err)
	}
	var want []string
	for line := range strings.Lines(string(data)) {
		line = strings.TrimRight(line, "\r\n")
		ok := line != "" && !strings.HasPrefix(line, "#")
		if ok && part != nil {
			line, ok = part(line)
		}
		if ok {
			want = append(want, line)
		}
	}
	slices.Sort(want)
	if diff := diffSorted(want, lines); len(diff) > 0 {
		t.Errorf("%s differs (- was, + is now):\n\t%s\nIf the change is meant, run `make api` and commit the file.",
			path, strings.Join(diff, "\n\t"))
	}
}

// diffSorted returns the lines that are in only one of two sorted lists.
func diffSorted(old, new []string) []string {
	var diff []string
	for len(old) > 0 || len(new) > 0 {
		switch {
		case len(new) == 0 || len(old) > 0 && old[0] < new[0]:
			diff = append(diff, "- "+old[0])
			old = old[1:]
		case len(old) == 0 || new[0] < old[0]:
			diff = append(diff, "+ "+new[0])
			new = new[1:]
		default:
			old, new = old[1:], new[1:]
		}
	}
	return diff
}

func TestDiffSorted(t *testing.T) {
	assert.Equal(t, fmt.Sprintf("%q", diffSorted([]string{"a", "b", "d"}, []string{"a", "c", "d", "e"})), `["- b" "+ c" "+ e"]`, "diff")
	assert.Equal(t, len(diffSorted([]string{"a"}, []string{"a"})), 0, "diff of equal lists")
}
