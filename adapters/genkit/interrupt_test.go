package genkit_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/firebase/genkit/go/ai"
	"github.com/firebase/genkit/go/genkit"

	belt "github.com/mcpbelt/mcpbelt/adapters/genkit"
	"github.com/mcpbelt/mcpbelt/auth"
	"github.com/mcpbelt/mcpbelt/internal/assert"
	"github.com/mcpbelt/mcpbelt/mcp"
	"github.com/mcpbelt/mcpbelt/registry"
)

// stored returns a response as it comes back from where a server keeps it.
func stored(t testing.TB, resp *ai.ModelResponse) *ai.ModelResponse {
	t.Helper()
	var messages []*ai.Message
	raw, err := json.Marshal(resp.History())
	if err == nil {
		err = json.Unmarshal(raw, &messages)
	}
	assert.OK(t, err)
	return &ai.ModelResponse{Request: &ai.ModelRequest{Messages: messages[:len(messages)-1]}, Message: messages[len(messages)-1]}
}

// TestInterrupted has calls with images beside calls that wait, in both ways to go
// on: nothing of a result may get lost.
func TestInterrupted(t *testing.T) {
	for _, restart := range []bool{false, true} {
		t.Run(fmt.Sprintf("restart=%v", restart), func(t *testing.T) {
			w := newWorld(t)
			w.tool("picture", &mcp.TextContent{Text: "first"}, &mcp.ImageContent{MIMEType: "image/png", Data: pngBytes(t)})
			w.tool("ask_picture", &mcp.TextContent{Text: "approved"}, &mcp.ImageContent{MIMEType: "image/png", Data: pngBytes(t)})
			w.tool("ask_other", &mcp.TextContent{Text: "never"})
			turn := w.turn(nil)
			resp := w.generate(turn, asking("go"), calls("s__ask_picture", "s__picture", "s__ask_other", "s__nowhere"))
			resp = stored(t, resp)
			waits := belt.Interrupts(resp)
			if len(waits) != 2 || waits[0].Tool != "s__ask_picture" || waits[1].Tool != "s__ask_other" || waits[0].Reason == "" || waits[0].Expires.Before(time.Now()) || string(waits[0].Arguments) != "{}" {
				t.Fatalf("the calls wait as %+v", waits)
			}
			assert.Value(w.registry.Approve(t.Context(), waits[0].Approval, nil))(t)
			assert.OK(t, w.registry.Deny(t.Context(), waits[1].Approval, "not on a Friday"))
			turn = w.turn(nil)
			options := []ai.GenerateOption{ai.WithMessages(resp.History()...)}
			if restart {
				options = append(options, ai.WithToolRestarts(belt.Restart(waits[0].Part), belt.Restart(waits[1].Part)))
			} else {
				parts := assert.Value(turn.Responses(t.Context(), resp))(t)
				options = append(options, ai.WithToolResponses(parts...))
			}
			assert.Equal(t, w.generate(turn, options).Text(), "done", "the answer")
			results, media := outputs(w.last())
			if len(results) != 4 || len(media) != 2 || media[0] != "image/png data:image/png;base64,"+pngText {
				t.Fatalf("the model got %d results, %q", len(results), media)
			}
			for i, want := range []string{"approved", "first", "not on a Friday", "s__nowhere"} {
				if text := fmt.Sprint(results[i].Output); !strings.Contains(text, want) || results[i].Content != nil {
					t.Errorf("result %d is %q, without %q", i, text, want)
				}
			}
			assert.Equal(t, results[3].Name, "s__nowhere", "the unknown tool is called")
			if w.times("ask_picture") != 1 || w.times("picture") != 1 || w.times("ask_other") != 0 {
				t.Errorf("what ran: %q", w.ran)
			}
		})
	}
}

// TestResponsesWait has the person answer while Responses waits already.
func TestResponsesWait(t *testing.T) {
	w := newWorld(t)
	w.tool("ask_me", &mcp.TextContent{Text: "it is done"})
	turn := w.turn(nil)
	resp := w.generate(turn, asking("go"), calls("s__ask_me"))
	ctx, cancel := context.WithCancelCause(t.Context())
	gone := errors.New("the user has gone")
	cancel(gone)
	if parts, err := turn.Responses(ctx, resp); !errors.Is(err, gone) || parts != nil {
		t.Errorf("with a context that has ended: %v, %v", parts, err)
	}
	over := make(chan []*ai.Part)
	go func() {
		parts, err := turn.Responses(t.Context(), resp)
		if err != nil {
			t.Error(err)
		}
		over <- parts
	}()
	assert.Value(w.registry.Approve(t.Context(), belt.Interrupts(resp)[0].Approval, nil))(t)
	if parts := <-over; len(parts) != 1 || parts[0].ToolResponse.Output != "it is done" {
		t.Errorf("got %v", parts)
	}
}

// TestLoginThenApproval has a call that waits for one thing after another. Genkit
// gives up a request in which a restarted call interrupts.
func TestLoginThenApproval(t *testing.T) {
	for _, restart := range []bool{false, true} {
		w := newWorld(t)
		login, in := make(chan struct{}), false
		tool := registry.Remote("s", &mcp.Tool{Name: "vault", InputSchema: json.RawMessage(`{"type":"object"}`)},
			func(context.Context, string, json.RawMessage, *mcp.CallToolOptions) (*mcp.CallToolResult, error) {
				w.mu.Lock()
				defer w.mu.Unlock()
				if !in {
					return nil, mcp.WithOutcome(&auth.LoginRequiredError{Server: "s", URL: "https://login.example", Done: login}, mcp.NotSent)
				}
				return &mcp.CallToolResult{Content: []mcp.Content{&mcp.TextContent{Text: "opened"}}}, nil
			})
		assert.OK(t, w.registry.Add(tool))
		turn := w.turn(nil)
		resp := stored(t, w.generate(turn, asking("go"), calls("s__vault")))
		waits := belt.Interrupts(resp)
		if len(waits) != 1 || !waits[0].Login || waits[0].LoginURL != "https://login.example" || waits[0].Approval != "" {
			t.Fatalf("the call waits as %+v", waits)
		}
		options := []ai.GenerateOption{ai.WithMessages(resp.History()...)}
		go func() {
			w.mu.Lock()
			defer w.mu.Unlock()
			in = true
			close(login)
		}()
		if restart {
			options = append(options, ai.WithToolRestarts(belt.Restart(waits[0].Part)))
		} else {
			parts := assert.Value(turn.Responses(t.Context(), resp))(t)
			options = append(options, ai.WithToolResponses(parts...))
		}
		w.generate(turn, options)
		if results, _ := outputs(w.last()); len(results) != 1 || results[0].Output != "opened" {
			t.Errorf("restart=%v: the model got %+v", restart, results)
		}
	}
}

// TestRestartByHand has programs restart calls in Genkit's own way.
func TestRestartByHand(t *testing.T) {
	w := newWorld(t)
	w.tool("ask_me", &mcp.TextContent{Text: "it is done"})
	turn := w.turn(nil)
	resp := w.generate(turn, asking("go"), calls("s__ask_me"))
	wait := belt.Interrupts(resp)[0]
	at := slices.IndexFunc(turn.Tools(), func(t ai.Tool) bool { return t.Name() == "s__ask_me" })
	tool := turn.Tools()[at]

	// Whoever does not say what it waited for must not have the call made twice.
	bare := tool.Restart(wait.Part, &ai.RestartOptions{ResumedMetadata: map[string]any{"approved": true}})
	_, err := genkit.Generate(t.Context(), w.genkit, turn.Options(ai.WithMessages(resp.History()...), ai.WithToolRestarts(bare))...)
	if err == nil || !strings.Contains(err.Error(), "make it with Restart") || w.times("ask_me") != 0 {
		t.Errorf("a restart that does not say what it is: %v; it ran %d times", err, w.times("ask_me"))
	}

	// Other arguments need an approval of their own, which somebody else gives.
	go func() {
		for p := range w.registry.WatchApprovals(t.Context()) {
			for _, request := range p {
				if string(request.Args) == `{"other":1}` {
					_, _ = w.registry.Approve(t.Context(), request.ID, nil)
					return
				}
			}
		}
	}()
	other := tool.Restart(wait.Part, &ai.RestartOptions{ReplaceInput: map[string]any{"other": 1}})
	w.generate(turn, []ai.GenerateOption{ai.WithMessages(resp.History()...), ai.WithToolRestarts(other)})
	if got := w.ran["ask_me"]; len(got) != 1 || got[0] != `{"other":1}` {
		t.Errorf("the tool got %q", got)
	}

	// Respond lets the program answer in the tool's place.
	own := tool.Respond(wait.Part, "my own answer", nil)
	w.generate(turn, []ai.GenerateOption{ai.WithMessages(resp.History()...), ai.WithToolResponses(own)})
	if results, _ := outputs(w.last()); len(results) != 1 || results[0].Output != "my own answer" {
		t.Errorf("the model got %+v", results)
	}
	if belt.Restart(nil) != nil || belt.Restart(ai.NewTextPart("x")) != nil || tool.Respond(nil, 1, nil) != nil || tool.Restart(nil, nil) != nil {
		t.Error("what is no interrupted call can be restarted")
	}
}
