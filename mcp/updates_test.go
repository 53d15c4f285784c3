// Tests of resources.go and listen.go: changes of resources.

package mcp_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
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
	assert.List(t, f.take(), want)
}

// wantError wants an error that says so, and the end.
func (f *follower) wantError(t *testing.T, says string) {
	t.Helper()
	got := f.take()
	wantLen(t, got, 2)
	assert.Contains(t, got[0], "error: ")
	assert.Contains(t, got[0], says)
	assert.Equal(t, got[1], "end")
}

func updated(s *mcptest.Server, uri string) {
	s.Notify("notifications/resources/updated", fmt.Sprintf(`{"uri":%q}`, uri))
}

func TestResourceUpdates(t *testing.T) {
	inBubbles(t, func(t *testing.T, revision string, p plane) {
		server, c := p.withClient(t, announcer(t, revision), nil)
		a := follow(t, c, "file:///a")
		a.want(t, "file:///a") // the server has agreed
		a2 := follow(t, c, "file:///a")
		b := follow(t, c, "file:///b/")
		for _, f := range []*follower{a2, b} {
			wantOther(t, len(f.take()), 0, "the server's agreement is not told")
		}
		a.take()

		updated(server, "file:///a")
		updated(server, "file:///ab")   // of nobody
		updated(server, "file:///b/x")  // a part of b
		updated(server, "file:///a/x")  // a part of a
		updated(server, "file:///else") // nobody asked
		got := a.take()
		assert.Equal(t, len(got), 2)
		assert.True(t, slices.Contains(got, "file:///a") && slices.Contains(got, "file:///a/x"), "yielded %q", got)
		assert.Equal(t, len(a2.take()), 2)
		b.want(t, "file:///b/x")

		// On a new connection all is asked for again, and may have changed.
		server.Disconnect()
		pass(time.Second)
		a.want(t, "file:///a")
		b.want(t, "file:///b/")

		// What nobody follows any more is not asked for.
		b.stop()
		b.want(t, "end")
		pass(time.Second)
		updated(server, "file:///b/x")
		updated(server, "file:///a")
		a.take()
		a.stop()
		server.Disconnect()
		pass(time.Second)
		a2.take()
		method := "resources/subscribe"
		if revision == mcp.Revision20260728 {
			method = "subscriptions/listen"
		} else {
			wantCount(t, server, "resources/unsubscribe", 1)
		}
		last := server.Received(method)
		asked := string(last[len(last)-1].Params)
		assert.True(t, strings.Contains(asked, "file:///a") && !strings.Contains(asked, "file:///b"), "asked for %s at last", asked)
		_ = c.Close()
		a2.want(t, "end")
	})
}

// What the server does not agree to, or refuses, is an error for those who want
// it and for nobody else.
func TestResourceUpdatesRefused(t *testing.T) {
	inBubbles(t, func(t *testing.T, revision string, p plane) {
		server, c := p.withClient(t, announcer(t, revision, mcptest.Script{
			"subscriptions/listen": agreeing("a:bad"),
			"resources/subscribe": func(c *mcptest.Call) {
				if strings.Contains(string(c.Params), "a:bad") {
					c.Error(-32002, "no such resource")
				} else {
					c.Result(`{}`)
				}
			},
		}), nil)
		good, bad := follow(t, c, "a:good"), follow(t, c, "a:bad")
		good.take()
		bad.wantError(t, `server "scripted"`)
		updated(server, "a:good")
		got := good.take()
		assert.Equal(t, got[len(got)-1], "a:good", "yielded at last")
	})
}

// A server that ends every subscription is left in peace at last, and who
// follows, or wants to later, learns of it.
func TestResourceUpdatesGivenUp(t *testing.T) {
	for name, answer := range map[string]mcptest.Handler{
		"refused": mcptest.Error(-32601, "method not found"),
		"ended":   mcptest.Result(`{"resultType":"complete"}`),
	} {
		runInBubble(t, name, func(t *testing.T) {
			c := newClient(t, announcer(t, mcp.Revision20260728, mcptest.Script{"subscriptions/listen": answer}), nil)
			for range 2 {
				f := follow(t, c, "a:a")
				pass(time.Hour)
				f.wantError(t, "")
			}
		})
	}
}

// A slow consumer is told of each resource once, and of too many as of the whole.
func TestResourceUpdatesCoalesce(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		server, c := withClient(t, announcer(t, mcp.Revision20251125), nil)
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
		c := newClient(t, p.to(mcptest.NewServer(t, mcptest.Handshake(revision, `{"resources":{}}`))), nil)
		n := 0
		for _, err := range c.ResourceUpdates(t.Context(), "a:a") {
			n++
			wantNotSent(t, err, errors.ErrUnsupported)
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

// What is too much for one consumer changes nothing for the others.
func TestResourceUpdatesOfOthers(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		server, c := withReady(t, announcer(t, mcp.Revision20251125), nil)
		ctx := t.Context()
		release := make(chan struct{})
		for range 8 {
			go func() {
				for range c.ResourceUpdates(ctx, "a:") {
					<-release
				}
			}()
			synctest.Wait()
		}
		f := follow(t, c, "a:/x")
		f.take()
		for i := range 255 { // with a:/x itself, as many as wait
			updated(server, fmt.Sprintf("a:/%d", i))
		}
		updated(server, "a:/x")
		f.want(t, "a:/x")
		close(release)
	})
}

// URIs of any length wait for nobody: a server could fill the memory with them.
func TestResourceUpdatesOfLongURIs(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		server, c := withClient(t, announcer(t, mcp.Revision20251125), nil)
		f := follow(t, c, "a:")
		f.take()
		updated(server, "a:/"+strings.Repeat("x", 9000))
		f.want(t, "a:")
	})
}

// A server that dies while it is asked to announce changes is one of those that
// come and go.
func TestResourceUpdatesSurviveDeath(t *testing.T) {
	inBubbles(t, func(t *testing.T, revision string, p plane) {
		c := newClient(t, p.to(announcer(t, revision, mcptest.Script{
			"resources/subscribe":  mcptest.Sequence(mcptest.Disconnect, mcptest.Result(`{}`)),
			"subscriptions/listen": mcptest.Sequence(mcptest.Disconnect, agreeing()),
		})), nil)
		f := follow(t, c, "a:a")
		pass(time.Minute)
		f.want(t, "a:a")
	})
}

// A server that does not announce changes any more when it comes back says so,
// and nobody waits for it in vain.
func TestResourceUpdatesNoLongerAnnounced(t *testing.T) {
	for revision, method := range map[string]string{mcp.Revision20251125: "initialize", mcp.Revision20260728: "server/discover"} {
		for name, later := range map[string]string{"nothing": `{"tools":{}}`, "lists": `{"tools":{"listChanged":true}}`} {
			runInBubble(t, revision+"/"+name, func(t *testing.T) {
				server, c := withClient(t, announcer(t, revision, mcptest.Script{method: mcptest.Sequence(
					mcptest.Handshake(revision, announcing)[method], mcptest.Handshake(revision, later)[method])}), nil)
				f := follow(t, c, "a:a")
				f.want(t, "a:a")
				server.Disconnect()
				pass(time.Minute)
				f.wantError(t, "does not announce")
			})
		}
	}
}
