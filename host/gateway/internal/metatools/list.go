package metatools

import (
	"encoding/json"
	"strings"
)

// The names of the tools.
const (
	RetrieveTools = "retrieve_tools"
	DescribeTool  = "describe_tool"
	CallTool      = "call_tool"
	CallRead      = "call_tool_read"
	CallWrite     = "call_tool_write"
	CallDestroy   = "call_tool_destructive"
	ServersTool   = "upstream_servers"
)

// always has clients that search among tools themselves keep a tool in sight.
const always = `"_meta":{"anthropic/alwaysLoad":true}`

const reads = `"annotations":{"readOnlyHint":true,"openWorldHint":false},` + always + `}`

const retrieveTools = `{"name":"retrieve_tools",` +
	`"description":"Find tools by what they do. Most tools are not listed here: search before you say that you cannot do something. ` +
	`Hits show parameters (? is optional, … is more), server and effects.",` +
	`"inputSchema":{"type":"object","properties":{` +
	`"query":{"type":"string","description":"what the tool does, or its name"},` +
	`"limit":{"type":"integer","minimum":1,"maximum":100,"description":"default 15"}},` +
	`"required":["query"],"additionalProperties":false},` + reads

const describeTool = `{"name":"describe_tool",` +
	`"description":"Get whole definitions of tools, with JSON Schemas, if retrieve_tools shows too little for a correct call.",` +
	`"inputSchema":{"type":"object","properties":{` +
	`"names":{"type":"array","items":{"type":"string"},"maxItems":10}},` +
	`"required":["names"],"additionalProperties":false},` + reads

// callTools are call_tool and its variants: what a client is told of their effects differs.
func callTools() [4]struct{ name, about, hints string } {
	return [4]struct{ name, about, hints string }{
		{CallTool, "Call a tool that retrieve_tools found, by its name there.", `"destructiveHint":true`},
		{CallRead, "call_tool for a tool that is read-only.", `"readOnlyHint":true`},
		{CallWrite, "call_tool for a tool that changes something and destroys nothing.", `"destructiveHint":false`},
		{CallDestroy, "call_tool for a tool that may destroy something, or does not say.", `"destructiveHint":true`},
	}
}

const callInput = `{"type":"object","properties":{` +
	`"server":{"type":"string"},"tool":{"type":"string"},"arguments":{"type":"object"}},"required":["tool"]}`

const serversTool = `{"name":"upstream_servers",` +
	`"description":"List and change the servers of the tools. A new or changed one starts when a person has allowed it.",` +
	`"inputSchema":{"type":"object","properties":{` +
	`"operation":{"type":"string","enum":["list","add","update","remove","enable","disable"]},` +
	`"name":{"type":"string","description":"for all but list"},` +
	`"server":{"type":"object","description":"to add or update: {command, args: [], env: {}, cwd} or {url, headers: {}}"}},` +
	`"required":["operation"],"additionalProperties":false},` +
	`"annotations":{"destructiveHint":true},` + always + `}`

// Listed returns the definition of a tool, as it is listed; nil if there is no tool of that name.
func Listed(name string) json.RawMessage {
	switch name {
	case RetrieveTools:
		return json.RawMessage(retrieveTools)
	case DescribeTool:
		return json.RawMessage(describeTool)
	case ServersTool:
		return json.RawMessage(serversTool)
	}
	for _, t := range callTools() {
		if t.name == name {
			return json.RawMessage(`{"name":"` + name + `","description":"` + t.about + `","inputSchema":` + callInput +
				`,"annotations":{` + t.hints + `},` + always + `}`)
		}
	}
	return nil
}

// IsCall reports whether a name is call_tool, or that of one of its variants.
func IsCall(name string) bool { return strings.HasPrefix(name, CallTool) && Listed(name) != nil }
