package genkit_test

import (
	"context"
	"errors"
	"fmt"
	"runtime"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/firebase/genkit/go/ai"
	"github.com/firebase/genkit/go/genkit"

	belt "github.com/mcpbelt/mcpbelt/adapters/genkit"
	"github.com/mcpbelt/mcpbelt/internal/assert"
	"github.com/mcpbelt/mcpbelt/mcp"
	"github.com/mcpbelt/mcpbelt/registry"
	"github.com/mcpbelt/mcpbelt/registry/profile"
	"github.com/mcpbelt/mcpbelt/registry/result"
)

// TestOrder has the calls end in the opposite of their order, many times.
func TestOrder(t *testing.T) {
	w := newWorld(t)
	const n = 8
	var names []string
	done := make([]chan struct{}, n+1)
	for i := range done {
		done[i] = make(chan struct{})
	}
	close(done[n])
	for i := range n {
		name := fmt.Sprintf("tool%d", i)
		names = append(names, "s__"+name)
		w.remote(name, func(context.Context) *mcp.CallToolResult {
			<-done[i+1]
			defer close(done[i])
			return &mcp.CallToolResult{Content: []mcp.Content{&mcp.TextContent{Text: name}}}
		})
	}
	own := ai.NewTool("another", "of the program", func(*ai.ToolContext, struct{}) (string, error) { return "own", nil })
	zebra := ai.NewTool("a_zebra", "of the program", func(*ai.ToolContext, struct{}) (string, error) { return "own", nil })
	w.generate(w.turn(&belt.Options{Tools: []ai.ToolRef{own, zebra}}), asking("go"), calls(names...))
	results, _ := outputs(w.last())
	for i, r := range results {
		assert.True(t, r.Output == fmt.Sprintf("tool%d", i), "result %d is %v", i, r.Output)
	}
	var told []string
	for _, d := range w.last().Tools {
		told = append(told, d.Name)
	}
	assert.List(t, told, append(slices.Clone(names), "a_zebra", "another"), "the model was told of")
}

// TestUnlisted has the model call a tool that the program registered with Genkit and
// did not offer, and one whose name only ours can have.
func TestUnlisted(t *testing.T) {
	w := newWorld(t)
	w.tool("echo", &mcp.TextContent{Text: "echoed"})
	ran := false
	genkit.DefineTool(w.genkit, "delete_all", "not for this model", func(*ai.ToolContext, struct{}) (string, error) {
		ran = true
		return "deleted", nil
	})
	own := ai.NewTool("own", "of the program", func(*ai.ToolContext, struct{}) (string, error) { return "own", nil })
	resp := w.generate(w.turn(&belt.Options{Tools: []ai.ToolRef{own}}), asking("go"), calls("delete_all", "mcpbelt:unlisted", "", "own"))
	assert.False(t, ran, "the model called a tool that it was not offered")
	results, _ := outputs(w.last())
	for i, r := range results[:3] {
		if text, _ := r.Output.(string); !strings.HasPrefix(text, "The tool failed:") || r.Name != []string{"delete_all", "mcpbelt_unlisted", "_"}[i] {
			t.Errorf("result %d is %q of %q", i, r.Output, r.Name)
		}
	}
	assert.Equal(t, results[3].Output, "own", "the program's own tool says")
	for _, d := range w.last().Tools {
		assert.False(t, strings.HasPrefix(d.Name, "mcpbelt"), "the model is told of %s", d.Name)
	}
	// The history has Genkit's side of it, and can go on.
	w.generate(w.turn(nil), []ai.GenerateOption{ai.WithMessages(resp.History()...)})
	assert.Equal(t, w.last().Messages[1].Content[0].ToolRequest.Name, "delete_all", "the model reads that it called")
}

// TestNameTaken has a server list a tool under the name of one of the program's own.
func TestNameTaken(t *testing.T) {
	w := newWorld(t)
	w.tool("echo", &mcp.TextContent{Text: "the server's"})
	w.tool("other", &mcp.TextContent{Text: "another"})
	own := ai.NewTool("s__echo", "of the program", func(*ai.ToolContext, struct{}) (string, error) { return "own", nil })
	w.generate(w.turn(&belt.Options{Tools: []ai.ToolRef{own}}), asking("go"), calls("s__echo", "s__other"))
	results, _ := outputs(w.last())
	assert.False(t, len(results) != 2 || results[0].Output != "own" || results[1].Output != "another", "the model got %+v", results)
	if told := w.last().Tools; len(told) != 2 || w.times("echo") != 0 {
		t.Errorf("the model was told of %+v; the server's ran %d times", told, w.times("echo"))
	}
}

// TestConcurrent has requests use the same turn at the same time.
func TestConcurrent(t *testing.T) {
	w := newWorld(t)
	w.tool("picture", &mcp.ImageContent{MIMEType: "image/png", Data: pngBytes(t)})
	model := genkit.DefineModel(w.genkit, "test/picture", &ai.ModelOptions{Supports: &ai.ModelSupports{Multiturn: true, Tools: true, Media: true}},
		func(_ context.Context, req *ai.ModelRequest, _ ai.ModelStreamCallback) (*ai.ModelResponse, error) {
			for _, d := range req.Tools {
				d.InputSchema["written"] = true // as plugins do
			}
			reply := calls("s__picture", "s__picture", "s__nowhere")
			if results, media := outputs(req); len(results) == 3 && len(media) == 2 {
				reply = ai.NewModelTextMessage("done")
			}
			return &ai.ModelResponse{Message: reply}, nil
		})
	turn := w.turn(nil)
	var wg sync.WaitGroup
	for range 16 {
		wg.Go(func() {
			text, err := genkit.GenerateText(t.Context(), w.genkit, turn.Options(ai.WithPrompt("go"), ai.WithModel(model))...)
			assert.False(t, err != nil || text != "done", "%q, %v", text, err)
		})
	}
	wg.Wait()
	assert.Equal(t, w.times("picture"), 32, "it ran times")
}

func TestOptions(t *testing.T) {
	w := newWorld(t)
	w.tool("picture", &mcp.TextContent{Text: "look"}, &mcp.ImageContent{MIMEType: "image/png", Data: pngBytes(t)})
	w.remote("broken", func(context.Context) *mcp.CallToolResult {
		return &mcp.CallToolResult{IsError: true, Content: []mcp.Content{&mcp.TextContent{Text: "the disk is full"}}}
	})
	direct := assert.Value(registry.With(registry.MustFunc("secret", "for the user", func(context.Context, struct{}) (string, error) { return "4711", nil }),
		func(d *registry.Definition) { d.ReturnDirect = true }))(t)
	assert.OK(t, w.registry.Add(direct))
	var mu sync.Mutex
	var seen []string
	var around int
	opts := &belt.Options{
		Turn: profile.TurnOptions{TextOnly: true, Direct: func(_ context.Context, a profile.Answer) {
			mu.Lock()
			defer mu.Unlock()
			seen = append(seen, result.Text(a.Direct))
		}},
		Middleware: []ai.ModelMiddleware{func(next ai.ModelFunc) ai.ModelFunc {
			return func(ctx context.Context, req *ai.ModelRequest, cb ai.ModelStreamCallback) (*ai.ModelResponse, error) {
				around++
				return next(ctx, req, cb)
			}
		}},
	}
	w.generate(w.turn(opts), asking("go"), calls("s__picture", "s__broken", "secret"))
	results, media := outputs(w.last())
	assert.Equal(t, len(media), 0, "the model")
	assert.Contains(t, fmt.Sprint(results[0].Output), "[image image/png", "the model")
	assert.Equal(t, results[1].Output, "The tool failed:\nthe disk is full", "the model")
	assert.List(t, seen, []string{"4711"}, "the user")
	assert.Lacks(t, fmt.Sprint(results[2].Output), "4711")
	assert.Equal(t, around, 2)
	for _, p := range []profile.Provider{profile.Anthropic, profile.Bedrock, profile.Ollama, profile.OpenAIStrict} {
		w.generate(w.turn(&belt.Options{Provider: p}), asking("go"), calls("s__broken", "s__picture"))
		results, media := outputs(w.last())
		assert.Equal(t, results[0].Output, "The tool failed:\nthe disk is full", "%s: the model", p)
		assert.Equal(t, len(media), 1, "%s: media", p)
	}
	if _, err := belt.Tools(t.Context(), w.registry, &belt.Options{Provider: "acme"}); err == nil || !strings.Contains(err.Error(), "unknown provider") {
		t.Errorf("got %v, want that the provider is not known", err)
	}
}

// TestBare has the tools without the middleware, in Genkit's own way.
func TestBare(t *testing.T) {
	w := newWorld(t)
	w.tool("picture", &mcp.TextContent{Text: "look"}, &mcp.ImageContent{MIMEType: "image/png", Data: pngBytes(t)})
	tool := w.turn(nil).Tools()[0]
	w.replies = []*ai.Message{calls("s__picture")}
	assert.Value(genkit.Generate(t.Context(), w.genkit, ai.WithTools(tool), ai.WithPrompt("go")))(t)
	results, _ := outputs(w.last())
	if text, _ := results[0].Output.(string); !strings.Contains(text, "look") || len(results[0].Content) != 1 || !results[0].Content[0].IsMedia() {
		t.Errorf("the model got %+v", results[0])
	}
	res, err := tool.RunRawMultipart(t.Context(), map[string]any{})
	assert.False(t, err != nil || len(res.Content) != 1, "%+v, %v", res, err)
	assert.Contains(t, fmt.Sprint(assert.Value(tool.RunRaw(t.Context(), nil))(t)), "look")
	assert.Fails(t, assert.Err(tool.RunRaw(t.Context(), func() {})), "a function is no input")
	// A registered tool stays what it was, for the developer tools and for flows.
	genkit.RegisterAction(w.genkit, tool)
	if found := genkit.LookupTool(w.genkit, "s__picture"); found == nil || found.Definition().Description != "picture" || found.Definition().InputSchema["type"] != "object" {
		t.Errorf("found %+v", found)
	}
}

func TestPromptOptions(t *testing.T) {
	w := newWorld(t)
	w.tool("echo", &mcp.TextContent{Text: "echoed"})
	prompt := genkit.DefinePrompt(w.genkit, "own", ai.WithPrompt("Say {{word}}"))
	w.replies = []*ai.Message{calls("s__echo", "s__nowhere")}
	resp := assert.Value(prompt.Execute(t.Context(), w.turn(nil).PromptOptions(ai.WithInput(map[string]any{"word": "yes"}))...))(t)
	assert.Equal(t, resp.Text(), "done")
	if results, _ := outputs(w.last()); len(results) != 2 || results[0].Output != "echoed" {
		t.Errorf("the model got %+v", results)
	}
}

// TestSignature has a signature of a model that thinks go through where Genkit makes
// text of it.
func TestSignature(t *testing.T) {
	w := newWorld(t)
	w.tool("ask_me", &mcp.TextContent{Text: "it is done"})
	reply := calls("s__ask_me")
	reply.Content[0].Metadata = map[string]any{"signature": []byte("signed")}
	reply.Content = append([]*ai.Part{ai.NewReasoningPart("hm", []byte("thought"))}, reply.Content...)
	turn := w.turn(nil)
	resp := stored(t, w.generate(turn, asking("go"), reply))
	assert.Value(w.registry.Approve(t.Context(), belt.Interrupts(resp)[0].Approval, nil))(t)
	parts := assert.Value(turn.Responses(t.Context(), resp))(t)
	w.generate(turn, []ai.GenerateOption{ai.WithMessages(resp.History()...), ai.WithToolResponses(parts...)})
	var got []string
	for _, p := range w.last().Messages[1].Content {
		signature, _ := p.Metadata["signature"].([]byte)
		got = append(got, string(signature))
	}
	assert.True(t, slices.Equal(got, []string{"thought", "signed"}), "the model gets the signatures %q", got)
}

// TestNoResponse has a plugin that returns neither a message nor an error.
func TestNoResponse(t *testing.T) {
	w := newWorld(t)
	model := genkit.DefineModel(w.genkit, "test/none", nil, func(context.Context, *ai.ModelRequest, ai.ModelStreamCallback) (*ai.ModelResponse, error) {
		return &ai.ModelResponse{}, nil
	})
	if _, err := genkit.Generate(t.Context(), w.genkit, w.turn(nil).Options(ai.WithPrompt("go"), ai.WithModel(model))...); err == nil || !strings.Contains(err.Error(), "no response") {
		t.Errorf("got %v", err)
	}
}

// TestApart has Ollama get one message for each result, for its plugin writes all those
// of one message as one text.
func TestApart(t *testing.T) {
	for provider, want := range map[profile.Provider]int{profile.Ollama: 2, profile.OpenAI: 1} {
		w := newWorld(t)
		w.tool("echo", &mcp.TextContent{Text: "echoed"})
		w.tool("picture", &mcp.ImageContent{MIMEType: "image/png", Data: pngBytes(t)})
		w.generate(w.turn(&belt.Options{Provider: provider}), asking("go"), calls("s__picture", "s__echo"))
		var roles []string
		for _, m := range w.last().Messages {
			roles = append(roles, string(m.Role))
		}
		assert.Equal(t, fmt.Sprint(roles), "[user model"+strings.Repeat(" tool", want)+" user]", "%s gets messages of", provider)
	}
}

// TestMaxParallel has more calls than places, and a request that ends before it has one.
func TestMaxParallel(t *testing.T) {
	w := newWorld(t)
	var mu sync.Mutex
	running, most := 0, 0
	count := func(n int) {
		mu.Lock()
		defer mu.Unlock()
		running += n
		most = max(most, running)
	}
	ctx, cancel := context.WithCancel(t.Context())
	w.remote("one", func(context.Context) *mcp.CallToolResult {
		count(1)
		runtime.Gosched()
		count(-1)
		return &mcp.CallToolResult{}
	})
	w.remote("last", func(ctx context.Context) *mcp.CallToolResult {
		cancel()
		<-ctx.Done()
		return &mcp.CallToolResult{}
	})
	turn := w.turn(&belt.Options{Turn: profile.TurnOptions{MaxParallel: 1}})
	w.generate(turn, asking("go"), calls("s__one", "s__one", "s__one", "s__one", "s__one", "s__one"))
	assert.False(t, most != 1 || w.times("one") != 6, "%d ran at the same time, %d in all", most, w.times("one"))
	w.replies = []*ai.Message{calls("s__last", "s__last", "s__last")}
	if _, err := genkit.Generate(ctx, w.genkit, turn.Options(asking("go")...)...); !errors.Is(err, context.Canceled) || w.times("last") > 1 {
		t.Errorf("got %v; %d calls were made", err, w.times("last"))
	}
}
