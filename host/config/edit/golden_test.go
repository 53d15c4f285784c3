// Tests with the files of testdata: steps of edits, what they make, and that it is valid.

package edit

import (
	"context"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/mcpbelt/mcpbelt/host/config"
	"github.com/mcpbelt/mcpbelt/host/record"
	"github.com/mcpbelt/mcpbelt/internal/assert"
)

var updateEdits = flag.Bool("update-edits", false, "write what the edits make into testdata/edit")

// A step is one line of a file *.steps: what to do, to which server, and the JSON of the
// record or patch.
func doStep(t *testing.T, f memoryFile, line string) error {
	t.Helper()
	verb, rest, _ := strings.Cut(line, " ")
	name, text, _ := strings.Cut(rest, " ")
	name = strings.ReplaceAll(name, "+", " ")
	var p record.Patch
	var err error
	switch verb {
	case "set", "add", "put":
		err = json.Unmarshal([]byte(text), &p)
	}
	assert.OK(t, err, "%s", line)
	switch verb {
	case "add":
		p.Values.Title = name
		return f.Add(&p.Values)
	case "put":
		p.Values.Title = name
		return f.write(name, &p.Values)
	case "set":
		return f.Set(name, &p)
	case "remove":
		return f.remove(name)
	default:
		t.Fatalf("unknown step %s", line)
		return nil
	}
}

// TestEditGolden makes the steps of each testdata/edit/*.steps in the file that is named
// in its first line, and compares with *.want.
func TestEditGolden(t *testing.T) {
	t.Parallel()
	files := assert.Value(filepath.Glob(filepath.Join("testdata", "edit", "*.steps")))(t)
	assert.True(t, len(files) != 0, "there are files")
	for _, file := range files {
		base := strings.TrimSuffix(file, ".steps")
		t.Run(filepath.Base(base), func(t *testing.T) {
			lines := strings.Split(strings.TrimSpace(string(assert.Value(os.ReadFile(file))(t))), "\n")
			name, format, _ := strings.Cut(lines[0], " ")
			var data []byte
			if name != "-" {
				data = assert.Value(os.ReadFile(filepath.Join("..", "testdata", filepath.FromSlash(name))))(t)
			}
			f := memoryFile{assert.Value(newDraft(filepath.Join(t.TempDir(), filepath.Base(name)), data, &config.Options{Format: format}))(t)}
			for _, line := range lines[1:] {
				if want, line, ok := cutPrefixSpace(line, "error:"); ok {
					before := string(f.data)
					err := doStep(t, f, line)
					assert.Contains(t, fmt.Sprint(err), want, "%s", line)
					assert.As[*editError](t, err)
					assert.Equal(t, string(f.data), before)
					continue
				}
				assert.OK(t, doStep(t, f, line), "%s", line)
			}
			want := base + ".want"
			if *updateEdits {
				assert.OK(t, os.WriteFile(want, f.data, 0o644))
			}
			assert.Equal(t, string(assert.Value(os.ReadFile(want))(t)), string(f.data))
		})
	}
}

// cutPrefixSpace splits "error:some_words step" into the words and the step.
func cutPrefixSpace(line, prefix string) (words, rest string, ok bool) {
	after, ok := strings.CutPrefix(line, prefix)
	if !ok {
		return "", line, false
	}
	words, rest, _ = strings.Cut(after, " ")
	return strings.ReplaceAll(words, "_", " "), rest, true
}

// play does the part of a test that is for a process of its own, and reports whether
// there is one.
func play() bool {
	part, arg, _ := strings.Cut(os.Getenv("EDIT_TEST_ROLE"), " ")
	path, name, _ := strings.Cut(arg, "|")
	var err error
	switch part {
	case "":
		return false
	case "store":
		store := OpenFileStore(path, nil)
		for i := 0; i < 10 && err == nil; i++ {
			_, err = store.Save(context.Background(), "", &config.Server{Name: fmt.Sprint(name, i), Command: "x"}, "")
			if err == nil {
				err = count(store)
			}
		}
	}
	if err != nil {
		fmt.Println(err)
		os.Exit(1)
	}
	return true
}

// count adds one to the description of the record "count".
func count(store record.Store) error {
	for {
		s, err := record.Find(context.Background(), store, "count")
		if err != nil {
			return err
		}
		r := *s.Record
		r.Description += "x"
		_, err = store.Save(context.Background(), "count", &r, s.Revision)
		if !errors.Is(err, &record.Error{Code: record.CodeConflict}) {
			return err
		}
	}
}
