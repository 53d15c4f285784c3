package gateway_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/mcpbelt/mcpbelt/host/gateway"
	"github.com/mcpbelt/mcpbelt/internal/assert"
)

// Whatever a client writes, each line that is no notification is answered, and the next is read.
func TestStdioGarbage(t *testing.T) {
	//report: Gateway | google-antigravity/antigravity-cli#252 | one message that cannot be read ends the connection | it is answered with an error, and the next one is read
	c := openSite(t, gateway.WithLimits(&gateway.Options{}, func(l *gateway.Limits) { l.MaxMessage = 1 << 16 })).stdio(t, "")
	for what, line := range map[string]struct {
		text string
		code int
	}{
		"garbage":           {"\x00\xff", -32700},
		"not an object":     {"[]", -32700},
		"a batch":           {"[" + callOf(1, "ping", "{}") + "]", -32700},
		"too long":          {strings.Repeat("x", 1<<17), -32700},
		"too long in JSON":  {callOf(1, "ping", `{"a":"`+strings.Repeat("x", 1<<16)+`"}`), -32700},
		"duplicate key":     {`{"jsonrpc":"2.0","id":1,"id":1,"method":"ping"}`, -32700},
		"wrong version":     {`{"jsonrpc":"2","id":1,"method":"ping"}`, -32600},
		"wrong id":          {`{"jsonrpc":"2.0","id":[1],"method":"ping"}`, -32600},
		"before initialize": {callOf(1, "tools/list", `{}`), -32600},
		"discover":          {callOf(1, "server/discover", `{}`), -32602},
		"modern, no caps":   {callOf(1, "tools/list", `{"_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28"}}`), -32602},
		"modern, wrong":     {callOf(1, "tools/list", `{"_meta":{"io.modelcontextprotocol/protocolVersion":7,"io.modelcontextprotocol/clientCapabilities":{}}}`), -32602},
		"ping":              {callOf(1, "ping", `{}`), 0},
	} {
		for _, before := range []string{"", `{"jsonrpc":"2.0","method":"notifications/x"}`, `{"jsonrpc":"2.0","id":"x","result":{}}`} {
			c.say(t, before)
		}
		c.say(t, line.text)
		assert.Equal(t, c.message(t).code(), line.code, "%s: the code", what)
	}
	c.begin(t)
	assert.Equal(t, c.do(t, "initialize", "").code(), -32600, "initialize twice")
}

// A path of a view that does not exist is an error at once.
func TestStdioPaths(t *testing.T) {
	s := openSite(t, nil)
	serve := func(path string) error {
		return s.gateway.ServeStdio(t.Context(), path, strings.NewReader(""), io.Discard)
	}
	for _, path := range []string{"/", "/x", "/s/none/mcp", "/s//mcp", "/p/none", "/mcp/tools/list"} {
		assert.Fails(t, serve(path), "%s", path)
	}
	assert.Contains(t, fmt.Sprint(serve("/mcp/sarch")), "there are auto", "a mode that there is not")
	assert.Equal(t, serve("/s/one/mcp"), nil)
	assert.Equal(t, s.gateway.Close(), nil)
	assert.Is(t, serve(""), gateway.ErrClosed, "after Close")
}

// What was asked for before the input ended, or the gateway was shut down, is answered.
func TestStdioFinishes(t *testing.T) {
	for name, end := range map[string]func(*site, *stdioClient){
		"end of input": func(_ *site, c *stdioClient) { _ = c.in.Close() },
		"shutdown":     func(s *site, _ *stdioClient) { go func() { _ = s.gateway.Shutdown(context.Background()) }() },
	} {
		t.Run(name, func(t *testing.T) {
			s := openSite(t, gateway.WithLimits(&gateway.Options{}, func(l *gateway.Limits) { l.HangUp = time.Minute }))
			c := s.stdio(t, "")
			c.begin(t)
			c.say(t, callOf(10, "tools/call", "{"+toolParams("one__flood", `{"n":500}`)+`,"_meta":{"progressToken":"p"}}`))
			m := c.message(t)
			assert.Equal(t, m.Method, "notifications/progress")
			for end(s, c); m.Method != ""; m = c.message(t) {
			}
			assert.Equal(t, m.text(), "flooded")
			assert.Equal(t, <-c.ended, nil)
		})
	}
}

// A client of revision 2026-07-28 that listens for changes does not hold up the end of its input.
func TestStdioEndsListening(t *testing.T) {
	s := openSite(t, nil)
	c := s.stdio(t, "")
	c.say(t, s.modern("a", "").query("subscriptions/listen", `"notifications":{"toolsListChanged":true}`).body)
	assert.Equal(t, c.message(t).Method, "notifications/subscriptions/acknowledged")
	_ = c.in.Close()
	assert.Equal(t, c.message(t).at("resultType"), "complete")
	assert.Equal(t, <-c.ended, nil)
}

// The end of the context ends the calls under way, though the input has ended before.
func TestStdioEndsWithContext(t *testing.T) {
	s := openSite(t, nil)
	c := s.stdio(t, "")
	c.begin(t)
	c.say(t, callOf(2, "tools/call", "{"+toolParams("one__wait", `{}`)+"}"))
	s.server.waits(t, 1)
	_ = c.in.Close()
	c.cancel()
	<-c.ended
	s.server.hasEnded(t, 1)
}

// A client that does not read is not read from, and holds up neither Close nor the end of its context.
func TestStdioThatDoesNotRead(t *testing.T) {
	for name, end := range map[string]func(*site, *stdioClient){
		"close":   func(s *site, _ *stdioClient) { _ = s.gateway.Close() },
		"context": func(_ *site, c *stdioClient) { c.cancel() },
	} {
		synctest.Test(t, func(t *testing.T) {
			s := openInMemory(t, gateway.WithLimits(&gateway.Options{}, func(l *gateway.Limits) { l.MaxWaiting = 16_000 }))
			c := s.stdio(t, "")
			c.begin(t)
			wrote := make(chan struct{})
			go func() {
				defer close(wrote)
				for {
					if _, err := fmt.Fprintln(c.in, callOf(10, "tools/call", "{"+toolParams("one__big", `{"n":6000}`)+"}")); err != nil {
						return
					}
					wrote <- struct{}{}
				}
			}()
			sent := 0
			for synctest.Wait(); isClosed(wrote); synctest.Wait() {
				sent++
			}
			assert.True(t, sent < 10, "%s: of %d requests few are taken", name, sent)
			end(s, c)
			err := <-c.ended
			assert.True(t, err == nil || errors.Is(err, context.Canceled), "%s: the end %v", name, err)
			_ = c.reads.Close()
			_ = c.in.CloseWithError(io.EOF)
			for range wrote {
			}
		})
	}
}
