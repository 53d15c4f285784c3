package eino

import (
	"cmp"
	"context"
	"crypto/rand"
	"slices"
	"sync"

	"github.com/cloudwego/eino/components/tool"
	"github.com/cloudwego/eino/compose"

	"github.com/mcpbelt/mcpbelt/registry"
	"github.com/mcpbelt/mcpbelt/registry/profile"
)

// Options are the options of [New]. Nil and the zero value mean the
// defaults.
type Options struct {
	// Provider is whose model the agent talks to: names and schemas are made for it.
	// Default: [profile.OpenAI], which most others take, too.
	Provider profile.Provider
	// Turn says which tools the model is told of. With TextOnly the tools return strings,
	// they are of the kind [tool.InvokableTool]. Otherwise they are of the kind
	// [tool.EnhancedInvokableTool], and images stay images; most models need
	// [Belt.Model] for these. A result that an agent returns by itself, as one of the
	// package react does with results for the user, does not go to Direct. MaxParallel,
	// ProviderSearch and Deferred have no effect: eino runs the calls itself, and knows
	// no deferred tools.
	Turn profile.TurnOptions
	// Files lets files such as PDF documents stay files, for models that take them.
	// Others fail for good in a conversation that has one. By default they are a line of
	// text.
	Files bool
	// ToolImages says that the model takes images in the messages of tools. [Belt.Model]
	// leaves them there then. By default it puts them into a message of the user behind
	// the results.
	ToolImages bool
}

// A Belt gives eino the tools of a registry. It is safe for concurrent use. A program
// needs one for each set of options, for all its life: a Belt remembers the calls that a
// [Decision] had made after a restart, so that they are not made twice.
type Belt struct {
	registry *registry.Registry
	opts     Options
	id       string // no other belt has it

	mu     sync.Mutex
	redone map[string]*redo // by the old approval
}

// New returns a belt with the tools of a registry. Nothing is asked of the registry
// yet.
func New(r *registry.Registry, opts *Options) *Belt {
	b := &Belt{registry: r, opts: *cmp.Or(opts, &Options{}), id: rand.Text(), redone: map[string]*redo{}}
	b.opts.Provider = cmp.Or(b.opts.Provider, profile.OpenAI)
	b.opts.Turn.ProviderSearch, b.opts.Turn.Deferred = false, nil
	return b
}

func (b *Belt) turn(ctx context.Context) (*profile.Turn, error) {
	o := b.opts.Turn
	o.Direct = nil // the agent may be the way to the user
	return profile.NewTurn(ctx, b.registry, b.opts.Provider, &o)
}

// Tools returns the tools that the user of ctx may call at this moment. They do not
// change; each call of one goes to the registry. The error says
// that the provider is not known, or that there are more tools than it takes.
func (b *Belt) Tools(ctx context.Context) ([]tool.BaseTool, error) {
	t, err := b.turn(ctx)
	if err != nil {
		return nil, err
	}
	return b.toolsOf(t, false), nil
}

// toolsOf returns the tools of a turn. Bare ones tell nothing but their names, which is
// what a tools node asks for.
func (b *Belt) toolsOf(t *profile.Turn, bare bool) []tool.BaseTool {
	tools := make([]tool.BaseTool, 0, len(t.Set().Tools()))
	for _, declared := range t.Set().Tools() {
		base := base{belt: b, turn: t, tool: declared, bare: bare}
		if b.opts.Turn.TextOnly {
			tools = append(tools, &textTool{base})
		} else {
			tools = append(tools, &mediaTool{base})
		}
	}
	return tools
}

// ToolsNode returns the configuration of a tools node with [Belt.Tools] and
// [Belt.Unknown].
func (b *Belt) ToolsNode(ctx context.Context) (compose.ToolsNodeConfig, error) {
	tools, err := b.Tools(ctx)
	if err != nil {
		return compose.ToolsNodeConfig{}, err
	}
	return compose.ToolsNodeConfig{Tools: tools, UnknownToolsHandler: b.Unknown}, nil
}

// Unknown makes a call by a name that a tools node does not know; it is made to be an
// UnknownToolsHandler. Without it one mistake of the model ends the run. A tool that is
// listed by now is called, and its result is text. For any other name the model is told
// what there is.
func (b *Belt) Unknown(ctx context.Context, name, arguments string) (string, error) {
	t, err := b.turn(ctx)
	if err != nil {
		return "", err
	}
	a, err := b.call(ctx, t, name, arguments)
	if err != nil {
		return "", err
	}
	return b.textOf(t, a), nil
}

// Live returns an option for one run of a graph or of an agent of the package react: at
// each step its tools nodes have the tools that the user of ctx may call then, in place of
// those that they were made with. [Belt.Model] tells the model of these.
//
// A tools node that has tools beside those of the registry needs an option of its own for
// them; give them to Live.
func (b *Belt) Live(ctx context.Context, others ...tool.BaseTool) compose.Option {
	return compose.WithToolsNodeOption(later(func() compose.ToolsNodeOption {
		tools := slices.Clone(others)
		if t, err := b.turn(ctx); err == nil { // else the provider is unknown, and Model says so
			tools = append(b.toolsOf(t, true), others...)
		}
		return compose.WithToolList(tools...)
	}))
}

// later is the option that option returns when it is applied, at each step.
func later[O ~func(*T), T any](option func() O) O {
	return func(t *T) { option()(t) }
}
