package registry

import (
	"encoding/json"
	"errors"
	"fmt"

	"github.com/mcpbelt/mcpbelt/internal/schemagate"
	"github.com/mcpbelt/mcpbelt/mcp"
)

// maxCompiled is how many compiled schemas are kept.
const maxCompiled = 256

// checks say how the arguments and results of a tool are checked. Nothing is compiled before
// the first call.
type checks struct{ input, output *schemagate.Key } // nil: not by a schema

// checksOf prepares what is needed to check a tool's arguments and results.
func checksOf(t Tool, def *Definition) checks {
	if _, itself := t.(selfChecking); itself {
		return checks{}
	}
	c := checks{input: new(schemagate.KeyOf(def.InputSchema))}
	if _, remote := t.(*remote); !remote && len(def.OutputSchema) > 0 {
		c.output = new(schemagate.KeyOf(def.OutputSchema))
	}
	return c
}

// A selfChecking tool checks its arguments, and makes its results from Go types.
type selfChecking interface{ checksItself() }

// arguments returns the arguments, a JSON object, as they are to be passed on: checked
// against the input schema and with its defaults, unless they would not fit then. A default is
// left out that is null, is of a type that the property does not allow, or stands in an
// alternative that may not be meant. Nothing that is there is changed.
//
// The error is an [*ArgumentsError], or a [*DefinitionError] if the schema cannot be used.
func (r *Registry) arguments(e *entry, args json.RawMessage) (json.RawMessage, error) {
	if e.checks.input == nil { // a value that two programs can read in two ways is refused even so
		if found := schemagate.CheckSyntax(args); found != nil {
			return nil, newArgumentsError(e.def.Name, mistakesOf([]schemagate.Problem{*found}))
		}
		return args, nil
	}
	schema, err := r.schemas.Compile(*e.checks.input, e.def.InputSchema)
	if err != nil {
		return nil, &DefinitionError{Tool: e.def.Name, Field: "InputSchema", Err: fmt.Errorf("cannot be used: %w", err)}
	}
	args, found := schema.Complete(args)
	if found != nil {
		return nil, newArgumentsError(e.def.Name, mistakesOf(found))
	}
	return args, nil
}

var errNoResult = errors.New("there is none, and no error either")

// verify checks a result, its structured content by the output schema. The error is a
// [*ResultError].
func (r *Registry) verify(e *entry, res *mcp.CallToolResult) error {
	fail := func(err error) error { return &ResultError{Tool: e.def.Name, Result: res, Err: err} }
	switch {
	case res == nil:
		return fail(errNoResult)
	case res.IsError || e.checks.output == nil:
		return nil
	case res.StructuredContent == nil:
		return fail(errors.New("structuredContent is missing, but there is an output schema"))
	}
	content, ok := res.StructuredContent.(json.RawMessage)
	if !ok {
		var err error
		if content, err = json.Marshal(res.StructuredContent); err != nil {
			return fail(fmt.Errorf("structuredContent: %w", err))
		}
	}
	schema, err := r.schemas.Compile(*e.checks.output, e.def.OutputSchema)
	if err != nil {
		return fail(fmt.Errorf("structuredContent cannot be checked: the output schema cannot be used: %w", err))
	}
	if found := schema.Problems(content); found != nil {
		m := mistakesOf(found)
		return &ResultError{Tool: e.def.Name, Result: res, Problems: m.problems, Err: fmt.Errorf("structuredContent does not match the output schema: %w", m)}
	}
	return nil
}
