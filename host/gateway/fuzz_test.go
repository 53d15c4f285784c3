package gateway_test

import (
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/mcpbelt/mcpbelt/host/gateway"
)

// FuzzPost posts any body with some of the fields that matter. Each request is answered, by a status that
// is not the server's fault.
func FuzzPost(f *testing.F) {
	s := &site{server: newUpstream()}
	s.make(f, s.hostOptions(), &gateway.Options{AnswerWithin: 20 * time.Millisecond, Heartbeat: time.Millisecond, MaxMessage: 1 << 16}, []string{"one"})
	f.Cleanup(func() {
		if err := s.gateway.Close(); err != nil {
			f.Error(err)
		}
	})
	post := func(body, revision, method, name, session, path string) *httptest.ResponseRecorder {
		r := httptest.NewRequest(http.MethodPost, "/mcp", strings.NewReader(body))
		r.URL.Path = path
		for key, value := range map[string]string{
			"Content-Type": "application/json", "Accept": "application/json, text/event-stream",
			"Mcp-Protocol-Version": revision, "Mcp-Method": method, "Mcp-Name": name, "Mcp-Session-Id": session,
		} {
			if value != "" {
				r.Header.Set(key, value)
			}
		}
		w := httptest.NewRecorder()
		s.gateway.ServeHTTP(w, r)
		return w
	}
	sessions := map[string]string{}
	for _, revision := range []string{"2025-11-25", "2025-03-26"} {
		w := post(callOf(1, "initialize", `{"protocolVersion":"`+revision+`","capabilities":{"elicitation":{}}}`), "", "", "", "", "/mcp")
		sessions[revision] = w.Header().Get("Mcp-Session-Id")
	}
	meta := `"_meta":{"progressToken":1,"io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientCapabilities":{"elicitation":{}}}`
	for _, body := range []string{
		"", "[]", "{", callOf(1, "ping", `{}`), `[` + callOf(1, "ping", `{}`) + `,{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":1}}]`,
		`{"jsonrpc":"2.0","id":1,"result":{}}`, `{"jsonrpc":"2.0","id":"x","error":{"code":1,"message":"x"}}`,
		`{"jsonrpc":"2.0","id":1,"error":7,"method":"ping"}`,
	} {
		for _, revision := range []string{"", "2025-11-25", "2025-03-26"} {
			f.Add(body, revision, "", "", "/mcp")
		}
	}
	for _, c := range [][3]string{
		{"tools/call", "one__echo", `"name":"one__echo","arguments":{"text":"x"}`},
		{"tools/call", "one__ask", `"name":"one__ask","arguments":{}`},
		{"tools/call", "one__ask", `"name":"one__ask","arguments":{},"requestState":"mcpbelt.A.B","inputResponses":{"a":{}}`},
		{"tools/call", "one__big", `"name":"one__big","arguments":{"n":9},"task":{"ttl":1e300}`},
		{"tools/call", "await_call", `"name":"await_call","arguments":{"id":"x"}`},
		{"tools/list", "", `"cursor":"AA"`},
		{"prompts/get", "x", `"name":"x","arguments":{"a":"b"}`},
		{"resources/read", "mcp://one/note://1", `"uri":"mcp://one/note://1"`},
		{"resources/subscribe", "", `"uri":"note://1"`},
		{"completion/complete", "", `"ref":{"type":"ref/prompt","name":"x"},"argument":{"name":"a","value":"b"}`},
		{"completion/complete", "", `"ref":{"type":"ref/resource","uri":"x"},"argument":null,"context":{"arguments":{}}`},
		{"logging/setLevel", "", `"level":"debug"`},
		{"tasks/result", "", `"taskId":"x"`},
		{"tasks/list", "", ``},
		{"server/discover", "", ``},
		{"subscriptions/listen", "", `"notifications":{}`},
		{"initialize", "", `"protocolVersion":"2025-11-25","clientInfo":{"name":"claude-ai"}`},
	} {
		params := strings.TrimSuffix(c[2]+","+meta, ",")
		f.Add(callOf(1, c[0], `{`+strings.TrimPrefix(params, ",")+`}`), "2026-07-28", c[0], c[1], "/mcp")
		f.Add(callOf(1, c[0], `{`+c[2]+`}`), "2025-11-25", "", "", "/s/one/mcp")
		f.Add(callOf(1, c[0], `{`+c[2]+`}`), "2025-03-26", "", "", "/mcp")
		f.Add(callOf(1, c[0], `{`+c[2]+`}`), "", "", "", "/mcp/tools/call")
	}
	f.Fuzz(func(t *testing.T, body, revision, method, name, path string) {
		if strings.Contains(body, "wait") || strings.Contains(body, "listen") || strings.Contains(body, "flood") {
			t.Skip("it takes its time")
		}
		w := post(body, revision, method, name, sessions[revision], path)
		switch w.Code {
		case 200, 202, 400, 401, 403, 404, 405, 406, 413, 415:
		default:
			t.Errorf("got %d %s, want an answer or a refusal", w.Code, cut(w.Body.String()))
		}
	})
}
