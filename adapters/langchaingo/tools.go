package langchaingo

import (
	"context"
	"encoding/json"

	"github.com/tmc/langchaingo/llms"

	"github.com/mcpbelt/mcpbelt/registry"
	"github.com/mcpbelt/mcpbelt/registry/profile"
)

// Options are the options of [Tools]. Nil and the zero value mean the defaults.
type Options struct {
	// Turn says which tools the model is told of, and how calls run. ProviderSearch
	// and Deferred have no effect: langchaingo has no deferred tools.
	Turn profile.TurnOptions
	// Provider is whose model it is, whatever langchaingo's package for it. Names and
	// schemas depend on it, and how messages have to be cut. Default: [profile.OpenAI],
	// which is right for all that copy its API.
	Provider profile.Provider
	// Waiting is called when the tool of an agent waits for a person. It tells the
	// person, and returns without waiting itself; the tool then goes on waiting until
	// there is an answer, or its context ends. An error ends the tool, and with it the
	// work of the executor. Nil: the tool fails with the [*profile.WaitingError]. It may
	// be called from several goroutines. [Turn.Run] does not call it.
	Waiting func(ctx context.Context, e *profile.WaitingError) error
}

// A Turn is what a model is told of in one request, and the way back of the calls
// that it answers with. It does not change, and is safe for concurrent use.
type Turn struct {
	*profile.Turn
	opts Options
}

// Tools returns the tools of a registry that the user of ctx may call, for one
// request. The error is a [*profile.UnknownProviderError].
func Tools(ctx context.Context, r *registry.Registry, opts *Options) (*Turn, error) {
	var o Options
	if opts != nil {
		o = *opts
	}
	if o.Provider == "" {
		o.Provider = profile.OpenAI
	}
	o.Turn.ProviderSearch, o.Turn.Deferred = false, nil
	turn, err := profile.NewTurn(ctx, r, o.Provider, &o.Turn)
	if err != nil {
		return nil, err
	}
	return &Turn{turn, o}, nil
}

// Params returns the tools for [llms.WithTools]; nil if there are none.
func (t *Turn) Params() []llms.Tool {
	var params []llms.Tool
	for _, tool := range t.Set().Tools() {
		f := t.function(tool)
		params = append(params, llms.Tool{Type: "function", Function: &f})
	}
	return params
}

func (t *Turn) function(tool *profile.Tool) llms.FunctionDefinition {
	f := llms.FunctionDefinition{
		Name:        tool.Name,
		Description: tool.ChatDescription(),
		Parameters:  tool.Schema,
		Strict:      tool.Strict,
	}
	if t.Provider() == profile.Gemini {
		f.Parameters = decoded(tool.Schema)
	}
	return f
}

// decoded returns a schema as langchaingo's googleai takes it: decoded, and with one
// type where JSON Schema allows many.
func decoded(schema json.RawMessage) map[string]any {
	var root map[string]any
	if json.Unmarshal(schema, &root) != nil || root == nil {
		root = map[string]any{"type": "object", "properties": map[string]any{}}
	}
	oneType(root)
	return root
}

// oneType leaves the first type that is not null to a schema and those in it. Of a
// schema that is no object nothing is left.
func oneType(schema map[string]any) {
	if types, ok := schema["type"].([]any); ok {
		delete(schema, "type")
		for _, name := range types {
			if name != "null" {
				schema["type"] = name
				break
			}
		}
	}
	properties, _ := schema["properties"].(map[string]any)
	for name, p := range properties {
		inner, ok := p.(map[string]any)
		if !ok {
			inner = map[string]any{}
			properties[name] = inner
		}
		oneType(inner)
	}
	if items, ok := schema["items"].(map[string]any); ok {
		oneType(items)
	} else {
		delete(schema, "items")
	}
}
