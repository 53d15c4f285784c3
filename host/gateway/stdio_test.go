package gateway_test

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strings"
	"testing"

	"github.com/mcpbelt/mcpbelt/host/gateway"
	"github.com/mcpbelt/mcpbelt/internal/assert"
)

// A stdioClient is a client of ServeStdio.
type stdioClient struct {
	in     *io.PipeWriter
	out    *bufio.Scanner
	reads  *io.PipeReader
	ended  chan error
	cancel context.CancelFunc
}

// stdio connects a client.
func (s *site) stdio(t testing.TB, path string) *stdioClient {
	t.Helper()
	in, writes := io.Pipe()
	reads, out := io.Pipe()
	ctx, cancel := context.WithCancel(context.Background())
	c := &stdioClient{in: writes, out: bufio.NewScanner(reads), reads: reads, ended: make(chan error, 1), cancel: cancel}
	c.out.Buffer(nil, 64<<20)
	go func() {
		c.ended <- s.gateway.ServeStdio(ctx, path, in, out)
		close(c.ended)
		_ = out.Close()
	}()
	t.Cleanup(func() {
		cancel()
		_ = writes.Close()
		_ = reads.Close()
		<-c.ended
	})
	return c
}

func (c *stdioClient) say(t testing.TB, line string) {
	t.Helper()
	assert.Value(io.WriteString(c.in, line+"\n"))(t)
}

func (c *stdioClient) message(t testing.TB) (m rpc) {
	t.Helper()
	if !c.out.Scan() {
		t.Fatalf("got the end (%v), want a message", c.out.Err())
	}
	if err := json.Unmarshal(c.out.Bytes(), &m); err != nil {
		t.Fatalf("got %q, want a message", cut(c.out.Text()))
	}
	return m
}

// begin initializes the connection.
func (c *stdioClient) begin(t testing.TB) {
	t.Helper()
	c.say(t, callOf(1, "initialize", `{"protocolVersion":"2025-11-25","capabilities":{"elicitation":{}},"clientInfo":{"name":"kit","version":"1"}}`))
	if m := c.message(t); m.at("protocolVersion") != "2025-11-25" {
		t.Fatalf("got %+v, want the revision", m)
	}
}

// Whatever a client writes, each line that is no notification is answered, and the next is read.
func TestStdioGarbage(t *testing.T) {
	s := openSite(t, nil)
	c := s.stdio(t, "")
	for what, line := range map[string]struct {
		text string
		code int
	}{
		"garbage":           {"\x00\xff", -32700},
		"not an object":     {"[]", -32700},
		"a batch":           {"[" + callOf(1, "ping", "{}") + "]", -32700},
		"too long":          {strings.Repeat("x", 20<<20), -32700},
		"too long in JSON":  {callOf(1, "ping", `{"a":"`+strings.Repeat("x", 20<<20)+`"}`), -32700},
		"duplicate key":     {`{"jsonrpc":"2.0","id":1,"id":1,"method":"ping"}`, -32700},
		"wrong version":     {`{"jsonrpc":"2","id":1,"method":"ping"}`, -32600},
		"wrong id":          {`{"jsonrpc":"2.0","id":[1],"method":"ping"}`, -32600},
		"before initialize": {callOf(1, "tools/list", `{}`), -32600},
		"discover":          {callOf(1, "server/discover", `{}`), -32602},
		"modern, no caps":   {callOf(1, "tools/list", `{"_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28"}}`), -32602},
		"modern, wrong":     {callOf(1, "tools/list", `{"_meta":{"io.modelcontextprotocol/protocolVersion":7,"io.modelcontextprotocol/clientCapabilities":{}}}`), -32602},
		"ping":              {callOf(1, "ping", `{}`), 0},
	} {
		c.say(t, "")
		c.say(t, `{"jsonrpc":"2.0","method":"notifications/x"}`)
		c.say(t, `{"jsonrpc":"2.0","id":"x","result":{}}`)
		c.say(t, line.text)
		code := 0
		if e := c.message(t).Error; e != nil {
			code = e.Code
		}
		assert.Equal(t, code, line.code, "%s: the code", what)
	}
	c.begin(t)
	c.say(t, callOf(2, "initialize", `{}`))
	if m := c.message(t); m.Error == nil {
		t.Errorf("initialize twice: got %s, want an error", m.Result)
	}
}

// A path of a view that does not exist is an error at once.
func TestStdioPaths(t *testing.T) {
	s := openSite(t, nil)
	for _, path := range []string{"/", "/x", "/s/none/mcp", "/s//mcp", "/p/none", "/mcp/tools/list"} {
		assert.Fails(t, s.gateway.ServeStdio(t.Context(), path, strings.NewReader(""), io.Discard), "%s: got no error, want one", path)
	}
	if err := s.gateway.ServeStdio(t.Context(), "/s/one/mcp", strings.NewReader(""), io.Discard); err != nil {
		t.Errorf("got %v, want no error", err)
	}
}

// What was asked for before the input ended, or the gateway was shut down, is answered.
func TestStdioFinishes(t *testing.T) {
	for name, end := range map[string]func(*site, *stdioClient){
		"end of input": func(_ *site, c *stdioClient) { _ = c.in.Close() },
		"shutdown":     func(s *site, _ *stdioClient) { go func() { _ = s.gateway.Shutdown(context.Background()) }() },
	} {
		t.Run(name, func(t *testing.T) {
			s := openSite(t, nil)
			c := s.stdio(t, "")
			c.begin(t)
			id := 10
			c.say(t, callOf(id, "tools/call", `{"name":"one__flood","arguments":{"n":2000},"_meta":{"progressToken":"p"}}`))
			if m := c.message(t); m.Method != "notifications/progress" {
				t.Fatalf("got %+v, want progress", m)
			}
			end(s, c)
			for {
				m := c.message(t)
				if m.Method == "" {
					if !strings.Contains(string(m.Result), "flooded") {
						t.Errorf("got %+v, want the result", m)
					}
					break
				}
			}
			if err := <-c.ended; err != nil {
				t.Errorf("got %v, want no error", err)
			}
		})
	}
}

// A client of revision 2026-07-28 that listens for changes does not hold up the end of its input.
func TestStdioEndsListening(t *testing.T) {
	s := openSite(t, nil)
	c := s.stdio(t, "")
	c.say(t, modern("", "", "subscriptions/listen", "", `"notifications":{"toolsListChanged":true}`).body)
	if m := c.message(t); m.Method != "notifications/subscriptions/acknowledged" {
		t.Fatalf("got %+v, want the subscription acknowledged", m)
	}
	_ = c.in.Close()
	if m := c.message(t); m.at("resultType") != "complete" {
		t.Errorf("got %+v, want the end of the subscription", m)
	}
	if err := <-c.ended; err != nil {
		t.Errorf("got %v, want no error", err)
	}
}

// The end of the context ends the calls under way, though the input has ended before.
func TestStdioEndsWithContext(t *testing.T) {
	s := openSite(t, nil)
	c := s.stdio(t, "")
	c.begin(t)
	c.say(t, callOf(2, "tools/call", `{"name":"one__wait","arguments":{}}`))
	eventually(t, "the call waits", func() bool { return s.server.waiting.Load() == 1 })
	_ = c.in.Close()
	c.cancel()
	<-c.ended
	eventually(t, "the call ends", func() bool { return s.server.waited.Load() == 1 })
}

// A client that does not read is not read from, and holds up neither Close nor the end of its context.
func TestStdioThatDoesNotRead(t *testing.T) {
	for name, end := range map[string]func(*site, *stdioClient){
		"close":   func(s *site, _ *stdioClient) { _ = s.gateway.Close() },
		"context": func(_ *site, c *stdioClient) { c.cancel() },
	} {
		t.Run(name, func(t *testing.T) {
			s := openSite(t, nil)
			c := s.stdio(t, "")
			c.begin(t)
			before := memory()
			blocked := make(chan struct{})
			go func() {
				defer close(blocked)
				for i := range 1000 {
					if _, err := fmt.Fprintln(c.in, callOf(10+i, "tools/call", `{"name":"one__big","arguments":{"n":500000}}`)); err != nil {
						return
					}
				}
			}()
			eventually(t, "answers wait", func() bool { return memory()-before > 16<<20 })
			end(s, c)
			if err := <-c.ended; err != nil && !errors.Is(err, context.Canceled) {
				t.Errorf("got %v, want the end", err)
			}
			_ = c.reads.Close()
			_ = c.in.CloseWithError(io.EOF)
			<-blocked
		})
	}
}

// A closed gateway takes no client.
func TestStdioAfterClose(t *testing.T) {
	s := openSite(t, nil)
	if err := s.gateway.Close(); err != nil {
		t.Error(err)
	}
	if err := s.gateway.ServeStdio(t.Context(), "", strings.NewReader(""), io.Discard); !errors.Is(err, gateway.ErrClosed) {
		t.Errorf("got %v, want ErrClosed", err)
	}
}
