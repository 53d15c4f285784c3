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
		Look: func(m *schema.Message) profile.Said {
			var said profile.Said
			if m == nil {
				return said
			}
			if m.Role == schema.Tool {
				return profile.Said{Result: &profile.Call{ID: m.ToolCallID, Name: m.ToolName}}
			}
			for _, c := range m.ToolCalls {
				said.Calls = append(said.Calls, profile.Call{ID: c.ID, Name: c.Function.Name, Arguments: json.RawMessage(c.Function.Arguments)})
			}
			return said
		},
		With: func(m *schema.Message, calls []profile.Call) *schema.Message {
			if m.Role != schema.Tool {
				return withCalls(m, func(i int, c *schema.ToolCall) {
					c.ID, c.Function.Name, c.Function.Arguments = calls[i].ID, calls[i].Name, string(calls[i].Arguments)
				})
			}
			if m.ToolCallID == calls[0].ID && (m.ToolName == "" || m.ToolName == calls[0].Name) {
				return m
			}
			with := *m
			with.ToolCallID, with.ToolName = calls[0].ID, calls[0].Name
			return &with
		},
		Lost: func(c profile.Call) *schema.Message {
			text, _ := profile.Apart(failed(profile.Parts(b.opts.Provider, profile.Lost(c).Result)))
			return schema.ToolMessage(text, c.ID, schema.WithToolName(c.Name))
		},
		Ended: true,
	}
	return r.Repair(in)
}
