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
	"github.com/mcpbelt/mcpbelt/internal/assert"
	"github.com/mcpbelt/mcpbelt/mcp"
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

// TestInterrupted has calls with images beside calls that wait: nothing of a result may
// get lost.
func TestInterrupted(t *testing.T) {
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
	parts := assert.Value(turn.Responses(t.Context(), resp))(t)
	options := []ai.GenerateOption{ai.WithMessages(resp.History()...), ai.WithToolResponses(parts...)}
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
	assert.False(t, w.times("ask_picture") != 1 || w.times("picture") != 1 || w.times("ask_other") != 0, "what ran: %q", w.ran)
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
		assert.Is(t, err, nil)
		over <- parts
	}()
	assert.Value(w.registry.Approve(t.Context(), belt.Interrupts(resp)[0].Approval, nil))(t)
	assert.Equal(t, assert.Only(t, <-over).ToolResponse.Output, "it is done")
}

// TestRestartIsRefused has programs restart calls in Genkit's own way: the call could be made twice.
func TestRestartIsRefused(t *testing.T) {
	w := newWorld(t)
	w.tool("ask_me", &mcp.TextContent{Text: "it is done"})
	turn := w.turn(nil)
	resp := w.generate(turn, asking("go"), calls("s__ask_me"))
	wait := belt.Interrupts(resp)[0]
	at := slices.IndexFunc(turn.Tools(), func(t ai.Tool) bool { return t.Name() == "s__ask_me" })
	tool := turn.Tools()[at]
	assert.False(t, tool.Restart(wait.Part, nil) != nil || tool.Respond(nil, 1, nil) != nil, "a call can be restarted")
	bare := ai.NewToolRequestPart(wait.Part.ToolRequest)
	bare.Metadata = map[string]any{"resumed": map[string]any{"approved": true}}
	_, err := genkit.Generate(t.Context(), w.genkit, turn.Options(ai.WithMessages(resp.History()...), ai.WithToolRestarts(bare))...)
	if err == nil || !strings.Contains(err.Error(), "go on by Responses") || w.times("ask_me") != 0 {
		t.Errorf("a restart: %v; it ran %d times", err, w.times("ask_me"))
	}

	// Respond lets the program answer in the tool's place.
	own := tool.Respond(wait.Part, "my own answer", nil)
	w.generate(turn, []ai.GenerateOption{ai.WithMessages(resp.History()...), ai.WithToolResponses(own)})
	if results, _ := outputs(w.last()); len(results) != 1 || results[0].Output != "my own answer" {
		t.Errorf("the model got %+v", results)
	}
}
