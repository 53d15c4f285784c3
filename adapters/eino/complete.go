package eino

import (
	"encoding/json"
	"slices"

	"github.com/cloudwego/eino/schema"

	"github.com/mcpbelt/mcpbelt/registry/profile"
)

// completed returns a conversation as the provider takes it, see [profile.Repairer]. Results
// alone, without the message that they are of, stay.
func (b *Belt) completed(in []*schema.Message) []*schema.Message {
	if !slices.ContainsFunc(in, func(m *schema.Message) bool { return m != nil && len(m.ToolCalls) > 0 }) {
		return in
	}
	r := &profile.Repairer[*schema.Message]{
		Provider: b.opts.Provider,
		Each: func(m *schema.Message, call, result func(profile.Call) profile.Call) *schema.Message {
			if m == nil || m.Role != schema.Tool {
				return withCalls(m, func(_ int, c *schema.ToolCall) {
					back := call(profile.Call{ID: c.ID, Name: c.Function.Name, Arguments: json.RawMessage(c.Function.Arguments)})
					c.ID, c.Function.Name, c.Function.Arguments = back.ID, back.Name, string(back.Arguments)
				})
			}
			of := result(profile.Call{ID: m.ToolCallID, Name: m.ToolName})
			if m.ToolCallID == of.ID && (m.ToolName == "" || m.ToolName == of.Name) {
				return m
			}
			with := *m
			with.ToolCallID, with.ToolName = of.ID, of.Name
			return &with
		},
		Lost: func(c profile.Call, text string) *schema.Message {
			return schema.ToolMessage(profile.Failed(text), c.ID, schema.WithToolName(c.Name))
		},
		Ended: true,
	}
	return r.Repair(in)
}
