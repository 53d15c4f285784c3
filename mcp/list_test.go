package mcp_test

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/mcpbelt/mcpbelt/internal/assert"
	"github.com/mcpbelt/mcpbelt/mcp"
	"github.com/mcpbelt/mcpbelt/mcp/mcptest"
)

// A listing is one of the lists that are iterated over, reduced to its error.
type listing struct {
	method, member string
	read           func(context.Context, *mcp.Client) (int, error)
}

var lists = []listing{
	{"prompts/list", "prompts", func(ctx context.Context, c *mcp.Client) (int, error) { return count(c.Prompts(ctx)) }},
	{"resources/list", "resources", func(ctx context.Context, c *mcp.Client) (int, error) { return count(c.Resources(ctx)) }},
	{"resources/templates/list", "resourceTemplates", func(ctx context.Context, c *mcp.Client) (int, error) { return count(c.ResourceTemplates(ctx)) }},
	{"tools/list", "tools", func(ctx context.Context, c *mcp.Client) (int, error) {
		tools, err := c.Tools(ctx)
		return len(tools), err
	}},
}

func (l listing) want(t *testing.T, c *mcp.Client, n int) {
	t.Helper()
	assert.Equal(t, assert.Value(l.read(t.Context(), c))(t), n, "items of %s", l.method)
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
			for bad, path := range map[string]string{
				`{}`: l.member, `[]`: l.member, `7`: l.member, `{"LIST":{}}`: l.member, `{"LIST":null}`: l.member,
				`{"` + strings.ToUpper(l.member) + `":[]}`: l.member, `{"LIST":[],"nextCursor":1}`: "nextCursor", `{"LIST":[],"nextCursor":{}}`: "nextCursor",
				`{"LIST":[],"nextCursor":"again"}`: "nextCursor", `{"LIST":[],"resultType":7}`: "resultType",
				`{"LIST":[],"resultType":"later"}`: "resultType", `{"LIST":[],"resultType":"input_required"}`: "resultType",
			} {
				bad = strings.Replace(bad, "LIST", l.member, 1)
				refuse, good := mcptest.Result(bad), mcptest.Result(`{"`+l.member+`":[`+item(1)+`],"resultType":"complete"}`)
				answers := mcptest.Sequence(refuse, good)
				if strings.Contains(bad, "again") {
					answers = mcptest.Sequence(refuse, refuse, good)
				}
				c := newClient(t, p.to(featured(t, revision, mcptest.Script{l.method: answers})), nil)
				n, err := l.read(t.Context(), c)
				wantInvalid(t, err, l.method, path, "%s %s", l.method, bad)
				assert.Equal(t, n, 0, "items")
				wantOutcome(t, err, mcp.Answered)
				l.want(t, c, 1)
				assert.Equal(t, c.State().Connections, 1, "connections")
			}
		}
	})
}

func TestListsBounded(t *testing.T) {
	long := strings.Repeat("x", 8<<20)
	for _, l := range lists {
		for limit, size := range map[string]int{"pages of " + l.method: 0, "bytes of " + l.method: len(long)} {
			if size > 0 && l.method != "prompts/list" {
				continue // one is enough
			}
			server := featured(t, mcp.Revision20251125, mcptest.Script{l.method: func(c *mcptest.Call) {
				c.Result(fmt.Sprintf(`{"%s":[%s],"nextCursor":"%d","more":"%s"}`, l.member, item(c.Number), c.Number, long[:size]))
			}})
			_, err := l.read(t.Context(), newClient(t, server, nil))
			exceeded := assert.As[*mcp.LimitError](t, err, "%s", limit)
			assert.Contains(t, err.Error(), `"scripted"`, "%s", limit)
			assert.Equal(t, exceeded.Limit, limit, "%s: limit", limit)
		}
	}
}

// A server without a list is not asked for it.
func TestListsNotOffered(t *testing.T) {
	everywhere(t, func(t *testing.T, revision string, p plane) {
		server, c := p.withClient(t, mcptest.NewServer(t, mcptest.Handshake(revision, `{"logging":{}}`)), nil)
		for _, l := range lists {
			l.want(t, c, 0)
			wantCount(t, server, l.method, 0)
		}
	})
}

func TestListsEmptyCursor(t *testing.T) {
	for revision, want := range map[string]int{mcp.Revision20251125: 1, mcp.Revision20260728: 2} {
		for _, l := range lists {
			l.want(t, newClient(t, featured(t, revision, mcptest.Script{l.method: mcptest.Sequence(
				mcptest.Result(`{"`+l.member+`":[`+item(1)+`],"nextCursor":""}`), mcptest.Result(`{"`+l.member+`":[`+item(2)+`]}`))}), nil), want)
		}
	}
}

// A page that does not come ends with the context, and the error is the last
// that is yielded.
func TestListEndsWithContext(t *testing.T) {
	inBubbles(t, func(t *testing.T, revision string, p plane) {
		c := newReady(t, p.to(featured(t, revision, mcptest.Script{"resources/list": mcptest.Sequence(
			mcptest.Result(resourcePage(`,"nextCursor":"2"`, "a:1")), mcptest.Hang)})), nil)
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
			assert.True(t, r == nil)
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
			assert.Equal(t, assert.As[*mcp.ServerError](t, assert.Err(l.read(t.Context(), c)), "%s", l.method).Err.Code, -32602, "%s: got code", l.method)
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
			server, c := p.withClient(t, featured(t, revision, mcptest.Script{l.method: func(c *mcptest.Call) {
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
			}}), nil)
			l.want(t, c, 2)
			wantCount(t, server, l.method, 4)
		}
	})
}

// A new connection may not know the cursors of the one before.
func TestListCursorOfOldConnection(t *testing.T) {
	for _, revision := range revisions() {
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
		c := newClient(t, server, nil)
		wantTools(t, c, "a1 b1")
		wantTools(t, c, "a1 b1")
		wantCount(t, server, "tools/list", 2)
		pass(time.Second)
		wantTools(t, c, "a2 b2")
		wantTools(t, c, "a2 b2")
		wantCount(t, server, "tools/list", 4)
	})
}

// Callers who wait for the same list share it, even if it is good for no time.
func TestStaleToolsListedOnceForAll(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		server, c := withReady(t, featured(t, mcp.Revision20260728, mcptest.Script{
			"tools/list": slowly(time.Second, mcptest.Result(`{"tools":[{"name":"a"}],"ttlMs":0}`)),
		}), nil)
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
		assert.Fails(t, assert.Err(newClient(t, p.to(server), nil).Tools(t.Context())))
		wantCount(t, server, "tools/list", 2)
	})
}
