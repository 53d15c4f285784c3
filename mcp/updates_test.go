package mcp_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/mcpbelt/mcpbelt/internal/assert"
	"github.com/mcpbelt/mcpbelt/mcp"
	"github.com/mcpbelt/mcpbelt/mcp/mcptest"
)

const announcing = `{"tools":{},"resources":{"subscribe":true}}`

// agreeing is a subscription that the server agrees to in full, except for what
// it does not know.
func agreeing(unknown ...string) mcptest.Handler {
	return func(c *mcptest.Call) {
		var params struct {
			Notifications struct {
				URIs []string `json:"resourceSubscriptions"`
			} `json:"notifications"`
		}
		_ = json.Unmarshal(c.Params, &params)
		known := slices.DeleteFunc(params.Notifications.URIs, func(uri string) bool { return slices.Contains(unknown, uri) })
		uris, _ := json.Marshal(known)
		c.Notify("notifications/subscriptions/acknowledged", fmt.Sprintf(
			`{"_meta":{"io.modelcontextprotocol/subscriptionId":%s},"notifications":{"resourceSubscriptions":%s}}`, c.ID(), uris))
		<-c.Context().Done()
	}
}

// announcer returns a server that announces changes of resources.
func announcer(t testing.TB, revision string, scripts ...mcptest.Script) *mcptest.Server {
	base := mcptest.Script{
		"resources/subscribe":   mcptest.Result(`{}`),
		"resources/unsubscribe": mcptest.Result(`{}`),
		"subscriptions/listen":  agreeing(),
	}
	return mcptest.NewServer(t, append([]mcptest.Script{mcptest.Handshake(revision, announcing), base}, scripts...)...)
}

// A follower collects what ResourceUpdates yields.
type follower struct {
	seen chan string
	stop context.CancelFunc
}

func follow(t *testing.T, c *mcp.Client, uri string) *follower {
	ctx, stop := context.WithCancel(t.Context())
	f := &follower{make(chan string, 100), stop}
	go func() {
		defer close(f.seen)
		for got, err := range c.ResourceUpdates(ctx, uri) {
			if err != nil {
				got = "error: " + err.Error()
			}
			f.seen <- got
		}
	}()
	return f
}

// take returns what was yielded since the last time.
func (f *follower) take() (got []string) {
	pass(time.Second)
	for {
		select {
		case uri, ok := <-f.seen:
			if !ok {
				return append(got, "end")
			}
			got = append(got, uri)
		default:
			return got
		}
	}
}

func (f *follower) want(t *testing.T, want ...string) {
	t.Helper()
	wantList(t, f.take(), want)
}

// inBubbles runs a test in both eras on both planes, on a fake clock.
func inBubbles(t *testing.T, test func(t *testing.T, revision string, p plane)) {
	everywhere(t, func(t *testing.T, revision string, p plane) {
		synctest.Test(t, func(t *testing.T) { test(t, revision, p) })
	})
}

func updated(s *mcptest.Server, uri string) {
	s.Notify("notifications/resources/updated", fmt.Sprintf(`{"uri":%q}`, uri))
}

func TestResourceUpdates(t *testing.T) {
	inBubbles(t, func(t *testing.T, revision string, p plane) {
		server := announcer(t, revision)
		c := newClient(t, p.to(server), nil)
		a := follow(t, c, "file:///a")
		a.want(t, "file:///a") // the server has agreed
		a2 := follow(t, c, "file:///a")
		b := follow(t, c, "file:///b/")
		for _, f := range []*follower{a2, b} {
			if len(f.take()) == 0 {
				t.Error("the server's agreement is not told")
			}
		}
		a.take()

		updated(server, "file:///a")
		updated(server, "file:///ab")   // of nobody
		updated(server, "file:///b/x")  // a part of b
		updated(server, "file:///a/x")  // a part of a
		updated(server, "file:///else") // nobody asked
		got := a.take()
		assert.Equal(t, len(got), 2)
		if !slices.Contains(got, "file:///a") || !slices.Contains(got, "file:///a/x") {
			t.Errorf("yielded %q", got)
		}
		assert.Equal(t, len(a2.take()), 2)
		b.want(t, "file:///b/x")

		// On a new connection all is asked for again, and may have changed.
		server.Disconnect()
		time.Sleep(time.Second) // sleep: on a fake clock
		a.want(t, "file:///a")
		b.want(t, "file:///b/")

		// What nobody follows any more is not asked for.
		b.stop()
		b.want(t, "end")
		time.Sleep(time.Second) // sleep: on a fake clock
		updated(server, "file:///b/x")
		updated(server, "file:///a")
		a.take()
		a.stop()
		server.Disconnect()
		time.Sleep(time.Second) // sleep: on a fake clock
		a2.take()
		method := "resources/subscribe"
		if revision == mcp.Revision20260728 {
			method = "subscriptions/listen"
		} else {
			wantCount(t, server, "resources/unsubscribe", 1)
		}
		last := server.Received(method)
		if got := string(last[len(last)-1].Params); !strings.Contains(got, "file:///a") || strings.Contains(got, "file:///b") {
			t.Errorf("asked for %s at last", got)
		}
		_ = c.Close()
		a2.want(t, "end")
	})
}

// In revision 2026-07-28 there is one subscription for everything. Another one is
// made when the one before it has ended, for there are servers that take the end
// of one for the end of all; those that do not tell of the end are not waited for
// long.
func TestListenIsReplaced(t *testing.T) {
	for _, tells := range []bool{true, false} {
		for _, p := range planes() {
			t.Run(fmt.Sprint(p.name, tells), func(t *testing.T) {
				synctest.Test(t, func(t *testing.T) {
					var open atomic.Int64
					server := mcptest.NewServer(t, mcptest.Handshake(mcp.Revision20260728, `{"tools":{"listChanged":true},"resources":{"subscribe":true}}`),
						mcptest.Script{"subscriptions/listen": func(c *mcptest.Call) {
							if n := open.Add(1); n != 1 && tells {
								t.Errorf("%d subscriptions at one time", n)
							}
							agreeing()(c)
							time.Sleep(100 * time.Millisecond)
							open.Add(-1)
							if tells {
								c.Error(-32800, "cancelled")
							}
						}})
					c := newClient(t, p.to(server), nil)
					ready(t, c)
					want := func(n int, filter string) {
						t.Helper()
						time.Sleep(3 * time.Second)
						all := server.Received("subscriptions/listen")
						if len(all) != n || !strings.HasSuffix(string(all[len(all)-1].Params), `"notifications":`+filter+`}`) {
							t.Errorf("%d subscriptions, at last for %s, want %d, %s", len(all), all[len(all)-1].Params, n, filter)
						}
						version := c.State().ToolsVersion
						server.Notify("notifications/tools/list_changed", "")
						time.Sleep(time.Second)
						if c.State().ToolsVersion == version {
							t.Error("the announcement of other tools is lost")
						}
					}
					want(1, `{"toolsListChanged":true}`)
					a := follow(t, c, "a:a")
					want(2, `{"toolsListChanged":true,"resourceSubscriptions":["a:a"]}`)
					b := follow(t, c, "b:b")
					want(3, `{"toolsListChanged":true,"resourceSubscriptions":["a:a","b:b"]}`)
					a.stop()
					want(4, `{"toolsListChanged":true,"resourceSubscriptions":["b:b"]}`)
					if got := b.take(); len(got) == 0 {
						t.Error("the server's agreement is not told")
					}
					b.stop()
					want(5, `{"toolsListChanged":true}`)
					_ = c.Close()
				})
			})
		}
	}
}

// A server that refuses a subscription because of a resource still announces
// its lists.
func TestListsAreAnnouncedWithoutResources(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		server := mcptest.NewServer(t, mcptest.Handshake(mcp.Revision20260728, `{"tools":{"listChanged":true},"resources":{"subscribe":true}}`),
			mcptest.Script{"subscriptions/listen": func(c *mcptest.Call) {
				if strings.Contains(string(c.Params), "a:bad") {
					c.Error(-32602, "no such resource")
					return
				}
				agreeing()(c)
			}})
		c := newClient(t, server, nil)
		f := follow(t, c, "a:bad")
		got := f.take()
		wantLen(t, got, 2)
		assert.Contains(t, got[0], "no such resource")
		assert.Equal(t, got[1], "end")
		time.Sleep(time.Hour)
		all := server.Received("subscriptions/listen")
		if n := len(all); n > 3 || !strings.Contains(string(all[n-1].Params), `"notifications":{"toolsListChanged":true}`) {
			t.Errorf("%d subscriptions, at last for %s", n, all[n-1].Params)
		}
	})
}

// What the server does not agree to, or refuses, is an error for those who want
// it and for nobody else.
func TestResourceUpdatesRefused(t *testing.T) {
	inBubbles(t, func(t *testing.T, revision string, p plane) {
		server := announcer(t, revision, mcptest.Script{
			"subscriptions/listen": agreeing("a:bad"),
			"resources/subscribe": func(c *mcptest.Call) {
				if strings.Contains(string(c.Params), "a:bad") {
					c.Error(-32002, "no such resource")
				} else {
					c.Result(`{}`)
				}
			},
		})
		c := newClient(t, p.to(server), nil)
		good, bad := follow(t, c, "a:good"), follow(t, c, "a:bad")
		good.take()
		got := bad.take()
		wantLen(t, got, 2)
		assert.Contains(t, got[0], `server "scripted"`)
		assert.Equal(t, got[1], "end")
		updated(server, "a:good")
		if got := good.take(); len(got) == 0 || got[len(got)-1] != "a:good" {
			t.Errorf("yielded %q", got)
		}
		_ = c.Close()
	})
}

// A server that ends every subscription is left in peace at last, and who
// follows, or wants to later, learns of it.
func TestResourceUpdatesGivenUp(t *testing.T) {
	for name, answer := range map[string]mcptest.Handler{
		"refused": mcptest.Error(-32601, "method not found"),
		"ended":   mcptest.Result(`{"resultType":"complete"}`),
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				server := announcer(t, mcp.Revision20260728, mcptest.Script{"subscriptions/listen": answer})
				c := newClient(t, server, nil)
				for range 2 {
					f := follow(t, c, "a:a")
					time.Sleep(time.Hour)
					got := f.take()
					wantLen(t, got, 2)
					assert.Equal(t, got[1], "end")
					if !strings.HasPrefix(got[0], "error: ") {
						t.Errorf("yielded %q", got)
					}
				}
				_ = c.Close()
			})
		})
	}
}

// A server that takes a subscription down, as it may, is asked again.
func TestListenTornDown(t *testing.T) {
	everyPlane(t, func(t *testing.T, p plane) {
		synctest.Test(t, func(t *testing.T) {
			server := announcer(t, mcp.Revision20260728, mcptest.Script{"subscriptions/listen": mcptest.Sequence(
				func(c *mcptest.Call) {
					time.Sleep(time.Second)
					c.Notify("notifications/cancelled", `{"requestId":`+c.ID()+`}`)
				}, agreeing())})
			c := newClient(t, p.to(server), nil)
			f := follow(t, c, "a:a")
			time.Sleep(time.Minute)
			f.want(t, "a:a")
			wantCount(t, server, "subscriptions/listen", 2)
			_ = c.Close()
		})
	})
}

// A slow consumer is told of each resource once, and of too many as of the whole.
func TestResourceUpdatesCoalesce(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		server := announcer(t, mcp.Revision20251125)
		c := newClient(t, server, nil)
		var got []string
		for uri, err := range c.ResourceUpdates(t.Context(), "a:") {
			assert.OK(t, err)
			if got = append(got, uri); len(got) > 1 {
				break
			}
			for range 3 {
				for i := range 1000 {
					updated(server, fmt.Sprintf("a:/%d", i))
				}
			}
			synctest.Wait()
		}
		assert.Equal(t, got[0], "a:")
	})
}

func TestResourceUpdatesUnsupported(t *testing.T) {
	everywhere(t, func(t *testing.T, revision string, p plane) {
		server := mcptest.NewServer(t, mcptest.Handshake(revision, `{"resources":{}}`))
		c := newClient(t, p.to(server), nil)
		n := 0
		for _, err := range c.ResourceUpdates(t.Context(), "a:a") {
			n++
			wantOutcome(t, err, mcp.NotSent)
			assert.Is(t, err, errors.ErrUnsupported)
		}
		assert.Equal(t, n, 1, "yields")
	})
}

func TestResourceUpdatesWithoutServer(t *testing.T) {
	server := legacy(t)
	server.Down(errors.New("down"))
	c := newClient(t, server, nil)
	for _, err := range c.ResourceUpdates(t.Context(), "a:a") {
		assert.As[*mcp.UnavailableError](t, err)
	}
}
