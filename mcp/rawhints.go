package mcp

import (
	"bytes"
	"encoding/json"
	"weak"
)

// RawAnnotations returns the annotations of a tool from [Client.Tools] as the
// server sent them, byte for byte, with the members that [ToolAnnotations] has no
// field for. It is nil if the server sent none, and for a tool that is not from
// this client, or is a copy. They are claims of the server. The bytes may not be
// changed.
//
// They can be had for as long as the tool is held, also after other tools were
// listed.
func (c *Client) RawAnnotations(t *Tool) json.RawMessage {
	if t == nil {
		return nil
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.tools.rawHints[weak.Make(t)]
}

// rawHints are the annotations of tools that somebody still holds. It is not
// changed once a client has it.
type rawHints map[weak.Pointer[Tool]]json.RawMessage

// with returns r with the annotations of tools that were listed now, and without
// those of tools that are gone.
func (r rawHints) with(tools []*Tool, hints map[*Tool]json.RawMessage) rawHints {
	after := make(rawHints, len(hints))
	for t, raw := range r {
		if t.Value() != nil {
			after[t] = raw
		}
	}
	for _, t := range tools {
		if raw, ok := hints[t]; ok {
			after[weak.Make(t)] = bytes.Clone(raw) // or it would keep a whole page alive
		}
	}
	return after
}
