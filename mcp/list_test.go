package mcp_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"iter"
	"log/slog"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/mcpbelt/mcpbelt/internal/assert"
	"github.com/mcpbelt/mcpbelt/mcp"
	"github.com/mcpbelt/mcpbelt/mcp/mcptest"
)

// lists are the lists that are iterated over, reduced to their errors.
var lists = []struct {
	method, member string
	read           func(context.Context, *mcp.Client) (int, error)
}{
	{"prompts/list", "prompts", func(ctx context.Context, c *mcp.Client) (int, error) { return count(c.Prompts(ctx)) }},
	{"resources/list", "resources", func(ctx context.Context, c *mcp.Client) (int, error) { return count(c.Resources(ctx)) }},
	{"resources/templates/list", "resourceTemplates", func(ctx context.Context, c *mcp.Client) (int, error) { return count(c.ResourceTemplates(ctx)) }},
	{"tools/list", "tools", func(ctx context.Context, c *mcp.Client) (int, error) {
		tools, err := c.Tools(ctx)
		return len(tools), err
	}},
}

func count[T any](list iter.Seq2[*T, error]) (int, error) {
	items, err := collect(list)
	return len(items), err
}

// item is one that every list accepts.
func item(n int) string {
	return fmt.Sprintf(`{"name":"%d","uri":"a:%d","uriTemplate":"a:%d","inputSchema":{}}`, n, n, n)
}

// Lists that are none are errors that say where, and the connection lives on.
func TestListsRefused(t *testing.T) {
	everywhere(t, func(t *testing.T, revision string, p plane) {
		for _, l := range lists {
			for _, bad := range []struct{ result, path string }{
				{`{}`, l.member},
				{`[]`, l.member},
				{`7`, l.member},
				{`{"` + l.member + `":{}}`, l.member},
				{`{"` + l.member + `":null}`, l.member},
				{`{"` + strings.ToUpper(l.member) + `":[]}`, l.member},
				{`{"` + l.member + `":[],"nextCursor":1}`, "nextCursor"},
				{`{"` + l.member + `":[],"nextCursor":{}}`, "nextCursor"},
				{`{"` + l.member + `":[],"resultType":7}`, "resultType"},
				{`{"` + l.member + `":[],"resultType":"later"}`, "resultType"},
				{`{"` + l.member + `":[],"resultType":"input_required"}`, "resultType"},
				{`{"` + l.member + `":[],"nextCursor":"again"}`, "nextCursor"},
			} {
				good := mcptest.Result(`{"` + l.member + `":[` + item(1) + `],"resultType":"complete"}`)
				refuse := mcptest.Result(bad.result)
				c := newClient(t, p.to(featured(t, revision, mcptest.Script{l.method: mcptest.Sequence(refuse, func(c *mcptest.Call) {
					if strings.Contains(bad.result, "again") && c.Number == 2 {
						refuse(c)
					} else {
						good(c)
					}
				})})), nil)
				n, err := l.read(t.Context(), c)
				invalid := assert.As[*mcp.ProtocolError](t, err, "%s %s", l.method, bad.result)
				assert.Equal(t, [...]any{n, invalid.Path, invalid.Method, invalid.Server},
					[...]any{0, bad.path, l.method, "scripted"}, "%s %s", l.method, bad.result)
				wantOutcome(t, err, mcp.Answered)
				if n, err := l.read(t.Context(), c); n != 1 || err != nil {
					t.Errorf("%s after %s: %d items, error %v", l.method, bad.result, n, err)
				}
				assert.Equal(t, c.State().Connections, 1, "connections")
			}
		}
	})
}

func TestListsBounded(t *testing.T) {
	for _, l := range lists {
		endless := func(c *mcptest.Call) {
			c.Result(fmt.Sprintf(`{"%s":[%s],"nextCursor":"%d"}`, l.member, item(c.Number), c.Number))
		}
		for limit, opts := range map[string]*mcp.ClientOptions{"pages of " + l.method: {MaxPages: 3}, "bytes of " + l.method: {MaxCatalog: 400}} {
			server := featured(t, mcp.Revision20251125, mcptest.Script{l.method: endless})
			_, err := l.read(t.Context(), newClient(t, server, opts))
			exceeded := assert.As[*mcp.LimitError](t, err, "%s", limit)
			assert.Contains(t, err.Error(), `"scripted"`, "%s", limit)
			assert.Equal(t, exceeded.Limit, limit, "%s: limit", limit)
		}
	}
}

func TestListsLeaveOut(t *testing.T) {
	var log bytes.Buffer
	for _, l := range lists {
		server := featured(t, mcp.Revision20251125, mcptest.Script{l.method: mcptest.Result(
			`{"` + l.member + `":[` + item(1) + `,7,null,{},{"name":1,"uri":1,"uriTemplate":1},` + item(2) + `]}`)})
		c := newClient(t, server, &mcp.ClientOptions{Logger: slog.New(slog.NewTextHandler(&log, nil))})
		if n, err := l.read(t.Context(), c); n != 2 || err != nil {
			t.Errorf("%s: %d items, error %v", l.method, n, err)
		}
		for i := 1; i < 5; i++ {
			assert.Contains(t, log.String(), fmt.Sprintf("%s %s[%d]", l.method, l.member, i))
		}
	}
}

// A server without a list is not asked for it.
func TestListsNotOffered(t *testing.T) {
	everywhere(t, func(t *testing.T, revision string, p plane) {
		server, c := p.withClient(t, mcptest.NewServer(t, mcptest.Handshake(revision, `{"logging":{}}`)), nil)
		for _, l := range lists {
			if n, err := l.read(t.Context(), c); n != 0 || err != nil {
				t.Errorf("%s: %d items, error %v", l.method, n, err)
			}
			wantCount(t, server, l.method, 0)
		}
	})
}

func TestListsEmptyCursor(t *testing.T) {
	for _, revision := range eras() {
		for _, l := range lists {
			server := featured(t, revision, mcptest.Script{l.method: mcptest.Sequence(
				mcptest.Result(`{"`+l.member+`":[`+item(1)+`],"nextCursor":""}`), mcptest.Result(`{"`+l.member+`":[`+item(2)+`]}`))})
			want := 1
			if revision == mcp.Revision20260728 {
				want = 2
			}
			if n, err := l.read(t.Context(), newClient(t, server, nil)); n != want || err != nil {
				t.Errorf("%s %s: %d items, error %v", revision, l.method, n, err)
			}
		}
	}
}

// A page that does not come ends with the context, and the error is the last
// that is yielded.
func TestListEndsWithContext(t *testing.T) {
	inBubbles(t, func(t *testing.T, revision string, p plane) {
		c := newClient(t, p.to(featured(t, revision, mcptest.Script{"resources/list": mcptest.Sequence(
			mcptest.Result(resourcePage(`,"nextCursor":"2"`, "a:1")), mcptest.Hang)})), nil)
		ready(t, c)
		ctx := within(t, time.Second)
		yields := 0
		for r, err := range c.Resources(ctx) {
			switch yields++; {
			case yields == 1 && (err != nil || r.URI != "a:1"), yields == 2 && (r != nil || !errors.Is(err, context.DeadlineExceeded)), yields > 2:
				t.Errorf("yield %d: %v, %v", yields, r, err)
			}
		}
		assert.Equal(t, yields, 2, "yields")
		for r, err := range c.Resources(ctx) {
			wantNotSent(t, err, context.DeadlineExceeded)
			assert.Equal(t, r == nil, true)
		}
	})
}

// A consumer that takes its time does not keep the client from shutting down.
func TestListDoesNotHoldShutdown(t *testing.T) {
	c := newClient(t, featured(t, mcp.Revision20251125, mcptest.Script{"resources/list": mcptest.Result(resourcePage(`,"nextCursor":"2"`, "a:1"))}), nil)
	var last error
	for _, err := range c.Resources(t.Context()) {
		if last = err; err == nil {
			assert.OK(t, c.Shutdown(t.Context()))
		}
	}
	assert.Is(t, last, mcp.ErrClosed)
}

// versioned gives out a list of two pages whose cursors are good for one version
// of it only.
func versioned(version *string) mcptest.Handler {
	return func(c *mcptest.Call) {
		switch cursor := cursorOf(c.Params); cursor {
		case "":
			c.Result(resourcePage(`,"nextCursor":"`+*version+`","ttlMs":60000`, "a:same", "a:"+*version))
		case `"` + *version + `"`:
			c.Result(resourcePage(``, "a:end of "+*version))
		default:
			c.Error(-32602, "unknown cursor "+cursor)
		}
	}
}

// A cursor from the cache that is not good any more makes the list be read from
// the beginning, without what was yielded before.
func TestListStaleCursor(t *testing.T) {
	everyPlane(t, func(t *testing.T, p plane) {
		version := "1"
		server, c := p.withClient(t, featured(t, mcp.Revision20260728, mcptest.Script{"resources/list": versioned(&version)}), nil)
		want := func(want string, asked int) {
			t.Helper()
			before := len(server.Received("resources/list"))
			assert.Equal(t, uris(assert.Value(collect(c.Resources(t.Context())))(t)), want)
			wantCount(t, server, "resources/list", before+asked)
		}
		want("a:same a:1 a:end of 1", 2)
		want("a:same a:1 a:end of 1", 1) // the second page is not for keeping
		version = "2"
		want("a:same a:1 a:2 a:end of 2", 3) // page 2 refused, and then both anew
		want("a:same a:2 a:end of 2", 1)
	})
}

// A cursor that is never good is an error, after the list was begun once more.
func TestListBadCursor(t *testing.T) {
	everywhere(t, func(t *testing.T, revision string, p plane) {
		for _, l := range lists {
			server, c := p.withClient(t, featured(t, revision, mcptest.Script{l.method: func(c *mcptest.Call) {
				if cursorOf(c.Params) == "" {
					c.Result(`{"` + l.member + `":[` + item(1) + `],"nextCursor":"x","ttlMs":0}`)
				} else {
					c.Error(-32602, "unknown cursor")
				}
			}}), nil)
			_, err := l.read(t.Context(), c)
			assert.Equal(t, assert.As[*mcp.ServerError](t, err, "%s", l.method).Err.Code, -32602, "%s: got code", l.method)
			wantCount(t, server, l.method, 4)
			wantPhase(t, c, mcp.Ready)
		}
	})
}

// A cursor that the connection which gave it refuses makes the list be read from the
// beginning, without what was yielded before.
func TestListRefusedCursor(t *testing.T) {
	everywhere(t, func(t *testing.T, revision string, p plane) {
		for _, l := range lists {
			server := featured(t, revision, mcptest.Script{l.method: func(c *mcptest.Call) {
				switch cursor := cursorOf(c.Params); {
				case cursor == "" && c.Number == 1:
					c.Result(`{"` + l.member + `":[` + item(1) + `],"nextCursor":"old","ttlMs":0}`)
				case cursor == "":
					c.Result(`{"` + l.member + `":[` + item(1) + `],"nextCursor":"new","ttlMs":0}`)
				case cursor == `"new"`:
					c.Result(`{"` + l.member + `":[` + item(2) + `]}`)
				default: // the list has changed
					c.Error(-32602, "unknown cursor")
				}
			}})
			n := assert.Value(l.read(t.Context(), newClient(t, p.to(server), nil)))(t)
			assert.Equal(t, n, 2, "%s: items", l.method)
			wantCount(t, server, l.method, 4)
		}
	})
}

// A new connection may not know the cursors of the one before.
func TestListCursorOfOldConnection(t *testing.T) {
	for _, revision := range eras() {
		c := newClient(t, featured(t, revision, mcptest.Script{"resources/list": func(c *mcptest.Call) {
			switch own := fmt.Sprintf(`"%d"`, c.Connection); cursorOf(c.Params) {
			case "":
				c.Result(resourcePage(`,"nextCursor":`+own, "a:1"))
			case own:
				c.Result(resourcePage("", "a:2"))
			default:
				c.Error(-32602, "unknown cursor")
			}
		}}), nil)
		var got []*mcp.Resource
		for r, err := range c.Resources(t.Context()) {
			assert.OK(t, err)
			if got = append(got, r); len(got) == 1 {
				assert.OK(t, c.Reconnect(t.Context()))
			}
		}
		assert.Equal(t, uris(got), "a:1 a:2", "%s", revision)
	}
}

// The tools are never mixed from pages of different ages: if one of them is
// stale all are read.
func TestToolsOfOneTime(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		server := featured(t, mcp.Revision20260728, mcptest.Script{"tools/list": func(c *mcptest.Call) {
			version := (c.Number + 1) / 2
			if cursorOf(c.Params) == "" {
				c.Result(fmt.Sprintf(`{"tools":[{"name":"a%d"}],"nextCursor":"2","ttlMs":60000,"cacheScope":"public"}`, version))
			} else {
				c.Result(fmt.Sprintf(`{"tools":[{"name":"b%d"}],"ttlMs":1000,"cacheScope":"public"}`, version))
			}
		}})
		opts := &mcp.ClientOptions{Cache: mcp.NewCache(1 << 20)}
		ann, bob := newClient(t, server, opts), newClient(t, server, opts)
		wantTools(t, ann, "a1 b1")
		wantTools(t, bob, "a1 b1")
		wantCount(t, server, "tools/list", 2)
		pass(time.Second)
		wantTools(t, ann, "a2 b2")
		wantTools(t, bob, "a2 b2")
		wantCount(t, server, "tools/list", 4)
	})
}

// Callers who wait for the same list share it, even if it is good for no time.
func TestStaleToolsListedOnceForAll(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		server, c := withClient(t, featured(t, mcp.Revision20260728, mcptest.Script{"tools/list": func(c *mcptest.Call) {
			pause(time.Second)
			c.Result(`{"tools":[{"name":"a"}],"ttlMs":0}`)
		}}), nil)
		ready(t, c)
		go func() { _, _ = c.Tools(t.Context()) }()
		pass(500 * time.Millisecond)
		for range 10 { // for whom the list under way is too old
			go func() { _, _ = c.Tools(t.Context()) }()
		}
		pass(10 * time.Second)
		wantCount(t, server, "tools/list", 2)
		wantTools(t, c, "a")
		wantCount(t, server, "tools/list", 3)
	})
}

// An announcement counts at once, before ToolsVersion says so.
func TestToolsForgottenAtOnce(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		server, c := withClient(t, featured(t, mcp.Revision20260728, mcptest.Script{"tools/list": func(c *mcptest.Call) {
			c.Result(fmt.Sprintf(`{"tools":[{"name":"%d"}],"ttlMs":3600000}`, c.Number))
		}}), nil)
		wantTools(t, c, "1")
		server.Notify("notifications/tools/list_changed", "")
		synctest.Wait()
		wantTools(t, c, "2")
		server.Notify("notifications/tools/list_changed", "") // within the 250 ms
		synctest.Wait()
		wantTools(t, c, "3")
	})
}

// A server that says that it announces changes, and then does not agree to, has
// its tools read each time.
func TestToolsNotAnnouncedAfterAll(t *testing.T) {
	agrees := func(filter string) mcptest.Handler {
		return func(c *mcptest.Call) {
			c.Notify("notifications/subscriptions/acknowledged", fmt.Sprintf(
				`{"_meta":{"io.modelcontextprotocol/subscriptionId":%s},"notifications":%s}`, c.ID(), filter))
			<-c.Context().Done()
		}
	}
	for name, test := range map[string]struct {
		listen mcptest.Handler
		want   string
	}{
		"agreed":     {agrees(`{"toolsListChanged":true}`), "1"},
		"silent":     {mcptest.Hang, "1"},
		"not agreed": {agrees(`{"promptsListChanged":true}`), "2"},
		"taken back": {agrees(`{"toolsListChanged":false}`), "2"},
		"refused":    {mcptest.Error(-32601, "method not found"), "2"},
	} {
		runInBubble(t, name, func(t *testing.T) {
			c := newClient(t, featured(t, mcp.Revision20260728, counting(""), mcptest.Script{"subscriptions/listen": test.listen}), nil)
			wantTools(t, c, "1")
			synctest.Wait()
			wantTools(t, c, test.want)
		})
	}
}

// A server that dies of being asked for its tools is not killed again and again.
func TestToolsThatKillTheServer(t *testing.T) {
	everywhere(t, func(t *testing.T, revision string, p plane) {
		server := mcptest.NewServer(t, mcptest.Handshake(revision, ""), mcptest.Script{"tools/list": mcptest.Disconnect})
		assert.Fails(t, errOf(newClient(t, p.to(server), nil).Tools(t.Context())))
		wantCount(t, server, "tools/list", 2)
	})
}
