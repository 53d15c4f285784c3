package eino

import (
	"encoding/json"

	"github.com/cloudwego/eino/schema"

	"github.com/mcpbelt/mcpbelt/registry/profile"
)

// completed returns a conversation in which each call has its result directly behind its
// message, in the order of the calls. A result belongs to the last call with its id that
// has none yet; those of no call stay where they are.
func (b *Belt) completed(in []*schema.Message) []*schema.Message {
	type place struct{ message, call int }
	var (
		open    = map[string][]place{}                // calls by id, the last one last
		asked   = make([]*schema.Message, len(in))    // messages as they can stand there
		results = make([][]*schema.Message, len(in))  // of the calls of each
		placed  = make([]bool, len(in))               // messages that are in results
		out     = make([]*schema.Message, 0, len(in)) // the conversation
	)
	for i, m := range in {
		asked[i] = m
		if m == nil {
			continue
		}
		if m.Role == schema.Tool {
			for left := open[m.ToolCallID]; len(left) > 0 && !placed[i]; left = open[m.ToolCallID] {
				at := left[len(left)-1]
				open[m.ToolCallID] = left[:len(left)-1]
				if result := &results[at.message][at.call]; *result == nil {
					*result, placed[i] = answering(m, asked[at.message].ToolCalls[at.call].ID), true
				}
			}
			continue
		}
		asked[i] = withCalls(identified(m), func(c *schema.ToolCall) {
			c.Function.Arguments = profile.Object(json.RawMessage(c.Function.Arguments))
		})
		results[i] = make([]*schema.Message, len(m.ToolCalls))
		for j := len(m.ToolCalls) - 1; j >= 0; j-- { // the first of those with one id is the last here
			id, said := asked[i].ToolCalls[j].ID, m.ToolCalls[j].ID
			open[id] = append(open[id], place{i, j})
			if said != id { // no other code has given it an id
				open[said] = append(open[said], place{i, j})
			}
		}
	}
	for i, m := range asked {
		if !placed[i] {
			out = append(out, m)
		}
		for j, result := range results[i] {
			if result == nil {
				result = b.unanswered(m.ToolCalls[j])
			}
			out = append(out, result)
		}
	}
	return out
}

// answering returns a result as that of the call with an id.
func answering(m *schema.Message, id string) *schema.Message {
	if m.ToolCallID == id {
		return m
	}
	with := *m
	with.ToolCallID = id
	return &with
}

// unanswered returns the message for a call that has no result.
func (b *Belt) unanswered(c schema.ToolCall) *schema.Message {
	a := profile.Lost(profile.Call{ID: c.ID, Name: c.Function.Name, Arguments: json.RawMessage(c.Function.Arguments)})
	text, _ := profile.Apart(failed(profile.Parts(b.opts.Provider, a.Result)))
	return schema.ToolMessage(text, c.ID, schema.WithToolName(c.Function.Name))
}
