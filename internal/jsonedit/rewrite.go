package jsonedit

import (
	"errors"
	"fmt"

	"github.com/mcpbelt/mcpbelt/internal/canonjson"
	"github.com/mcpbelt/mcpbelt/internal/dialect"
	"github.com/mcpbelt/mcpbelt/internal/jsonc"
)

// Of returns how texts of a syntax are changed.
func Of(s dialect.Syntax) *dialect.Edit {
	if s.Parse == nil {
		return &dialect.Edit{Set: Set, Remove: Remove, Rename: Rename}
	}
	return s.Edit
}

// A Rewriter changes texts of a syntax that is not JSON, see [Rewriter.Edit]. Each function
// gets what the whole text is to say, and where it is to say something else, and returns the
// new text, or nil for a form that it cannot change.
type Rewriter struct {
	Parse  func(data []byte) (*jsonc.Document, error) // see [dialect.Syntax]
	Set    func(doc *jsonc.Document, want *jsonc.Node, path []string) []byte
	Remove func(doc *jsonc.Document, want *jsonc.Node, path []string) []byte
	Rename func(doc *jsonc.Document, key string, path []string) []byte
}

var errByHand = errors.New("stands in a form that is not changed here: change it by hand")

// Edit returns the edits that r makes. What each of them returns has been read back, and
// says what the same change of the file as JSON gives.
func (r *Rewriter) Edit() *dialect.Edit {
	change := func(data []byte, path []string, asJSON func(data []byte, path ...string) ([]byte, error), rewrite func(doc *jsonc.Document, want *jsonc.Node) []byte) ([]byte, error) {
		doc, err := r.Parse(data)
		if err != nil {
			return nil, err
		}
		before := doc.Root.JSON()
		want, err := asJSON(before, path...)
		if err != nil || canonjson.Same(want, before) {
			return data, err
		}
		wanted, err := jsonc.Parse(want)
		if err != nil {
			return nil, err
		}
		after := rewrite(doc, &wanted.Root)
		got, err := r.Parse(after)
		if after == nil || err != nil {
			return nil, fmt.Errorf("%s: %w", jsonc.PathOf(path), errByHand)
		}
		if canonjson.Same(got.Root.JSON(), want) {
			return after, nil
		}
		// A table of TOML is there as long as anything is in it.
		if last := len(path) - 1; last > 0 && got.Root.At(path[:last]) == nil {
			if want, err = Remove(want, path[:last]...); err == nil && canonjson.Same(got.Root.JSON(), want) {
				return after, nil
			}
		}
		return nil, fmt.Errorf("%s: %w", jsonc.PathOf(path), errByHand)
	}
	return &dialect.Edit{
		Set: func(data, value []byte, path ...string) ([]byte, error) {
			asJSON := func(data []byte, path ...string) ([]byte, error) { return Set(data, value, path...) }
			return change(data, path, asJSON, func(doc *jsonc.Document, want *jsonc.Node) []byte { return r.Set(doc, want, path) })
		},
		Remove: func(data []byte, path ...string) ([]byte, error) {
			return change(data, path, Remove, func(doc *jsonc.Document, want *jsonc.Node) []byte { return r.Remove(doc, want, path) })
		},
		Rename: func(data []byte, key string, path ...string) ([]byte, error) {
			asJSON := func(data []byte, path ...string) ([]byte, error) { return Rename(data, key, path...) }
			return change(data, path, asJSON, func(doc *jsonc.Document, _ *jsonc.Node) []byte { return r.Rename(doc, key, path) })
		},
	}
}
