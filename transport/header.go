package transport

import (
	"encoding/base64"
	"encoding/json"
	"mime"
	"net/http"
	"strings"

	"github.com/mcpbelt/mcpbelt/internal/jsonscan"
	"github.com/mcpbelt/mcpbelt/mcp"
)

const (
	headerSession  = "Mcp-Session-Id"
	headerVersion  = "Mcp-Protocol-Version"
	headerMethod   = "Mcp-Method"
	headerName     = "Mcp-Name"
	headerLastSeen = "Last-Event-Id"

	metaVersion = "io.modelcontextprotocol/protocolVersion"
)

// requestHeader returns the fields that revision 2026-07-28 wants to see
// repeated from the body of a request, or nil for a request of an older one.
func requestHeader(method string, params json.RawMessage) http.Header {
	var version string
	var name, uri, task []byte
	for key, value := range jsonscan.Fields(params) {
		switch string(key) {
		case "_meta":
			version = metaProtocolVersion(value)
		case "name":
			name, _ = jsonscan.Text(value)
		case "uri":
			uri, _ = jsonscan.Text(value)
		case "taskId":
			task, _ = jsonscan.Text(value)
		}
	}
	if version < mcp.Revision20260728 {
		return nil
	}
	h := http.Header{headerVersion: {version}, headerMethod: {method}}
	switch {
	case method == "tools/call" || method == "prompts/get":
		h.Set(headerName, encodeFieldValue(string(name)))
	case method == "resources/read":
		h.Set(headerName, encodeFieldValue(string(uri)))
	case strings.HasPrefix(method, "tasks/"):
		h.Set(headerName, encodeFieldValue(string(task)))
	}
	return h
}

func metaProtocolVersion(meta []byte) string {
	for key, value := range jsonscan.Fields(meta) {
		if string(key) == metaVersion {
			version, _ := jsonscan.String(value)
			return version
		}
	}
	return ""
}

// encodeFieldValue writes a value of an Mcp-Name or Mcp-Param field as
// revision 2026-07-28 defines it: as it is if it is plain printable ASCII
// without blanks at its ends, and else between "=?base64?" and "?=".
func encodeFieldValue(value string) string {
	const prefix, suffix = "=?base64?", "?="
	plain := value == strings.TrimSpace(value) && !(strings.HasPrefix(value, prefix) && strings.HasSuffix(value, suffix))
	for i := 0; i < len(value) && plain; i++ {
		plain = value[i] >= ' ' && value[i] < 0x7f
	}
	if plain {
		return value
	}
	return prefix + base64.StdEncoding.EncodeToString([]byte(value)) + suffix
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
