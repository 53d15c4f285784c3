package schemagate

import (
	"encoding/json"
	"errors"
	"strings"

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
func Compile(raw json.RawMessage) (*Schema, error) {
	return eitherDialect(raw, func(unnamed string) (*Schema, error) { return compileAs(raw, unnamed) })
}

// location is what the validator calls the one document that it knows.
const location = "schema:///"

func compileAs(raw json.RawMessage, unnamed string) (s *Schema, err error) {
	defer func() {
		if r := recover(); r != nil {
			s, err = nil, refuse(Invalid, "", "the validator cannot read it")
		}
	}()
	g, err := survey(raw, Limits{}, unnamed)
	if err != nil {
		return nil, err
	}
	document, err := g.rewrite()
	if err != nil {
		return nil, err
	}
	c := jsonschema.NewCompiler()
	c.DefaultDraft(g.draft.compiler)
	c.UseLoader(nothing{})
	c.UseRegexpEngine(g.patterns.engine)
	if err := c.AddResource(location, document); err != nil {
		return nil, refuse(Invalid, "", "%s", shorten(err.Error()))
	}
	compiled, err := c.Compile(location)
	if err != nil {
		return nil, g.notOfDialect(err)
	}
	return &Schema{root: g.byPath[""], compiled: compiled, weight: len(raw) + maxPrograms - g.patterns.left}, nil
}

// survey reads a schema within the limits and finds all that is in it.
func survey(raw json.RawMessage, limits Limits, unnamed string) (*graph, error) {
	root, err := parse(raw, limits.within())
	if err != nil {
		return nil, err
	}
	var dialect any
	if object, ok := root.(map[string]any); ok {
		dialect = object["$schema"]
	}
	d, err := draftOf(dialect, unnamed)
	if err != nil {
		return nil, err
	}
	return newGraph(root, d)
}

// parse decodes a schema within the limits.
func parse(raw json.RawMessage, limits Limits) (any, error) {
	if len(raw) > limits.Bytes {
		return nil, refuse(TooLarge, "", "it has %d bytes, %d are allowed", len(raw), limits.Bytes)
	}
	if jsonscan.Nesting(raw) > limits.Depth {
		return nil, refuse(TooDeep, "", "it is nested deeper than %d", limits.Depth)
	}
	if err := jsonscan.Valid(raw); err != nil {
		return nil, refuse(Invalid, "", "not JSON: %v", err)
	}
	root, excess := read(raw, limits.Nodes, limits.Depth)
	switch excess {
	case tooMany:
		return nil, refuse(TooManyNodes, "", "it holds more than %d values", limits.Nodes)
	case tooDeep:
		return nil, refuse(TooDeep, "", "it is nested deeper than %d", limits.Depth)
	case tooLong:
		return nil, refuse(Invalid, "", "it holds a number of more than %d digits", MaxDigits)
	}
	return root, nil
}

// nothing is a loader of the validator that opens nothing. It is never asked,
// for no reference is left that leads out of the schema.
type nothing struct{}

func (nothing) Load(string) (any, error) { return nil, errors.New("not loaded") }

// notOfDialect turns the validator's verdict on a schema into ours.
func (g *graph) notOfDialect(err error) error {
	var broken *jsonschema.SchemaValidationError
	var why *jsonschema.ValidationError
	if !errors.As(err, &broken) || !errors.As(broken.Err, &why) {
		return refuse(Invalid, "", "%s", shorten(err.Error()))
	}
	r := &report{parts: &parts{}}
	r.collect(why)
	path := ""
	for _, token := range r.lines[0].at {
		path = join(path, token)
	}
	for n, name := range g.moved {
		moved := join(join("", g.draft.defs), name)
		if rest, ok := strings.CutPrefix(path, moved); ok && (rest == "" || rest[0] == '/') {
			path = n.path + rest
			break
		}
	}
	detail := (&jsonschema.ValidationError{ErrorKind: r.lines[0].err.ErrorKind}).Error()
	return refuse(Invalid, path, "%s", shorten(strings.TrimPrefix(detail, "at '': ")))
}
