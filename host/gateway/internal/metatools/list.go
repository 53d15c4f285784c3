package metatools

import (
	"bytes"
	_ "embed" // the definitions
	"encoding/json"
	"strings"
	"sync"

	"github.com/mcpbelt/mcpbelt/host/gateway/internal/message"
	"github.com/mcpbelt/mcpbelt/internal/jsonscan"
)

// The names of the tools. What a client is told of the effects of call_tool and its variants differs.
const (
	RetrieveTools = "retrieve_tools"
	DescribeTool  = "describe_tool"
	CallTool      = "call_tool"
	CallRead      = "call_tool_read"
	CallWrite     = "call_tool_write"
	CallDestroy   = "call_tool_destructive"
	ServersTool   = "upstream_servers"
	AwaitCall     = "await_call" // gets the result of a call which was answered with an id
)

//go:embed tools.json
var definitions []byte

// listed returns the definitions by the names of the tools, each on one line. All but await_call are kept in sight by
// clients that search among tools themselves.
var listed = sync.OnceValue(func() map[string]json.RawMessage {
	all := map[string]json.RawMessage{}
	for tool := range jsonscan.Elements(definitions) {
		var line bytes.Buffer
		_ = json.Compact(&line, tool) // it is JSON
		name, _ := message.Text(tool, "name")
		all[name] = line.Bytes()
	}
	return all
})

// Listed returns the definition of a tool, as it is listed; nil if there is no tool of that name.
func Listed(name string) json.RawMessage { return listed()[name] }

// IsCall reports whether a name is call_tool, or that of one of its variants.
func IsCall(name string) bool { return strings.HasPrefix(name, CallTool) && Listed(name) != nil }
