package main

import (
	"bufio"
	"encoding/json"
	"fmt"
	"io"
	"os"
)

// serveTools is a server of revision 2025-11-25 whose list of tools is that of a file, byte
// for byte, and which answers every call with "done". A tool whose _meta has "needs" is listed for
// clients that declare the capability of that name.
func (c *testServer) serveTools(in io.Reader, out io.Writer) int {
	tools, err := os.ReadFile(c.tools)
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	var declared map[string]any
	lines := bufio.NewScanner(in)
	lines.Buffer(nil, 1<<20)
	for lines.Scan() {
		var m struct {
			ID     json.RawMessage `json:"id"`
			Method string          `json:"method"`
			Params struct {
				Capabilities map[string]any `json:"capabilities"`
			} `json:"params"`
		}
		if json.Unmarshal(lines.Bytes(), &m) != nil || m.ID == nil {
			continue
		}
		answer := map[string]any{"jsonrpc": "2.0", "id": m.ID}
		switch m.Method {
		case "initialize":
			declared = m.Params.Capabilities
			answer["result"] = json.RawMessage(fmt.Sprintf(`{"protocolVersion":"2025-11-25","capabilities":{"tools":{}},"serverInfo":{"name":"raw","version":"1"},"instructions":%q}`, c.use))
		case "tools/list":
			answer["result"] = map[string]any{"tools": listed(tools, declared)}
		case "tools/call":
			answer["result"] = json.RawMessage(`{"content":[{"type":"text","text":"done"}]}`)
		case "ping":
			answer["result"] = struct{}{}
		default:
			answer["error"] = map[string]any{"code": -32601, "message": "there is no such method"}
		}
		data, err := json.Marshal(answer)
		if err != nil {
			return 1
		}
		fmt.Fprintf(out, "%s\n", data)
	}
	return 0
}

// listed returns the tools for a client with some capabilities.
func listed(tools []byte, declared map[string]any) any {
	var all []json.RawMessage
	if json.Unmarshal(tools, &all) != nil {
		return json.RawMessage(tools)
	}
	some := []json.RawMessage{}
	for _, raw := range all {
		var tool struct {
			Meta struct {
				Needs string `json:"needs"`
			} `json:"_meta"`
		}
		if _ = json.Unmarshal(raw, &tool); tool.Meta.Needs == "" || declared[tool.Meta.Needs] != nil {
			some = append(some, raw)
		}
	}
	return some
}
