package eino

import (
	"slices"

	"github.com/cloudwego/eino/schema"

	"github.com/mcpbelt/mcpbelt/registry/profile"
)

// An identity gives the calls of one message ids that no other one has. Some models have
// none, or the name of the tool; eino keeps results, and what waits, by id, and would take
// those of one call for those of another. The same calls have the same ids each time.
type identity struct {
	places profile.Places
	calls  []profile.Call // that have begun; they have ids alone
}

// piece returns a piece of a message in a stream, whose calls have the index and the id of
// the call that they belong to: eino joins calls by their index alone.
func (d *identity) piece(m *schema.Message) (*schema.Message, error) {
	return withCalls(m, func(_ int, c *schema.ToolCall) {
		if c.Index == nil && c.ID == "" && c.Function.Name == "" {
			return
		}
		at := d.places.Of(c.ID, c.Index, c.Function.Name, c.Function.Arguments)
		begins := at == len(d.calls)
		if begins {
			d.calls = profile.OpenAI.WithIDs(append(d.calls, profile.Call{ID: c.ID}))
		}
		if begins || c.ID != "" {
			c.ID = d.calls[at].ID
		}
		c.Index = &at
	}), nil
}

// identified returns a message whose calls have ids of their own.
func identified(m *schema.Message) *schema.Message {
	var calls []profile.Call
	return withCalls(m, func(i int, c *schema.ToolCall) {
		calls = profile.OpenAI.WithIDs(append(calls, profile.Call{ID: c.ID}))
		c.ID = calls[i].ID
	})
}

// withCalls returns a message with its calls as edit leaves them: a copy, if that changes
// any.
func withCalls(m *schema.Message, edit func(int, *schema.ToolCall)) *schema.Message {
	if m == nil {
		return nil
	}
	var calls []schema.ToolCall
	for i := range m.ToolCalls {
		c := m.ToolCalls[i]
		edit(i, &c)
		if c.ID == m.ToolCalls[i].ID && c.Function == m.ToolCalls[i].Function && c.Index == m.ToolCalls[i].Index {
			continue
		}
		if calls == nil {
			calls = slices.Clone(m.ToolCalls)
		}
		calls[i] = c
	}
	if calls == nil {
		return m
	}
	with := *m
	with.ToolCalls = calls
	return &with
}
