package metatools

import (
	"encoding/json"
	"errors"
	"fmt"
	"strings"

	"github.com/mcpbelt/mcpbelt/host/gateway/internal/message"
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
func ReadCall(args json.RawMessage) (c Call, err error) {
	err = read(args, `{"server":"…","tool":"…","arguments":{…}}`, map[string]any{"server": &c.Server, "tool": &c.Tool, "arguments": (*object)(&c.Arguments)})
	if err == nil && strings.TrimSpace(c.Tool) == "" {
		err = errors.New(`"tool" is missing; it must be the name of a tool, as retrieve_tools shows it`)
	}
	return c, err
}

// read reads the members of an object into what they are to be read into. It fails if there is another member, or one has
// another kind of value than form shows. Null is none.
func read(args json.RawMessage, form string, into map[string]any) error {
	if len(args) == 0 || string(args) == "null" {
		return nil
	}
	if err := jsonscan.Valid(args); err != nil {
		return err
	}
	for key, value := range jsonscan.Fields(args) {
		if at := into[string(key)]; at == nil || json.Unmarshal(value, at) != nil {
			return fmt.Errorf("%s must not be there, or have another value: the arguments are %s", plain.Quote(plain.Cut(string(key), 100)), form)
		}
	}
	return nil
}

// An object is one in JSON, as the client wrote it, or in a string; nil: there is none.
type object json.RawMessage

var errNoObject = errors.New("it is no object")

// UnmarshalJSON implements [json.Unmarshaler]. It keeps the value, which does not change.
func (o *object) UnmarshalJSON(value []byte) error {
	switch value[0] {
	case 'n':
		return nil
	case '"':
		text, _ := jsonscan.String(value)
		if value = []byte(strings.TrimSpace(text)); len(value) == 0 {
			return nil
		}
		if err := jsonscan.Valid(value); err != nil {
			return err
		}
	}
	if !message.IsObject(value) {
		return errNoObject
	}
	if value[0] == '{' {
		*o = value
	}
	return nil
}

// Refusal says why a variant of call_tool is not the one for a tool, and which is; nil if it is one that may call it. What
// the tool itself claims counts, and what it does not claim is the worst, as the protocol says.
func Refusal(variant string, tool *registry.Definition) error {
	hints := tool.Hints()
	right, why := CallDestroy, "may destroy something"
	switch {
	case variant == CallTool, hints.ReadOnly:
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
