package genkit_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/firebase/genkit/go/ai"
	"github.com/firebase/genkit/go/genkit"

	belt "github.com/mcpbelt/mcpbelt/adapters/genkit"
	"github.com/mcpbelt/mcpbelt/auth"
	"github.com/mcpbelt/mcpbelt/internal/assert"
	"github.com/mcpbelt/mcpbelt/mcp"
	"github.com/mcpbelt/mcpbelt/registry"
)

// TestGoneWhileWaiting has the tool of a call that waits go away with its server: the
// conversation goes on.
func TestGoneWhileWaiting(t *testing.T) {
	w := newWorld(t)
	w.tool("ask_me", &mcp.TextContent{Text: "it is done"})
	resp := stored(t, w.generate(w.turn(nil), asking("go"), calls("s__ask_me", "s__ask_me")))
	waits := belt.Interrupts(resp)
	if len(waits) != 2 || waits[0].Approval != waits[1].Approval { // the same call, and one approval
		t.Fatalf("the calls wait as %+v", waits)
	}
	assert.Value(w.registry.Approve(t.Context(), waits[0].Approval, nil))(t)
	w.registry.Remove("s__ask_me")

	turn := w.turn(&belt.Options{History: resp.History()})
	parts, err := turn.Responses(t.Context(), resp)
	if err == nil && len(parts) == 2 {
		parts, err = turn.Responses(t.Context(), resp, parts[1])
	}
	assert.OK(t, err)
	option := ai.WithToolResponses(parts...)
	w.generate(turn, []ai.GenerateOption{ai.WithMessages(resp.History()...), option}, calls("s__ask_me"))
	if again, _ := outputs(w.last()); len(again) != 1 || again[0].Name != "s__ask_me" || !strings.Contains(fmt.Sprint(again[0].Output), "unknown tool") {
		t.Errorf("of the tool that is gone the model gets %+v", again[0])
	}
	w.requests = w.requests[:len(w.requests)-1]
	results, _ := outputs(w.last())
	if len(results) != 2 || results[0].Output != "it is done" || results[0].Name != "s__ask_me" || results[0].Ref == results[1].Ref {
		t.Errorf("the model got %+v", results)
	}
	assert.Equal(t, len(w.last().Tools), 0, "the model was told of tools")
	assert.Equal(t, w.times("ask_me"), 1, "the call was made times")
}

// TestMisspelledTool has the program name a tool of its own that is not registered:
// that is Genkit's error.
func TestMisspelledTool(t *testing.T) {
	w := newWorld(t)
	w.tool("x")
	turn := w.turn(&belt.Options{Tools: []ai.ToolRef{ai.ToolName("mistake")}})
	_, err := genkit.Generate(t.Context(), w.genkit, turn.Options(asking("go")...)...)
	assert.False(t, err == nil || !strings.Contains(err.Error(), `"mistake" not found`), "the error is %v", err)
}

// login is a tool that wants a login until it is let in.
type login struct {
	done   chan struct{}
	in     bool   // guarded by the world's mu
	called func() // by the call; nil: nothing
}

func (w *world) login(name string) *login {
	w.Helper()
	l := &login{done: make(chan struct{})}
	tool := registry.Remote("s", &mcp.Tool{Name: name, InputSchema: json.RawMessage(`{"type":"object"}`)},
		func(context.Context, string, json.RawMessage, *mcp.RequestOptions) (*mcp.CallToolResult, error) {
			w.mu.Lock()
			defer w.mu.Unlock()
			if !l.in {
				return nil, mcp.WithOutcome(&auth.LoginRequiredError{Server: "s", URL: "https://login.example", Done: l.done}, mcp.NotSent)
			}
			w.ran[name] = append(w.ran[name], "")
			if l.called != nil {
				l.called()
			}
			return &mcp.CallToolResult{Content: []mcp.Content{&mcp.TextContent{Text: "opened " + name}}}, nil
		})
	w.offer(tool)
	return l
}

// loggedIn lets the user of a login in.
func (w *world) loggedIn(l *login) {
	w.mu.Lock()
	defer w.mu.Unlock()
	l.in = true
	close(l.done)
}

// TestResponsesGoOn has the context of Responses end when one of two calls has been
// made: the other Responses makes but the other one.
func TestResponsesGoOn(t *testing.T) {
	w := newWorld(t)
	first, second := w.login("first"), w.login("second")
	w.tool("ask_me", &mcp.TextContent{Text: "it is done"})
	resp := stored(t, w.generate(w.turn(nil), asking("go"), calls("s__first", "s__second", "s__ask_me")))
	waits := belt.Interrupts(resp)
	if len(waits) != 3 {
		t.Fatalf("the calls wait as %+v", waits)
	}
	w.loggedIn(first)
	assert.Value(w.registry.Approve(t.Context(), waits[2].Approval, nil))(t)
	gone := errors.New("the user has gone")
	ctx, cancel := context.WithCancelCause(t.Context())
	first.called = func() { cancel(gone) }
	answered, err := w.turn(nil).Responses(ctx, resp)
	assert.Is(t, err, gone, "the error")
	if len(answered) != 2 || answered[0].ToolResponse.Name != "s__first" || answered[1].ToolResponse.Name != "s__ask_me" {
		t.Fatalf("answered is %+v", answered)
	}
	w.loggedIn(second)
	turn := w.turn(nil)
	parts := assert.Value(turn.Responses(t.Context(), resp, answered...))(t)
	w.generate(turn, []ai.GenerateOption{ai.WithMessages(resp.History()...), ai.WithToolResponses(parts...)})
	results, _ := outputs(w.last())
	for i, want := range []string{"opened first", "opened second", "it is done"} {
		if len(results) != 3 || results[i].Output != want {
			t.Fatalf("the model got %+v", results)
		}
	}
	assert.False(t, w.times("first") != 1 || w.times("second") != 1 || w.times("ask_me") != 1, "what ran: %q", w.ran)
}
