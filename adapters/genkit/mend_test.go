package genkit_test

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/firebase/genkit/go/ai"
	"github.com/firebase/genkit/go/genkit"

	belt "github.com/mcpbelt/mcpbelt/adapters/genkit"
	"github.com/mcpbelt/mcpbelt/internal/adaptertest"
	"github.com/mcpbelt/mcpbelt/internal/assert"
	"github.com/mcpbelt/mcpbelt/mcp"
	"github.com/mcpbelt/mcpbelt/registry"
	"github.com/mcpbelt/mcpbelt/registry/profile"
	"github.com/mcpbelt/mcpbelt/registry/result"
	"github.com/mcpbelt/mcpbelt/registry/toolset"
)

// An image is in each request that follows, as it is the first time.
func TestImageStays(t *testing.T) {
	w := newWorld(t)
	w.tool("picture", &mcp.TextContent{Text: "look"}, &mcp.ImageContent{MIMEType: "image/png", Data: pngBytes(t)})
	w.tool("echo", &mcp.TextContent{Text: "echoed"})
	w.generate(w.turn(nil), asking("go"), calls("s__picture"), calls("s__echo"), calls("s__echo"))
	media := 0
	for _, m := range w.last().Messages {
		for i, p := range m.Content {
			if p.IsMedia() {
				media++
				assert.False(t, i == 0, "nothing says whose the image is: %s", spelled(m.Content))
				assert.True(t, strings.HasPrefix(m.Content[i-1].Text, "[image image/png"), "nothing says whose the image is: %s", spelled(m.Content))
			}
			if p.IsToolResponse() {
				if _, ok := p.ToolResponse.Output.(string); !ok {
					t.Errorf("the output is %v", p.ToolResponse.Output)
				}
			}
		}
	}
	assert.False(t, len(w.requests) != 4 || media != 1, "request %d has %d images", len(w.requests), media)
}

// The results of the program's own tools with media have no line before them, not even
// an empty one, which providers refuse.
func TestOwnMedia(t *testing.T) {
	w := newWorld(t)
	own := ai.NewMultipartTool("own", "of the program", func(*ai.ToolContext, struct{}) (*ai.MultipartToolResponse, error) {
		return &ai.MultipartToolResponse{Output: "look", Content: []*ai.Part{ai.NewMediaPart("image/png", "data:image/png;base64,"+pngText)}}, nil
	})
	w.generate(w.turn(&belt.Options{Tools: []ai.ToolRef{own}}), asking("go"), calls("own"))
	last := w.last().Messages[len(w.last().Messages)-1]
	assert.True(t, assert.Only(t, last.Content).IsMedia(), "the model gets %s", spelled(last.Content))
}

// What waits has the name that people know.
func TestInterruptNames(t *testing.T) {
	w := newWorld(t)
	const name = "ask_me.now" // OpenAI takes no dot
	assert.OK(t, w.registry.Add(registry.MustFunc(name, "asks", func(context.Context, struct{}) (string, error) { return "", nil })))
	turn := w.turn(nil)
	resp := w.generate(turn, asking("go"), calls(turn.Tools()[0].Name()))
	waits := belt.Interrupts(resp)
	assert.Equal(t, assert.Only(t, waits).Tool, name, "it waits for")
	// The program's own interrupts are its own.
	own := ai.NewTool("own", "of the program", func(tc *ai.ToolContext, _ struct{}) (string, error) {
		return "", ai.InterruptWith(tc, map[string]any{"tool": "own"})
	})
	resp = w.generate(w.turn(&belt.Options{Tools: []ai.ToolRef{own}}), asking("go"), calls("own"))
	assert.Equal(t, len(resp.Interrupts()), 1)
	assert.Equal(t, len(belt.Interrupts(resp)), 0, "of the belt")
}

// The result of an approved call may be for the user, too.
func TestDirectAfterApproval(t *testing.T) {
	w := newWorld(t)
	direct, err := registry.With(registry.MustFunc("ask_secret", "for the user", func(context.Context, struct{}) (string, error) { return "4711", nil }),
		func(d *registry.Definition) { d.ReturnDirect = true })
	if err == nil {
		err = w.registry.Add(direct)
	}
	assert.OK(t, err)
	var seen []string
	turn := w.turn(&belt.Options{Turn: profile.TurnOptions{Direct: func(_ context.Context, a profile.Answer) {
		seen = append(seen, result.Text(a.Direct))
	}}})
	resp := w.generate(turn, asking("go"), calls("ask_secret"))
	assert.Value(w.registry.Approve(t.Context(), belt.Interrupts(resp)[0].Approval, nil))(t)
	parts := assert.Value(turn.Responses(t.Context(), resp))(t)
	assert.List(t, seen, []string{"4711"}, "the user")
	assert.Lacks(t, fmt.Sprint(parts[0].ToolResponse.Output), "4711")
}

// What is mended is not written into the history of the program.
func TestSignatureOfHistory(t *testing.T) {
	w := newWorld(t)
	said := ai.NewModelTextMessage("hm")
	said.Content[0].Metadata = map[string]any{"signature": "c2lnbmVk"}
	w.generate(w.turn(nil), []ai.GenerateOption{ai.WithMessages(ai.NewUserTextMessage("go"), said, ai.NewUserTextMessage("on"))})
	assert.Equal(t, fmt.Sprintf("%s", w.last().Messages[1].Content[0].Metadata["signature"]), "signed", "the model")
	assert.Equal(t, said.Content[0].Metadata["signature"], "c2lnbmVk", "the history")
}

// Genkit has no search of a provider.
func TestProviderSearch(t *testing.T) {
	reg := registry.New(nil)
	finder := assert.Value(toolset.New(reg, nil))(t)
	for i := range 100 {
		assert.OK(t, reg.Add(registry.MustFunc(fmt.Sprintf("tool_%03d", i), "a tool", func(context.Context, struct{}) (string, error) { return "", nil })))
	}
	var counts []int
	for _, search := range []bool{false, true} {
		turn := assert.Value(belt.Tools(t.Context(), reg, &belt.Options{Turn: profile.TurnOptions{Finder: finder, ProviderSearch: search}}))(t)
		counts = append(counts, len(turn.Tools()))
	}
	assert.Equal(t, counts[0], counts[1])
}

// A call without input has no arguments.
func TestEmptyInput(t *testing.T) {
	w := newWorld(t)
	w.tool("echo", &mcp.TextContent{Text: "echoed"})
	if _, err := w.turn(nil).Tools()[0].RunRaw(t.Context(), nil); err != nil || !slices.Equal(w.ran["echo"], []string{"{}"}) {
		t.Errorf("the tool got %q, %v", w.ran["echo"], err)
	}
}

// Whatever a server says in a schema, the plugin for Gemini takes the request.
func TestGeminiSchemas(t *testing.T) {
	for _, schema := range []string{
		`{"type":"null"}`, `{"type":["null"]}`, `{"type":[]}`, `{"type":5}`, `true`, `false`, `{}`, `null`, `{"enum":["a",5,null]}`, `{"const":5}`,
		`{"type":"string","description":5,"title":5,"format":5,"pattern":5}`, `{"type":"string","format":"uri"}`,
		`{"type":"array"}`, `{"type":"array","items":[]}`, `{"type":"array","items":true}`, `{"type":"array","prefixItems":[{"type":"string"}]}`,
		`{"anyOf":[{"type":"null"},{"type":"integer"}]}`, `{"oneOf":[{"type":"array"}]}`, `{"anyOf":[]}`, `{"allOf":[{"type":"string"}]}`, `{"type":["string","null"]}`,
		`{"type":"object"}`, `{"type":"object","properties":{}}`, `{"type":"object","properties":{"x":true,"type":{"type":"null"}},"required":["x",5]}`, `{"type":"object","additionalProperties":{"type":"string"}}`,
		`{"type":"string","minLength":"x","maxLength":1.5}`, `{"type":"number","minimum":"a","maximum":1e400}`, `{"type":"string","default":{"a":1}}`, `{"type":"string","enum":[]}`, `{"type":"string","enum":"a"}`,
		`{"$ref":"#"}`, `{"$ref":"#/$defs/none"}`, `{"$ref":"https://example.com/x"}`, `{"type":"float64"}`, `{"not":{}}`,
	} {
		t.Run(schema, func(t *testing.T) {
			model := adaptertest.NewModel(t, gemini{adaptertest.Gemini{Before3: true}})
			w := newWorld(t)
			tool := registry.Remote("s", &mcp.Tool{Name: "x", InputSchema: json.RawMessage(`{"type":"object","properties":{"a":` + schema + `}}`)},
				func(context.Context, string, json.RawMessage, *mcp.RequestOptions) (*mcp.CallToolResult, error) {
					return &mcp.CallToolResult{}, nil
				})
			w.offer(tool)
			if len(w.registry.Snapshot().Tools()) == 0 {
				t.Skip("the registry does not take it")
			}
			model.Then(func(*adaptertest.Request) adaptertest.Reply { return adaptertest.Reply{Text: "done"} })
			agent := startGemini(t, w.registry, model.URL).(*conversation)
			turn := w.turn(agent.opts)
			assert.Equal(t, assert.Value(genkit.Generate(t.Context(), agent.genkit, turn.Options(ai.WithPrompt("go"))...))(t).Text(), "done")
		})
	}
}

func spelled(parts []*ai.Part) string {
	var all []string
	for _, p := range parts {
		if p.IsMedia() {
			all = append(all, "("+p.ContentType+" "+p.Text+")")
			continue
		}
		all = append(all, p.Text)
	}
	return strings.Join(all, "|")
}
