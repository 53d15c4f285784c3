package registry

import (
	"encoding/json"
	"errors"
	"fmt"

	"github.com/mcpbelt/mcpbelt/internal/jsonscan"
	"github.com/mcpbelt/mcpbelt/internal/schemagate"
	"github.com/mcpbelt/mcpbelt/mcp"
)

// ArgumentOptions say how arguments are checked before a call. The zero value
// checks them against the input schema and fills in the schema's defaults. Tools
// made by [Func] check theirs by themselves.
//
// Nothing that is there is changed: it keeps its bytes, its order and the spelling
// of its numbers, and arguments that lack no default are passed on byte for byte.
// Arguments that would not fit with the defaults are passed on without them.
type ArgumentOptions struct {
	// SkipCheck passes arguments on as they are, without defaults.
	SkipCheck bool
	// SkipDefaults leaves out what the schema gives as the default of a missing
	// property. Otherwise it is added, also within objects that are there, unless
	// it is null, is of a type that the property does not allow, or stands in an
	// alternative that may not be meant.
	SkipDefaults bool
	// Redact replaces secrets in the strings of arguments, keys included, by
	// "[redacted: kind]" on their way to a server, as [result.Options].Redact does in
	// results, with the Secrets of Options.Results as well. It comes last: approvers,
	// middleware and observers see the arguments as they were, and that the schema
	// allows what the server gets is not checked again. Tools of the program itself
	// get the arguments as they are. A tool that wants a secret as an argument cannot
	// be used then.
	Redact bool
}

// Room in the cache of a validator.
const (
	maxCompiled = 256
	maxRefused  = 64
)

// A validator checks the arguments and results of tools.
type validator struct {
	opts       ArgumentOptions
	skipOutput bool
	cache      *schemagate.Cache
}

func newValidator(opts ArgumentOptions, skipOutput bool) *validator {
	return &validator{opts, skipOutput, schemagate.NewCache(maxCompiled, maxRefused)}
}

// checks is what the validator keeps with an entry. The zero value is that of a
// tool whose schemas were not looked at yet.
type checks struct {
	seen          bool
	input, output check
}

// A check is how one side of a tool is checked.
type check struct {
	none bool // not at all
	any  bool // every object fits
	key  schemagate.Key
}

// checksOf prepares what is needed to check a tool's arguments and results. It
// is cheap: nothing is compiled before the first call.
func checksOf(t Tool, def *Definition) checks {
	c := checks{seen: true}
	_, c.input.none = t.(selfChecking)
	_, remote := t.(*remote)
	c.output.none = c.input.none || remote || len(def.OutputSchema) == 0
	if !c.input.none {
		if c.input.any = fitsEveryObject(def.InputSchema); !c.input.any {
			c.input.key = schemagate.KeyOf(def.InputSchema)
		}
	}
	if !c.output.none {
		c.output.key = schemagate.KeyOf(def.OutputSchema)
	}
	return c
}

// A selfChecking tool checks its arguments, and makes its results from Go types.
type selfChecking interface{ checksItself() }

// fitsEveryObject reports whether a schema plainly asks for nothing but an
// object, as many do.
func fitsEveryObject(schema json.RawMessage) bool {
	if len(schema) > 512 || jsonscan.Valid(schema) != nil {
		return false
	}
	typed := false
	for key, value := range jsonscan.Fields(schema) {
		switch string(key) {
		case "type":
			typed = string(value) == `"object"`
			if !typed {
				return false
			}
		case "properties":
			for range jsonscan.Fields(value) {
				return false
			}
			if value[0] != '{' {
				return false
			}
		case "title", "description":
		case "additionalProperties":
			if string(value) != "true" {
				return false
			}
		default:
			return false
		}
	}
	return typed
}

func (e *entry) checks() checks {
	if e.input.seen {
		return e.input
	}
	return checksOf(e.tool, e.def)
}

// arguments returns the arguments, a JSON object, as they are to be passed on.
// The error is an [*ArgumentsError], or a [*DefinitionError] if the schema cannot
// be used.
func (v *validator) arguments(e *entry, args json.RawMessage) (json.RawMessage, error) {
	if v.opts.SkipCheck {
		return args, nil
	}
	c := e.checks()
	if c.input.none || c.input.any {
		// A value that two programs can read in two ways is refused even so.
		if found := schemagate.CheckSyntax(args); found != nil {
			return nil, argumentsError(e, []schemagate.Problem{*found})
		}
		return args, nil
	}
	schema, err := v.cache.Compile(c.input.key, e.def.InputSchema)
	if err != nil {
		return nil, &DefinitionError{Tool: e.def.Name, Field: "InputSchema", Err: fmt.Errorf("cannot be used: %w", err)}
	}
	var found []schemagate.Problem
	if v.opts.SkipDefaults {
		found = schema.Problems(args)
	} else {
		args, found = schema.Complete(args)
	}
	if found != nil {
		return nil, argumentsError(e, found)
	}
	return args, nil
}

func argumentsError(e *entry, found []schemagate.Problem) *ArgumentsError {
	return newArgumentsError(e.def.Name, mistakesOf(found))
}

// result checks the structured content of a result. The error is a
// [*ResultError].
func (v *validator) result(e *entry, res *mcp.CallToolResult) error {
	if v.skipOutput || res.IsError {
		return nil
	}
	c := e.checks()
	if c.output.none {
		return nil
	}
	fail := func(err error) error {
		return &ResultError{Tool: e.def.Name, Result: res, Err: err}
	}
	if res.StructuredContent == nil {
		return fail(errors.New("structuredContent is missing, but there is an output schema"))
	}
	content, err := json.RawMessage(nil), error(nil)
	if raw, ok := res.StructuredContent.(json.RawMessage); ok {
		content = raw
	} else if content, err = json.Marshal(res.StructuredContent); err != nil {
		return fail(fmt.Errorf("structuredContent: %w", err))
	}
	schema, err := v.cache.Compile(c.output.key, e.def.OutputSchema)
	if err != nil {
		return fail(fmt.Errorf("structuredContent cannot be checked: the output schema cannot be used: %w", err))
	}
	if found := schema.Problems(content); found != nil {
		m := mistakesOf(found)
		return &ResultError{Tool: e.def.Name, Result: res, Problems: m.problems, Err: fmt.Errorf("structuredContent does not match the output schema: %w", m)}
	}
	return nil
}
