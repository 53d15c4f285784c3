package ollama

import (
	"cmp"
	"context"
	"encoding/json"
	"slices"

	"github.com/ollama/ollama/api"

	"github.com/mcpbelt/mcpbelt/registry"
	"github.com/mcpbelt/mcpbelt/registry/profile"
)

// Options are the options of [Tools]. Nil and the zero value mean the defaults.
type Options struct {
	// Turn says which tools the model is told of, and how calls run. ProviderSearch
	// and Deferred have no effect: the API has no deferred tools.
	Turn profile.TurnOptions
}

// A Turn is what a model is told of in one request, and the way back of the calls
// that it answers with. It does not change, and is safe for concurrent use.
type Turn struct {
	*profile.Turn

	params api.Tools
}

// Tools returns the tools of a registry that the user of ctx may call, for one
// request.
func Tools(ctx context.Context, r *registry.Registry, opts *Options) (*Turn, error) {
	o := *cmp.Or(opts, &Options{})
	turn, err := profile.NewTurn(ctx, r, profile.Ollama, &o.Turn)
	if err != nil {
		return nil, err
	}
	t := &Turn{Turn: turn}
	for _, tool := range turn.Set().Tools() {
		var param api.Tool
		if err := json.Unmarshal(unmarkJSON(tool.Declaration()), &param); err != nil {
			return nil, err
		}
		var schema part
		if err := json.Unmarshal(unmarkJSON(tool.Schema), &schema); err != nil {
			return nil, err
		}
		param.Function.Parameters.Properties = exactProperties(schema.Properties, param.Function.Parameters.Properties)
		t.params = append(t.params, param)
	}
	return t, nil
}

// Params returns the tools for the field Tools of a request; nil if there are none.
// A value that the SDK would decode into any, such as Items, is [json.RawMessage], so
// that its order and its numbers stay. Do not change what a tool points to.
func (t *Turn) Params() api.Tools { return slices.Clone(t.params) }

// A part is what the SDK decodes of a schema into any.
type part struct {
	AnyOf      []json.RawMessage
	Items      json.RawMessage
	Enum       []json.RawMessage
	Properties map[string]json.RawMessage
}

// exactProperties puts the bytes of properties in place of what they were decoded into.
func exactProperties(raw map[string]json.RawMessage, properties *api.ToolPropertiesMap) *api.ToolPropertiesMap {
	if properties == nil {
		return nil
	}
	out := api.NewToolPropertiesMap()
	for name, p := range properties.All() {
		out.Set(name, exactProperty(raw[name], p))
	}
	return out
}

func exactProperty(raw json.RawMessage, p api.ToolProperty) api.ToolProperty {
	var from part
	if json.Unmarshal(raw, &from) != nil {
		return p
	}
	if from.Items != nil {
		p.Items = from.Items
	}
	for i := range min(len(p.Enum), len(from.Enum)) {
		p.Enum[i] = from.Enum[i]
	}
	for i := range min(len(p.AnyOf), len(from.AnyOf)) {
		p.AnyOf[i] = exactProperty(from.AnyOf[i], p.AnyOf[i])
	}
	p.Properties = exactProperties(from.Properties, p.Properties)
	return p
}
