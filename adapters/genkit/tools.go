package genkit

import (
	"cmp"
	"context"
	"slices"

	"github.com/firebase/genkit/go/ai"

	"github.com/mcpbelt/mcpbelt/registry"
	"github.com/mcpbelt/mcpbelt/registry/profile"
)

// Options are the options of [Tools]. Nil and the zero value mean the defaults.
type Options struct {
	// Provider says what names and schemas the model takes. Default:
	// [profile.OpenAI], whose names every plugin of Genkit takes. For the plugins
	// googlegenai, anthropic and ollama set [profile.Gemini], [profile.Anthropic] and
	// [profile.Ollama].
	Provider profile.Provider
	// Turn says which tools the model is told of. Set its TextOnly for a model without
	// media: Genkit refuses it a whole request that has an image. MaxParallel bounds
	// the calls of all requests that use the turn. ProviderSearch and Deferred have no
	// effect: no plugin can say so.
	Turn profile.TurnOptions
	// History are the messages of a conversation in which calls have waited for a person,
	// and that goes on. Genkit looks for the tools of such calls: one that is not
	// there any more, such as while its server is away, would end the request. Set it
	// with ai.WithToolResponses.
	History []*ai.Message
	// Tools are tools of the program's own that go with the others, and before those
	// of the same name; Genkit takes tools only once.
	Tools []ai.ToolRef
	// Middleware is that of the program, which goes around ours; Genkit takes
	// middleware only once.
	Middleware []ai.ModelMiddleware
}

// A Turn is what one request tells its model of. It is safe for concurrent use, and
// may be used for more than one request, all of which have the same tools.
type Turn struct {
	*profile.Turn

	opts   Options
	tools  []*tool
	gone   []string      // tools of calls that waited, which are not there any more
	places chan struct{} // one for each call that runs
}

// defaultParallel is the default of profile.TurnOptions.MaxParallel.
const defaultParallel = 16

// Tools returns the tools of a registry for the user of ctx. Call it once for each
// request, so that the request has the tools that are listed by then. The error says
// that the provider is not known, or that there are more tools than it takes.
func Tools(ctx context.Context, r *registry.Registry, opts *Options) (*Turn, error) {
	o := *cmp.Or(opts, &Options{})
	o.Provider = cmp.Or(o.Provider, profile.OpenAI)
	o.Tools = slices.Clone(o.Tools)
	o.Middleware = slices.Clone(o.Middleware)
	o.Turn.ProviderSearch, o.Turn.Deferred = false, nil
	if o.Turn.MaxParallel <= 0 {
		o.Turn.MaxParallel = defaultParallel
	}
	inner, err := profile.NewTurn(ctx, r, schemasOf(o.Provider), &o.Turn)
	if err != nil {
		return nil, err
	}
	t := &Turn{Turn: inner, opts: o, places: make(chan struct{}, o.Turn.MaxParallel)}
	for _, p := range inner.Set().Tools() {
		t.tools = append(t.tools, &tool{turn: t, name: p.Name, description: p.Description, schema: p.Schema})
	}
	t.gone, t.opts.History = t.missing(o.History), nil
	return t, nil
}

// Options returns the options of a request with the tools: ai.WithTools and
// ai.WithMiddleware, and more behind them.
func (t *Turn) Options(more ...ai.GenerateOption) []ai.GenerateOption {
	return append([]ai.GenerateOption{ai.WithTools(t.offered()...), ai.WithMiddleware(t.middleware()...)}, more...)
}

// PromptOptions returns the same for the Execute of an [ai.Prompt]. The tools of the
// prompt itself are not offered then. Do not give it messages of a server: Genkit
// takes the messages of a prompt as templates.
func (t *Turn) PromptOptions(more ...ai.PromptExecuteOption) []ai.PromptExecuteOption {
	return append([]ai.PromptExecuteOption{ai.WithTools(t.offered()...), ai.WithMiddleware(t.middleware()...)}, more...)
}

// Tools returns the tools alone, for programs that cannot have the middleware of
// [Turn.Options]. The mends of the package comment do not apply to them; images
// are the content of a multipart response, which not every plugin sends.
func (t *Turn) Tools() []ai.Tool {
	tools := make([]ai.Tool, len(t.tools))
	for i, own := range t.tools {
		tools[i] = own
	}
	return tools
}

// offered returns the tools as the middleware expects them, with the program's own,
// which go before ours of the same name.
func (t *Turn) offered() []ai.ToolRef {
	refs := make([]ai.ToolRef, 0, len(t.tools)+len(t.opts.Tools)+1)
	for _, own := range t.tools {
		if slices.ContainsFunc(t.opts.Tools, func(p ai.ToolRef) bool { return p.Name() == own.name }) {
			continue // Genkit would give up the request
		}
		whole := *own
		whole.whole = true
		refs = append(refs, &whole)
	}
	for _, name := range slices.Concat(t.gone, []string{unlisted}) {
		refs = append(refs, &tool{turn: t, name: name, description: "Answers calls of tools that the model is not told of.", whole: true})
	}
	return append(refs, t.opts.Tools...)
}

// missing returns the tools of the calls at the end of a conversation that are neither
// ours nor the program's, and which the model is not told of.
func (t *Turn) missing(history []*ai.Message) []string {
	var names []string
	if len(history) == 0 || history[len(history)-1] == nil {
		return nil
	}
	for _, p := range history[len(history)-1].Content {
		if !p.IsToolRequest() {
			continue
		}
		name := p.ToolRequest.Name
		is := func(other ai.ToolRef) bool { return other.Name() == name }
		ours := slices.ContainsFunc(t.tools, func(own *tool) bool { return own.name == name })
		if name != "" && name != unlisted && !ours && !slices.ContainsFunc(t.opts.Tools, is) && !slices.Contains(names, name) {
			names = append(names, name)
		}
	}
	return names
}

// offers reports whether the model is told of a tool that the request has.
func (t *Turn) offers(name string) bool { return name != unlisted && !slices.Contains(t.gone, name) }

// middleware returns that of the program, and ours within it.
func (t *Turn) middleware() []ai.ModelMiddleware {
	return append(slices.Clone(t.opts.Middleware), t.mend)
}
