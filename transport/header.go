package transport

import (
	"encoding/json"
	"mime"
	"net/http"

	"github.com/mcpbelt/mcpbelt/internal/jsonscan"
	"github.com/mcpbelt/mcpbelt/internal/paramheader"
	"github.com/mcpbelt/mcpbelt/internal/protocol"
)

// requestHeader returns the fields that stateless revisions want to see
// repeated from the body of a request, or nil for a request of an older one.
func requestHeader(method string, params json.RawMessage) http.Header {
	var version string
	var name []byte
	named := protocol.NamedBy(method)
	for key, value := range jsonscan.Fields(params) {
		switch string(key) {
		case "_meta":
			if version, _ = jsonscan.String(jsonscan.Member(value, protocol.MetaVersion)); !protocol.IsStateless(version) {
				return nil // without a look at the rest, which can be long
			}
		case named:
			name, _ = jsonscan.Text(value)
		}
	}
	if !protocol.IsStateless(version) {
		return nil
	}
	h := http.Header{protocol.HeaderVersion: {version}, protocol.HeaderMethod: {method}}
	if named != "" {
		h.Set(protocol.HeaderName, paramheader.Encode(string(name)))
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
