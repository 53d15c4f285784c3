package toolset

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
	"github.com/mcpbelt/mcpbelt/mcp"
	"github.com/mcpbelt/mcpbelt/registry"
)

// callToolName is the name of the tool that calls others.
const callToolName = "call_tool"

const callToolDescription = "Call a tool that search_tools found."

const callToolInput = `{"type":"object","properties":{` +
	`"name":{"type":"string","description":"the tool's name"},` +
	`"arguments":{"type":"object","description":"the tool's arguments"}},` +
	`"required":["name"],"additionalProperties":false}`

// A relay is the tool call_tool. A call of it stands for the call of the tool that
// it names, see [registry.Registry.AddHidden].
type relay struct {
	registry *registry.Registry
	def      *registry.Definition
}

func newRelay(r *registry.Registry) *relay {
	return &relay{r, &registry.Definition{
		Name:        callToolName,
		Title:       "Call a tool",
		Description: callToolDescription,
		InputSchema: json.RawMessage(callToolInput),
	}}
}

func (t *relay) Definition() *registry.Definition { return t.def }

// Call calls the tool that args name.
func (t *relay) Call(ctx context.Context, args json.RawMessage) (*mcp.CallToolResult, error) {
	return t.registry.Call(ctx, t.def.Name, args)
}

// Target returns the tool that is meant, and its arguments, byte for byte.
//
// Models that cannot write free objects write "arguments" as a string that holds one.
// Others put the arguments beside the name; that is taken if the tool has them all,
// and none that is called as a member of ours. Anything else is not guessed.
func (t *relay) Target(args json.RawMessage) (name string, inner json.RawMessage, err error) {
	named := false
	var beside []string // names of members that are not ours
	for key, value := range jsonscan.Fields(args) {
		switch string(key) {
		case "name":
			if name, named = jsonscan.String(value); !named {
				return "", nil, fmt.Errorf(`"name" must be a string, not %s`, plain.Article(jsonscan.TypeOf(value[0])))
			}
		case "arguments":
			if inner, err = innerArguments(value); err != nil {
				return "", nil, err
			}
		default:
			beside = append(beside, string(key))
		}
	}
	switch {
	case strings.TrimSpace(name) == "":
		return "", nil, errors.New(`"name" is missing; it must be the name of a tool, as search_tools shows it`)
	case len(beside) == 0 && inner == nil:
		return name, json.RawMessage("{}"), nil
	case len(beside) == 0:
		return name, inner, nil
	case inner == nil && t.takes(name, beside):
		return name, canonjson.Without(args, "name"), nil
	}
	return "", nil, fmt.Errorf(`%s must not stand beside "name"; the arguments of the tool belong into "arguments": {"name":%s,"arguments":{…}}`, quoted(beside), plain.Quote(name))
}

// quoted lists names of members, as far as there is room.
func quoted(names []string) string {
	all := make([]string, len(names))
	for i, name := range names {
		all[i] = plain.Quote(name)
	}
	return joinShort(all)
}

// innerArguments returns the arguments for the tool: an object, or one in a string.
// Missing ones are nil, null stands for none.
func innerArguments(value []byte) (json.RawMessage, error) {
	switch value[0] {
	case '{':
		return value, nil
	case 'n':
		return json.RawMessage("{}"), nil
	case '"':
		held, _ := jsonscan.String(value)
		switch held = strings.Trim(held, " \t\r\n"); {
		case held == "", held == "null":
			return json.RawMessage("{}"), nil
		case held[0] == '{':
			return json.RawMessage(held), nil // whether it is JSON is asked of the arguments of any tool
		}
	}
	return nil, fmt.Errorf(`"arguments" must be an object, not %s`, plain.Article(jsonscan.TypeOf(value[0])))
}

// takes reports whether the tool of that name has parameters of these names, and none
// that is called like a member of a call of call_tool.
func (t *relay) takes(name string, members []string) bool {
	def, ok := t.registry.Resolve(name)
	if !ok {
		return false
	}
	parameters := map[string]bool{}
	for parameter := range jsonscan.Fields(jsonscan.Member(def.InputSchema, "properties")) {
		parameters[string(parameter)] = true
	}
	return !parameters["name"] && !parameters["arguments"] &&
		!slices.ContainsFunc(members, func(m string) bool { return !parameters[m] })
}
