// Package trpcagent is a recipe: the tools of a registry as a set of tools of
// trpc.group/trpc-go/trpc-agent-go. Copy this folder, and import that module's package
// tool in place of the one that stands in for it here.
package trpcagent

import (
	"context"
	"encoding/json"
	"errors"

	"github.com/mcpbelt/mcpbelt/examples/recipes/trpcagent/standin/tool"

	"github.com/mcpbelt/mcpbelt/registry"
	"github.com/mcpbelt/mcpbelt/registry/profile"
)

// Options are the options of a ToolSet. Nil and the zero value mean the defaults.
type Options struct {
	// Turn says which tools the model is told of.
	Turn profile.TurnOptions
	// Waiting is called when a call waits for a person. It tells him, and returns: nil,
	// and the call goes on waiting for the answer; or an error, which Call returns. With
	// an agent.StopError that ends the agent, with that of graph.Interrupt the graph
	// waits. Nil: the model is told that the call waits.
	Waiting func(ctx context.Context, e *profile.WaitingError) error
}

// ToolSet is a set of tools for an agent. It is safe for concurrent use.
type ToolSet struct {
	registry *registry.Registry
	opts     Options
}

// NewToolSet returns the tools of a registry.
func NewToolSet(r *registry.Registry, opts *Options) *ToolSet {
	s := &ToolSet{registry: r}
	if opts != nil {
		s.opts = *opts
	}
	return s
}

// Name returns no name: the agent would put it in front of those of the tools.
func (s *ToolSet) Name() string { return "" }

// Close does nothing: the registry is its owner's.
func (s *ToolSet) Close() error { return nil }

// Tools returns the tools of the moment, for the user of ctx. WithRefreshToolSetsOnRun
// has the agent ask for each message of the user.
func (s *ToolSet) Tools(ctx context.Context) []tool.Tool {
	// Bedrock's schemas have no references, and nothing at the root that a tool.Schema
	// does not have.
	turn, err := profile.NewTurn(ctx, s.registry, profile.Bedrock, &s.opts.Turn)
	if err != nil {
		return nil // for an unknown provider alone
	}
	var all []tool.Tool
	for _, t := range turn.Set().Tools() {
		all = append(all, &beltTool{s, turn, &tool.Declaration{Name: t.Name, Description: t.Description, InputSchema: schemaOf(t.Schema)}})
	}
	return all
}

type beltTool struct {
	set         *ToolSet
	turn        *profile.Turn
	declaration *tool.Declaration
}

// Declaration returns what the model is told.
func (t *beltTool) Declaration() *tool.Declaration { return t.declaration }

// Call makes a call. The result is text, or JSON if the tool's text is that; of images
// there is a line of text. That a tool failed is said in it: an error might have the
// agent try again.
func (t *beltTool) Call(ctx context.Context, args []byte) (any, error) {
	answers, err := t.turn.Run(ctx, []profile.Call{{Name: t.declaration.Name, Arguments: args}})
	var waiting *profile.WaitingError
	if errors.As(err, &waiting) {
		answers, err = waiting.Answers, nil
		if t.set.opts.Waiting != nil {
			if err := t.set.opts.Waiting(ctx, waiting); err != nil {
				return nil, err
			}
			answers, err = t.turn.Wait(ctx, waiting)
		}
	}
	if err != nil {
		return nil, err
	}
	parts := profile.Parts(profile.OpenAI, answers[0].Result)
	for i := range parts {
		parts[i].Data = nil
	}
	text, _ := profile.Apart(parts)
	if json.Valid([]byte(text)) {
		return json.RawMessage(text), nil
	}
	return text, nil
}
