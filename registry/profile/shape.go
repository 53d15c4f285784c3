package profile

import (
	"cmp"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"unicode"

	"github.com/mcpbelt/mcpbelt/internal/memo"
	"github.com/mcpbelt/mcpbelt/internal/schemagate"
	"github.com/mcpbelt/mcpbelt/registry"
)

// A shape is what a provider is told of a definition, whatever the other tools are. It
// is never changed.
type shape struct {
	description string
	schema      json.RawMessage
	strict      bool
	codec       *codec
	output      json.RawMessage
	losses      []Loss
	err         error // why the provider cannot be told
}

// A shapeKey is what a shape depends on beside the definition.
type shapeKey struct {
	provider Provider
	output   bool // with the schema of the results
}

// A shaper makes the tools of one set.
type shaper struct {
	memory func(*registry.Definition) (cell *memo.Cell, examined bool) // nil: nothing is remembered
	rules  *ruleset
	opts   *Options

	plain, output any // the two keys, each a shapeKey: an interface is made once
}

func newShaper(snapshot *registry.Snapshot, d *ruleset, o *Options) *shaper {
	s := &shaper{
		rules: d, opts: o,
		plain:  shapeKey{d.provider, false},
		output: shapeKey{d.provider, true},
	}
	if snapshot != nil {
		s.memory = snapshot.Memory()
	}
	return s
}

// tool makes t the tool of a definition, with all but its name.
func (s *shaper) tool(t *Tool, def *registry.Definition) error {
	*t = Tool{Name: def.Name, Definition: def, provider: s.rules.provider}
	if s.rules.callers {
		t.AllowedCallers = callersOf(def, s.opts)
	}
	sh := s.shape(def, s.rules.output && t.Programs())
	if sh.err != nil {
		return sh.err
	}
	t.Deferred = s.rules.deferral && s.opts.Deferred != nil && s.opts.Deferred(def)
	t.Description, t.Schema, t.Strict, t.codec = sh.description, sh.schema, sh.strict, sh.codec
	if t.Description == "" && !strings.ContainsFunc(cmp.Or(def.Origin.Tool, def.Name), isLatin) {
		t.Description = cmp.Or(description(def.Title), description(def.Origin.Tool), description(def.Name))
	}
	t.OutputSchema, t.Losses = sh.output, sh.losses
	return nil
}

// shape returns the shape of a definition, which is made once for each tool that says
// the same in the registry.
func (s *shaper) shape(def *registry.Definition, output bool) *shape {
	var cell *memo.Cell
	examined := false
	if s.memory != nil {
		cell, examined = s.memory(def)
	}
	key := s.plain
	if output {
		key = s.output
	}
	if sh, ok := cell.Get(key).(*shape); ok {
		return sh
	}
	sh := s.newShape(def, output, examined)
	cell.Put(key, sh)
	return sh
}

// newShape makes a shape. The schemas are checked unless they were examined before.
func (s *shaper) newShape(def *registry.Definition, output, examined bool) *shape {
	if !examined {
		if err := schemagate.Check(def.InputSchema); err != nil {
			return refusedShape(def, fmt.Errorf("cannot be used: %w", err))
		}
	}
	c := newCompiler(s.rules, readNode(def.InputSchema))
	sh := &shape{description: description(def.Description)}
	out, err := c.compile()
	if err != nil {
		return refusedShape(def, err)
	}
	if s.rules.strict {
		out = c.strict(out)
	}
	sh.schema, sh.strict, sh.codec = out.schema.append(nil), out.strict, out.codec
	if output {
		sh.output = outputOf(def)
	}
	sh.losses = slices.Clip(c.losses.list())
	return sh
}

func refusedShape(def *registry.Definition, err error) *shape {
	return &shape{err: &registry.DefinitionError{Tool: def.Name, Field: "InputSchema", Err: err}}
}

// isLatin reports whether a provider takes a letter in a name.
func isLatin(r rune) bool { return 'a' <= r && r <= 'z' || 'A' <= r && r <= 'Z' }

// description returns a description that every provider takes: UTF-8 without NUL,
// and empty if there is nothing to read.
func description(text string) string {
	if strings.TrimFunc(text, unicode.IsSpace) == "" {
		return ""
	}
	return strings.ReplaceAll(strings.ToValidUTF8(text, "\uFFFD"), "\x00", "\uFFFD")
}
