package genkit_test

import (
	"context"
	"encoding/base64"
	"encoding/json"
	"sync"
	"testing"

	"github.com/firebase/genkit/go/ai"
	"github.com/firebase/genkit/go/genkit"

	belt "github.com/mcpbelt/mcpbelt/adapters/genkit"
	"github.com/mcpbelt/mcpbelt/internal/assert"
	"github.com/mcpbelt/mcpbelt/mcp"
	"github.com/mcpbelt/mcpbelt/registry"
	"github.com/mcpbelt/mcpbelt/registry/approval"
	"github.com/mcpbelt/mcpbelt/registry/policy"
)

const pngText = "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg=="

func pngBytes(t testing.TB) []byte {
	return assert.Value(base64.StdEncoding.DecodeString(pngText))(t)
}

// A world is a Genkit with a model that is a function, and a registry.
type world struct {
	testing.TB
	genkit   *genkit.Genkit
	registry *registry.Registry
	tools    []registry.Tool // of the server "s"

	mu       sync.Mutex
	requests []*ai.ModelRequest
	ran      map[string][]string // arguments, by tool
	replies  []*ai.Message
}

func newWorld(t testing.TB) *world {
	w := &world{TB: t, ran: map[string][]string{}}
	policy := assert.Value(policy.New(approval.Allow, policy.Rule{Verdict: approval.Ask, Tool: "ask_*"}))(t)
	w.registry = registry.New(&registry.Options{Approver: policy})
	w.genkit = genkit.Init(t.Context(), genkit.WithDefaultModel("test/model"))
	supports := &ai.ModelSupports{Multiturn: true, Tools: true, Media: true, SystemRole: true}
	genkit.DefineModel(w.genkit, "test/model", &ai.ModelOptions{Supports: supports}, w.model)
	return w
}

// model answers with the next reply, or by saying "done".
func (w *world) model(_ context.Context, req *ai.ModelRequest, _ ai.ModelStreamCallback) (*ai.ModelResponse, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.requests = append(w.requests, req)
	reply := ai.NewModelTextMessage("done")
	if len(w.replies) > 0 {
		reply, w.replies = w.replies[0], w.replies[1:]
	}
	return &ai.ModelResponse{Request: req, Message: reply}, nil
}

func (w *world) last() *ai.ModelRequest {
	w.Helper()
	w.mu.Lock()
	defer w.mu.Unlock()
	if len(w.requests) == 0 {
		w.Fatal("the model was not asked")
	}
	return w.requests[len(w.requests)-1]
}

// calls is a reply that calls tools; their refs are their places.
func calls(names ...string) *ai.Message {
	var parts []*ai.Part
	for i, name := range names {
		parts = append(parts, ai.NewToolRequestPart(&ai.ToolRequest{Name: name, Ref: string(rune('a' + i)), Input: map[string]any{}}))
	}
	return ai.NewModelMessage(parts...)
}

// tool adds a tool of the server s.
func (w *world) tool(name string, content ...mcp.Content) {
	w.Helper()
	w.remote(name, func(context.Context) *mcp.CallToolResult { return &mcp.CallToolResult{Content: content} })
}

func (w *world) remote(name string, result func(context.Context) *mcp.CallToolResult) {
	w.Helper()
	tool := registry.Remote("s", &mcp.Tool{Name: name, Description: name, InputSchema: json.RawMessage(`{"type":"object"}`)},
		func(ctx context.Context, _ string, args json.RawMessage, _ *mcp.RequestOptions) (*mcp.CallToolResult, error) {
			w.mu.Lock()
			w.ran[name] = append(w.ran[name], string(args))
			w.mu.Unlock()
			return result(ctx), nil
		})
	w.offer(tool)
}

// offer adds a tool to those of the server "s".
func (w *world) offer(tool registry.Tool) {
	w.Helper()
	w.tools = append(w.tools, tool)
	assert.Value(w.registry.Replace(registry.Server{Name: "s"}, w.tools))(w)
}

func (w *world) times(name string) int {
	w.mu.Lock()
	defer w.mu.Unlock()
	return len(w.ran[name])
}

func (w *world) turn(opts *belt.Options) *belt.Turn {
	w.Helper()
	turn, err := belt.Tools(w.Context(), w.registry, opts)
	if err != nil {
		w.Fatal(err)
	}
	return turn
}

// generate has the model answer the replies, with the tools of a turn.
func (w *world) generate(turn *belt.Turn, options []ai.GenerateOption, replies ...*ai.Message) *ai.ModelResponse {
	w.Helper()
	w.replies = replies
	resp, err := genkit.Generate(w.Context(), w.genkit, turn.Options(options...)...)
	if err != nil {
		w.Fatal(err)
	}
	return resp
}

func asking(text string) []ai.GenerateOption { return []ai.GenerateOption{ai.WithPrompt("%s", text)} }

// outputs are the results behind the last calls in a request, and the media behind
// them.
func outputs(req *ai.ModelRequest) (results []*ai.ToolResponse, media []string) {
	for i, m := range req.Messages {
		if m.Role != ai.RoleTool {
			continue
		}
		if req.Messages[i-1].Role != ai.RoleTool {
			results, media = nil, nil
		}
		for _, p := range m.Content {
			results = append(results, p.ToolResponse)
		}
		if i+1 < len(req.Messages) {
			for _, p := range req.Messages[i+1].Content {
				if p.IsMedia() {
					media = append(media, p.ContentType+" "+p.Text)
				}
			}
		}
	}
	return results, media
}
