package testserver

import (
	"bufio"
	"encoding/json"
	"fmt"
	"io"
	"os"
)

// serveTools is a server of revision 2025-11-25 whose list of tools is that of a file, byte
// for byte, and which answers every call with "done".
func (c *config) serveTools(in io.Reader, out io.Writer) int {
	tools, err := os.ReadFile(c.tools)
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	lines := bufio.NewScanner(in)
	lines.Buffer(nil, 1<<20)
	for lines.Scan() {
		var m struct {
			ID     json.RawMessage `json:"id"`
			Method string          `json:"method"`
		}
		if json.Unmarshal(lines.Bytes(), &m) != nil || m.ID == nil {
			continue
		}
		answer := map[string]any{"jsonrpc": "2.0", "id": m.ID}
		switch m.Method {
		case "initialize":
			answer["result"] = json.RawMessage(`{"protocolVersion":"2025-11-25","capabilities":{"tools":{}},"serverInfo":{"name":"raw","version":"1"}}`)
		case "tools/list":
			answer["result"] = map[string]any{"tools": json.RawMessage(tools)}
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
