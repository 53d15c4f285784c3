package edit

import (
	"encoding/json"
	"errors"
	"flag"
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
func doStep(t *testing.T, f *File, line string) error {
	t.Helper()
	verb, rest, _ := strings.Cut(line, " ")
	name, text, _ := strings.Cut(rest, " ")
	name = strings.ReplaceAll(name, "+", " ")
	var r record.Record
	var p record.Patch
	var err error
	switch verb {
	case "set":
		err = json.Unmarshal([]byte(text), &p)
	case "add", "put":
		err = json.Unmarshal([]byte(text), &r)
		r.Name = name
	}
	if err != nil {
		t.Fatalf("%s: %v", line, err)
	}
	switch verb {
	case "add":
		return f.Add(&r)
	case "put":
		return f.Put(name, &r)
	case "set":
		return f.Set(name, &p)
	case "remove":
		return f.Remove(name)
	default:
		t.Fatalf("unknown step %s", line)
		return nil
	}
}

// TestEditGolden makes the steps of each testdata/edit/*.steps in the file that is named
// in its first line, and compares with *.want.
func TestEditGolden(t *testing.T) {
	files, err := filepath.Glob(filepath.Join("testdata", "edit", "*.steps"))
	if err != nil || len(files) == 0 {
		t.Fatal("no steps: ", err)
	}
	for _, file := range files {
		base := strings.TrimSuffix(file, ".steps")
		t.Run(filepath.Base(base), func(t *testing.T) {
			steps, err := os.ReadFile(file)
			assert.OK(t, err)
			lines := strings.Split(strings.TrimSpace(string(steps)), "\n")
			name, format, _ := strings.Cut(lines[0], " ")
			var data []byte
			if name != "-" {
				if data, err = os.ReadFile(filepath.Join("..", "testdata", filepath.FromSlash(name))); err != nil {
					t.Fatal(err)
				}
			}
			path := filepath.Join(t.TempDir(), filepath.Base(name))
			d := assert.Value(newDraft(path, data, &config.Options{Format: format}))(t)
			f := &File{d}
			for _, line := range lines[1:] {
				if want, line, ok := cutPrefixSpace(line, "error:"); ok {
					before := string(f.Bytes())
					err := doStep(t, f, line)
					if err == nil || !strings.Contains(err.Error(), want) {
						t.Errorf("%s: got %v, want an error with %q", line, err, want)
					}
					var edit *Error
					if !errors.As(err, &edit) {
						t.Errorf("%T", err)
					}
					if string(f.Bytes()) != before {
						t.Error("the text changed")
					}
					continue
				}
				if err := doStep(t, f, line); err != nil {
					t.Errorf("%s: %v", line, err)
				}
			}
			want := base + ".want"
			if *updateEdits {
				assert.OK(t, os.WriteFile(want, f.Bytes(), 0o644))
			}
			golden := assert.Value(os.ReadFile(want))(t)
			if string(golden) != string(f.Bytes()) {
				t.Errorf("got\n%s\nwant\n%s", f.Bytes(), golden)
			}
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
