package gateway_test

import (
	"context"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/mcpbelt/mcpbelt/host"
	"github.com/mcpbelt/mcpbelt/host/gateway"
	"github.com/mcpbelt/mcpbelt/internal/assert"
	"github.com/mcpbelt/mcpbelt/mcp"
	"github.com/mcpbelt/mcpbelt/registry"
)

// A client of a revision with sessions that loses its connection can come back for the answer to a call, so
// that the call goes on. It ends when the session has been idle for too long.
func TestCallOfClientThatIsGone(t *testing.T) {
	const call = `{"jsonrpc":"2.0","id":2,"method":"tools/call","params":{"name":"wait"}}`
	for _, test := range []struct{ revision, accept, call string }{
		{mcp.Revision20251125, "application/json, text/event-stream", call},
		{mcp.Revision20251125, "application/json", call},
		{"2025-03-26", "application/json, text/event-stream", "[" + call + "]"},
	} {
		synctest.Test(t, func(t *testing.T) {
			o := &host.Options{StateDir: host.NoState}
			gateway.Prepare(o)
			h := host.New(o)
			defer h.Close()
			ended := make(chan struct{})
			assert.OK(t, h.Registry().Add(registry.MustFunc("wait", "Wait", func(ctx context.Context, _ struct{}) (string, error) {
				<-ctx.Done()
				close(ended)
				return "", ctx.Err()
			})))
			g := assert.Value(gateway.New(h, &gateway.Options{SessionIdle: time.Hour, Authenticate: userOfField}))(t)
			defer g.Close()
			post := func(ctx context.Context, session, body string) *httptest.ResponseRecorder {
				r := httptest.NewRequestWithContext(ctx, http.MethodPost, "http://localhost/mcp", strings.NewReader(body))
				r.Header.Set("Content-Type", "application/json")
				r.Header.Set("Accept", test.accept)
				r.Header.Set("Mcp-Session-Id", session)
				w := httptest.NewRecorder()
				g.ServeHTTP(w, r)
				return w
			}
			session := post(t.Context(), "", `{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"`+test.revision+`","capabilities":{},"clientInfo":{"name":"x","version":"1"}}}`).Header().Get("Mcp-Session-Id")
			ctx, leave := context.WithCancel(t.Context())
			go post(ctx, session, test.call)
			time.Sleep(2 * time.Hour) // the client waits
			leave()
			time.Sleep(30 * time.Minute)
			select {
			case <-ended:
				t.Errorf("%+v: the call ended half an hour after its client was gone, want it to go on for an hour", test)
			default:
			}
			time.Sleep(time.Hour)
			select {
			case <-ended:
			default:
				t.Errorf("%+v: the call goes on an hour and a half after its client was gone, want it to have ended after an hour", test)
			}
		})
	}
}
