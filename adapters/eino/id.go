package eino

import (
	"fmt"
	"slices"

	"github.com/cloudwego/eino/schema"
)

// An identity gives the calls of one message ids that no other one has. Some models have
// none, or the name of the tool; eino keeps results, and what waits, by id, and would take
// those of one call for those of another. The same calls have the same ids each time.
type identity struct {
	taken   map[string]bool
	indexed map[int]string // ids of calls that come in pieces
	n       int            // how many there are without an index
}

func newIdentity() *identity { return &identity{taken: map[string]bool{}, indexed: map[int]string{}} }

// next returns the id of the next call of a message.
func (d *identity) next(c *schema.ToolCall) string {
	at := d.n
	if c.Index != nil {
		at = *c.Index
	} else {
		d.n++
	}
	id := c.ID
	if id == "" || d.taken[id] {
		id = fmt.Sprintf("call_%d", at)
	}
	for d.taken[id] {
		id += "_"
	}
	d.taken[id] = true
	return id
}

// piece returns a piece of a message in a stream. A call with an index has the id that its
// first piece has.
func (d *identity) piece(m *schema.Message) (*schema.Message, error) {
	return withCalls(m, func(c *schema.ToolCall) {
		if c.Index == nil {
			c.ID = d.next(c)
			return
		}
		id, known := d.indexed[*c.Index]
		if !known {
			id = d.next(c)
			d.indexed[*c.Index] = id
		}
		if !known || c.ID != "" {
			c.ID = id
		}
	}), nil
}

// identified returns a message whose calls have ids of their own.
func identified(m *schema.Message) *schema.Message {
	if m == nil || len(m.ToolCalls) == 0 {
		return m
	}
	ids := newIdentity()
	return withCalls(m, func(c *schema.ToolCall) { c.ID = ids.next(c) })
}

// withCalls returns a message with its calls as edit leaves them: a copy, if that changes
// any.
func withCalls(m *schema.Message, edit func(*schema.ToolCall)) *schema.Message {
	if m == nil {
		return nil
	}
	var calls []schema.ToolCall
	for i := range m.ToolCalls {
		c := m.ToolCalls[i]
		edit(&c)
		if c.ID == m.ToolCalls[i].ID && c.Function == m.ToolCalls[i].Function {
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
