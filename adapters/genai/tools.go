package genai

import (
	"cmp"
	"context"
	"encoding/json"
	"strings"
	"sync/atomic"

	"google.golang.org/genai"

	"github.com/mcpbelt/mcpbelt/registry"
	"github.com/mcpbelt/mcpbelt/registry/profile"
)

// Options are the options of [Tools]. Nil and the zero value mean the defaults.
type Options struct {
	// Turn says which tools the model is told of, and how calls run. ProviderSearch
	// and Deferred have no effect: the API has no deferred tools.
	Turn profile.TurnOptions
	// Model is the model's name, as it stands in the request. Those whose last part
	// begins with gemini-1 or gemini-2 get images and PDFs behind the responses, all
	// others within them. Empty: what the answer given to [Turn.Run] says; as long as
	// there is none, within.
	Model string
}

// A Turn is what a model is told of in one request, and the way back of the calls
// that it answers with. It is safe for concurrent use.
type Turn struct {
	*profile.Turn

	params []*genai.FunctionDeclaration
	model  string
	apart  atomic.Bool // media go behind the responses
}

// Tools returns the tools of a registry that the user of ctx may call, for one
// request.
func Tools(ctx context.Context, r *registry.Registry, opts *Options) (*Turn, error) {
	o := *cmp.Or(opts, &Options{})
	turn, err := profile.NewTurn(ctx, r, profile.Gemini, &o.Turn)
	if err != nil {
		return nil, err
	}
	t := &Turn{Turn: turn, model: o.Model}
	t.apart.Store(before3(o.Model))
	for _, tool := range turn.Set().Tools() {
		var d struct {
			Parameters json.RawMessage `json:"parametersJsonSchema"`
		}
		if err := json.Unmarshal(tool.Declaration(), &d); err != nil {
			return nil, err
		}
		f := &genai.FunctionDeclaration{Name: tool.Name, Description: tool.Description}
		if d.Parameters != nil {
			f.ParametersJsonSchema = d.Parameters
		}
		t.params = append(t.params, f)
	}
	return t, nil
}

// Params returns the tools for the field Tools of a config; nil if there are none. Put
// tools of your own, or of Google's, behind them. The parameters are a
// [json.RawMessage]. The tools' output schemas are not among them: the model gets
// results as they are written for models, which is not always what those say.
func (t *Turn) Params() []*genai.Tool {
	if len(t.params) == 0 {
		return nil
	}
	functions := make([]*genai.FunctionDeclaration, len(t.params))
	for i, f := range t.params {
		functions[i] = new(*f)
	}
	return []*genai.Tool{{FunctionDeclarations: functions}}
}

// before3 reports whether a model is one before Gemini 3.
func before3(model string) bool {
	name := model[strings.LastIndexByte(model, '/')+1:]
	return strings.HasPrefix(name, "gemini-1") || strings.HasPrefix(name, "gemini-2")
}
