package metatools

import (
	"encoding/json"
	"errors"
	"fmt"
	"strings"

	"github.com/mcpbelt/mcpbelt/internal/jsonscan"
	"github.com/mcpbelt/mcpbelt/internal/plain"
	"github.com/mcpbelt/mcpbelt/registry"
)

// A Call is what a call of call_tool is of.
type Call struct {
	Server    string          // the configured name of the server; empty: the name of the tool says which
	Tool      string          // the name of the tool
	Arguments json.RawMessage // the bytes of the client; nil: there are none
}

// ReadCall reads the arguments of call_tool, which are JSON. Models that cannot write free objects write
// "arguments" as a string that holds one.
func ReadCall(args json.RawMessage) (Call, error) {
	var c Call
	if err := each(args, func(key string, value []byte) (ok bool) {
		switch key {
		case "server":
			c.Server, ok = optional(value)
		case "tool":
			c.Tool, ok = jsonscan.String(value)
		case "arguments":
			c.Arguments, ok = innerArguments(value)
		default:
			return false
		}
		return ok
	}, `{"server":"…","tool":"…","arguments":{…}}`); err != nil {
		return Call{}, err
	}
	if strings.TrimSpace(c.Tool) == "" {
		return Call{}, errors.New(`"tool" is missing; it must be the name of a tool, as retrieve_tools shows it`)
	}
	return c, nil
}

// each calls take with the members of an object. It fails if take does not know a member, or it has
// another kind of value.
func each(args json.RawMessage, take func(key string, value []byte) bool, form string) error {
	if len(args) == 0 || string(args) == "null" {
		return nil
	}
	if err := jsonscan.Valid(args); err != nil {
		return err
	}
	for key, value := range jsonscan.Fields(args) {
		if !take(string(key), value) {
			return fmt.Errorf("%s must not be there, or have another value: the arguments are %s", plain.Quote(plain.Cut(string(key), 100)), form)
		}
	}
	return nil
}

// optional reads a text that may be null.
func optional(value []byte) (string, bool) {
	if string(value) == "null" {
		return "", true
	}
	return jsonscan.String(value)
}

// innerArguments returns the arguments for the tool: an object, or one in a string.
func innerArguments(value []byte) (json.RawMessage, bool) {
	switch value[0] {
	case '{':
		return value, true
	case 'n':
		return nil, true
	case '"':
		held, _ := jsonscan.String(value)
		if held = strings.TrimSpace(held); held == "" {
			return nil, true
		}
		return json.RawMessage(held), held[0] == '{' && jsonscan.Valid([]byte(held)) == nil
	}
	return nil, false
}

// Refusal says why a variant of call_tool is not the one for a tool, and which is; nil if it is one that may call it. What
// the tool itself claims counts, and what it does not claim is the worst, as the protocol says.
func Refusal(variant string, tool *registry.Definition) error {
	hints := tool.Hints()
	right, why := CallDestroy, "may destroy something"
	switch {
	case variant == CallTool:
		return nil
	case hints.ReadOnly:
		return nil
	case !hints.Destructive:
		right, why = CallWrite, "changes something"
	case !hints.Annotated:
		why = "does not say what it changes"
	}
	if variant == right || variant == CallDestroy {
		return nil
	}
	return fmt.Errorf("%s %s: call it with %s", plain.Quote(tool.Name), why, right)
}
