package transport

import (
	"encoding/json"
	"mime"
	"net/http"
	"strings"

	"github.com/mcpbelt/mcpbelt/internal/jsonscan"
	"github.com/mcpbelt/mcpbelt/internal/paramheader"
	"github.com/mcpbelt/mcpbelt/internal/protocol"
)

const (
	headerSession  = "Mcp-Session-Id"
	headerVersion  = "Mcp-Protocol-Version"
	headerMethod   = "Mcp-Method"
	headerName     = "Mcp-Name"
	headerLastSeen = "Last-Event-Id"
)

// requestHeader returns the fields that stateless revisions want to see
// repeated from the body of a request, or nil for a request of an older one.
func requestHeader(method string, params json.RawMessage) http.Header {
	var version string
	var name, uri, task []byte
	for key, value := range jsonscan.Fields(params) {
		switch string(key) {
		case "_meta":
			if version, _ = jsonscan.String(jsonscan.Member(value, protocol.MetaVersion)); !protocol.IsStateless(version) {
				return nil // without a look at the rest, which can be long
			}
		case "name":
			name, _ = jsonscan.Text(value)
		case "uri":
			uri, _ = jsonscan.Text(value)
		case "taskId":
			task, _ = jsonscan.Text(value)
		}
	}
	if !protocol.IsStateless(version) {
		return nil
	}
	h := http.Header{headerVersion: {version}, headerMethod: {method}}
	switch {
	case method == "tools/call" || method == "prompts/get":
		h.Set(headerName, paramheader.Encode(string(name)))
	case method == "resources/read":
		h.Set(headerName, paramheader.Encode(string(uri)))
	case strings.HasPrefix(method, "tasks/"):
		h.Set(headerName, paramheader.Encode(string(task)))
	}
	return h
}

const (
	kindJSON   = "application/json"
	kindEvents = "text/event-stream"
)

// mediaType returns the kind of a response's body, without parameters.
func mediaType(resp *http.Response) string {
	kind := resp.Header.Get("Content-Type")
	if kind == kindJSON || kind == kindEvents {
		return kind
	}
	kind, _, _ = mime.ParseMediaType(kind)
	return kind
}

func isEventStream(resp *http.Response) bool { return mediaType(resp) == kindEvents }
