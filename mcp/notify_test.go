package mcp_test

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"testing"
	"testing/synctest"
	"time"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/mcpbelt/mcpbelt/internal/assert"
	"github.com/mcpbelt/mcpbelt/mcp"
	"github.com/mcpbelt/mcpbelt/mcp/mcptest"
	"github.com/mcpbelt/mcpbelt/transport"
)

const noteCustom = "notifications/com.example/moved"

// A notification of the program reaches the server as it is.
func TestNotify(t *testing.T) {
	everywhere(t, func(t *testing.T, revision string, p plane) {
		server, c := p.withClient(t, featured(t, revision), nil)
		for i, params := range []string{``, `{"to":[1,2],"_meta":{"k":"v"}}`} {
			assert.OK(t, c.Notify(t.Context(), noteCustom, []byte(params)))
			assert.Equal(t, string(server.Await(noteCustom, i+1).Params), params, "params")
		}
	})
}

// Over HTTP a notification has the header fields of its revision, and a refusal is an
// error.
func TestNotifyOverHTTP(t *testing.T) {
	everyRevision(t, func(t *testing.T, revision string) {
		refuse := false
		s := newWebServer(t, revision, map[string]func(*webRequest){noteCustom: func(v *webRequest) {
			if refuse {
				v.WriteHeader(http.StatusBadRequest)
				return
			}
			v.WriteHeader(http.StatusAccepted)
		}})
		c := newClient(t, &s.HTTP, nil)
		assert.OK(t, c.Notify(t.Context(), noteCustom, []byte(`{"a":1}`)))
		v := s.of(noteCustom)[0]
		assert.Equal(t, v.Header.Get("Mcp-Protocol-Version"), revision, "revision")
		if got, want := v.Header.Get("Mcp-Method") != "", revision == mcp.Revision20260728; got != want {
			t.Errorf("got Mcp-Method %q, want one: %v", v.Header.Get("Mcp-Method"), want)
		}
		refuse = true
		assert.Fails(t, c.Notify(t.Context(), noteCustom, nil), "got no error, want the refusal")
	})
}

// The official SDK's server accepts one that it knows.
func TestNotifySDKOverHTTP(t *testing.T) {
	for _, stateless := range []bool{false, true} {
		server := sdk.NewServer(&sdk.Implementation{Name: "s", Version: "1"}, nil)
		web := httptest.NewServer(sdk.NewStreamableHTTPHandler(func(*http.Request) *sdk.Server { return server },
			&sdk.StreamableHTTPOptions{Stateless: stateless}))
		t.Cleanup(web.Close)
		c := newClient(t, &transport.HTTP{URL: web.URL}, nil)
		assert.OK(t, c.Notify(t.Context(), "notifications/progress", []byte(`{"progressToken":1,"progress":1}`)), "stateless %v", stateless)
		if got, want := c.State().ProtocolVersion == mcp.Revision20260728, stateless; got != want {
			t.Errorf("stateless %v: got revision %s", stateless, c.State().ProtocolVersion)
		}
		_ = c.Close()
	}
}

// What cannot be sent is not.
func TestNotifyRefuses(t *testing.T) {
	server, c := withClient(t, legacy(t), nil)
	for _, test := range []struct{ method, params string }{
		{"", ""},
		{"notifications/initialized", ""},
		{"notifications/cancelled", `{"requestId":1}`},
		{"notifications/roots/list_changed", ""},
		{noteCustom, `7`},
		{noteCustom, `{"a":`},
		{noteCustom, `[]`},
	} {
		wantOutcome(t, c.Notify(t.Context(), test.method, []byte(test.params)), mcp.NotSent)
	}
	assert.Equal(t, server.Connections(), 0, "connections")
	_ = c.Close()
	assert.Is(t, c.Notify(t.Context(), noteCustom, nil), mcp.ErrClosed)
	var zero mcp.Client
	wantOutcome(t, zero.Notify(t.Context(), noteCustom, nil), mcp.NotSent)
	away := newClient(t, transportFunc(func(context.Context) (mcp.Conn, error) { return nil, errors.New("away") }), nil)
	assert.As[*mcp.UnavailableError](t, away.Notify(t.Context(), noteCustom, nil))
}

// refusingWrites is a connection that does not take one kind of messages.
type refusingWrites struct {
	mcp.Conn
	method string
}

func (c refusingWrites) Write(ctx context.Context, m jsonrpc.Message) error {
	if r, ok := m.(*jsonrpc.Request); ok && r.Method == c.method {
		<-ctx.Done()
		return ctx.Err()
	}
	return c.Conn.Write(ctx, m)
}

// A notification that nobody takes ends with the idle limit.
func TestNotifyTimesOut(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		server := legacy(t)
		c := newClient(t, wrapped(server, func(conn mcp.Conn) mcp.Conn { return refusingWrites{conn, noteCustom} }), &mcp.ClientOptions{IdleTimeout: time.Minute})
		err := c.Notify(t.Context(), noteCustom, nil)
		assert.As[*mcp.TimeoutError](t, err)
		wantOutcome(t, err, mcp.Unknown)
	})
}

// Notifications that the client does not know reach the program in order, and no others
// do.
func TestNotification(t *testing.T) {
	everywhere(t, func(t *testing.T, revision string, p plane) {
		const sent = 100
		server := featured(t, revision, mcptest.Script{"tools/call": func(c *mcptest.Call) {
			for i := range sent {
				c.Notify("notifications/tools/list_changed", "")
				c.Notify("notifications/message", `{"level":"info","data":1}`)
				c.Notify(noteCustom, fmt.Sprintf(`{"n":%d}`, i))
			}
			c.Notify(noteCustom, "")
			text("x")(c)
		}})
		got := make(chan *mcp.Notification, sent+1)
		c := newClient(t, p.to(server), &mcp.ClientOptions{Notification: func(n *mcp.Notification) { got <- n }})
		mustCall(t, c, "x")
		for i := range sent + 1 {
			want := fmt.Sprintf(`{"n":%d}`, i)
			if i == sent {
				want = ""
			}
			n := <-got
			assert.Equal(t, [...]any{n.Server, n.Method, string(n.Params), n.Dropped}, [...]any{"scripted", noteCustom, want, 0})
		}
	})
}
