package main

import (
	"fmt"
	"io"
	"net/http"
	"strings"

	"github.com/mcpbelt/mcpbelt/internal/jsonscan"
	"github.com/mcpbelt/mcpbelt/mcp"
)

// The server uses no SDK and answers from bytes made beforehand, so that what is measured is
// what stands between it and the client.

const toolList = `{"resultType":"complete","tools":[` +
	`{"name":"small","inputSchema":{"type":"object"}},` +
	`{"name":"large","inputSchema":{"type":"object"}}]}`

const smallResult = `{"resultType":"complete","content":[{"type":"text","text":"pong"}]}`

// largeText is JSON of a text that looks like source: one character in forty is escaped.
func largeText() string {
	return `"` + strings.Repeat(`for i := range lines { out = append(o\n`, 100_000/40) + `"`
}

func largeResult() string {
	return `{"resultType":"complete","content":[{"type":"text","text":` + largeText() + `}]}`
}

// answer returns the answer to a message, or nil if there is none.
func answer(message []byte, large string) []byte {
	m, err := jsonscan.Scan(message)
	if err != nil || m.ID == nil {
		return nil
	}
	params := map[string]string{}
	for key, value := range jsonscan.Fields(m.Params) {
		params[string(key)], _ = jsonscan.String(value)
	}
	result := `{}`
	switch m.Method {
	case "initialize":
		result = `{"protocolVersion":"` + params["protocolVersion"] + `","capabilities":{"tools":{}},"serverInfo":{"name":"bench","version":"1"}}`
	case "server/discover":
		result = `{"resultType":"complete","supportedVersions":["` + mcp.Revision20260728 + `"],"capabilities":{"tools":{}}}`
	case "tools/list":
		result = toolList
	case "tools/call":
		result = smallResult
		if params["name"] == "large" {
			result = large
		}
	}
	return fmt.Appendf(nil, `{"jsonrpc":"2.0","id":%s,"result":%s}`, m.ID, result)
}

// server answers JSON, and holds a listening stream open.
type server struct{ large string }

// ServeHTTP implements http.Handler.
func (s server) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	if r.Method == http.MethodGet {
		w.Header().Set("Content-Type", "text/event-stream")
		if http.NewResponseController(w).Flush() == nil {
			<-r.Context().Done()
		}
		return
	}
	body, err := io.ReadAll(r.Body)
	if err != nil || r.Method != http.MethodPost {
		w.WriteHeader(http.StatusMethodNotAllowed)
		return
	}
	out := answer(body, s.large)
	if out == nil {
		w.WriteHeader(http.StatusAccepted)
		return
	}
	w.Header().Set("Content-Type", "application/json")
	_, _ = w.Write(out)
}
