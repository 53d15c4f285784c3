package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/mcpbelt/mcpbelt/mcp"
	"github.com/mcpbelt/mcpbelt/registry"
	"github.com/mcpbelt/mcpbelt/registry/profile"
)

func TestToolsOfTheMoment(t *testing.T) {
	r := registry.New(nil)
	// A name that the endpoint does not take.
	other := registry.MustFunc("other.tool", "", func(context.Context, struct{}) (string, error) { return "called", nil })
	set, err := profile.Compile(profile.OpenAI, []registry.Tool{other}, nil)
	if err != nil {
		t.Fatal(err)
	}
	mended := set.Tools()[0].Name
	err = r.Add(registry.MustFunc("swap", "", func(context.Context, struct{}) (string, error) {
		r.Remove("swap")
		return "swapped", r.Add(other)
	}))
	if err != nil {
		t.Fatal(err)
	}
	m := newModel(t,
		says(`{"role":"assistant","content":"","tool_calls":[{"id":"c","type":"function","function":{"name":"swap","arguments":"{}"}}]}`),
		says(`{"role":"assistant","content":"","tool_calls":[{"id":"d","type":"function","function":{"name":"`+mended+`","arguments":"{}"}}]}`),
		says(`{"role":"assistant","content":"Done."}`))
	transport := &http.Transport{}
	defer transport.CloseIdleConnections()
	agent := &Agent{Endpoint: &Endpoint{BaseURL: m.url, Transport: transport}, Registry: r, MaxSteps: 3}
	if answer, err := agent.Run(t.Context(), "Swap."); answer != "Done." || err != nil {
		t.Fatalf("%q, %v", answer, err)
	}
	requests := m.played()
	for i, want := range []string{"swap", mended, mended} {
		if got := strings.Join(requests[i].toolNames(t), " "); got != want {
			t.Errorf("request %d offers %s, want %s", i+1, got, want)
		}
		if requests[i].Authorization != "" {
			t.Errorf("without a key the endpoint got %q", requests[i].Authorization)
		}
	}
	if got, want := string(requests[2].Messages[5]), `{"role":"tool","content":"called","tool_call_id":"d"}`; got != want {
		t.Errorf("the call of %s: %s, want %s", mended, got, want)
	}
}

// noTools are the tools of an agent that knows the names of the registry.
func noTools(t *testing.T) *profile.Set {
	t.Helper()
	set, err := profile.Compile(profile.OpenAI, nil, nil)
	if err != nil {
		t.Fatal(err)
	}
	return set
}

func TestCallsRunSideBySide(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := registry.New(nil)
		var running atomic.Int32
		release := make(chan struct{})
		err := r.Add(registry.MustFunc("wait", "", func(_ context.Context, in struct{ N int }) (string, error) {
			running.Add(1)
			<-release
			return fmt.Sprint(in.N), nil
		}))
		if err != nil {
			t.Fatal(err)
		}
		calls := make([]ToolCall, 2*maxParallel)
		for i := range calls {
			calls[i].ID = fmt.Sprint("c", i)
			calls[i].Function.Name = "wait"
			calls[i].Function.Arguments = fmt.Sprintf(`{"N":%d}`, i)
		}
		done := make(chan []Message)
		go func() {
			done <- (&Agent{Registry: r}).callAll(t.Context(), calls, noTools(t))
		}()
		synctest.Wait()
		if n := running.Load(); n != maxParallel {
			t.Errorf("%d calls run at the same time, want %d", n, maxParallel)
		}
		close(release)
		for i, m := range <-done {
			if m.ToolCallID != fmt.Sprint("c", i) || m.Content != fmt.Sprint(i) {
				t.Errorf("result %d is %+v", i, m)
			}
		}
	})
}

func TestCallTimeout(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := registry.New(nil)
		err := r.Add(registry.MustFunc("hang", "", func(ctx context.Context, _ struct{}) (string, error) {
			<-ctx.Done()
			return "", ctx.Err()
		}))
		if err != nil {
			t.Fatal(err)
		}
		start := time.Now()
		got := (&Agent{Registry: r}).call(t.Context(), noTools(t), "hang", nil)
		if !strings.Contains(got, "may have run") {
			t.Errorf("the model is told %q", got)
		}
		if took := time.Since(start); took != callTimeout {
			t.Errorf("the call ended after %v, want %v", took, callTimeout)
		}
	})
}

type roundTripper func(*http.Request) (*http.Response, error)

func (f roundTripper) RoundTrip(req *http.Request) (*http.Response, error) { return f(req) }

func TestRetriesEnd(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var asked []time.Duration
		start := time.Now()
		endpoint := &Endpoint{Transport: roundTripper(func(*http.Request) (*http.Response, error) {
			asked = append(asked, time.Since(start))
			return &http.Response{StatusCode: http.StatusServiceUnavailable, Body: io.NopCloser(strings.NewReader("busy"))}, nil
		})}
		_, err := endpoint.Complete(t.Context(), nil, noTools(t))
		var refused *EndpointError
		if !errors.As(err, &refused) || refused.Status != http.StatusServiceUnavailable {
			t.Errorf("error %v, want that of the endpoint", err)
		}
		if want := []time.Duration{0, time.Second, 3 * time.Second, 7 * time.Second}; !slices.Equal(asked, want) {
			t.Errorf("asked after %v, want %v", asked, want)
		}
	})
}

// What the model is told depends on what came back, and on whether the tool ran.
func TestCall(t *testing.T) {
	text := func(s string) []mcp.Content { return []mcp.Content{&mcp.TextContent{Text: s}} }
	for _, c := range []struct {
		name   string
		result *mcp.CallToolResult
		err    error
		want   string
	}{
		{"text", &mcp.CallToolResult{Content: text("one")}, nil, "one"},
		{"nothing", &mcp.CallToolResult{}, nil, "The tool ran and returned nothing."},
		{"failed", &mcp.CallToolResult{IsError: true, Content: text("no such note")}, nil, "The tool reports an error: no such note"},
		{"unknown outcome", nil, &mcp.OutcomeUnknownError{Server: "notes", Method: "tools/call", Tool: "create", Err: errors.New("the pipe broke")}, "may have run"},
		{"not sent", nil, &mcp.UnavailableError{Server: "notes", Err: errors.New("the pipe broke")}, "did not run"},
	} {
		r := registry.New(nil)
		if err := r.Add(fixedTool{c.result, c.err}); err != nil {
			t.Fatal(err)
		}
		got := (&Agent{Registry: r}).call(t.Context(), noTools(t), "fixed", nil)
		if c.err == nil && got != c.want || !strings.Contains(got, c.want) {
			t.Errorf("%s: the model is told %q, want %q", c.name, got, c.want)
		}
	}
}

type fixedTool struct {
	result *mcp.CallToolResult
	err    error
}

func (fixedTool) Definition() *registry.Definition {
	return &registry.Definition{Name: "fixed", InputSchema: json.RawMessage(`{"type":"object"}`)}
}

func (t fixedTool) Call(context.Context, json.RawMessage) (*mcp.CallToolResult, error) {
	return t.result, t.err
}

func TestTruncate(t *testing.T) {
	for _, c := range []struct {
		text string
		n    int
		want string
	}{
		{"grün", 5, "grün"},
		{"grün", 4, "grü\n[cut here: the first 4 of 5 bytes]"},
		{"grün", 3, "gr\n[cut here: the first 2 of 5 bytes]"},
		{"grün", -1, "\n[cut here: the first 0 of 5 bytes]"},
	} {
		if got := truncate(c.text, c.n); got != c.want {
			t.Errorf("truncate(%q, %d) = %q, want %q", c.text, c.n, got, c.want)
		}
	}
}
