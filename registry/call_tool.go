package registry

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/mcpbelt/mcpbelt/internal/canonjson"
	"github.com/mcpbelt/mcpbelt/internal/jsonscan"
	"github.com/mcpbelt/mcpbelt/internal/plain"
	"github.com/mcpbelt/mcpbelt/internal/schemagate"
	"github.com/mcpbelt/mcpbelt/internal/toolbrief"
	"github.com/mcpbelt/mcpbelt/mcp"
)

// callToolName is the name of the tool that calls others.
const callToolName = "call_tool"

const callToolDescription = "Call a tool that search_tools found."

const callToolInput = `{"type":"object","properties":{` +
	`"name":{"type":"string","description":"the tool's name"},` +
	`"arguments":{"type":"object","description":"the tool's arguments"}},` +
	`"required":["name"],"additionalProperties":false}`

// A relay is the tool call_tool. A call of it stands for the call of the tool that
// it names: [Registry.Call] goes on with that one before anything is decided.
type relay struct {
	registry *Registry
	def      *Definition
}

func newRelay(r *Registry) *relay {
	return &relay{r, &Definition{
		Name:        callToolName,
		Title:       "Call a tool",
		Description: callToolDescription,
		InputSchema: json.RawMessage(callToolInput),
	}}
}

func (t *relay) Definition() *Definition { return t.def }

func (*relay) checksItself() {}

func (t *relay) redefine(def *Definition) Tool { return &relay{t.registry, def} }

// Call calls the tool that args name.
func (t *relay) Call(ctx context.Context, args json.RawMessage) (*mcp.CallToolResult, error) {
	name, inner, err := t.target(args)
	if err != nil {
		return nil, err
	}
	return t.registry.Call(ctx, name, inner)
}

// target returns the tool that is meant, and its arguments, byte for byte. The error
// is an [*ArgumentsError].
//
// Models that cannot write free objects write "arguments" as a string that holds one.
// Others put the arguments beside the name; that is taken if the tool has them all,
// and none that is called as a member of ours. Anything else is not guessed.
func (t *relay) target(args json.RawMessage) (name string, inner json.RawMessage, err error) {
	if args, err = objectArgs(args); err != nil {
		return "", nil, t.wrong(err)
	}
	if found := schemagate.CheckSyntax(args); found != nil {
		return "", nil, newArgumentsError(t.def.Name, mistakesOf([]schemagate.Problem{*found}))
	}
	named := false
	var beside []string // names of members that are not ours
	for key, value := range jsonscan.Fields(args) {
		switch string(key) {
		case "name":
			if name, named = jsonscan.String(value); !named {
				return "", nil, t.wrong(fmt.Errorf(`"name" must be a string, not %s`, article(toolbrief.TypeOf(value[0]))))
			}
		case "arguments":
			if inner, err = innerArguments(value); err != nil {
				return "", nil, t.wrong(err)
			}
		default:
			beside = append(beside, string(key))
		}
	}
	switch {
	case strings.TrimSpace(name) == "":
		return "", nil, t.wrong(errors.New(`"name" is missing; it must be the name of a tool, as search_tools shows it`))
	case len(beside) == 0 && inner == nil:
		return name, json.RawMessage("{}"), nil
	case len(beside) == 0:
		return name, inner, nil
	case inner == nil && t.takes(name, beside):
		return name, without(args, "name"), nil
	}
	return "", nil, t.wrong(fmt.Errorf(`%s must not stand beside "name"; the arguments of the tool belong into "arguments": {"name":%s,"arguments":{…}}`, known(beside), plain.Quote(name)))
}

// wrong reports what is wrong with a call of call_tool itself.
func (t *relay) wrong(err error) error { return &ArgumentsError{Tool: t.def.Name, Err: err} }

// innerArguments returns the arguments for the tool: an object, or one in a string.
// Missing ones are nil, null stands for none.
func innerArguments(value []byte) (json.RawMessage, error) {
	held, is := jsonscan.String(value)
	if !is {
		if kind := value[0]; kind != '{' && kind != 'n' {
			return nil, fmt.Errorf(`"arguments" must be an object, not %s`, article(kindByFirstByte(kind)))
		}
		if value[0] == 'n' {
			return json.RawMessage("{}"), nil
		}
		return value, nil
	}
	switch raw := json.RawMessage(held); {
	case firstByte(raw) == '{':
		return raw, nil // whether it is JSON is asked of the arguments of any tool
	case firstByte(raw) == 0, isNull(raw):
		return json.RawMessage("{}"), nil
	}
	return nil, errors.New(`"arguments" must be an object, not a string`)
}

// takes reports whether the tool of that name has parameters of these names, and none
// that is called like a member of a call of call_tool.
func (t *relay) takes(name string, members []string) bool {
	e := t.registry.Snapshot().lookup(name, t.registry.names.Exact)
	if e == nil {
		return false
	}
	parameters := map[string]bool{}
	for key, value := range jsonscan.Fields(e.def.InputSchema) {
		if string(key) == "properties" {
			for parameter := range jsonscan.Fields(value) {
				parameters[string(parameter)] = true
			}
		}
	}
	return !parameters["name"] && !parameters["arguments"] &&
		!slices.ContainsFunc(members, func(m string) bool { return !parameters[m] })
}

// without returns an object without one of its members. The values of the others keep
// their bytes.
func without(object json.RawMessage, member string) json.RawMessage {
	rest := []byte{'{'}
	for key, value := range jsonscan.Fields(object) {
		if string(key) == member {
			continue
		}
		if len(rest) > 1 {
			rest = append(rest, ',')
		}
		rest = append(canonjson.AppendString(rest, string(key)), ':')
		rest = append(rest, value...)
	}
	return append(rest, '}')
}
