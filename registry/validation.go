package registry

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"

	"github.com/mcpbelt/mcpbelt/internal/jsonscan"
	"github.com/mcpbelt/mcpbelt/internal/nearest"
	"github.com/mcpbelt/mcpbelt/internal/plain"
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
// against the input schema and with the defaults of its properties, unless they would not fit
// then. A default is left out that is null or of a type that the property does not allow, and so
// is one of a schema farther within. Nothing that is there is changed.
//
// The error is an [*ArgumentsError], or a [*DefinitionError] if the schema cannot be used.
func (r *Registry) arguments(ctx context.Context, e *entry, args json.RawMessage) (json.RawMessage, error) {
	if !jsonscan.IsChecked(ctx, args) { // a value that two programs can read in two ways is refused
		if found := schemagate.CheckSyntax(args); found != nil {
			return nil, newArgumentsError(e.def.Name, mistakesOf([]schemagate.Problem{*found}))
		}
	}
	if e.checks.input == nil {
		return args, nil
	}
	schema, err := r.schemas.Compile(*e.checks.input, e.def.InputSchema)
	if err != nil {
		return nil, &DefinitionError{Tool: e.def.Name, Field: "InputSchema", Err: fmt.Errorf("cannot be used: %w", err)}
	}
	args, found := schema.CompleteChecked(args)
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

// A Problem is one thing wrong with arguments or with a result. It never holds a
// value, for values can be secrets. Text of a schema, and names in a value, are shortened
// in it and safe at a terminal.
type Problem struct {
	// Path is the place, as in items[0].name or ['a b'].c, cut off if it is long;
	// empty for the whole.
	Path string
	// Want is what must be there, such as "an integer from 1 to 10"; empty if the
	// schema does not know the property.
	Want string
	// Got is what is there, such as "a string"; empty if the property is missing.
	Got string
	// Hint is what else helps, such as the names of the known properties; may be
	// empty.
	Hint string
}

// String returns the problem as a sentence without an end, for a person or a
// model: "limit" must be an integer, not a string.
func (p Problem) String() string {
	where := ""
	if p.Path != "" {
		where = `"` + p.Path + `" `
	}
	var text string
	switch {
	case p.Want == "":
		text = where + "is not known"
	case p.Got == "":
		text = where + "is missing; it must be " + p.Want
	default:
		text = where + "must be " + p.Want + ", not " + p.Got
	}
	if p.Hint != "" {
		text += "; " + p.Hint
	}
	return text
}

// mistakesOf turns what the gate finds into an error.
func mistakesOf(found []schemagate.Problem) *mistakes {
	m := &mistakes{more: len(found) > maxProblems}
	for _, f := range found[:min(len(found), maxProblems)] {
		p := Problem{Path: f.Path, Want: f.Want, Got: f.Got, Hint: f.Note}
		if p.Want == "" {
			p.Hint = knownHint(f.Name, f.Known)
		}
		m.problems = append(m.problems, p)
	}
	return m
}

// knownHint says which names are known, and which of them may be meant.
func knownHint(name string, names []string) string {
	text := "known are " + known(names)
	near := nearest.Names(name, names[:min(len(names), 1_000)], 1)
	for _, one := range names { // of which name may be the plural, or a longer form
		if near == nil && len(one) > 3 && strings.HasPrefix(name, one[:len(one)-1]) {
			near = []string{one}
		}
	}
	if near != nil {
		text = "did you mean " + plain.Quote(near[0]) + "? " + text
	}
	return text
}

func known(names []string) string {
	if len(names) == 0 {
		return "none"
	}
	const most, bytes = 32, 1_000
	var all []string
	size := 0
	for i, name := range names {
		if size += len(name); i == most || i > 0 && size > bytes {
			all = append(all, "and more")
			break
		}
		all = append(all, plain.Quote(name))
	}
	return strings.Join(all, ", ")
}

// maxProblems is how many mistakes one error names: one less than the gate finds,
// so that it is known whether there are more.
const maxProblems = schemagate.MaxProblems - 1

// mistakes is the error of a value that has problems. A nil one has none.
type mistakes struct {
	problems []Problem
	more     bool
}

func (m *mistakes) Error() string {
	var all []string
	for _, p := range m.problems {
		all = append(all, p.String())
	}
	if m.more {
		all = append(all, "and more")
	}
	return strings.Join(all, "; ")
}

func newArgumentsError(tool string, err error) *ArgumentsError {
	e := &ArgumentsError{Tool: tool, Err: err}
	if m, ok := errors.AsType[*mistakes](err); ok {
		e.Problems = m.problems
	}
	return e
}
