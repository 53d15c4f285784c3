package schemagate

import (
	"encoding/json"
	"errors"

	"github.com/santhosh-tekuri/jsonschema/v6"

	"github.com/mcpbelt/mcpbelt/internal/jsonscan"
)

// A Schema is ready to check values. It is safe for concurrent use.
type Schema struct {
	root     *node
	compiled *jsonschema.Schema
	parts    partsOnce
	weight   int // bytes of the text, and instructions of its patterns
}

// Compile reads a schema. Formats are not asserted. It keeps nothing of raw.
// The error is a [*SchemaError].
func Compile(raw json.RawMessage) (s *Schema, err error) {
	defer func() {
		if r := recover(); r != nil {
			s, err = nil, refuse(Invalid, "", "the validator cannot read it")
		}
	}()
	g, err := survey(raw)
	if err != nil {
		return nil, err
	}
	document, err := g.rewrite()
	if err != nil {
		return nil, err
	}
	const location = "schema:///" // the one document that the validator knows
	c := jsonschema.NewCompiler()
	c.DefaultDraft(g.draft.compiler)
	c.UseLoader(nothing{})
	c.UseRegexpEngine(g.patterns.engine)
	if err := c.AddResource(location, document); err != nil {
		return nil, refuse(Invalid, "", "%s", shorten(err.Error()))
	}
	compiled, err := c.Compile(location)
	if err != nil { // of what stands beside a reference, or equal values of an enum
		return nil, refuse(Invalid, "", "%s", shorten(err.Error()))
	}
	return &Schema{root: g.byPath[""], compiled: compiled, weight: len(raw) + maxPrograms - g.patterns.left}, nil
}

// survey reads a schema and finds all that is in it. The error is that of the newest dialect if the
// schema names none.
func survey(raw json.RawMessage) (*graph, error) {
	root, err := parse(raw)
	if err != nil {
		return nil, err
	}
	object, _ := root.(map[string]any)
	d, err := draftOf(object["$schema"])
	if err != nil {
		return nil, err
	}
	g, err := newGraph(root, d)
	if refused, ok := errors.AsType[*SchemaError](err); object["$schema"] == nil && ok && refused.Token == Invalid && listsItems(root) {
		const seventh = 2
		if old, second := newGraph(root, drafts()[seventh]); second == nil {
			return old, nil
		}
	}
	return g, err
}

// parse decodes a schema within the limits.
func parse(raw json.RawMessage) (any, error) {
	if len(raw) > MaxBytes {
		return nil, refuse(TooLarge, "", "it has %d bytes, %d are allowed", len(raw), MaxBytes)
	}
	if jsonscan.Nesting(raw) > MaxDepth {
		return nil, refuse(TooDeep, "", "it is nested deeper than %d", MaxDepth)
	}
	if err := jsonscan.Valid(raw); err != nil {
		return nil, refuse(Invalid, "", "not JSON: %v", err)
	}
	root, excess := read(raw, MaxNodes, MaxDepth)
	switch excess {
	case tooMany:
		return nil, refuse(TooManyNodes, "", "it holds more than %d values", MaxNodes)
	case tooDeep:
		return nil, refuse(TooDeep, "", "it is nested deeper than %d", MaxDepth)
	case tooLong:
		return nil, refuse(Invalid, "", "it holds a number of more than %d digits", MaxDigits)
	}
	return root, nil
}

// nothing is a loader of the validator that opens nothing. It is never asked,
// for no reference is left that leads out of the schema.
type nothing struct{}

func (nothing) Load(string) (any, error) { return nil, errors.New("not loaded") }
