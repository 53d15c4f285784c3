package anthropic

import (
	"context"
	"encoding/json"
	"maps"
	"slices"

	sdk "github.com/anthropics/anthropic-sdk-go/v2"
)

// sync tells the runner, and with it the model, which tools have come, changed and
// gone since it was last told.
func (t *RunnerTools) sync(ctx context.Context, runner toolRunner, params *sdk.BetaToolRunnerParams) error {
	if !slices.Contains(params.Betas, sdk.AnthropicBetaInlineTools2026_09_15) {
		return nil
	}
	turn, err := Tools(ctx, t.registry, &t.opts)
	if err != nil {
		return err
	}
	if runner.LastMessage() == nil {
		t.recall(params)
	}
	now := map[string]bool{}
	for _, tool := range turn.Set().Tools() {
		now[tool.Name] = true
		added := &runnerTool{tools: t, tool: tool}
		if says := said(added); t.known[tool.Name] != says {
			runner.AddTools(added)
			t.known[tool.Name] = says
		}
	}
	for _, name := range slices.Sorted(maps.Keys(t.known)) {
		// The runner would not take the result of a tool that it does not have.
		if !now[name] && !slices.ContainsFunc(t.answered, func(a answered) bool { return a.answer.Call.Name == name }) {
			runner.RemoveToolsByNames(name)
			delete(t.known, name)
		}
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	t.turn = turn
	return nil
}

// recall reads what a conversation that goes on has said of the tools before: of ours,
// and of those that are gone.
func (t *RunnerTools) recall(params *sdk.BetaToolRunnerParams) {
	others := map[string]bool{}
	for _, p := range params.Tools {
		if name := p.GetName(); name != nil {
			_, ours := t.turn.Set().Lookup(*name)
			others[*name] = !ours
		}
	}
	for _, m := range params.Messages {
		if m.OfSystem == nil {
			continue
		}
		for _, b := range m.OfSystem.Content {
			if c := b.OfToolRemoval; c != nil && c.Tool.OfToolReference != nil {
				delete(t.known, c.Tool.OfToolReference.Name)
			}
			if c := b.OfToolAddition; c != nil && c.Tool.OfToolDefinition != nil && c.Tool.OfToolDefinition.Definition.OfTool != nil {
				tool := c.Tool.OfToolDefinition.Definition.OfTool
				if !others[tool.Name] {
					t.known[tool.Name] = describe(tool.Description.Value, tool.InputSchema)
				}
			}
		}
	}
}

// said returns what the runner says of a tool.
func said(tool sdk.BetaTool) string { return describe(tool.Description(), tool.InputSchema()) }

func describe(description string, schema sdk.BetaToolInputSchemaParam) string {
	data, _ := json.Marshal(schema) // JSON already
	return description + "\n" + string(data)
}
