// Tests of server_request.go: the roots that servers are told.

package mcp_test

import (
	"bytes"
	"context"
	"errors"
	"log/slog"
	"strings"
	"testing"
	"testing/synctest"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"

	"github.com/mcpbelt/mcpbelt/internal/assert"
	"github.com/mcpbelt/mcpbelt/mcp"
	"github.com/mcpbelt/mcpbelt/mcp/mcptest"
)

const noteRoots = "notifications/roots/list_changed"

// rootsAt returns a handler for roots/list with these URIs.
func rootsAt(uris ...string) func(context.Context) ([]*mcp.Root, error) {
	return func(context.Context) (roots []*mcp.Root, err error) {
		for _, uri := range uris {
			roots = append(roots, &mcp.Root{URI: uri})
		}
		return roots, nil
	}
}

func TestRoots(t *testing.T) {
	everywhere(t, func(t *testing.T, revision string, p plane) {
		got := assert.Value(granted(t, revision, p, &mcp.ClientOptions{ListRoots: func(context.Context) ([]*mcp.Root, error) {
			return []*mcp.Root{{URI: "file:///home/ann/my%20work", Name: "work", Meta: mcp.Meta{"a": 1}}, {URI: "file:///tmp/"}}, nil
		}}, "roots/list", `{}`))(t)
		assert.Equal(t, got, `{"roots":[{"_meta":{"a":1},"name":"work","uri":"file:///home/ann/my%20work"},{"uri":"file:///tmp/"}]}`)
	})
}

func TestNoRoots(t *testing.T) {
	everywhere(t, func(t *testing.T, revision string, p plane) {
		assert.Equal(t, assert.Value(granted(t, revision, p, &mcp.ClientOptions{ListRoots: rootsAt()}, "roots/list", `{}`))(t), `{"roots":[]}`)
		_, err := granted(t, revision, p, nil, "roots/list", `{}`)
		var refused *mcp.JSONRPCError
		var invalid *mcp.ProtocolError
		none := errors.As(err, &refused) && refused.Code == -32601
		assert.True(t, none || errors.As(err, &invalid), "undeclared: the server got %v", err)
	})
}

// A root that says too much or too little is not given out.
func TestInvalidRootsLeftOut(t *testing.T) {
	var log bytes.Buffer
	got := assert.Value(granted(t, mcp.Revision20251125, planes()[0], &mcp.ClientOptions{
		Logger: slog.New(slog.NewTextHandler(&log, nil)),
		ListRoots: func(context.Context) ([]*mcp.Root, error) {
			return []*mcp.Root{{URI: "https://a.example/"}, {URI: "file:///a"}, nil, {URI: "file:///a/../b"}, {URI: "file:///c", Meta: mcp.Meta{"f": func() {}}}}, nil
		},
	}, "roots/list", `{}`))(t)
	assert.Equal(t, got, `{"roots":[{"uri":"file:///a"}]}`)
	assert.Equal(t, strings.Count(log.String(), "a root is left out"), 4, "roots logged")
}

func TestRootURIs(t *testing.T) {
	given := func(uri string) bool {
		got := assert.Value(granted(t, mcp.Revision20251125, planes()[0], &mcp.ClientOptions{ListRoots: rootsAt(uri)}, "roots/list", `{}`))(t)
		return got != `{"roots":[]}`
	}
	for _, uri := range []string{
		"file:///", "file:///a", "file:///a/", "file:///a/b.c/...", "file:///a%20b", "file:///C:/", "file:///C:/Users/ann",
		"file://localhost/a", "file:///%C3%A9", "file:///..a", "file:///a%3Fb%23c",
	} {
		assert.True(t, given(uri), "%s", uri)
	}
	for _, uri := range []string{
		"", "a", "/a", "https://a.example/", "file:/a", "file:a", "FILE:///a", "file://", "file://a.example/a", "file://localhost:80/a", "file://ann@localhost/a",
		"file:///a/..", "file:///../a", "file:///a/./b", "file:///.", "file:///a/%2e%2e/b", "file:///a/.%2E/b", "file:///%2E", "file:///a/%252e%252e/b",
		"file:///100%25/%252e%252e", "file:///a%2fb", "file:///a%252Fb", "file:///a/..%2fb", "file:///a\\..\\b", "file:///a/..%5cb", "file:///100%25",
		"file:///a//b", "file:////a/b", "file:///a?b", "file:///a?", "file:///a#b", "file:///a#", "file:///C:", "file:///a%00", "file:///a\n", "file:///a%0ab", "file:///%ff", "file:///%zz",
		"file:///a//", "file:///" + strings.Repeat("a", 8<<10),
	} {
		assert.False(t, given(uri), "%q", uri)
	}
}

// asksForRoots answers a call with the roots of the client.
func asksForRoots(c *mcptest.Call) {
	answer, _ := c.Ask("roots/list", `{}`)
	answerText(c, string(answer))
}

// A server of the older revisions is told that the roots have changed, and asks; the newest
// has no such notification.
func TestRootsChanged(t *testing.T) {
	everywhere(t, func(t *testing.T, revision string, p plane) {
		server := mcptest.NewServer(t, mcptest.Handshake(revision, ""), mcptest.Script{"tools/call": asksForRoots})
		roots := []string{"file:///one"}
		c := newClient(t, p.to(server), &mcp.ClientOptions{ListRoots: func(ctx context.Context) ([]*mcp.Root, error) { return rootsAt(roots...)(ctx) }})
		assert.OK(t, c.RootsChanged(t.Context())) // before there is a connection there is nobody to tell
		assert.Equal(t, server.Connections(), 0, "connections")
		ready(t, c)
		roots = []string{"file:///two"}
		assert.OK(t, c.RootsChanged(t.Context()))
		if revision == mcp.Revision20260728 {
			wantCount(t, server, noteRoots, 0)
			return
		}
		server.Await(noteRoots, 1)
		assert.Equal(t, textOf(t, mustCall(t, c, "x")), `{"roots":[{"uri":"file:///two"}]}`, "the server")
		wantCount(t, server, noteRoots, 1)
	})
}

func TestRootsChangedRefused(t *testing.T) {
	wantOutcome(t, newReady(t, legacy(t), nil).RootsChanged(t.Context()), mcp.NotSent)
	c := newClient(t, legacy(t), &mcp.ClientOptions{ListRoots: rootsAt()})
	_ = c.Close()
	assert.Is(t, c.RootsChanged(t.Context()), mcp.ErrClosed)
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

func TestRootsChangedNotDelivered(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := newReady(t, wrapped(legacy(t), func(conn mcp.Conn) mcp.Conn { return refusingWrites{conn, noteRoots} }), &mcp.ClientOptions{ListRoots: rootsAt()})
		assert.Is(t, c.RootsChanged(within(t, 1)), context.DeadlineExceeded)
	})
}
