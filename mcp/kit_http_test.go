// The kit of tests over HTTP: a server whose answers are scripted.

package mcp_test

import (
	"fmt"
	"io"
	"maps"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/mcpbelt/mcpbelt/internal/jsonscan"
	"github.com/mcpbelt/mcpbelt/mcp"
	"github.com/mcpbelt/mcpbelt/transport"
)

// A webServer is a scripted server of streamable HTTP, for tests that look at the
// requests themselves. A method that is not in its script is unknown; GET and
// DELETE are refused.
type webServer struct {
	transport.HTTP
	script map[string]func(*webRequest)

	mu       sync.Mutex
	requests []*webRequest
}

// A webRequest is one request to a webServer. Its Method is that of JSON-RPC, or GET or
// DELETE.
type webRequest struct {
	http.ResponseWriter
	jsonscan.Message
	Header http.Header // of the request
	gone   <-chan struct{}
}

// newWebServer returns a server that shakes hands in the way of a revision, unless the
// script says otherwise.
func newWebServer(t *testing.T, revision string, script map[string]func(*webRequest)) *webServer {
	t.Helper()
	s := &webServer{script: map[string]func(*webRequest){}}
	if revision == mcp.Revision20260728 {
		s.script["server/discover"] = result(`{"resultType":"complete","supportedVersions":["2026-07-28"],"capabilities":{"tools":{}}}`)
	} else {
		s.script["initialize"] = result(fmt.Sprintf(
			`{"protocolVersion":%q,"capabilities":{"tools":{}},"serverInfo":{"name":"s","version":"1"}}`, revision))
	}
	maps.Copy(s.script, script)
	s.URL = serveHTTP(t, s)
	return s
}

// serveHTTP starts an HTTP server until the end of the test, and returns its URL.
func serveHTTP(t *testing.T, h http.Handler) string {
	server := httptest.NewServer(h)
	t.Cleanup(func() {
		server.CloseClientConnections()
		server.Close()
	})
	return server.URL
}

func (s *webServer) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	body, _ := io.ReadAll(r.Body)
	m, err := jsonscan.Scan(body)
	if err != nil {
		m.Method = r.Method
	}
	v := &webRequest{w, m, r.Header, r.Context().Done()}
	s.mu.Lock()
	s.requests = append(s.requests, v)
	s.mu.Unlock()
	switch act := s.script[v.Method]; {
	case act != nil:
		act(v)
	case err != nil:
		w.WriteHeader(http.StatusMethodNotAllowed)
	case v.ID == nil:
		w.WriteHeader(http.StatusAccepted)
	default:
		v.reply(http.StatusNotFound, `"error":{"code":-32601,"message":"unknown method"}`)
	}
}

// of returns the requests of a method, or all for "", in the order in which they
// came.
func (s *webServer) of(method string) []*webRequest {
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.DeleteFunc(slices.Clone(s.requests), func(v *webRequest) bool { return method != "" && v.Method != method })
}

// reply answers with a JSON-RPC message that has the given member.
func (v *webRequest) reply(status int, member string) {
	v.ResponseWriter.Header().Set("Content-Type", "application/json")
	v.WriteHeader(status)
	_, _ = fmt.Fprintf(v, `{"jsonrpc":"2.0","id":%s,%s}`, v.ID, member)
}

// stream writes an event to an event stream, at once.
func (v *webRequest) stream(message string) {
	v.ResponseWriter.Header().Set("Content-Type", "text/event-stream")
	_, _ = io.WriteString(v, "data: "+strings.ReplaceAll(message, "$ID", string(v.ID))+"\n\n")
	v.ResponseWriter.(http.Flusher).Flush()
}

// result answers a request with a result.
func result(result string) func(*webRequest) {
	return func(v *webRequest) { v.reply(http.StatusOK, `"result":`+result) }
}

// rpcError refuses a request with a JSON-RPC error.
func rpcError(status int, code int64, data string) func(*webRequest) {
	return func(v *webRequest) { v.reply(status, fmt.Sprintf(`"error":{"code":%d,"message":"no"%s}`, code, data)) }
}

// statusOnly refuses a request with a status and a text.
func statusOnly(status int) func(*webRequest) {
	return func(v *webRequest) {
		v.ResponseWriter.Header().Set("Content-Type", "text/plain")
		v.WriteHeader(status)
		_, _ = fmt.Fprint(v, "not initialized")
	}
}
