// Tests of logging.go and send.go: the levels that servers are told, and what they log.

package mcp_test

//lint:file-ignore SA1019 Logging is deprecated since revision 2026-07-28, and works.

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/mcpbelt/mcpbelt/internal/assert"
	"github.com/mcpbelt/mcpbelt/mcp"
	"github.com/mcpbelt/mcpbelt/mcp/mcptest"
	"github.com/mcpbelt/mcpbelt/transport"
)

// levelIn returns the log level in a request's _meta, and levelSet that of a request of its own.
func levelIn(t testing.TB, params json.RawMessage) string {
	t.Helper()
	return strings.Trim(memberOf(t, json.RawMessage(cmp.Or(memberOf(t, params, "_meta"), "{}")), "io.modelcontextprotocol/logLevel"), `"`)
}

func levelSet(t testing.TB, r mcptest.Received) string {
	t.Helper()
	return strings.Trim(memberOf(t, r.Params, "level"), `"`)
}

// An older server is told with each connection and each change.
func TestLogLevelLegacy(t *testing.T) {
	everyPlane(t, func(t *testing.T, p plane) {
		server := featured(t, mcp.Revision20251125, mcptest.Script{"logging/setLevel": mcptest.Result(`{}`), "tools/call": text("x")})
		c := newClient(t, p.to(server), &mcp.ClientOptions{LogLevel: "info"})
		assert.OK(t, c.SetLogLevel(t.Context(), "error"))
		assert.Equal(t, server.Connections(), 0, "connections")
		want := func(n int, level string) {
			t.Helper()
			assert.Equal(t, levelSet(t, server.Await("logging/setLevel", n)), level, "level %d", n)
		}
		ready(t, c)
		want(1, "error")
		assert.OK(t, c.SetLogLevel(t.Context(), "debug"))
		want(2, "debug")
		assert.OK(t, c.Reconnect(t.Context()))
		want(3, "debug")
		assert.OK(t, c.SetLogLevel(t.Context(), "")) // it cannot be told to be silent
		want(4, "emergency")
		assert.OK(t, c.Reconnect(t.Context()))
		mustCall(t, c, "x")
		assert.OK(t, c.SetLogLevel(t.Context(), ""))
		wantCount(t, server, "logging/setLevel", 4)
		assert.Equal(t, levelIn(t, server.Received("tools/call")[0].Params), "", "level in _meta")
	})
}

// A server of 2026-07-28 is told with each request, unless the caller says
// something else for one.
func TestLogLevelModern(t *testing.T) {
	everyPlane(t, func(t *testing.T, p plane) {
		server, c := p.withClient(t, featured(t, mcp.Revision20260728, mcptest.Script{"tools/call": text("x")}), &mcp.ClientOptions{LogLevel: "warning"})
		want := func(level string) {
			t.Helper()
			calls := server.Received("tools/call")
			assert.Equal(t, levelIn(t, calls[len(calls)-1].Params), level, "level")
		}
		mustCall(t, c, "x")
		want("warning")
		assert.OK(t, c.SetLogLevel(t.Context(), "alert"))
		mustCall(t, c, "x")
		want("alert")
		assert.Value(c.CallTool(t.Context(), "x", nil, &mcp.RequestOptions{Meta: mcp.Meta{"io.modelcontextprotocol/logLevel": "debug"}}))(t)
		want("debug")
		assert.OK(t, c.SetLogLevel(t.Context(), ""))
		mustCall(t, c, "x")
		want("")
		wantCount(t, server, "logging/setLevel", 0)
	})
}

// The level can change while requests are on their way.
func TestLogLevelChangesMeanwhile(t *testing.T) {
	for _, revision := range revisions() {
		server, c := withClient(t, featured(t, revision, mcptest.Script{"tools/call": text("x"), "logging/setLevel": mcptest.Result(`{}`)}), nil)
		var calls sync.WaitGroup
		for i := range 8 {
			calls.Go(func() {
				for range 20 {
					if i%2 == 0 {
						mustCall(t, c, "x")
					} else if err := c.SetLogLevel(t.Context(), mcp.LoggingLevel([]string{"debug", "error"}[i/2%2])); err != nil {
						t.Error(err)
					}
				}
			})
		}
		calls.Wait()
		assert.OK(t, c.SetLogLevel(t.Context(), "notice"))
		if revision == mcp.Revision20251125 {
			told := server.Received("logging/setLevel")
			assert.Equal(t, levelSet(t, told[len(told)-1]), "notice", "the server was told last")
		}
	}
}

func TestLogLevelNonsense(t *testing.T) {
	var log bytes.Buffer
	server := featured(t, mcp.Revision20251125, mcptest.Script{"logging/setLevel": mcptest.Result(`{}`)})
	c := newClient(t, server, &mcp.ClientOptions{LogLevel: "loud", Logger: slog.New(slog.NewTextHandler(&log, nil))})
	assert.Contains(t, log.String(), `loud`)
	ready(t, c)
	err := c.SetLogLevel(t.Context(), "WARN")
	wantOutcome(t, err, mcp.NotSent)
	assert.ContainsAll(t, err.Error(), `"scripted"`, `"WARN"`, "warning", "logging/setLevel")
	wantCount(t, server, "logging/setLevel", 0)
}

// A server that refuses the level is as good as before.
func TestLogLevelRefused(t *testing.T) {
	server := featured(t, mcp.Revision20251125, mcptest.Script{"logging/setLevel": mcptest.Error(-32602, "no"), "tools/call": text("x")})
	c := newClient(t, server, &mcp.ClientOptions{LogLevel: "info"})
	mustCall(t, c, "x")
	server.Await("logging/setLevel", 1)
	assert.Equal(t, assert.As[*mcp.ServerError](t, c.SetLogLevel(t.Context(), "debug")).Method, "logging/setLevel", "method")
	assert.Equal(t, c.State().Connections, 1, "connections")
	silent := mcptest.NewServer(t, mcptest.Handshake(mcp.Revision20251125, ""))
	c = newReady(t, silent, &mcp.ClientOptions{LogLevel: "info"})
	assert.OK(t, c.SetLogLevel(t.Context(), "debug"))
	wantCount(t, silent, "logging/setLevel", 0)
}

func TestLogInOrder(t *testing.T) {
	everywhere(t, func(t *testing.T, revision string, p plane) {
		server := featured(t, revision, mcptest.Script{"tools/call": func(c *mcptest.Call) {
			for i := range 100 {
				c.Notify("notifications/message", fmt.Sprintf(`{"level":"info","LEVEL":"x","logger":"l","data":{"n":%d}}`, i))
			}
			text("x")(c)
		}})
		got := make(chan *mcp.LogMessage, 100)
		c := newClient(t, p.to(server), &mcp.ClientOptions{Log: func(m *mcp.LogMessage) { got <- m }})
		mustCall(t, c, "x")
		for i := range 100 {
			m := <-got
			assert.Equal(t, [...]any{m.Server, string(m.Level), m.Logger, string(m.Data), m.Dropped},
				[...]any{"scripted", "info", "l", fmt.Sprintf(`{"n":%d}`, i), 0}, "message %d", i)
		}
	})
}

// A caller hears what the server logs in the course of its call, before that returns, and nothing of the calls of
// others.
func TestWithLogOverHTTP(t *testing.T) {
	for _, stateless := range []bool{false, true} { // which the SDK's server is in revision 2026-07-28 alone
		const calls = 3
		var under, all sync.WaitGroup
		under.Add(calls)
		server := sdk.NewServer(&sdk.Implementation{Name: "s", Version: "1"}, nil)
		sdk.AddTool(server, &sdk.Tool{Name: "say"}, func(ctx context.Context, r *sdk.CallToolRequest, in struct{ Text string }) (*sdk.CallToolResult, any, error) {
			under.Done()
			under.Wait()
			return nil, nil, r.Session.Log(ctx, &sdk.LoggingMessageParams{Level: "info", Data: in.Text})
		})
		web := httptest.NewServer(sdk.NewStreamableHTTPHandler(func(*http.Request) *sdk.Server { return server },
			&sdk.StreamableHTTPOptions{Stateless: stateless}))
		t.Cleanup(web.Close)
		c := newClient(t, &transport.HTTP{URL: web.URL}, nil)
		assert.OK(t, c.Ready(t.Context()))
		assert.OK(t, c.SetLogLevel(t.Context(), "info"))
		for i := range calls {
			all.Go(func() {
				var got []string
				ctx := mcp.WithLog(t.Context(), func(m *mcp.LogMessage) { got = append(got, string(m.Data)) })
				assert.Is(t, assert.Err(c.CallTool(ctx, "say", fmt.Appendf(nil, `{"Text":"%d"}`, i), nil)), nil)
				assert.List(t, got, []string{fmt.Sprintf("%q", fmt.Sprint(i))}, "stateless %v", stateless)
			})
		}
		all.Wait()
		_ = c.Close()
	}
}

// A slow Log stops nobody, and gets the newest messages.
func TestLogSlow(t *testing.T) {
	everyPlane(t, func(t *testing.T, p plane) {
		const sent = 400
		server := featured(t, mcp.Revision20251125, mcptest.Script{"tools/call": func(c *mcptest.Call) {
			for i := range sent {
				c.Notify("notifications/message", fmt.Sprintf(`{"level":"info","data":%d}`, i))
			}
			text("x")(c)
		}})
		first, slow := make(chan struct{}), make(chan struct{})
		got := make(chan *mcp.LogMessage, sent)
		once := sync.OnceFunc(func() { close(first); <-slow })
		c := newClient(t, p.to(server), &mcp.ClientOptions{Log: func(m *mcp.LogMessage) { once(); got <- m }})
		mustCall(t, c, "x")
		<-first
		close(slow)
		next, dropped := 0, 0
		for next < sent {
			m := <-got
			next += m.Dropped
			dropped += m.Dropped
			assert.Equal(t, string(m.Data), fmt.Sprint(next), "data")
			next++
		}
		if waited := sent - dropped; p.name == "messages" && waited != 256 && waited != 257 { // Log may have had one already
			t.Errorf("%d messages waited", waited)
		}
	})
}

// Large messages do not fill the memory while they wait.
func TestLogLarge(t *testing.T) {
	large := `"` + strings.Repeat("x", 1<<20) + `"`
	for name, params := range map[string]string{
		"data":   `{"level":"info","data":` + large + `}`,
		"logger": `{"level":"info","data":1,"logger":` + large + `}`,
		"level":  `{"level":` + large + `,"data":1}`,
	} {
		t.Run(name, func(t *testing.T) { logLarge(t, params) })
	}
}

func logLarge(t *testing.T, params string) {
	server := featured(t, mcp.Revision20251125, mcptest.Script{"tools/call": func(c *mcptest.Call) {
		for range 7 {
			c.Notify("notifications/message", params)
		}
		text("x")(c)
	}})
	busy, slow := make(chan struct{}), make(chan struct{})
	once := sync.OnceFunc(func() { close(busy); <-slow })
	got := make(chan *mcp.LogMessage, 7)
	c := newClient(t, server, &mcp.ClientOptions{Log: func(m *mcp.LogMessage) { once(); got <- m }})
	mustCall(t, c, "x")
	<-busy
	close(slow)
	seen := 0
	for delivered := 0; seen < 7; delivered++ {
		m := <-got
		seen += 1 + m.Dropped
		assert.Between(t, delivered, 0, 4, "more than 4 MiB were waiting")
	}
}

func TestLogPanics(t *testing.T) {
	var log bytes.Buffer
	server := featured(t, mcp.Revision20251125, mcptest.Script{"tools/call": func(c *mcptest.Call) {
		c.Notify("notifications/message", `{"level":"info","data":1}`)
		c.Notify("notifications/message", `{"level":"info","data":2}`)
		text("x")(c)
	}})
	second := make(chan struct{})
	c := newClient(t, server, &mcp.ClientOptions{Logger: slog.New(slog.NewTextHandler(&log, nil)), Log: func(m *mcp.LogMessage) {
		if string(m.Data) == "1" {
			panic("oops")
		}
		close(second)
	}})
	mustCall(t, c, "x")
	<-second
	_ = c.Close()
	assert.Contains(t, log.String(), "oops")
}

// Without a Log the messages go to the Logger, at their level and harmless.
func TestLogDefault(t *testing.T) {
	var log bytes.Buffer
	server, c := withClient(t, featured(t, mcp.Revision20251125, mcptest.Script{"tools/call": func(c *mcptest.Call) {
		for _, level := range []string{"debug", "notice", "emergency", "odd"} {
			c.Notify("notifications/message", fmt.Sprintf(`{"level":%q,"logger":"l\u001b[2J","data":"a\u001b[31m\u202eb\u0000"}`, level))
		}
		c.Notify("notifications/message", `{"level":"info","data":{"long":"`+strings.Repeat("x", 10_000)+`"}}`)
		for _, bad := range []string{`{}`, `{"level":"info"}`, `{"level":1,"data":1}`, `{"level":"info","logger":1,"data":1}`} {
			c.Notify("notifications/message", bad)
		}
		text("x")(c)
	}}), &mcp.ClientOptions{Logger: slog.New(slog.NewTextHandler(&log, &slog.HandlerOptions{Level: slog.LevelDebug}))})
	callAndClose(t, c, server)
	lines := strings.Split(log.String(), "\n")
	for _, want := range []string{"level=DEBUG", "level=INFO+2", "level=ERROR+6", "level=INFO "} {
		found := false
		for _, line := range lines {
			found = found || strings.Contains(line, want) && strings.Contains(line, "server=scripted") && strings.Contains(line, `a<U+001B>[31m<U+202E>b<U+0000>`) &&
				strings.Contains(line, `l<U+001B>[2J`)
		}
		assert.True(t, found, "found")
	}
	assert.Between(t, log.Len(), 0, 8_000, "bytes in the log")
	assert.Equal(t, strings.Count(log.String(), "invalid log message"), 4, "invalid messages in the log")
}

// callAndClose calls the tool and closes the client, which waits for what is
// still to be logged.
func callAndClose(t *testing.T, c *mcp.Client, server *mcptest.Server) {
	t.Helper()
	mustCall(t, c, "x")
	server.Disconnect()
	assert.OK(t, c.Reconnect(t.Context()))
	_ = c.Close()
}

// The last words of a server are heard, and Close does not wait for ever for a
// Log that does not return.
func TestLogOutlivesConnection(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		server := featured(t, mcp.Revision20251125)
		got := make(chan *mcp.LogMessage, 10)
		stuck := make(chan struct{})
		c := newReady(t, server, &mcp.ClientOptions{Log: func(m *mcp.LogMessage) {
			pause(time.Millisecond)
			got <- m
			if string(m.Data) == `"stuck"` {
				<-stuck
			}
		}})
		for i := range 5 {
			server.Notify("notifications/message", fmt.Sprintf(`{"level":"info","data":%d}`, i))
		}
		server.Disconnect()
		for i := range 5 {
			assert.Equal(t, string((<-got).Data), fmt.Sprint(i), "data")
		}
		ready(t, c)
		server.Notify("notifications/message", `{"level":"info","data":"stuck"}`)
		<-got
		start := time.Now()
		_ = c.Close()
		assert.Between(t, time.Since(start), 0, 5*time.Second, "time")
		close(stuck)
	})
}

// A level that a dying connection did not hear is told to the next one.
func TestLogLevelAsConnectionEnds(t *testing.T) {
	server := featured(t, mcp.Revision20251125, mcptest.Script{"logging/setLevel": mcptest.Sequence(mcptest.Disconnect, mcptest.Result(`{}`))})
	assert.OK(t, newReady(t, server, nil).SetLogLevel(t.Context(), "error"))
	assert.Equal(t, levelSet(t, server.Await("logging/setLevel", 2)), "error", "level")
}

// guarded is a buffer that several goroutines write to.
type guarded struct {
	mu  sync.Mutex
	buf bytes.Buffer
}

func (g *guarded) Write(p []byte) (int, error) {
	g.mu.Lock()
	defer g.mu.Unlock()
	return g.buf.Write(p)
}

func (g *guarded) Len() int {
	g.mu.Lock()
	defer g.mu.Unlock()
	return g.buf.Len()
}

// A server cannot fill the log with what it calls things.
func TestLoggedNamesAreCut(t *testing.T) {
	long := strings.Repeat("x", 1<<15)
	everywhere(t, func(t *testing.T, revision string, p plane) {
		server := mcptest.NewServer(t, mcptest.Handshake(revision, ""), mcptest.Script{
			"tools/list": func(c *mcptest.Call) {
				go func() { _, _ = c.Ask(long, "") }()
				c.Result(`{"tools":[{"name":"` + long + `","inputSchema":7}]}`)
			},
			"tools/call": mcptest.Result(`{"content":[],"resultType":"` + long + `"}`),
		})
		var log guarded
		c := newClient(t, p.to(server), &mcp.ClientOptions{Logger: slog.New(slog.NewTextHandler(&log, nil))})
		assert.Value(c.Tools(t.Context()))(t)
		_, err := call(t, c, "x")
		assert.True(t, err != nil && len(err.Error()) <= 1<<10, "a short error: %v", err)
		_ = c.Close()
		assert.Between(t, log.Len(), 1, 20<<10, "bytes in the log")
	})
}
