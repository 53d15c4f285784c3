package mcpgo_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/mark3labs/mcp-go/client"
	"github.com/mark3labs/mcp-go/client/transport"
	gomcp "github.com/mark3labs/mcp-go/mcp"
	"github.com/mark3labs/mcp-go/server"

	belt "github.com/mcpbelt/mcpbelt/adapters/mcpgo"
	"github.com/mcpbelt/mcpbelt/mcp"
	"github.com/mcpbelt/mcpbelt/registry"
)

// watchFor watches a source for a time.
func watchFor(t *testing.T, s *belt.Source, d time.Duration) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), d)
	defer cancel()
	if err := s.Watch(ctx); !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("Watch ended with %v", err)
	}
}

// A server that says with each list that the list has changed is asked less and less.
func TestWatchIsNotDrivenByTheServer(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var lists atomic.Int64
		var w *wire
		w, s, r := scripted(t, func(context.Context, string, json.RawMessage) (string, error) {
			n := lists.Add(1)
			if n > 1000 {
				return "", errors.New("too often")
			}
			time.AfterFunc(50*time.Millisecond, w.changed)
			return fmt.Sprintf(`{"tools":[{"name":"t%d","inputSchema":{"type":"object"}}]}`, n), nil
		})
		watchFor(t, s, time.Minute)
		if n := lists.Load(); n < 10 || n > 20 {
			t.Errorf("it listed %d times in a minute", n)
		}
		synctest.Wait()
		if got, want := r.Snapshot().Tools()[0].Definition().Origin.Tool, fmt.Sprintf("t%d", lists.Load()); got != want {
			t.Errorf("the tool is %q, not %q", got, want)
		}
	})
}

// Changes that have time between them are seen at once.
func TestWatchIsSwift(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var lists atomic.Int64
		w, s, _ := scripted(t, func(context.Context, string, json.RawMessage) (string, error) {
			lists.Add(1)
			return oneTool, nil
		})
		background(t, func(ctx context.Context) { _ = s.Watch(ctx) })
		for i := range 20 {
			synctest.Wait()
			if n := lists.Load(); n != int64(i+1) {
				t.Fatalf("after %d changes it listed %d times", i, n)
			}
			time.Sleep(time.Second)
			w.changed()
		}
	})
}

func TestWatchGivesUpAListThatDoesNotCome(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var lists atomic.Int64
		_, s, r := scripted(t, func(ctx context.Context, _ string, _ json.RawMessage) (string, error) {
			if lists.Add(1) == 1 {
				<-ctx.Done()
				return "", ctx.Err()
			}
			return oneTool, nil
		})
		watchFor(t, s, time.Hour)
		if len(r.Snapshot().Tools()) != 1 {
			t.Error("there are no tools")
		}
	})
}

// The list that was asked for last is the one that stays.
func TestRefreshesDoNotOvertakeEachOther(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var lists atomic.Int64
		_, s, r := scripted(t, func(context.Context, string, json.RawMessage) (string, error) {
			if lists.Add(1) == 1 {
				time.Sleep(time.Second)
				return oneTool, nil
			}
			return `{"tools":[]}`, nil
		})
		var wg sync.WaitGroup
		wg.Go(func() { refresh(t, s) })
		synctest.Wait()
		wg.Go(func() { refresh(t, s) })
		wg.Wait()
		if len(r.Snapshot().Tools()) != 0 {
			t.Error("an old list has replaced the new one")
		}
	})
}

// A transport that does not heed contexts holds up nobody, and one list of it at most is
// on its way.
func TestRefreshEndsWithItsContext(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var lists atomic.Int64
		free := make(chan struct{})
		_, s, r := scripted(t, func(context.Context, string, json.RawMessage) (string, error) {
			lists.Add(1)
			<-free
			return oneTool, nil
		})
		for range 3 {
			ctx, cancel := context.WithTimeout(t.Context(), time.Second)
			if _, err := s.Refresh(ctx); !errors.Is(err, context.DeadlineExceeded) || !strings.Contains(err.Error(), `"crew"`) {
				t.Errorf("the error is %v", err)
			}
			cancel()
		}
		close(free)
		synctest.Wait()
		if n := lists.Load(); n != 1 || len(r.Snapshot().Tools()) != 0 {
			t.Errorf("it listed %d times; there are %d tools", n, len(r.Snapshot().Tools()))
		}
		if refresh(t, s); len(r.Snapshot().Tools()) != 1 {
			t.Error("it lists no more")
		}
	})
}

func TestListsThatAreTooLong(t *testing.T) {
	pages := 0
	_, s, _ := scripted(t, func(context.Context, string, json.RawMessage) (string, error) {
		pages++
		var tools []string
		for i := range 1000 {
			tools = append(tools, fmt.Sprintf(`{"name":"t%d_%d","inputSchema":{"type":"object"}}`, pages, i))
		}
		next := ""
		if pages != 5 {
			next = fmt.Sprint(pages)
		}
		return `{"tools":[` + strings.Join(tools, ",") + `],"nextCursor":"` + next + `"}`, nil
	})
	if diff := refresh(t, s); len(diff.Added) != 5000 {
		t.Errorf("there are %d tools", len(diff.Added))
	}
	var limit *mcp.LimitError
	if _, err := s.Refresh(t.Context()); !errors.As(err, &limit) || limit.Max != 5000 || pages != 11 {
		t.Errorf("after %d pages the error is %v", pages, err)
	}
}

// modern returns a source whose client speaks revision 2026-07-28.
func modern(t *testing.T, answer func(ctx context.Context, method string) (string, error)) (*wire, *belt.Source, *registry.Registry) {
	t.Helper()
	w := &wire{answer: func(ctx context.Context, method string, _ json.RawMessage) (string, error) {
		if method == "server/discover" {
			return `{"resultType":"complete","supportedVersions":["2026-07-28"],"capabilities":{"tools":{}},"serverInfo":{"name":"crew","version":"1"}}`, nil
		}
		return answer(ctx, method)
	}}
	c := client.NewClient(w)
	r := registry.New(nil)
	return w, belt.NewSource(connect(t, c), registry.Server{Name: "crew"}, r), r
}

// Streams that a server ends at once are begun less and less often, and what it lists is
// not asked for each time.
func TestWatchOfAServerThatEndsStreams(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var streams, lists atomic.Int64
		_, s, _ := modern(t, func(_ context.Context, method string) (string, error) {
			if method == "subscriptions/listen" {
				streams.Add(1)
				return "", refusalError{gomcp.JSONRPCErrorDetails{Code: -32601, Message: "no"}}
			}
			lists.Add(1)
			return oneTool, nil
		})
		watchFor(t, s, time.Hour)
		if n := streams.Load(); n < 60 || n > 70 || lists.Load() != 1 {
			t.Errorf("in an hour it listened %d times, and listed %d times", n, lists.Load())
		}
	})
}

// What changes before a stream is there, its beginning tells.
func TestWatchListsWhenItListens(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var w *wire
		var listening atomic.Bool
		w, s, r := modern(t, func(ctx context.Context, method string) (string, error) {
			switch {
			case method == "subscriptions/listen":
				time.Sleep(time.Second)
				listening.Store(true)
				w.tell("notifications/subscriptions/acknowledged")
				<-ctx.Done()
				return "", ctx.Err()
			case listening.Load():
				return oneTool, nil
			}
			return `{"tools":[]}`, nil
		})
		watchFor(t, s, time.Minute)
		if len(r.Snapshot().Tools()) != 1 {
			t.Error("it has missed a change")
		}
	})
}

// Nobody knows what a client speaks before it is initialized.
func TestWatchBeforeInitialize(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var streams atomic.Int64
		w := &wire{answer: func(ctx context.Context, method string, _ json.RawMessage) (string, error) {
			switch method {
			case "server/discover":
				return `{"resultType":"complete","supportedVersions":["2026-07-28"],"capabilities":{"tools":{}},"serverInfo":{"name":"crew","version":"1"}}`, nil
			case "subscriptions/listen":
				streams.Add(1)
				<-ctx.Done()
				return "", ctx.Err()
			}
			return oneTool, nil
		}}
		c := client.NewClient(w)
		r := registry.New(nil)
		s := belt.NewSource(c, registry.Server{Name: "crew"}, r)
		background(t, func(ctx context.Context) { _ = s.Watch(ctx) })
		synctest.Wait()
		connect(t, c)
		time.Sleep(5 * time.Second)
		if len(r.Snapshot().Tools()) != 1 || streams.Load() != 1 {
			t.Errorf("there are %d tools and %d streams", len(r.Snapshot().Tools()), streams.Load())
		}
	})
}

// A gate is a reader that can be shut.
type gate struct {
	io.Reader
	shut chan struct{}
	open chan struct{}
}

func (g *gate) Read(p []byte) (int, error) {
	n, err := g.Reader.Read(p)
	select {
	case <-g.shut:
		<-g.open
		return 0, io.EOF
	default:
		return n, err
	}
}

// A call does not wait for a server that reads nothing, and not too many calls do.
func TestCallsOfAServerThatDoesNotRead(t *testing.T) {
	toServer, fromClient := io.Pipe()
	toClient, fromServer := io.Pipe()
	g := &gate{toServer, make(chan struct{}), make(chan struct{})}
	background(t, func(context.Context) {
		dec := json.NewDecoder(g)
		for {
			var q struct {
				ID     json.RawMessage
				Method string
			}
			if dec.Decode(&q) != nil {
				_ = fromServer.Close()
				return
			}
			result := oneTool
			if q.Method == "initialize" {
				result = `{"protocolVersion":"2025-11-25","capabilities":{"tools":{}},"serverInfo":{"name":"crew","version":"1"}}`
			}
			if q.ID != nil {
				_, _ = fmt.Fprintf(fromServer, `{"jsonrpc":"2.0","id":%s,"result":%s}`+"\n", q.ID, result)
			}
		}
	})
	t.Cleanup(func() { _ = toServer.Close(); close(g.open) })
	c := connect(t, client.NewClient(transport.NewIO(toClient, fromClient, io.NopCloser(nothing{})), client.WithProtocolVersion("2025-11-25")))
	r := registry.New(nil)
	refresh(t, belt.NewSource(c, registry.Server{Name: "crew"}, r))
	close(g.shut)
	var unavailable *mcp.UnavailableError
	for range 70 {
		ctx, cancel := context.WithTimeout(t.Context(), time.Millisecond)
		_, err := r.Call(ctx, "crew__echo", nil)
		cancel()
		if errors.As(err, &unavailable) {
			break
		}
		if !errors.Is(err, context.DeadlineExceeded) {
			t.Fatalf("the error is %v", err)
		}
	}
	if unavailable == nil || mcp.OutcomeOf(unavailable) != mcp.NotSent {
		t.Error("calls are made without end")
	}
}

// Who calls can recover from what panics in a goroutine of ours.
func TestPanicOfAClient(t *testing.T) {
	_, s, r := scripted(t, listing(func(context.Context, json.RawMessage) (string, error) { panic("broken") }))
	refresh(t, s)
	defer func() {
		if v := recover(); v != "broken" {
			t.Errorf("it panics with %v", v)
		}
	}()
	_, _ = r.Call(t.Context(), "crew__echo", nil)
}

// What is kept back cannot be called by a name that it has got since.
func TestKeepHoldsForCalls(t *testing.T) {
	r := with(t, nil, named("find"))
	opts := &belt.ExportOptions{Keep: func(d *registry.Definition) bool { return d.Description != "secret" }}
	s := server.NewMCPServer("belt", "1", server.WithToolFilter(belt.Filter(r, opts)))
	belt.NewExport(s, r, opts).Refresh()
	c := overHTTP(t, s)
	r.Remove("find")
	other := named("find")
	other.definition.Description = "secret"
	other.run = func(context.Context, json.RawMessage) (*mcp.CallToolResult, error) {
		t.Error("it was called")
		return text("done"), nil
	}
	if err := r.Add(other); err != nil {
		t.Fatal(err)
	}
	if res, said := call(t, c, "find"); !res.IsError || !strings.Contains(said, "unknown tool") {
		t.Errorf("the model is told %q", said)
	}
}

// A filter of the registry's tools is none of the server's own.
func TestFilterLeavesOtherToolsAlone(t *testing.T) {
	policy, err := registry.NewPolicy(registry.Deny)
	if err != nil {
		t.Fatal(err)
	}
	r := with(t, &registry.Options{Approver: policy}, named("own"))
	opts := &belt.ExportOptions{Keep: func(*registry.Definition) bool { return false }}
	s := server.NewMCPServer("belt", "1", server.WithToolFilter(belt.Filter(r, opts)))
	s.AddTool(gomcp.NewTool("own"), func(context.Context, gomcp.CallToolRequest) (*gomcp.CallToolResult, error) {
		return gomcp.NewToolResultText("own"), nil
	})
	belt.NewExport(s, r, opts).Refresh()
	if _, said := call(t, overHTTP(t, s), "own"); said != "own" {
		t.Errorf("the tool of the server says %q", said)
	}
}

// What a server wants a user to open is a web page, or nothing.
func TestPagesForLogin(t *testing.T) {
	for url, want := range map[string]string{
		"https://login.example/a?b=c":   "https://login.example/a?b=c",
		"http://localhost:1/":           "http://localhost:1/",
		"javascript:alert(1)":           "",
		"file:///etc/passwd":            "",
		"https://bank.example@evil.com": "",
		"https:///nowhere":              "",
		"https://a.example/\u202e b":    "",
		"https://a.example\\\\@b/":      "",
		"":                              "",
	} {
		_, s, r := scripted(t, listing(func(context.Context, json.RawMessage) (string, error) {
			return "", refusalError{gomcp.JSONRPCErrorDetails{Code: gomcp.URL_ELICITATION_REQUIRED, Message: "log in",
				Data: map[string]any{"elicitations": []any{map[string]any{"mode": "url", "elicitationId": "1", "message": "m", "url": url}}}}}
		}))
		refresh(t, s)
		_, err := r.Call(t.Context(), "crew__echo", nil)
		var login interface{ LoginURL() string }
		if !errors.As(err, &login) || login.LoginURL() != want {
			t.Errorf("of %q comes %v", url, err)
		}
	}
}
