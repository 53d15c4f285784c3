package mcpgo_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/mark3labs/mcp-go/client"
	"github.com/mark3labs/mcp-go/client/transport"
	gomcp "github.com/mark3labs/mcp-go/mcp"
	"github.com/mark3labs/mcp-go/server"

	belt "github.com/mcpbelt/mcpbelt/adapters/mcpgo"
	"github.com/mcpbelt/mcpbelt/auth"
	"github.com/mcpbelt/mcpbelt/mcp"
	"github.com/mcpbelt/mcpbelt/registry"
	"github.com/mcpbelt/mcpbelt/registry/approval"
	"github.com/mcpbelt/mcpbelt/registry/policy"
)

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
	for end := time.Now().Add(30 * time.Second); time.Now().Before(end); { // some calls end before they are sent
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

// Calls that were abandoned and have ended are forgotten.
func TestAbandonedCallsThatEnd(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		_, s, r := scripted(t, listing(func(context.Context, json.RawMessage) (string, error) {
			time.Sleep(2 * time.Second) // whatever the context
			return `{"content":[]}`, nil
		}))
		refresh(t, s)
		for range 70 {
			ctx, cancel := context.WithTimeout(t.Context(), time.Second)
			if _, err := r.Call(ctx, "crew__echo", nil); mcp.OutcomeOf(err) != mcp.Unknown {
				t.Fatalf("the error is %v", err)
			}
			cancel()
		}
		if _, err := r.Call(t.Context(), "crew__echo", nil); err != nil {
			t.Error(err)
		}
	})
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
	policy, err := policy.New(approval.Deny)
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

// The tools that a filter is given are the server's.
func TestFilterLeavesTheListAlone(t *testing.T) {
	policy, err := policy.New(approval.Deny)
	if err != nil {
		t.Fatal(err)
	}
	given := []gomcp.Tool{{Name: "own"}, {Name: "other"}}
	filter := belt.Filter(with(t, &registry.Options{Approver: policy}, named("own")), nil)
	if left := filter(t.Context(), given); len(left) != 1 || left[0].Name != "other" || given[0].Name != "own" || given[1].Name != "other" {
		t.Errorf("%d tools are left, of %q", len(left), []string{given[0].Name, given[1].Name})
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

		"https://a.example/" + strings.Repeat("a", 8<<10): "",

		"https://a.example/\u202e b": "",
		"https://a.example\\\\@b/":   "",
		"":                           "",
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

// A tool that the server no longer takes is not what it was before.
func TestToolThatBecomesBad(t *testing.T) {
	r := with(t, nil, named("a"))
	s := server.NewMCPServer("belt", "1")
	export := belt.NewExport(s, r, nil)
	export.Refresh()
	r.Remove("a")
	bad := named("a")
	bad.definition.InputSchema = json.RawMessage(`{"type":"object","properties":{"a":{"type":"object","x-mcp-header":"no header"}}}`)
	if err := r.Add(bad); err != nil {
		t.Fatal(err)
	}
	for range 2 {
		if rejected := export.Refresh(); len(rejected) != 1 || s.GetTool("a") != nil {
			t.Errorf("rejected are %+v, and there is %+v", rejected, s.GetTool("a"))
		}
	}
	r.Remove("a")
	if err := r.Add(named("a")); err != nil {
		t.Fatal(err)
	}
	if rejected := export.Refresh(); rejected != nil || s.GetTool("a") == nil {
		t.Errorf("rejected are %+v", rejected)
	}
}

// Who says no has the call made no more, and one that may have run is not made again.
func TestLoginDoesNotRepeatCalls(t *testing.T) {
	for outcome, want := range map[mcp.Outcome]int64{mcp.NotSent: 2, mcp.Unknown: 1} {
		var ran atomic.Int64
		locked := named("locked")
		locked.run = func(context.Context, json.RawMessage) (*mcp.CallToolResult, error) {
			ran.Add(1)
			return nil, mcp.WithOutcome(&auth.LoginRequiredError{Server: "vault", URL: "https://login.example/"}, outcome)
		}
		s := server.NewMCPServer("belt", "1")
		belt.NewExport(s, with(t, nil, locked), &belt.ExportOptions{Login: true}).Refresh()
		user := refusing{make(chan gomcp.ElicitationParams, 9)}
		c := overHTTP(t, s, client.WithClientCapabilities(gomcp.ClientCapabilities{Elicitation: &gomcp.ElicitationCapability{URL: &struct{}{}}}), client.WithElicitationHandler(user))
		if res, _ := call(t, c, "locked"); !res.IsError || ran.Load() != want || len(user.asked) != int(want-1) {
			t.Errorf("%v: it ran %d times, and the user was asked %d times", outcome, ran.Load(), len(user.asked))
		}
	}
}

// A server that asks before it answers, and gets no answer, may have begun: such a call
// must not be made again.
func TestQuestionsWithoutAnAnswer(t *testing.T) {
	_, s, r := modern(t, func(_ context.Context, method string) (string, error) {
		if method == "tools/call" {
			return `{"resultType":"input_required","inputRequests":{"q":{"method":"elicitation/create","params":{"message":"?","requestedSchema":{"type":"object","properties":{}}}}}}`, nil
		}
		return oneTool, nil
	})
	refresh(t, s)
	if _, err := r.Call(t.Context(), "crew__echo", nil); mcp.OutcomeOf(err) != mcp.Unknown {
		t.Errorf("the outcome of %v is %v", err, mcp.OutcomeOf(err))
	}
}
