package mcp_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"strings"
	"sync"
	"testing"
	"testing/synctest"

	"github.com/mcpbelt/mcpbelt/internal/assert"
	"github.com/mcpbelt/mcpbelt/mcp"
	"github.com/mcpbelt/mcpbelt/mcp/mcptest"
)

const noticeRoots = "notifications/roots/list_changed"

func TestRoots(t *testing.T) {
	everywhere(t, func(t *testing.T, revision string, p plane) {
		got := assert.Value(granted(t, revision, p, &mcp.ClientOptions{Roots: []*mcp.Root{
			{URI: "file:///home/ann/my%20work", Name: "work", Meta: mcp.Meta{"a": 1}}, {URI: "file:///tmp/"},
		}}, "roots/list", `{}`))(t)
		assert.Equal(t, got, `{"roots":[{"_meta":{"a":1},"name":"work","uri":"file:///home/ann/my%20work"},{"uri":"file:///tmp/"}]}`)
	})
}

func TestNoRoots(t *testing.T) {
	everywhere(t, func(t *testing.T, revision string, p plane) {
		got, err := granted(t, revision, p, &mcp.ClientOptions{Roots: []*mcp.Root{}}, "roots/list", `{}`)
		assert.OK(t, err)
		assert.Equal(t, got, `{"roots":[]}`)
		got, err = granted(t, revision, p, nil, "roots/list", `{}`)
		var refused *mcp.JSONRPCError
		var invalid *mcp.ProtocolError
		if !errors.As(err, &invalid) && (!errors.As(err, &refused) || refused.Code != -32601) {
			t.Errorf("undeclared: the server got %s, %v", got, err)
		}
	})
}

// A root in the options that says too much or too little is not given out.
func TestInvalidRootsLeftOut(t *testing.T) {
	var log bytes.Buffer
	got := assert.Value(granted(t, mcp.Revision20251125, planes()[0], &mcp.ClientOptions{
		Logger: slog.New(slog.NewTextHandler(&log, nil)),
		Roots:  []*mcp.Root{{URI: "https://a.example/"}, {URI: "file:///a"}, nil, {URI: "file:///a/../b"}, {URI: "file:///c", Meta: mcp.Meta{"f": func() {}}}},
	}, "roots/list", `{}`))(t)
	assert.Equal(t, got, `{"roots":[{"uri":"file:///a"}]}`)
	if n := strings.Count(log.String(), "a root is left out"); n != 4 {
		t.Errorf("%d roots were logged, want 4: %s", n, &log)
	}
}

// ListRoots answers for the call that made the server ask; without roots of its own the
// answer is Roots.
func TestListRoots(t *testing.T) {
	everywhere(t, func(t *testing.T, revision string, p plane) {
		for name, want := range map[string]string{
			"some":    `{"roots":[{"uri":"file:///some"}]}`,
			"none":    `{"roots":[]}`,
			"nil":     `{"roots":[{"uri":"file:///own"}]}`,
			"invalid": `{"roots":[{"uri":"file:///b"}]}`,
		} {
			list := func(context.Context) ([]*mcp.Root, error) {
				return map[string][]*mcp.Root{"some": {{URI: "file:///some"}}, "none": {}, "invalid": {{URI: "https://a.example/"}, {URI: "file:///b"}}}[name], nil
			}
			got := assert.Value(granted(t, revision, p, &mcp.ClientOptions{Roots: []*mcp.Root{{URI: "file:///own"}}, ListRoots: list}, "roots/list", `{}`))(t)
			assert.Equal(t, got, want, "%s", name)
		}
		got := assert.Value(granted(t, revision, p, &mcp.ClientOptions{ListRoots: func(context.Context) ([]*mcp.Root, error) { return nil, nil }}, "roots/list", `{}`))(t)
		assert.Equal(t, got, `{"roots":[]}`, "without Roots")
	})
}

func TestRootURIs(t *testing.T) {
	c := newClient(t, legacy(t), &mcp.ClientOptions{Roots: []*mcp.Root{}})
	for _, uri := range []string{
		"file:///", "file:///a", "file:///a/", "file:///a/b.c/...", "file:///a%20b", "file:///C:/", "file:///C:/Users/ann",
		"file://localhost/a", "file:///100%25", "file:///%C3%A9", "file:///..a", "file:///a%3Fb%23c",
	} {
		assert.OK(t, c.SetRoots(t.Context(), []*mcp.Root{{URI: uri}}), "%s", uri)
	}
	for _, uri := range []string{
		"", "a", "/a", "https://a.example/", "file:/a", "file:a", "FILE:///a", "file://", "file://a.example/a", "file://localhost:80/a", "file://ann@localhost/a",
		"file:///a/..", "file:///../a", "file:///a/./b", "file:///.", "file:///a/%2e%2e/b", "file:///a/.%2E/b", "file:///%2E", "file:///a/%252e%252e/b",
		"file:///100%25/%252e%252e", "file:///a%2fb", "file:///a%252Fb", "file:///a/..%2fb", "file:///a\\..\\b", "file:///a/..%5cb",
		"file:///a//b", "file:////a/b", "file:///a?b", "file:///a?", "file:///a#b", "file:///a#", "file:///C:", "file:///a%00", "file:///a\n", "file:///a%0ab", "file:///%ff", "file:///%zz",
		"file:///" + strings.Repeat("a", 8<<10),
	} {
		err := c.SetRoots(t.Context(), []*mcp.Root{{URI: "file:///ok"}, {URI: uri}})
		invalid := assert.As[*mcp.RootError](t, err, "%q", uri)
		wantOutcome(t, err, mcp.NotSent)
		assert.Equal(t, invalid.URI, uri, "%q: URI", uri)
		wantOther(t, invalid.Reason, "", "%q: reason", uri)
	}
	assert.Fails(t, c.SetRoots(t.Context(), []*mcp.Root{nil}), "nil is a root")
}

func TestRootOf(t *testing.T) {
	root := assert.Value(mcp.RootOf("/home/ann/x/../my work/#1?é/"))(t)
	assert.Equal(t, [...]any{root.URI, root.Name}, [...]any{"file:///home/ann/my%20work/%231%3F%C3%A9", "#1?é"})
	for _, path := range []string{"", "a", "./a", "../a", "~/a", "/a\\b", "/a/%2e%2e", "/a%2fb", "/a\nb", "/a\xff"} {
		_, err := mcp.RootOf(path)
		assert.Equal(t, assert.As[*mcp.RootError](t, err, "%q", path).URI, path, "%q: URI", path)
	}
}

// A server of the older revisions is told, and asks; the newest has no such
// notification.
func TestSetRoots(t *testing.T) {
	everywhere(t, func(t *testing.T, revision string, p plane) {
		asks := asksForRoots
		if revision == mcp.Revision20260728 {
			asks = func(c *mcptest.Call) {
				if c.Number%2 == 1 {
					needs(`{"w":{"method":"roots/list"}}`, "")(c)
					return
				}
				text(string(c.Params))(c)
			}
		}
		server := mcptest.NewServer(t, mcptest.Handshake(revision, ""), mcptest.Script{"tools/call": asks})
		c := newClient(t, p.to(server), &mcp.ClientOptions{Roots: []*mcp.Root{}})
		// Before there is a connection there is nobody to tell.
		roots := []*mcp.Root{{URI: "file:///one"}}
		assert.OK(t, c.SetRoots(t.Context(), roots))
		assert.Equal(t, server.Connections(), 0, "connections")
		roots[0].URI = "file:///changed/afterwards"
		assert.Contains(t, textOf(t, mustCall(t, c, "x")), `{"roots":[{"uri":"file:///one"}]}`, "the server")
		assert.OK(t, c.SetRoots(t.Context(), []*mcp.Root{{URI: "file:///two"}}))
		assert.Fails(t, c.SetRoots(t.Context(), []*mcp.Root{{URI: "file:///three"}, {URI: "https:///three"}}))
		assert.Contains(t, textOf(t, mustCall(t, c, "x")), `{"roots":[{"uri":"file:///two"}]}`, "the server")
		if revision == mcp.Revision20260728 {
			wantCount(t, server, noticeRoots, 0)
			return
		}
		server.Await(noticeRoots, 1)
		wantCount(t, server, noticeRoots, 1)
	})
}

func TestSetRootsUndeclared(t *testing.T) {
	c := newReady(t, legacy(t), nil)
	wantOutcome(t, c.SetRoots(t.Context(), []*mcp.Root{{URI: "file:///a"}}), mcp.NotSent)
}

func TestSetRootsAfterClose(t *testing.T) {
	c := newClient(t, legacy(t), &mcp.ClientOptions{Roots: []*mcp.Root{}})
	_ = c.Close()
	assert.Is(t, c.SetRoots(t.Context(), nil), mcp.ErrClosed)
}

// asksForRoots answers a call with the roots of the client.
func asksForRoots(c *mcptest.Call) {
	answer, _ := c.Ask("roots/list", `{}`)
	answerText(c, string(answer))
}

// The new roots stand even if the server cannot be told.
func TestSetRootsNotDelivered(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		server := legacy(t, mcptest.Script{"tools/call": asksForRoots})
		c := newReady(t, wrapped(server, func(conn mcp.Conn) mcp.Conn { return refusingWrites{conn, noticeRoots} }), &mcp.ClientOptions{Roots: []*mcp.Root{{URI: "file:///old"}}})
		assert.Is(t, c.SetRoots(within(t, 1), []*mcp.Root{}), context.DeadlineExceeded)
		assert.Equal(t, textOf(t, mustCall(t, c, "x")), `{"roots":[]}`, "the server")
	})
}

// A server that asked for the roots during its handshake is told of a change
// that came before the connection was ready.
func TestSetRootsWhileConnecting(t *testing.T) {
	asked, changed := make(chan struct{}), make(chan struct{})
	handshake := mcptest.Handshake(mcp.Revision20251125, "")
	answer := handshake["initialize"]
	server, c := withClient(t, mcptest.NewServer(t, handshake, mcptest.Script{"initialize": func(c *mcptest.Call) {
		_, _ = c.Ask("roots/list", `{}`)
		close(asked)
		<-changed
		answer(c)
	}}), &mcp.ClientOptions{Roots: []*mcp.Root{}})
	c.Connect()
	<-asked
	assert.OK(t, c.SetRoots(t.Context(), []*mcp.Root{{URI: "file:///new"}}))
	close(changed)
	server.Await(noticeRoots, 1)
}

func TestRootsAtOnce(t *testing.T) {
	c := newReady(t, legacy(t, mcptest.Script{"tools/call": asksForRoots}), &mcp.ClientOptions{Roots: []*mcp.Root{}})
	var all sync.WaitGroup
	for i := range 8 {
		all.Go(func() {
			uri := fmt.Sprintf("file:///%d", i)
			assert.Is(t, c.SetRoots(t.Context(), []*mcp.Root{{URI: uri}, {URI: uri}}), nil)
		})
		all.Go(func() {
			res, err := c.CallTool(t.Context(), "x", nil, nil)
			assert.Is(t, err, nil)
			var got struct{ Roots []mcp.Root }
			assert.Is(t, json.Unmarshal([]byte(res.Text()), &got), nil)
			if n := len(got.Roots); n != 0 && (n != 2 || got.Roots[0].URI != got.Roots[1].URI) {
				t.Errorf("half of the roots: %v", got)
			}
		})
	}
	all.Wait()
}
